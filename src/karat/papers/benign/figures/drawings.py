"""Which figure shows which experiment of benign."""

from karat.papers.benign.figures.boundary import draw_boundary
from karat.papers.benign.figures.clean_training import draw_clean_training
from karat.papers.benign.figures.floor import draw_floor
from karat.papers.benign.figures.lemmas import draw_lemmas
from karat.papers.benign.figures.maps import draw_fig1, draw_fig3, draw_fig4, draw_fig5
from karat.papers.benign.figures.rows import draw_fig2, draw_fig6
from karat.papers.benign.figures.training_curves import draw_training_curves
from karat.study.drawing.picture import Draw

FIGURES: dict[str, Draw] = {
    "benign.fig1": draw_fig1,
    "benign.boundary": draw_boundary,
    "benign.fig2": draw_fig2,
    "benign.fig3": draw_fig3,
    "benign.fig4": draw_fig4,
    "benign.fig5": draw_fig5,
    "benign.fig6": draw_fig6,
    "benign.lemmas": draw_lemmas,
    "benign.lemmas_wide": draw_lemmas,
    "benign.regime": draw_training_curves,
    "benign.clean_training": draw_clean_training,
    "benign.thm3.2": draw_floor,
}
