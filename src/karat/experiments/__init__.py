"""One question per file; `EXPERIMENTS` is the export list, each paper imported when it is asked for."""

from collections.abc import Mapping

from karat.experiments.experiment import Experiment
from karat.experiments.table import Table

PAPERS = ("benign", "purification", "features", "lazy", "convergence")
"""Packages below this one; each holds a tuple EXPERIMENTS."""

EXPERIMENTS: Mapping[str, Experiment] = Table(
    "karat.experiments", PAPERS, "EXPERIMENTS", lambda experiment: experiment.name
)
