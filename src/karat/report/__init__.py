"""Records -> figures and a self-contained HTML report."""

from karat.errors import ReportError
from karat.report.build import build

__all__ = ["ReportError", "build"]
