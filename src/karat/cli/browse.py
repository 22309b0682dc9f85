"""Commands that only look: papers, claims, experiments."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli.catalogue import experiment_facts
from karat.cli.errors import BAD_INPUT, Failure
from karat.cli.options import Json, PaperKey, StorePath
from karat.cli.output import print_json, print_table, with_ends
from karat.cli.verdicts import stored_verdicts
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
    executable = study.executable_ids()
    if json:
        print_json([statement_facts(item.id) for item in chosen])
        return
    rows = [
        [item.id, item.kind, "executable" if item.id in executable else "stated", item.title]
        for item in chosen
    ]
    print_table(["claim", "kind", "status", "statement"], rows)


def _print_verdicts(ids: list[str], store: Path | None, json: bool) -> None:
    judged = stored_verdicts(store)
    if json:
        print_json([judged[claim_id] for claim_id in ids])
        return
    rows = []
    for claim_id in ids:
        claim = judged[claim_id]
        measured = with_ends(claim["measured"], claim["interval"])
        verdict = claim["verdict"] or "not run"
        rows.append([claim_id, verdict, number(claim["predicted"]), measured, claim["title"]])
    print_table(["claim", "verdict", "predicted", "measured", "statement"], rows)


def statement_facts(claim_id: str) -> dict[str, Any]:
    """Return what the paper says and how it stands to other statements, as JSON; needs no check.

    Args:
        claim_id: of the statement.
    """
    from karat import study

    statement = study.get_statement(claim_id)
    names = ("id", "paper", "title", "kind", "ref", "line", "origin")
    return {name: getattr(statement, name) for name in names} | {
        "relations": study.relations(claim_id),
        "status": "executable" if claim_id in study.executable_ids() else "stated",
    }


def experiments(paper: PaperKey = None, json: Json = False) -> None:
    """List the experiments: what `run`, `sweep` and `table` take, and how many claims read each."""
    keys = paper_keys(paper)
    chosen = [facts for facts in experiment_facts().values() if facts["paper"] in keys]
    if json:
        print_json(chosen)
        return
    rows = [[facts["name"], facts["part"], str(facts["claims"]), facts["title"]] for facts in chosen]
    print_table(["experiment", "part", "claims", "question"], rows)


def paper_keys(paper: str | None) -> list[str]:
    """Return the key itself, or all keys; an unknown one is bad input."""
    from karat.study.registry import PAPERS

    if paper is None:
        return list(PAPERS)
    if paper not in PAPERS:
        raise Failure(f"there is no paper `{paper}`; the papers are {', '.join(PAPERS)}.", BAD_INPUT)
    return [paper]
