"""Commands about whole papers: reproduce, report."""

from pathlib import Path

from karat.cli.browse import paper_keys
from karat.cli.errors import BAD_INPUT, Failure, bad_input
from karat.cli.options import (
    EngineName,
    Fresh,
    Json,
    Out,
    PaperKey,
    ReportScale,
    Scale,
    Scheduler,
    Seeds,
    StorePath,
    Workers,
)
from karat.cli.output import number, print_json, print_pairs, print_table, with_interval
from karat.cli.session import (
    bar,
    engine_named,
    mention_other_source,
    open_store,
    require_success,
    resumable,
)


def reproduce(
    paper: PaperKey = None,
    scale: Scale = "quick",
    seeds: Seeds = None,
    store: StorePath = None,
    workers: Workers = None,
    engine: EngineName = "local",
    scheduler: Scheduler = None,
    fresh: Fresh = False,
    out: Out = Path("report"),
    json: Json = False,
) -> None:
    """Run everything behind the executable claims, cheap experiments first, and write the report."""
    from karat import api, claims
    from karat.report.build import build

    chosen = engine_named(engine, scheduler, workers)
    keys = paper_keys(paper)
    with bad_input():
        planned = api.plan(keys, scale, seeds)
        require_folder(out)
    if not planned:
        raise Failure(f"no claim of {', '.join(keys)} can be run at scale `{scale}` yet.")
    wanted = [cell for group in planned.values() for cell in group]
    pages: list[Path] = []
    with open_store(store) as place:
        mention_other_source(place, wanted, fresh)
        with resumable(place, wanted):
            found = api.reproduce(
                planned,
                keys,
                scale,
                place,
                engine=chosen,
                progress=bar(),
                fresh=fresh,
                after=lambda experiment: pages.append(build(place, out, scale)),
            )
            page = pages[-1] if pages else build(place, out, scale)
        records = [record for cell in wanted if (record := place.get(cell))]
    if json:
        print_json({"claims": [claims.claim_json(claim) for claim in found], "report": str(page)})
    else:
        rows = [
            [
                claim.id,
                claim.verdict or "not run",
                number(claim.reported),
                number(claim.predicted),
                with_interval(claim.measured, claim.interval),
            ]
            for claim in found
        ]
        print_table(["claim", "verdict", "reported", "predicted", "measured"], rows)
        print_pairs([("report", str(page)), ("records", str(place.path))])
    require_success(records)


def report(
    store: StorePath = None, scale: ReportScale = None, out: Out = Path("report"), json: Json = False
) -> None:
    """Write the report of everything in the store, without running anything; also while a sweep runs."""
    from karat.claims.claim import SCALES
    from karat.report.build import build

    if scale is not None and scale not in SCALES:
        raise Failure(f"`--scale` must be one of {', '.join(SCALES)}, got {scale!r}.", BAD_INPUT)
    with bad_input():
        require_folder(out)
    with open_store(store, read_only=True) as place:
        page = build(place, out, scale)
    if json:
        print_json({"report": str(page)})
    else:
        print_pairs([("report", str(page))])


def require_folder(folder: Path) -> None:
    """Make the folder and try to write into it, before anything is computed."""
    probe = folder / ".writable"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise ValueError(f"{folder}: the folder cannot be written ({error.strerror}).") from error
