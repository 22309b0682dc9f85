"""Write a probe to a folder: one self-contained page and one JSON file."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from karat.models.checkpoints.pictures import Pictures
from karat.report.checkpoints import render_probe


def write_page(values: dict[str, Any], pictures: Pictures, out: str | Path, names: Mapping[str, str]) -> Path:
    """Write probe.html and probe.json; existing ones are replaced as a whole.

    Args:
        values: of the JSON file; out: folder, made if missing; names: what was probed, for the page.

    Returns:
        path of probe.html.
    """
    folder = Path(out)
    page = render_probe(values, pictures, names)
    folder.mkdir(parents=True, exist_ok=True)
    stored = values | {"names": dict(names)}
    _replace(folder / "probe.json", json.dumps(stored, indent=1, allow_nan=False, ensure_ascii=False))
    _replace(folder / "probe.html", page)
    return folder / "probe.html"


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
