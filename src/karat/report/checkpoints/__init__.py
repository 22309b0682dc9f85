"""The page of a probe: what training changed between two checkpoints."""

from karat.report.checkpoints.page import render_probe

__all__ = ["render_probe"]
