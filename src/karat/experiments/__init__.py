"""One question per file; `EXPERIMENTS` is the export list."""

from karat.experiments import benign
from karat.experiments.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for paper in (benign,) for experiment in paper.EXPERIMENTS
}
