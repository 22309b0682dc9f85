"""The command `replay`: a random sample of somebody's records computed again."""

from pathlib import Path
from typing import Annotated

import typer

from karat.cli.errors import BAD_INPUT, Failure
from karat.cli.options import CellLimit, EngineChoice, Json, Scheduler, Workers
from karat.cli.output import print_json, print_pairs
from karat.cli.session import bar, engine_named, open_store

_SHOWN = 20


def replay(
    store: Annotated[Path, typer.Argument(help="Store of somebody, which is only read.")],
    sample: Annotated[int, typer.Option(help="How many records to compute again.")] = 300,
    tolerance: Annotated[float, typer.Option(help="Relative deviation that counts as rounding.")] = 1e-9,
    seed: Annotated[int | None, typer.Option(help="Of the random sample; default a new one.")] = None,
    experiment: Annotated[str | None, typer.Option(help="Only records of this experiment.")] = None,
    workers: Workers = None,
    engine: EngineChoice = "local",
    scheduler: Scheduler = None,
    cell_limit: CellLimit = None,
    json: Json = False,
) -> None:
    """Compute a random sample of a store's records again, and say how many of all may be wrong.\f

    Args:
        store: the store's file.
        sample: how many records.
        tolerance: relative deviation that counts as rounding.
        seed: of the sample.
        experiment: only records of this one.
        workers: processes.
        engine: what computes.
        scheduler: address of a Dask scheduler.
        cell_limit: time after which a cell is stopped.
        json: print strict JSON.
    """
    from karat.lab.replay import replay as compute_again

    if sample < 1:
        raise Failure(f"`--sample` must be a whole number >= 1, got {sample}.", BAD_INPUT)
    if not 0 <= tolerance < 1:
        raise Failure(f"`--tolerance` must be at least 0 and below 1, got {tolerance}.", BAD_INPUT)
    chosen = engine_named(engine, scheduler, workers, cell_limit)
    with open_store(store, read_only=True) as opened:
        records = opened.records(experiment)
    if not records:
        raise Failure(f"{store} holds no records{f' of `{experiment}`' if experiment else ''}.", BAD_INPUT)
    found = compute_again(records, sample, tolerance=tolerance, seed=seed, engine=chosen, progress=bar())
    wrong = [f"{r.experiment}, config {r.config_hash}, seed {r.seed}: {why}" for r, why in found.differing]
    high = None if found.share is None else found.share.high
    if json:
        plain = {"records": found.records, "replayed": found.replayed, "unknown": found.unknown}
        seen = {"differing": wrong, "share_at_most": high, "largest_deviation": found.largest}
        print_json(plain | seen | {"seed": found.seed})
    else:
        most = "" if high is None else f"{high:.2%} of the {found.records} records, with 97.5 % confidence"
        pairs = [
            ("replayed", f"{found.replayed} of {found.records} records"),
            ("not known here", str(found.unknown) if found.unknown else ""),
            ("differing", str(len(wrong))),
            ("wrong at most", most),
            ("largest rounding", f"{found.largest:.1e}"),
            ("sample", f"--seed {found.seed}"),
        ]
        print_pairs([*pairs, *(("differs", line) for line in wrong[:_SHOWN])])
    if wrong:
        raise Failure(f"{len(wrong)} of {found.replayed} records are not what their cells give here.")
    if found.unknown:
        raise Failure(f"{found.unknown} of the sampled records cannot be computed here, and count as wrong.")
