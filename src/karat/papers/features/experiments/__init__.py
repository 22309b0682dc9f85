"""Experiments of features: learning from patterns, lower bounds, real images."""
