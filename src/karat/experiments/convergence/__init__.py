"""Experiments of convergence: surrogate losses, kernels, capacity, and the question shared with lazy."""

from karat.experiments.convergence.capacity import CAPACITY, SHATTERING
from karat.experiments.convergence.deep import THM41
from karat.experiments.convergence.joint import JOINT
from karat.experiments.convergence.kernel import BUILT, KERNEL, PARITY
from karat.experiments.convergence.two_layer import COR51, EXIT, QUADRATIC, THM51, WIDTH

EXPERIMENTS = (
    JOINT,
    THM51,
    EXIT,
    WIDTH,
    COR51,
    QUADRATIC,
    THM41,
    KERNEL,
    PARITY,
    BUILT,
    SHATTERING,
    CAPACITY,
)
