"""The thresholds that sentences hold numbers against: conventions of the page, shown with every sentence."""

from karat.probes.cosines import LARGE, SMALL

__all__ = [
    "FEWER",
    "LARGE",
    "LAZY",
    "LEFT",
    "MOSTLY",
    "MOST_LAYERS",
    "RARELY",
    "SIGNIFICANT",
    "SMALL",
    "SMOOTHER",
    "SPARSER",
]

LAZY, LEFT = 0.1, 0.5
"""Error of the linearisation around the start: at most LAZY counts as lazy, at least LEFT as having left."""

MOST_LAYERS = 0.8
"""Share of hidden layers that counts as nearly all."""

SIGNIFICANT = 0.05
"""p-value up to which a difference between the nets counts as seen."""

FEWER = 1.5
"""Factor by which the effective number of directions (or of features) must fall to count as fewer."""

SMOOTHER = 0.9
"""Ratio of roughness, or of features needed beyond a control, that counts as a fall."""

SPARSER = 0.05
"""Fall of the mean share of active units that counts as sparser."""

MOSTLY, RARELY = 0.5, 0.1
"""Transfer rates that count as most and as few."""
