"""The command sweep: grids times seeds, with what they will cost said before they start."""

import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from karat.cli.errors import BAD_INPUT, Failure, bad_input
from karat.cli.options import (
    CellLimit,
    Device,
    EngineChoice,
    ExperimentName,
    Fresh,
    Json,
    Scale,
    Scheduler,
    Seeds,
    Settings,
    StorePath,
    Workers,
)
from karat.cli.output import print_json, print_pairs
from karat.cli.session import (
    bar,
    engine_named,
    experiment_named,
    mention_other_source,
    open_store,
    overrides,
    require_success,
    resumable,
)
from karat.core.texts import number

if TYPE_CHECKING:
    from karat.lab import Outcome, Store, Sweep, Target
    from karat.lab.cost import CostModel, Estimate

Assumption = Literal["gaussian", "bounded"]
Grid = Annotated[
    list[str] | None,
    typer.Option(
        "--grid", metavar="KEY=VALUES", help="An axis: d=1000,2000 or mu=1:10:10[:log]; repeatable."
    ),
]
Adaptive = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE=LEVEL", help="Stop the seeds of a config when its side of the level is known."
    ),
]


def sweep(
    experiment: ExperimentName,
    grid: Grid = None,
    scale: Scale = "quick",
    seeds: Seeds = None,
    settings: Settings = None,
    adaptive: Adaptive = None,
    confidence: Annotated[float, typer.Option(help="Of the intervals, with --adaptive.")] = 0.95,
    assume: Annotated[
        Assumption, typer.Option(help="Of the values over seeds (bounded: in [0, 1]), with --adaptive.")
    ] = "gaussian",
    least: Annotated[int, typer.Option(help="Seeds before the first verdict, with --adaptive.")] = 3,
    estimate: Annotated[bool, typer.Option("--estimate", help="Only say what it would cost.")] = False,
    device: Device = "cpu",
    store: StorePath = None,
    workers: Workers = None,
    engine: EngineChoice = "local",
    scheduler: Scheduler = None,
    cell_limit: CellLimit = None,
    fresh: Fresh = False,
    json: Json = False,
) -> None:
    """Run an experiment on a grid; the preset's own axes are its default. The same command resumes.\f

    Args:
        experiment: its name.
        grid: texts KEY=VALUES.
        scale: preset with everything that is not said.
        seeds: how many instead of the preset's.
        settings: texts KEY=VALUE.
        adaptive: VALUE=LEVEL: stop the seeds of a config when its side of the level is known.
        confidence: of these intervals.
        assume: what they assume of the values.
        least: seeds before the first verdict.
        estimate: only say what it would cost.
        device: cpu or cuda.
        store: the store's file.
        workers: processes.
        engine: what computes.
        scheduler: address of a Dask scheduler.
        cell_limit: time after which a cell is stopped.
        fresh: compute again what other source code has computed.
        json: print strict JSON.
    """
    from karat.api import plan_sweep
    from karat.lab import run_sweep

    chosen = engine_named(engine, scheduler, workers, cell_limit)
    question = experiment_named(experiment)
    with bad_input():
        target = _target(adaptive, confidence, assume, least)
        fixed = overrides(question, settings, device)
        planned = plan_sweep(experiment, scale, seeds, _axes(grid), fixed, target)
    estimates: list[Estimate] = []
    progress = bar()
    workers_at_once = getattr(chosen, "workers", 1)

    def tell(cost: "Estimate", model: "CostModel") -> None:
        estimates.append(cost)
        progress.expect(lambda record: model.seconds(record.config), cost.seconds)
        print(f"karat: {cost_line(cost, workers_at_once, adaptive is not None)}", file=sys.stderr)

    with open_store(store) as opened:
        mention_other_source(opened, planned.cells, fresh)
        with resumable(opened, planned.cells):
            outcome = run_sweep(
                planned,
                opened,
                chosen,
                progress=progress,
                fresh=fresh,
                calibrated=tell,
                only_calibrate=estimate,
            )
        _print(planned, outcome, estimates, opened, json)
    require_success(outcome.failed, outcome.planned)


def cost_line(cost: "Estimate", workers: int, adaptive: bool) -> str:
    """Return "180 cells to go: about 0:36:00 of CPU time (90 %: 0:30:00 to 0:45:00), ...".

    Args:
        cost: of the cells still to be computed.
        workers: that share them.
        adaptive: whether fewer cells may do.
    """
    spans = [str(timedelta(seconds=round(s))) for s in (cost.seconds, cost.low, cost.high)]
    wall = timedelta(seconds=round(cost.seconds / max(workers, 1)))
    most = "at most " if adaptive else ""
    shared = f", {wall} on {workers} workers" if workers > 1 else ""
    return (
        f"{most}{cost.cells} cells to go: about {spans[0]} of CPU time{shared} "
        f"(90 %: {spans[1]} to {spans[2]}, from {cost.measured} configs)."
    )


def _axes(grid: list[str] | None) -> dict[str, str]:
    axes: dict[str, str] = {}
    for text in grid or []:
        key, equals, values = text.partition("=")
        if not equals or not key.strip() or not values.strip():
            raise Failure(f"`--grid` must be KEY=VALUES, such as d=1000,2000, got {text!r}.", BAD_INPUT)
        if key.strip() in axes:
            raise Failure(f"`--grid {key.strip()}` is given twice: list all its values in one.", BAD_INPUT)
        axes[key.strip()] = values.strip()
    return axes


def _target(text: str | None, confidence: float, assume: Assumption, least: int) -> "Target | None":
    if text is None:
        return None
    from karat.lab import Target

    name, equals, edge = text.partition("=")
    try:
        level = float(edge)
    except ValueError:
        equals = ""
        level = 0.0
    if not equals or not name.strip():
        message = f"`--adaptive` must be VALUE=LEVEL, such as robust_error=0.3, got {text!r}."
        raise Failure(message, BAD_INPUT)
    return Target(value=name.strip(), level=level, confidence=confidence, assume=assume, least=least)


def _print(
    planned: "Sweep", outcome: "Outcome", estimates: Sequence["Estimate"], store: "Store", json: bool
) -> None:
    target = planned.target
    if json:
        body: dict[str, Any] = {
            "experiment": planned.experiment,
            "scale": planned.scale,
            "axes": planned.axes,
            "seeds": planned.seeds,
            **{name: value for name, value in vars(outcome).items() if name != "failed"},
            "estimate": vars(estimates[0]) if estimates else None,
            "adaptive": vars(target) | {"method": target.method} if target else None,
            "store": str(store.path),
        }
        print_json(body)
        return
    axes = [f"{name} ({len(values)})" for name, values in planned.axes.items()]
    stored = ", ".join(f"{count} {status}" for status, count in sorted(outcome.statuses.items()))
    pairs = [
        ("experiment", f"{planned.experiment}, scale {planned.scale}"),
        ("grid", f"{' x '.join(axes) or 'one config'}, {planned.seeds} seeds"),
        ("cells", f"{stored or 'none'} of {outcome.planned}; {outcome.computed} computed now"),
    ]
    if target:
        sides = ", ".join(f"{outcome.sides.get(side, 0)} {side}" for side in ("above", "below", "open"))
        pairs += [
            ("adaptive", f"{target.value} against {number(target.level)}: {sides}"),
            ("saved", f"{outcome.saved} cells"),
            ("method", f"{target.method}; {100 * target.confidence:g} % per config, whenever its seeds stop"),
        ]
    print_pairs([*pairs, ("records", str(store.path)), ("maps", "karat report")])
