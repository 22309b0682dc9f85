"""When adversarial training fits noisy labels and still generalises."""

from karat.papers.benign.statements import STATEMENTS
from karat.study.paper import Paper

PAPER = Paper(
    key="benign",
    title="Benign Overfitting in Adversarial Training of Neural Networks",
    authors=(
        "Yunjuan Wang",
        "Kaibo Zhang",
        "Raman Arora",
    ),
    venue="ICML",
    year=2024,
    statements=STATEMENTS,
    package=__name__,
    file="003_e039b931971a797c.txt",
)
