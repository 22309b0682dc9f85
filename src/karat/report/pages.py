"""What every page has in common: its templates, and a file that is replaced as a whole."""

import os
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined


def environment() -> Environment:
    """The templates of the report, without filters; a name that a template misses is an error."""
    return Environment(
        loader=PackageLoader("karat.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def replace_file(path: Path, text: str) -> None:
    """Replace a file at once: a reader sees the old page or the new one, never half of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
