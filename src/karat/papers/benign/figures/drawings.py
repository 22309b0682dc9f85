"""Which figure shows which experiment of benign."""

from karat.papers.benign.experiments.boundary import BOUNDARY
from karat.papers.benign.experiments.clean_training import CLEAN_TRAINING
from karat.papers.benign.experiments.curves import FIG2, SEC5, THM31
from karat.papers.benign.experiments.digits import FIG4, FIG5, FIG6
from karat.papers.benign.experiments.maps import FIG1, FIG3, FLOOR
from karat.papers.benign.experiments.regime import REGIME
from karat.papers.benign.experiments.traces import FIRST_STEP, LEMMAS, LEMMAS_WIDE
from karat.papers.benign.figures.boundary import draw_boundary
from karat.papers.benign.figures.clean_training import draw_clean_training
from karat.papers.benign.figures.floor import draw_floor
from karat.papers.benign.figures.lemmas import draw_lemmas
from karat.papers.benign.figures.maps import draw_fig1, draw_fig3, draw_fig4, draw_fig5
from karat.papers.benign.figures.rows import draw_fig2, draw_fig6
from karat.papers.benign.figures.training_curves import draw_training_curves
from karat.study.drawing.picture import Drawing

FIGURES = (
    Drawing(THM31, draw_training_curves),
    Drawing(REGIME, draw_training_curves),
    Drawing(SEC5, draw_training_curves),
    Drawing(FLOOR, draw_floor),
    Drawing(LEMMAS, draw_lemmas),
    Drawing(FIRST_STEP, draw_lemmas),
    Drawing(LEMMAS_WIDE, draw_lemmas),
    Drawing(FIG1, draw_fig1),
    Drawing(BOUNDARY, draw_boundary),
    Drawing(FIG2, draw_fig2),
    Drawing(FIG3, draw_fig3),
    Drawing(FIG4, draw_fig4),
    Drawing(FIG5, draw_fig5),
    Drawing(FIG6, draw_fig6),
    Drawing(CLEAN_TRAINING, draw_clean_training),
)
