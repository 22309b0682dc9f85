"""The figures of the report, by experiment; a figure reads records and runs nothing."""

from karat.report.figures.benign import BENIGN
from karat.report.figures.convergence import CONVERGENCE
from karat.report.figures.features import FEATURES
from karat.report.figures.lazy import LAZY
from karat.report.figures.picture import Draw, Picture
from karat.report.figures.purification_images import IMAGES
from karat.report.figures.purification_models import PURIFICATION
from karat.report.figures.purification_pictures import PICTURES
from karat.report.figures.training_curves import draw_training_curves

FIGURES: dict[str, Draw] = {
    "benign.thm3.1": draw_training_curves,
    "benign.sec5": draw_training_curves,
    **BENIGN,
    **FEATURES,
    **PURIFICATION,
    **IMAGES,
    **PICTURES,
    **LAZY,
    **CONVERGENCE,
}

__all__ = ["FIGURES", "Draw", "Picture", "draw_training_curves"]
