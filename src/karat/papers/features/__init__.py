"""How features emerge from inputs, and what fixed features cannot do."""

from karat.papers.features.statements import STATEMENTS
from karat.study.paper import Paper

PAPER = Paper(
    key="features",
    title=(
        "A Theoretical Analysis on Feature Learning in Neural Networks: "
        "Emergence from Inputs and Advantage over Fixed Features"
    ),
    authors=(
        "Zhenmei Shi",
        "Junyi Wei",
        "Yingyu Liang",
    ),
    venue="ICLR",
    year=2022,
    statements=STATEMENTS,
    package=__name__,
    file="004_b4668463d87e622f.txt",
)
