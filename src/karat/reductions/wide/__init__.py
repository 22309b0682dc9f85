"""Projected adversarial training of one wide hidden layer above a fixed input matrix: m x r numbers."""

from typing import TYPE_CHECKING

from karat.lazy import attach

if TYPE_CHECKING:
    from karat.reductions.wide.diagram import Problem, State, lift, obstacle, reduce, step
    from karat.reductions.wide.drawn import draw_start
else:
    __getattr__, __dir__ = attach(__name__)

__all__ = ["Problem", "State", "draw_start", "lift", "obstacle", "reduce", "step"]
