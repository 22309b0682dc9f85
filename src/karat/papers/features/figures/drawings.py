"""Experiments of features with their figures."""

from functools import partial
from typing import Any

from karat.papers.features.checks.printed_size import table_name
from karat.papers.features.experiments.clusters import IMAGES
from karat.papers.features.experiments.cube import CUBE
from karat.papers.features.experiments.descent import FIG26
from karat.papers.features.experiments.filters import FIG20
from karat.papers.features.experiments.hypercube import TAB6
from karat.papers.features.experiments.kernels import COR3
from karat.papers.features.experiments.quality import LEM23
from karat.papers.features.experiments.signal import LEM6
from karat.papers.features.experiments.students import FIG22, FIG24
from karat.papers.features.experiments.tables import METHOD_TABLES
from karat.papers.features.figures import images, methods, theory
from karat.study.drawing.picture import Drawing

FIGURES: tuple[Drawing[Any, Any], ...] = (
    *(Drawing(table, partial(methods.draw_methods, table_name(table))) for table in METHOD_TABLES),
    Drawing(LEM6, theory.draw_signal),
    Drawing(LEM23, theory.draw_quality),
    Drawing(CUBE, theory.draw_cube),
    Drawing(COR3, theory.draw_kernels),
    Drawing(TAB6, images.draw_hypercube),
    Drawing(IMAGES, images.draw_clusters),
    Drawing(FIG20, images.draw_filters),
    Drawing(FIG22, images.draw_students),
    Drawing(FIG24, images.draw_students),
    Drawing(FIG26, images.draw_descent),
)
