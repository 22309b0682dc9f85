"""Write the report: an index and one page per paper, each a single self-contained HTML file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment

from karat.core.checks import require_choice
from karat.core.texts import duration, number
from karat.errors import ReportError
from karat.lab.store import Store
from karat.report.collect import Content, Held, collect
from karat.report.default_figure import default_figure
from karat.report.embed import data_uri
from karat.report.folders import without_folders
from karat.report.pages import environment, replace_file
from karat.report.sweeps import sweep_views
from karat.report.trust import grounds_of
from karat.report.typeset import formula
from karat.study.check import Check
from karat.study.drawing.picture import Picture, describe, varying
from karat.study.experiment import SCALES, Experiment
from karat.study.registry import CHECKS, EXPERIMENTS, FIGURES, PAPERS, relations
from karat.study.trace import condensed
from karat.version import __version__

VERDICTS = {
    "holds": "the whole interval lies where the statement says, inside its hypotheses, and no control does",
    "fails": "the whole interval lies where the statement says it cannot, inside its hypotheses",
    "inconclusive": "the interval allows both, seeds are too few, or a control holds as well",
    "vacuous": "the bound says nothing at this size",
    "out of regime": "measured, but with hypotheses of the statement unmet",
    "not run": "no record in the store, or no check yet",
}


_PIXELS_PER_INCH, _WIDE, _HALF_PAGE = 115, 1.75, 800


@dataclass(frozen=True, kw_only=True)
class Plate:
    """A drawn figure on a page, or the reason why there is none.

    Args:
        experiment: what is drawn.
        title: of the figure.
        caption: below it.
        image: address of a PNG inside the page, None if the figure could not be drawn.
        width: in pixels.
        wide: whether it needs the whole width of the page.
    """

    experiment: Held
    title: str
    caption: str
    image: str | None
    width: int = 0
    wide: bool = False


Drawn = dict[tuple[object, ...], list[Plate]]
"""Plates by the records they show."""


def build(
    store: Store,
    out_dir: str | Path,
    scale: str | None = None,
    *,
    drawn: Drawn | None = None,
    checks: Mapping[str, Check] = CHECKS,
    experiments: Mapping[str, Experiment] = EXPERIMENTS,
) -> Path:
    """Write index.html and one page per paper into `out_dir` from what the store holds.

    Args:
        store: finished cells, read only here.
        out_dir: folder, made if missing.
        scale: preset to show; None takes the largest complete one of each experiment.
        drawn: plates kept from one call to the next, so that only figures with new records are drawn.
        checks: all checks, or one's own.
        experiments: all experiments, or one's own.

    Returns:
        path of index.html.
    """
    if scale is not None:
        require_choice(scale, "scale", "build", SCALES)
    folder = Path(out_dir)
    content = collect(store, scale, checks, experiments)
    plates = [plate for held in content.experiments for plate in _kept(held, {} if drawn is None else drawn)]
    extra = {"sweeps": sweep_views(store), "benchmarks": store.benchmarks()}
    pages = {"index.html": _render("index.html.j2", content, _chosen(plates, checks), **extra)}
    for key, paper in PAPERS.items():
        # Another paper's setting in which a statement is cross-examined comes after its own.
        of_paper = [plate for plate in plates if plate.experiment.paper == key]
        of_paper.sort(key=lambda plate: not plate.experiment.name.startswith(key))
        pages[f"{key}.html"] = _render("paper.html.j2", content, of_paper, paper=paper)
    pages["trust.html"] = _render("trust.html.j2", content, [], grounds=grounds_of(content))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, page in reversed(pages.items()):  # the index last: its links exist when it does
            replace_file(folder / name, page)
    except OSError as error:
        raise ReportError(f"the report cannot be written to {folder} ({error.strerror}).") from error
    return folder / "index.html"


def _chosen(plates: Sequence[Plate], checks: Mapping[str, Check]) -> list[Plate]:
    """One plate for each paper, of the experiment behind its first headline claim that has its own."""
    leading = [check.name for check in checks.values() if check.headline]
    ranks = {name: rank for rank, name in reversed(list(enumerate(leading)))}

    def rank(plate: Plate) -> tuple[bool, int]:
        return plate.experiment.name not in FIGURES, ranks.get(plate.experiment.name, len(leading))

    ranked = sorted(plates, key=rank)
    firsts: dict[str, Plate] = {}
    for plate in ranked:
        firsts.setdefault(plate.experiment.paper, plate)
    return [firsts[key] for key in (*PAPERS, "") if key in firsts]


def _kept(held: Held, drawn: Drawn) -> list[Plate]:
    """The plates of these very records from the last time, or new ones."""
    key = (held.name, held.scale, *((record.key, record.cpu_seconds) for record in held.records))
    if key not in drawn:
        drawn[key] = _plates(held)
    return drawn[key]


def _plates(held: Held) -> list[Plate]:
    """Draw the figures of an experiment; records that a figure cannot read leave a note in its place."""
    draw = FIGURES.get(held.name, default_figure)
    try:
        return [_plate(held, picture) for picture in draw(held.records)] if held.records else []
    except Exception as error:  # whatever a figure of somebody else's package raises
        what = without_folders(f"{type(error).__name__}: {error}")
        reason = f"The records do not fit this figure ({what})."
        return [Plate(experiment=held, title="No figure", caption=reason, image=None)]


def _plate(held: Held, picture: Picture) -> Plate:
    """Panels side by side need the whole width of the page to be read, and so do many of them."""
    width, height = picture.figure.get_size_inches()
    pixels = round(_PIXELS_PER_INCH * width)
    return Plate(
        experiment=held,
        title=picture.title,
        caption=picture.caption,
        image=data_uri(picture.figure),
        width=pixels,
        wide=width > _WIDE * height or pixels > _HALF_PAGE,
    )


@cache
def _environment() -> Environment:
    templates = environment()
    templates.filters["number"] = number
    templates.filters["describe"] = describe
    templates.filters["duration"] = duration
    templates.filters["typeset"] = formula
    templates.filters["without_folders"] = without_folders
    templates.filters["condensed"] = condensed
    templates.globals["varying"] = varying
    templates.globals["relations"] = relations
    return templates


def _render(template: str, content: Content, plates: list[Plate], **values: Any) -> str:
    return (
        _environment()
        .get_template(template)
        .render(
            content=content,
            plates=plates,
            papers=PAPERS,
            verdicts=VERDICTS,
            version=__version__,
            written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            **values,
        )
    )
