"""Experiments of features: learning from patterns, lower bounds, real images."""

from karat.experiments.features.clusters import IMAGES
from karat.experiments.features.cube import CUBE
from karat.experiments.features.descent import FIG26
from karat.experiments.features.explicit_net import LEM5
from karat.experiments.features.filters import FIG20
from karat.experiments.features.hypercube import TAB6
from karat.experiments.features.kernels import COR3
from karat.experiments.features.quality import LEM23
from karat.experiments.features.signal import LEM6
from karat.experiments.features.students import FIG22, FIG24
from karat.experiments.features.tables import TABLES

EXPERIMENTS = (*TABLES, LEM5, LEM6, LEM23, CUBE, COR3, TAB6, IMAGES, FIG20, FIG22, FIG24, FIG26)
