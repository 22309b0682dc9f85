"""Write a probe to a folder: one self-contained page and one JSON file."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from karat.models.checkpoints.result import Probe
from karat.report.checkpoints import render_probe


def write_probe(probe: Probe, out: str | Path, names: Mapping[str, str] | None = None) -> Path:
    """Write probe.html and probe.json; existing ones are replaced as a whole.

    Args:
        out: folder, made if missing; names: what was probed, such as {"before": "clean.pt"}, for the page.

    Returns:
        path of probe.html.
    """
    folder = Path(out)
    values = probe.to_json()
    page = render_probe(values, probe.pictures, names)
    folder.mkdir(parents=True, exist_ok=True)
    stored = values | {"names": dict(names or {})}
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
