"""`python -m karat.cli` is the command `karat`."""

import sys

from karat.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
