import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # the rows of the contract suite are modules of this folder
