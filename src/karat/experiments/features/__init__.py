"""Experiments of features: learning from patterns, lower bounds, real images."""

from karat.experiments.features.tables import TABLES

EXPERIMENTS = (*TABLES,)
