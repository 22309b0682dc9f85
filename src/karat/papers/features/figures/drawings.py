"""Experiments of features with their figures."""

from karat.papers.features.figures import images, theory
from karat.papers.features.figures.methods import METHOD_FIGURES
from karat.study.drawing.picture import Draw

FIGURES: dict[str, Draw] = {
    **METHOD_FIGURES,
    "features.lem6": theory.draw_signal,
    "features.lem23": theory.draw_quality,
    "features.cube": theory.draw_cube,
    "features.cor3": theory.draw_kernels,
    "features.tab6": images.draw_hypercube,
    "features.images": images.draw_clusters,
    "features.fig20": images.draw_filters,
    "features.fig22": images.draw_students,
    "features.fig24": images.draw_students,
    "features.fig26": images.draw_descent,
}
