"""Why nets trained inside the lazy ball are not robust."""

from karat.papers.lazy.statements import STATEMENTS
from karat.study.paper import Paper

PAPER = Paper(
    key="lazy",
    title="Adversarial Robustness is at Odds with Lazy Training",
    authors=(
        "Yunjuan Wang",
        "Enayat Ullah",
        "Poorya Mianjy",
        "Raman Arora",
    ),
    venue="NeurIPS",
    year=2022,
    statements=STATEMENTS,
    package=__name__,
    file="001_5ca782b6f3aeb9b8.txt",
)
