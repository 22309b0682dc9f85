"""The rows of the contract suite: one for every reduction."""

from span_row import SPAN
from symmetric_row import SYMMETRIC

ROWS = (SPAN, SYMMETRIC)
