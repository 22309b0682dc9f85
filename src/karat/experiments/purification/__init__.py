"""Experiments of purification: dense mixtures, and how adversarial training removes them."""

from karat.experiments.purification.alexnet import ALEXNET
from karat.experiments.purification.drift import DRIFT
from karat.experiments.purification.freezing import FREEZING
from karat.experiments.purification.kinetics import KINETICS
from karat.experiments.purification.l2 import L2
from karat.experiments.purification.ladder import LADDER
from karat.experiments.purification.linf import LINF
from karat.experiments.purification.lottery import LOTTERY
from karat.experiments.purification.noise import NOISE
from karat.experiments.purification.pureinit import PUREINIT
from karat.experiments.purification.random_init import RANDOM_INIT
from karat.experiments.purification.resnet_pictures import RESNET_PICTURES
from karat.experiments.purification.scaling import SCALING
from karat.experiments.purification.small_ball import SMALL_BALL
from karat.experiments.purification.table1 import TABLE1
from karat.experiments.purification.theta import THETA
from karat.experiments.purification.transfer import TRANSFER
from karat.experiments.purification.weak_attackers import WEAK_ATTACKERS

EXPERIMENTS = (
    L2,
    LINF,
    SCALING,
    PUREINIT,
    LOTTERY,
    KINETICS,
    DRIFT,
    TRANSFER,
    LADDER,
    RANDOM_INIT,
    WEAK_ATTACKERS,
    NOISE,
    SMALL_BALL,
    TABLE1,
    THETA,
    FREEZING,
    ALEXNET,
    RESNET_PICTURES,
)
