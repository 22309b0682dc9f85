"""The page of a probe and its JSON file, from JSON values and picture arrays."""

import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from karat.core.texts import number
from karat.report.embed import data_uri
from karat.report.folders import without_folders
from karat.report.pages import environment, replace_file
from karat.report.typeset import typeset
from karat.study.config import decode
from karat.yours.probe import charts
from karat.yours.probe.mosaics import mosaic, ranged, signed
from karat.yours.probe.pictures import Pictures

CLASSES = {"yes": "holds", "no": "out-of-regime", "unclear": "inconclusive", "unknown": "not-run"}
"""Answer -> colour of its chip: no is an answer like yes, not a failure."""

Values = Mapping[str, Any]


def write_page(values: dict[str, Any], pictures: Pictures, out: str | Path, names: Mapping[str, str]) -> Path:
    """Write probe.html and probe.json; existing ones are replaced as a whole.

    Args:
        values: of the JSON file.
        pictures: arrays, on the page only.
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


def render_probe(values: Values, pictures: Pictures, names: Mapping[str, str] | None = None) -> str:
    """The page as text.

    Args:
        values: of `Probe.to_json`.
        pictures: its arrays (filters, inputs, perturbations, features).
        names: what was probed, such as {"before": "clean.pt"}, shown at the top.
    """
    templates = environment()
    templates.filters |= {
        "short": short,
        "percent": percent,
        "typeset": typeset,
        "share": share,
        "thousands": "{:,}".format,
        "without_folders": without_folders,
    }
    return templates.get_template("probe.html.j2").render(
        probe=values,
        names=names or {},
        figures={name: data_uri(figure) for name, figure in _figures(values).items()},
        mosaics={name: data_uri(figure) for name, figure in _mosaics(pictures).items()},
        classes=CLASSES,
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _figures(values: Values) -> dict[str, Figure]:
    charts_of: dict[str, tuple[Any, Callable[[Values], Figure]]] = {
        "weights": (values["layers"], charts.draw_weights),
        "activity": (values["gates"], charts.draw_activity),
        "kernels": (values["kernels"]["tables"], charts.draw_kernels),
        "densities": (values["densities"], charts.draw_densities),
        "rebuilding": (values["rebuilding"], charts.draw_rebuilding),
        "accuracy": (values["robustness"], charts.draw_accuracy),
    }
    return {name: paint(values) for name, (rows, paint) in charts_of.items() if rows}


def _mosaics(pictures: Pictures) -> dict[str, Figure]:
    mosaics = {}
    if pictures.filters:
        mosaics["filters"] = mosaic({name: signed(filters) for name, filters in pictures.filters.items()})
    if pictures.inputs is not None:
        rows: dict[str, list[np.ndarray]] = {"input": ranged(pictures.inputs)}
        for name, delta in pictures.perturbations.items():
            rows[name] = signed(delta, 0.995)
        mosaics["perturbations"] = mosaic(rows)
    for layer, nets in pictures.features.items():
        mosaics[f"features {layer}"] = mosaic({name: ranged(drawn) for name, drawn in nets.items()})
    return mosaics


def short(value: Any) -> str:
    """A number in three digits; a dash for what is not known.

    >>> short(0.12345), short("inf"), short("nan"), short(1234.5), short(3)
    ('0.123', '∞', '–', '1234', '3')
    >>> short(56.78), short(0.00123456)
    ('56.8', '0.00123')
    """
    known = decode(value)
    if known is None or math.isnan(known):
        return "–"
    if math.isinf(known):
        return "∞"
    return f"{known:.0f}" if abs(known) >= 100 else number(known, digits=3)


def percent(value: Any) -> str:
    """A share in per cent.

    >>> percent(0.256), percent("nan")
    ('26 %', '–')
    """
    known = math.nan if value is None else float(value)
    return "–" if math.isnan(known) else f"{100 * known:.0f} %"


def share(value: Values | None) -> str:
    """A share with its interval and its number of inputs.

    >>> share({"value": 0.5, "low": 0.2, "high": 0.8, "trials": 10, "count": 5})
    '50 % [20, 80]'
    """
    if value is None:
        return "–"
    return f"{percent(value['value'])} [{100 * value['low']:.0f}, {100 * value['high']:.0f}]"
