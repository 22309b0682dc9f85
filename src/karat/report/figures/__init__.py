"""The figures of the report, by experiment; a figure reads records and runs nothing."""

from karat.report.figures.picture import Draw, Picture
from karat.report.figures.training_curves import draw_training_curves

FIGURES: dict[str, Draw] = {
    "benign.thm3.1": draw_training_curves,
    "benign.sec5": draw_training_curves,
}

__all__ = ["FIGURES", "Draw", "Picture", "draw_training_curves"]
