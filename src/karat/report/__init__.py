"""Records -> figures and a self-contained HTML report."""

from karat.report.build import ReportError, build

__all__ = ["ReportError", "build"]
