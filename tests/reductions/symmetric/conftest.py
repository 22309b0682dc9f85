import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # the nets and points that both test modules look at
