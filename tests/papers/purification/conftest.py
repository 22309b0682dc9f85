"""Lets the tests here import what several of them share."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # judged_images
