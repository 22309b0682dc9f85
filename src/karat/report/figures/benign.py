"""Which figure shows which experiment of benign."""

from karat.report.figures.benign_boundary import draw_boundary
from karat.report.figures.benign_clean_training import draw_clean_training
from karat.report.figures.benign_floor import draw_floor
from karat.report.figures.benign_lemmas import draw_lemmas
from karat.report.figures.benign_maps import draw_fig1, draw_fig3, draw_fig4, draw_fig5
from karat.report.figures.benign_rows import draw_fig2, draw_fig6
from karat.report.figures.picture import Draw
from karat.report.figures.training_curves import draw_training_curves

BENIGN: dict[str, Draw] = {
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
