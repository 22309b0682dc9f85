"""Why clean training leaves features impure, and how adversarial training purifies them."""

from karat.papers.purification.statements import STATEMENTS
from karat.papers.purification.statements_clean import CLEAN_TRAINING
from karat.papers.purification.statements_robust import ROBUST_TRAINING
from karat.study.paper import Paper

PAPER = Paper(
    key="purification",
    title="Feature Purification: How Adversarial Training Performs Robust Deep Learning",
    authors=(
        "Zeyuan Allen-Zhu",
        "Yuanzhi Li",
    ),
    venue="FOCS",
    year=2021,
    statements=(*STATEMENTS, *CLEAN_TRAINING, *ROBUST_TRAINING),
    package=__name__,
    file="000_6ba20ae30c111db9.txt",
)
