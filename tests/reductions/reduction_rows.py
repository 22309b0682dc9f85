"""The rows of the contract suite: one for every reduction."""

from in_law_row import IN_LAW
from span_row import SPAN
from symmetric_row import SYMMETRIC
from wide_row import WIDE

ROWS = (IN_LAW, SPAN, SYMMETRIC, WIDE)
