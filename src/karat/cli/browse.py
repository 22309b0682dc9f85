"""Commands that only look: papers, claims, experiments, show."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli.catalogue import catalogue
from karat.cli.errors import BAD_INPUT, Failure, bad_input
from karat.cli.options import ClaimId, Json, PaperKey, StorePath
from karat.cli.output import print_json, print_pairs, print_table, with_interval
from karat.cli.session import open_store
from karat.core.texts import number

if TYPE_CHECKING:
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
    """List the statements of the papers: `executable` ones can be checked, the others are only stated.\f

    Args:
        paper: key of one paper; all by default.
        verdicts: judge them on what the store holds.
        store: the store's file.
        json: print strict JSON.
    """
    from karat import study

    keys = paper_keys(paper)
    chosen = [statement for statement in study.STATEMENTS if statement.paper in keys]
    if verdicts:
        _print_verdicts([statement.id for statement in chosen], store, json)
        return
    if json:
        known = catalogue()["claims"]
        print_json([known[statement.id]["claim"] for statement in chosen])
        return
    executable = study.executable_ids()
    rows = [
        [item.id, item.kind, "executable" if item.id in executable else "stated", item.title]
        for item in chosen
    ]
    print_table(["claim", "kind", "status", "statement"], rows)


def _print_verdicts(ids: list[str], store: Path | None, json: bool) -> None:
    from karat import study
    from karat.report.collect import collect
    from karat.study.registry import EXPERIMENTS

    with open_store(store, read_only=True) as opened:
        content = collect(opened, None, study.CHECKS, EXPERIMENTS, others=False)
    judged = {item.claim.id: item for item in content.judged}
    if json:
        print_json([study.claim_json(judged[claim_id].claim) for claim_id in ids])
        return
    rows = []
    for claim_id in ids:
        claim = judged[claim_id].claim
        measured = with_interval(claim.measured, claim.interval)
        rows.append([claim.id, judged[claim_id].verdict, number(claim.predicted), measured, claim.title])
    print_table(["claim", "verdict", "predicted", "measured", "statement"], rows)


def experiments(paper: PaperKey = None, json: Json = False) -> None:
    """List the experiments: what `run`, `sweep` and `table` take, and how many claims read each."""
    keys = paper_keys(paper)
    chosen = [facts for facts in catalogue()["experiments"].values() if facts["paper"] in keys]
    if json:
        print_json(chosen)
        return
    rows = [[facts["name"], facts["part"], str(facts["claims"]), facts["title"]] for facts in chosen]
    print_table(["experiment", "part", "claims", "question"], rows)


def show(claim_id: ClaimId, json: Json = False) -> None:
    """Show one claim: what the paper says, how it is read, which experiment checks it, where its code is."""
    from karat import study

    with bad_input():
        statement = study.get_statement(claim_id)
    claim, check = (catalogue()["claims"][claim_id][part] for part in ("claim", "check"))
    if json:
        unchecked: dict[str, Any] = {"experiment": None, "reading": "", "scales": []}
        print_json(claim | {"ref": statement.ref} | (check or unchecked))
        return
    pairs = [
        ("claim", statement.id),
        ("statement", statement.title),
        ("kind", statement.kind),
        ("where", f"{statement.ref} ({study.PAPERS[statement.paper].title})"),
        ("status", "executable" if check else "stated (no check yet)"),
    ]
    if check:
        pairs += [
            ("reported", number(claim["reported"])),
            ("reading", check["reading"]),
            ("experiment", check["experiment"]),
            ("code", ", ".join(check["code"])),
            ("scales", ", ".join(check["scales"])),
            ("to check it", f"karat check {statement.id}"),
        ]
    print_pairs(pairs)


def paper_keys(paper: str | None) -> list[str]:
    """Return the key itself, or all keys; an unknown one is bad input."""
    from karat.study.registry import PAPERS

    if paper is None:
        return list(PAPERS)
    if paper not in PAPERS:
        raise Failure(f"there is no paper `{paper}`; the papers are {', '.join(PAPERS)}.", BAD_INPUT)
    return [paper]
