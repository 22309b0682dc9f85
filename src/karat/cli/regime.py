"""The command `regime`: which hypotheses of a theorem hold at a setting, and the cheapest setting inside."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli.errors import BAD_INPUT, Failure, bad_input
from karat.cli.options import ClaimId, Json, Scale, Settings
from karat.cli.output import print_json, print_pairs
from karat.cli.session import parse_duration, parse_settings
from karat.core.texts import duration

if TYPE_CHECKING:
    from karat.study.hypothesis import Entry
    from karat.study.point import Point
    from karat.study.regime import Regime

Plot = Annotated[
    str | None,
    typer.Option(metavar="X,Y", help="Draw over these two settings which hypotheses hold; see --out."),
]


def regime(
    claim_id: ClaimId,
    scale: Scale = "quick",
    settings: Settings = None,
    budget: Annotated[str, typer.Option(metavar="TIME", help="CPU time that one seed may take.")] = "10m",
    plot: Plot = None,
    out: Annotated[Path, typer.Option(help="File of the plot.")] = Path("regime.png"),
    json: Json = False,
) -> None:
    """Show which hypotheses of a theorem hold at a setting, and find the cheapest setting inside.

    What --set fixes stays; all other settings are searched. Costs come from the experiment's cost law.

    Examples: `karat regime convergence.thm4.1`, `karat regime convergence.thm4.1 --set tol=0.1 --budget 2h`,
    `karat regime lazy.thm3.1 --plot d,m --out map.png`.\f

    Args:
        claim_id: its id.
        scale: preset around which the search begins.
        settings: texts KEY=VALUE, which the search leaves alone.
        budget: CPU time that one seed may take.
        plot: two settings over which to draw.
        out: file of the plot.
        json: print strict JSON.
    """
    from karat.api import regime as find

    seconds = parse_duration(budget, "--budget") or 0.0
    with bad_input():
        given = parse_settings(settings)
        if plot:
            # Before the search, so that a slip in the axes costs no waiting.
            _draw(claim_id, scale, given, plot, out)
        answer = find(claim_id, scale=scale, budget=seconds, **given)
    if json:
        print_json(_plain(answer, seconds))
    else:
        print_pairs([*_hypotheses(answer), *_inside(answer, seconds), ("plot", str(out) if plot else "")])


def _hypotheses(answer: "Regime") -> list[tuple[str, str]]:
    if not answer.ledger:
        return [("claim", answer.claim_id), ("hypotheses", "none: it holds wherever it can be run")]
    pairs = [("claim", answer.claim_id)]
    pairs += [(entry.status, f"{entry.condition}{_at(entry)}") for entry in answer.ledger]
    pairs.append(("preset", f"{len(answer.inside)} of its {len(answer.here)} settings are inside"))
    return [*pairs, *(("asked for", f"{size} ({size.hypothesis})") for size in answer.sizes)]


def _inside(answer: "Regime", budget: float) -> list[tuple[str, str]]:
    """Where all hypotheses are met, and what runs it."""
    cheapest, texts = answer.cheapest, " ".join(answer.texts)
    if cheapest is None:
        blocking = "; ".join(condition.name for condition in answer.best.unmet)
        return [
            ("inside", f"none below {duration(budget)} a seed, {answer.tried:,} settings looked at"),
            ("in the way", f"{blocking}, nearest at {texts or 'the preset'}"),
        ]
    pairs = [
        ("inside", f"{texts or 'the whole preset'}: {duration(cheapest.seconds)} of CPU time a seed"),
        ("binding", "; ".join(str(condition) for condition in cheapest.binding)),
    ]
    if cheapest.seconds > budget:
        return [*pairs, ("budget", f"none below {duration(budget)} a seed was found")]
    try:
        answer.planned()
    except ValueError as error:
        return [*pairs, ("not runnable", str(error))]
    return [*pairs, ("to run it", answer.command)]


def _at(entry: "Entry") -> str:
    return f", at {entry.unmet} of {entry.settings} settings" if entry.unmet and entry.settings > 1 else ""


def _plain(answer: "Regime", budget: float) -> dict[str, Any]:
    """The answer as plain values."""
    cheapest = answer.cheapest
    affordable = cheapest is not None and cheapest.seconds <= budget
    return {
        "claim": answer.claim_id,
        "here": [_plain_point(point) for point in answer.here],
        "asked": [vars(size) for size in answer.sizes],
        "cheapest": None if cheapest is None else _plain_point(cheapest) | {"set": dict(answer.changes)},
        "nearest": _plain_point(answer.best) if cheapest is None else None,
        "affordable": affordable,
        "command": answer.command if affordable else None,
        "tried": answer.tried,
    }


def _plain_point(point: "Point") -> dict[str, Any]:
    from karat.study.config import config_to_json

    return {
        "inside": point.inside,
        "seconds": point.seconds,
        "settings": config_to_json(point.config),
        "conditions": [vars(condition) for condition in point.conditions],
    }


def _draw(claim_id: str, scale: str, settings: Mapping[str, str], axes: str, out: Path) -> None:
    from karat.api import checked_claim
    from karat.report.regime_map import draw_regime

    names = [name.strip() for name in axes.split(",")]
    if len(names) != 2 or names[0] == names[1]:
        raise Failure(f"`--plot` must name two settings, such as d,m; got {axes!r}.", BAD_INPUT)
    figure = draw_regime(checked_claim(claim_id), scale, settings, names[0], names[1])
    with bad_input():
        figure.savefig(out, dpi=150)
