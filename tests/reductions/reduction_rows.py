"""The rows of the contract suite: one for every reduction."""

from span_row import SPAN
from symmetric_row import SYMMETRIC
from wide_row import WIDE

ROWS = (SPAN, SYMMETRIC, WIDE)
