"""How exponents of lazy's figures are read."""

from karat.study.finding import Margin

QUARTER = Margin(
    1 / 8, "half-way to the next quarter power: d^(1/4) is the other power of d in the paper's bounds"
)

LARGE_D = 100
"""Below it the trained part of the gradient, about C0/2, rivals the random part sqrt(d/2) even at C0 = 10."""
