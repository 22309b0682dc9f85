"""Why the most accurate classifier of many weak features cannot be robust."""

from karat.study.paper import Paper
from karat_tsipras2019.statements import STATEMENTS

PAPER = Paper(
    key="tsipras2019",
    title="Robustness May Be at Odds with Accuracy",
    authors=(
        "Dimitris Tsipras",
        "Shibani Santurkar",
        "Logan Engstrom",
        "Alexander Turner",
        "Aleksander Madry",
    ),
    venue="ICLR",
    year=2019,
    statements=STATEMENTS,
    package=__name__,
)
