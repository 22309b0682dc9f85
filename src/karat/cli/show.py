"""The command `show`: everything that is known of one claim.

Hypotheses, controls and code of a check need its paper, and with it torch; statement and relations do not.
All is printed together, so after a change of the source the first `show` takes seconds, the next ones do not.
"""

from pathlib import Path
from typing import Any

from karat.cli.browse import statement_facts
from karat.cli.catalogue import check_facts
from karat.cli.errors import bad_input
from karat.cli.options import ClaimId, Json, StorePath
from karat.cli.output import print_json, print_pairs, with_ends
from karat.core.texts import number
from karat.study.trace import margins

Pairs = list[tuple[str, str]]


def show(claim_id: ClaimId, store: StorePath = None, json: Json = False) -> None:
    """Show one claim: statement, relations, hypotheses, controls, reading, code, and its verdict if it ran.\f

    Args:
        claim_id: its id.
        store: the store's file.
        json: print strict JSON.
    """
    with bad_input():
        statement = statement_facts(claim_id)
    check = check_facts(claim_id)
    claim = _verdict(claim_id, check, store)
    if json:
        unchecked: dict[str, Any] = {"reported": None, "experiment": None, "reading": "", "scales": []}
        print_json(statement | (check or unchecked) | {"claim": claim})
        return
    pairs = _statement_lines(statement)
    if statement["status"] == "executable" and not check:
        pairs.append(("check", "cannot be loaded: its package is broken"))
    if check:
        pairs += _check_lines(check, claim) + _verdict_lines(claim)
        pairs.append(("to check it", f"karat check {claim_id}"))
    print_pairs(pairs)


def _verdict(claim_id: str, check: dict[str, Any] | None, store: Path | None) -> dict[str, Any] | None:
    """The claim as it stands on the records of the store; None if nothing of it has run."""
    from karat.lab.store import default_path

    if check is None or not (store or default_path()).exists():
        return None
    from karat.cli.session import open_store
    from karat.cli.verdicts import stored_verdicts

    with open_store(store, read_only=True) as opened:
        if not opened.statuses(check["experiment"]):
            return None
    judged: dict[str, Any] = stored_verdicts(store)[claim_id]
    return judged


def _statement_lines(facts: dict[str, Any]) -> Pairs:
    from karat.study.registry import PAPERS

    origin = "karat's own sentence beside the paper" if facts["origin"] == "karat" else "the paper"
    status = facts["status"] if facts["status"] == "executable" else "stated (no check yet)"
    return [
        ("claim", facts["id"]),
        ("statement", facts["title"]),
        ("kind", facts["kind"]),
        ("origin", origin),
        ("where", f"{facts['ref']} ({PAPERS[facts['paper']].title})"),
        *((name, ", ".join(ids)) for name, ids in facts["relations"].items()),
        ("status", status),
    ]


def _check_lines(facts: dict[str, Any], claim: dict[str, Any] | None) -> Pairs:
    # A margin may depend on the settings: those of the check's examples stand in until something has run.
    steps = margins(claim["trace"]) if claim and claim["trace"] else facts["margins"]
    pairs = [
        ("reported", number(facts["reported"])),
        ("reading", facts["reading"]),
        ("judged by", ", ".join(facts["rules"])),
        *(("rule", step) for step in steps),
        ("hypotheses", _hypotheses(facts)),
        *((entry["status"], _hypothesis(entry)) for entry in facts["ledger"]),
        *(("control", _control(control)) for control in facts["controls"]),
        ("experiment", ", ".join([facts["experiment"], *facts["beside"]])),
        ("code", ", ".join(facts["code"])),
        ("scales", ", ".join(facts["scales"])),
    ]
    return pairs


def _hypotheses(facts: dict[str, Any]) -> str:
    if facts["ledger_error"]:
        return f"error: {facts['ledger_error']}"
    return f"at the settings of scale {facts['ledger_scale']}:" if facts["ledger"] else "none"


def _hypothesis(entry: dict[str, Any]) -> str:
    value, bound = entry["value"], entry["bound"]
    numbers = "" if value is None or bound is None else f" ({number(value)} against {number(bound)})"
    note = f": {entry['note']}" if entry["note"] else ""
    some = entry["unmet"] and entry["settings"] > 1
    return entry["name"] + numbers + note + (f", at {entry['unmet']} of {entry['settings']}" if some else "")


def _control(control: dict[str, Any]) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in control["settings"].items())
    takes = f"removes {control['removes']}" + (f" by {settings}" if settings else "")
    return f"{control['name']} ({takes}): {control['why']}"


def _verdict_lines(claim: dict[str, Any] | None) -> Pairs:
    if claim is None:
        return [("verdict", "not run")]
    unit = f" ({claim['unit']})" if claim["unit"] else ""
    stands = {True: "stands", False: "does not stand", None: ""}[claim["survives_holm"]]
    resolution = claim["resolution"] if claim["verdict"] in ("holds", "fails") else None
    said = {True: "HOLDS AS WELL", False: "does not hold", None: "not run, or without an answer"}
    settling = claim["settling"] or {"text": ""}
    return [
        ("predicted", number(claim["predicted"]) and number(claim["predicted"]) + unit),
        ("measured", with_ends(claim["measured"], claim["interval"])),
        ("verdict", claim["verdict"] or ("error" if claim["error"] else "not run")),
        ("p-value", number(claim["p_value"], digits=2)),
        ("would see", f"a deviation of {number(resolution)}{unit}" if resolution else ""),
        ("all claims", f"{stands} at 95 % when all are taken together (Holm)" if stands else ""),
        ("would settle", settling["text"]),
        *(("control", f"{one['control']['name']}: {said[one['holds']]}") for one in claim["controls"]),
        ("caveat", claim["caveat"]),
        ("records", f"{claim['scale']}, {claim['seeds']} seeds" if claim["seeds"] else ""),
    ]
