"""Why adversarial training of wide nets reaches small robust loss, and what it costs."""

from karat.papers.convergence.statements import STATEMENTS
from karat.study.paper import Paper

PAPER = Paper(
    key="convergence",
    title="Convergence of Adversarial Training in Overparametrized Neural Networks",
    authors=(
        "Ruiqi Gao",
        "Tianle Cai",
        "Haochuan Li",
        "Liwei Wang",
        "Cho-Jui Hsieh",
        "Jason D. Lee",
    ),
    venue="NeurIPS",
    year=2019,
    statements=STATEMENTS,
    package=__name__,
    file="002_e70443314a3d4228.txt",
)
