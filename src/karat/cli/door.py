"""What other people's paper packages lack, told by every command that has looked at them."""

import sys


def mention_broken() -> None:
    """Name each broken package, or part of one, in one line on standard error."""
    registry = sys.modules.get("karat.study.registry")  # a command that never asked needs no answer
    for fault in registry.BROKEN if registry else ():
        print(f"karat: {fault}", file=sys.stderr)
