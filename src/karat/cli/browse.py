"""Commands that only look: papers, claims, show."""

from typing import Annotated, Any

import typer

from karat.cli.errors import BAD_INPUT, Failure, bad_input
from karat.cli.options import Json, PaperKey
from karat.cli.output import number, print_json, print_pairs, print_table


def papers(json: Json = False) -> None:
    """List the papers and how many of their statements can be run."""
    from karat import claims

    covered = claims.coverage()
    if json:
        print_json(
            [
                vars(paper) | {"executable": covered[key].executable, "statements": covered[key].total}
                for key, paper in claims.PAPERS.items()
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
        for key, paper in claims.PAPERS.items()
    ]
    print_table(["paper", "title", "authors", "venue", "executable"], rows)


def claims(paper: PaperKey = None, json: Json = False) -> None:
    """List the statements of the papers: `executable` ones can be checked, the others are only stated."""
    from karat import claims as layer

    keys = paper_keys(paper)
    chosen = [statement for statement in layer.STATEMENTS if statement.paper in keys]
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


def show(
    claim_id: Annotated[str, typer.Argument(metavar="ID", help="Such as benign.thm3.1.3.")],
    json: Json = False,
) -> None:
    """Show one claim: what the paper says, how it is read, and which experiment checks it."""
    from karat import claims as layer

    with bad_input():
        statement = layer.get_statement(claim_id)
    check = layer.CHECKS.get(claim_id)
    if json:
        claim = layer.claim_json(layer.judge_claim(statement, check, []))
        how: dict[str, Any] = {"experiment": None, "reading": "", "scales": []}
        if check:
            how = {"experiment": check.experiment, "reading": check.reading, "scales": check.scales}
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
            ("experiment", check.experiment),
            ("scales", ", ".join(check.scales)),
            ("to check it", f"karat check {statement.id}"),
        ]
    print_pairs(pairs)


def paper_keys(paper: str | None) -> list[str]:
    """Return the key itself, or all keys; an unknown one is bad input."""
    from karat.claims import PAPERS

    if paper is None:
        return list(PAPERS)
    if paper not in PAPERS:
        raise Failure(f"there is no paper `{paper}`; the papers are {', '.join(PAPERS)}.", BAD_INPUT)
    return [paper]
