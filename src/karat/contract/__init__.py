"""What every package of a paper owes, judged by looking at it and by running its tiny sizes.

`karat contract KEY` prints the table; `pytest --pyargs karat.contract` judges every installed package, or the
papers that KARAT_CONTRACT names, separated by commas.
"""

from karat.contract.fault import Fault
from karat.contract.judge import judge_paper, paper_at, violations

__all__ = ["Fault", "judge_paper", "paper_at", "violations"]
