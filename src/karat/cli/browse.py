"""Commands that only look: papers, claims, experiments, show."""

import inspect
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli.errors import BAD_INPUT, Failure, bad_input
from karat.cli.options import Json, PaperKey, StorePath
from karat.cli.output import print_json, print_pairs, print_table, with_interval
from karat.cli.session import open_store
from karat.core.texts import number

if TYPE_CHECKING:
    from karat.study.claim import Check
    from karat.study.paper import Paper


def papers(json: Json = False) -> None:
    """List the papers and how many of their statements can be run."""
    from karat import study

    covered = study.coverage()
    if json:
        print_json(
            [
                _facts(paper) | {"executable": covered[key].executable, "statements": covered[key].total}
                for key, paper in study.PAPERS.items()
            ]
        )
        return
    rows = [
        [
            key,
            paper.title,
            ", ".join(paper.authors),
            f"{paper.venue} {paper.year}",
            f"{covered[key].executable} of {covered[key].total}",
        ]
        for key, paper in study.PAPERS.items()
    ]
    print_table(["paper", "title", "authors", "venue", "executable"], rows)


def _facts(paper: "Paper") -> dict[str, Any]:
    """What is known of a paper, as JSON."""
    return {name: getattr(paper, name) for name in ("key", "title", "authors", "venue", "year", "file")}


def claims(
    paper: PaperKey = None,
    verdicts: Annotated[bool, typer.Option("--verdicts", help="Judge on what the store holds.")] = False,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """List the statements of the papers: `executable` ones can be checked, the others are only stated."""
    from karat import study as layer

    keys = paper_keys(paper)
    chosen = [statement for statement in layer.STATEMENTS if statement.paper in keys]
    if verdicts:
        _print_verdicts([statement.id for statement in chosen], store, json)
        return
    if json:
        # What is reported stands in the checks, and behind those stands torch.
        found = [layer.judge_claim(statement, layer.CHECKS.get(statement.id), []) for statement in chosen]
        print_json([layer.claim_json(claim) for claim in found])
        return
    rows = [
        [item.id, item.kind, "executable" if item.id in layer.executable_ids() else "stated", item.title]
        for item in chosen
    ]
    print_table(["claim", "kind", "status", "statement"], rows)


def _print_verdicts(ids: list[str], store: Path | None, json: bool) -> None:
    from karat import study as layer
    from karat.report.collect import collect
    from karat.study.registry import EXPERIMENTS

    with open_store(store, read_only=True) as place:
        judged = {item.claim.id: item for item in collect(place, None, layer.CHECKS, EXPERIMENTS).judged}
    found = [judged[claim_id] for claim_id in ids]
    if json:
        print_json([layer.claim_json(item.claim) for item in found])
        return
    rows = []
    for item in found:
        claim = item.claim
        measured = with_interval(claim.measured, claim.interval)
        rows.append([claim.id, item.verdict, number(claim.predicted), measured, claim.title])
    print_table(["claim", "verdict", "predicted", "measured", "statement"], rows)


def experiments(paper: PaperKey = None, json: Json = False) -> None:
    """List the experiments: what `run`, `sweep` and `table` take, and how many claims read each."""
    from karat import study as layer
    from karat.study.registry import EXPERIMENTS

    keys = paper_keys(paper)
    readers = Counter(check.name for check in layer.CHECKS.values())
    chosen = [experiment for experiment in EXPERIMENTS.values() if experiment.paper in keys]
    if json:
        print_json(
            [
                {
                    "name": e.name,
                    "paper": e.paper,
                    "title": e.title,
                    "part": e.part,
                    "claims": readers[e.name],
                }
                for e in chosen
            ]
        )
        return
    print_table(
        ["experiment", "part", "claims", "question"],
        [[e.name, e.part, str(readers[e.name]), e.title] for e in chosen],
    )


def show(
    claim_id: Annotated[str, typer.Argument(metavar="ID", help="Such as benign.thm3.1.3.")],
    json: Json = False,
) -> None:
    """Show one claim: what the paper says, how it is read, which experiment checks it, where its code is."""
    from karat import study as layer

    with bad_input():
        statement = layer.get_statement(claim_id)
    check = layer.CHECKS.get(claim_id)
    if json:
        claim = layer.claim_json(layer.judge_claim(statement, check, []))
        how: dict[str, Any] = {"experiment": None, "reading": "", "scales": []}
        if check:
            how = {"experiment": check.name, "reading": check.reading, "scales": check.scales}
            how |= {"code": _places(check)}
        print_json(claim | {"ref": statement.ref} | how)
        return
    pairs = [
        ("claim", statement.id),
        ("statement", statement.title),
        ("kind", statement.kind),
        ("where", f"{statement.ref} ({layer.PAPERS[statement.paper].title})"),
        ("status", "executable" if check else "stated (no check yet)"),
    ]
    if check:
        pairs += [
            ("reported", number(check.reported)),
            ("reading", check.reading),
            ("experiment", check.name),
            ("code", ", ".join(_places(check))),
            ("scales", ", ".join(check.scales)),
            ("to check it", f"karat check {statement.id}"),
        ]
    print_pairs(pairs)


def _places(check: "Check") -> list[str]:
    """Where the statement is judged and where its experiment runs: file and line."""
    from karat.study.lookup import find_experiment

    found = []
    for function in (check.evaluate, find_experiment(check.name).run):
        while isinstance(function, partial):
            function = function.func
        code = inspect.unwrap(function).__code__
        folder = Path(__file__).parents[2]
        file = Path(code.co_filename)
        shown = file.relative_to(folder) if file.is_relative_to(folder) else file
        found.append(f"{shown}:{code.co_firstlineno}")
    return found


def paper_keys(paper: str | None) -> list[str]:
    """Return the key itself, or all keys; an unknown one is bad input."""
    from karat.study.registry import PAPERS

    if paper is None:
        return list(PAPERS)
    if paper not in PAPERS:
        raise Failure(f"there is no paper `{paper}`; the papers are {', '.join(PAPERS)}.", BAD_INPUT)
    return [paper]
