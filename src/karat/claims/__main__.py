"""`python -m karat.claims` writes the index of executable claims after checks were added or removed."""

from pathlib import Path

from karat.claims.registry import INDEX, index_text

if __name__ == "__main__":
    Path(__file__).with_name(INDEX).write_text(index_text(), encoding="utf-8")
