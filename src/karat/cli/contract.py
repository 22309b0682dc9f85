"""The commands for a paper of one's own: contract, new-paper."""

from pathlib import Path
from typing import Annotated

import typer

from karat.cli.errors import BAD_INPUT, Failure
from karat.cli.inputs import allow_own_code
from karat.cli.options import Json
from karat.cli.output import print_json, print_table


def contract(
    name: Annotated[str, typer.Argument(metavar="KEY", help="Key of a paper, or a package with a PAPER.")],
    experiment: Annotated[
        list[str] | None, typer.Option(help="Run only this experiment; repeatable; default all.")
    ] = None,
    json: Json = False,
) -> None:
    """Judge the package of a paper: ids, presets, seeds, records, verdicts; runs its tiny sizes.\f

    Args:
        name: key of a paper, or a package with a PAPER.
        experiment: run only these.
        json: print strict JSON.
    """
    from karat.contract import Fault, judge_paper, paper_at

    allow_own_code()
    try:
        paper = paper_at(name)
        for chosen in experiment or ():
            if chosen not in paper.experiments:
                listed = ", ".join(paper.experiments)
                raise Failure(f"`{name}` has no experiment `{chosen}`; it has {listed}.", BAD_INPUT)
        faults = list(judge_paper(paper, experiment))
    except LookupError as error:
        raise Failure(str(error.args[0]), BAD_INPUT) from error
    except ValueError as error:
        faults = [Fault(subject=name, rule="package", reason=str(error))]
    if json:
        print_json([vars(fault) for fault in faults])
    else:
        rows = [[fault.subject, fault.level, fault.rule, fault.reason] for fault in faults]
        print_table(["subject", "level", "rule", "what was seen"], rows)
        if not faults:
            print(f"`{name}` keeps the contract.")
    broken = sum(fault.level == "violation" for fault in faults)
    if broken:
        raise Failure(f"`{name}` breaks the contract in {broken} place{'s' if broken > 1 else ''}.")


def new_paper(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The word its claims begin with.")],
    folder: Annotated[Path, typer.Option(help="Where the package's folder is made.")] = Path("."),
) -> None:
    """Write a package for a paper of your own: one statement, one experiment, one check, one test."""
    from karat.cli.new_paper import write_package
    from karat.study.outside import key_fault
    from karat.study.registry import PAPERS

    fault = key_fault(key)
    if fault is None and key in PAPERS:
        fault = f"the key `{key}` belongs to the paper in `{PAPERS[key].package}`; choose another."
    if fault:
        raise Failure(fault, BAD_INPUT)
    home = folder / f"karat-{key}"
    if home.exists():
        raise Failure(f"{home} exists already; move it away or choose another --folder.", BAD_INPUT)
    try:
        write_package(key, home)
    except OSError as error:
        raise Failure(f"{home} cannot be written ({error.strerror}).", BAD_INPUT) from error
    print(f"{home} is written; next:\n  pip install -e {home}\n  karat check {key}.thm1 --scale tiny")
