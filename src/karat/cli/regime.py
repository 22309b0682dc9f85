"""The command `regime`: which hypotheses of a theorem hold at a setting, and the cheapest setting inside."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli.duration import parse_duration
from karat.cli.errors import BAD_INPUT, Failure, bad_input
from karat.cli.options import ClaimId, Json, Scale, Settings
from karat.cli.output import print_json, print_pairs
from karat.cli.session import experiment_named, overrides

if TYPE_CHECKING:
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
        print_pairs(_lines(found, scale, seconds, str(out) if plot else ""))


def _lines(found: "Regime", scale: str, budget: float, plot: str) -> list[tuple[str, str]]:
    if not found.here.conditions:
        return [("claim", found.claim_id), ("hypotheses", "none: the statement holds wherever it can be run")]
    pairs = [("claim", found.claim_id), *((c.status, str(c)) for c in found.here.conditions)]
    cheapest = found.cheapest
    if cheapest is None:
        missing = "; ".join(str(c) for c in found.here.conditions if c.status == "unmet")
        pairs.append(("inside", f"no setting of {found.tried:,} looked at; in the way: {missing}"))
    else:
        cost = f"{cheapest.seconds:.3g} CPU s a seed"
        changed = " ".join(
            f"--set {name}={value:.6g}" if isinstance(value, float) else f"--set {name}={value}"
            for name, value in found.changed.items()
        )
        pairs.append(("inside", f"{changed.replace('--set ', '') or 'this setting'}: {cost}"))
        pairs.append(("binding", "; ".join(c.name for c in cheapest.binding)))
        if cheapest.seconds <= budget:
            pairs.append(("to run it", f"karat check {found.claim_id} --scale {scale} {changed}".strip()))
        else:
            pairs.append(("budget", f"more than {budget:.3g} CPU s: nothing inside is affordable"))
    return [*pairs, ("plot", plot)]


def _plain(found: "Regime", budget: float) -> dict[str, Any]:
    def point(one: "Point") -> dict[str, Any]:
        return {"inside": one.inside, "seconds": one.seconds, "conditions": [vars(c) for c in one.conditions]}

    cheapest = found.cheapest
    return {
        "claim": found.claim_id,
        "here": point(found.here),
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
