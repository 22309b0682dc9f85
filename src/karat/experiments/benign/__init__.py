"""Experiments of benign: adversarial training on noisy mixtures and on digits."""

from karat.experiments.benign.boundary import BOUNDARY
from karat.experiments.benign.clean_training import CLEAN_TRAINING
from karat.experiments.benign.curves import FIG2, SEC5, THM31
from karat.experiments.benign.digits import FIG4, FIG5, FIG6
from karat.experiments.benign.maps import FIG1, FIG3, FLOOR
from karat.experiments.benign.regime import REGIME
from karat.experiments.benign.traces import LEMMAS, LEMMAS_WIDE

EXPERIMENTS = (
    THM31,
    SEC5,
    FIG1,
    FIG2,
    FIG3,
    FIG4,
    FIG5,
    FIG6,
    BOUNDARY,
    LEMMAS,
    LEMMAS_WIDE,
    REGIME,
    CLEAN_TRAINING,
    FLOOR,
)
