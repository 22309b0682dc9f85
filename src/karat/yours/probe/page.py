"""Write a probe to a folder: one self-contained page and one JSON file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from karat.report.pages import replace_file
from karat.yours.probe.pictures import Pictures
from karat.yours.probe.rendering import render_probe


def write_page(values: dict[str, Any], pictures: Pictures, out: str | Path, names: Mapping[str, str]) -> Path:
    """Write probe.html and probe.json; existing ones are replaced as a whole.

    Args:
        values: of the JSON file.
        out: folder, made if missing.
        names: what was probed, for the page.

    Returns:
        path of probe.html.
    """
    folder = Path(out)
    page = render_probe(values, pictures, names)
    folder.mkdir(parents=True, exist_ok=True)
    stored = values | {"names": dict(names)}
    replace_file(folder / "probe.json", json.dumps(stored, indent=1, allow_nan=False, ensure_ascii=False))
    replace_file(folder / "probe.html", page)
    return folder / "probe.html"
