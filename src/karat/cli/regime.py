"""The command `regime`: which hypotheses of a theorem hold at a setting, and the cheapest setting inside."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli.errors import BAD_INPUT, Failure, bad_input
from karat.cli.options import ClaimId, Json, Scale, Settings
from karat.cli.output import print_json, print_pairs
from karat.cli.session import experiment_named, overrides, parse_duration

if TYPE_CHECKING:
    from karat.study.hypothesis import Entry
    from karat.study.regime import Point, Regime

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
    """Show which hypotheses of a theorem hold at a setting, and find the cheapest setting inside.\f

    Args:
        claim_id: its id.
        scale: preset around which the search begins.
        settings: texts KEY=VALUE, which the search leaves alone.
        budget: CPU time that one seed may take.
        plot: two settings over which to draw.
        out: file of the plot.
        json: print strict JSON.
    """
    from karat import study

    with bad_input():
        study.get_statement(claim_id)
    from karat.study.config import hints, read
    from karat.study.regime import find_regime

    check = study.CHECKS.get(claim_id)
    if check is None:
        raise Failure(f"`{claim_id}` is stated but has no check, so its hypotheses are not written down yet.")
    experiment = experiment_named(check.name)
    given = overrides(experiment, settings, "cpu")
    with bad_input():
        known = hints(experiment.preset(scale).config)
        fixed = {
            name: read(text, known[name], name, experiment.name, text=True) for name, text in given.items()
        }
        found = find_regime(check, scale, fixed)
    seconds = parse_duration(budget, "--budget") or 0.0
    if plot:
        _draw(check, scale, fixed, plot, out)
    if json:
        print_json(_plain(found, seconds))
    else:
        print_pairs(_lines(found, check, scale, seconds, str(out) if plot else ""))


def _lines(found: "Regime", check: Any, scale: str, budget: float, plot: str) -> list[tuple[str, str]]:
    if not found.ledger:
        return [("claim", found.claim_id), ("hypotheses", "none: the statement holds wherever it can be run")]
    pairs = [("claim", found.claim_id)]
    pairs += [(entry.status, f"{entry.condition}{_at(entry)}") for entry in found.ledger]
    pairs.append(("preset", f"{len(found.inside)} of its {len(found.here)} settings are inside"))
    cheapest = found.cheapest
    if cheapest is None:
        missing = "; ".join(entry.condition.name for entry in found.ledger if entry.status == "unmet")
        pairs.append(("inside", f"no setting of {found.tried:,} looked at; in the way: {missing}"))
        return [*pairs, ("plot", plot)]
    texts = [
        f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in found.changed.items()
    ]
    pairs.append(("inside", f"{' '.join(texts) or 'the first setting'}: {cheapest.seconds:.3g} CPU s a seed"))
    pairs.append(("binding", "; ".join(condition.name for condition in cheapest.binding)))
    command = " ".join(
        [f"karat check {found.claim_id} --scale {scale}", *(f"--set {text}" for text in texts)]
    )
    if cheapest.seconds > budget:
        pairs.append(("budget", f"more than {budget:.3g} CPU s: nothing inside is affordable"))
    else:
        fault = _planning_fault(check, scale, texts)
        pairs.append(("to run it", command) if fault is None else ("not runnable", fault))
    return [*pairs, ("plot", plot)]


def _at(entry: "Entry") -> str:
    return f", at {entry.unmet} of {entry.settings} settings" if entry.unmet and entry.settings > 1 else ""


def _planning_fault(check: Any, scale: str, texts: list[str]) -> str | None:
    """Why the cells of a setting that the search has found cannot be planned, or nothing."""
    from karat.study.plan import check_cells

    try:
        check_cells(check, scale, 1, dict(text.split("=", 1) for text in texts))
    except ValueError as error:
        return str(error)
    return None


def _plain(found: "Regime", budget: float) -> dict[str, Any]:
    def point(one: "Point") -> dict[str, Any]:
        return {"inside": one.inside, "seconds": one.seconds, "conditions": [vars(c) for c in one.conditions]}

    cheapest = found.cheapest
    return {
        "claim": found.claim_id,
        "here": [point(one) for one in found.here],
        "cheapest": None if cheapest is None else point(cheapest) | {"settings": dict(found.changed)},
        "affordable": cheapest is not None and cheapest.seconds <= budget,
        "tried": found.tried,
    }


def _draw(check: Any, scale: str, fixed: dict[str, Any], axes: str, out: Path) -> None:
    from karat.report.regime_map import draw_regime

    names = [name.strip() for name in axes.split(",")]
    if len(names) != 2:
        raise Failure(f"`--plot` must name two settings, such as d,m; got {axes!r}.", BAD_INPUT)
    with bad_input():
        figure = draw_regime(check, scale, fixed, names[0], names[1])
        figure.savefig(out, dpi=150)
