"""Every check can say `holds` and `fails`, by the rule of its kind; an inverted one is caught."""

from dataclasses import replace

import pytest

from karat.contract.examples import example_faults
from karat.contract.source import made_by_hand, source_faults
from karat.study.plan import plan_claim
from karat.study.registry import CHECKS, PAPERS, get_statement

FLIPPED = {"holds": "fails", "fails": "holds"}


def faults(check):
    return [f"{one.rule}: {one.reason}" for one in example_faults(check, get_statement(check.claim_id))]


@pytest.mark.parametrize("claim_id", list(CHECKS))
def test_a_check_keeps_the_contract(claim_id):
    assert faults(CHECKS[claim_id]) == []


@pytest.mark.parametrize("claim_id", list(CHECKS))
def test_an_inverted_check_is_caught(claim_id):
    check = CHECKS[claim_id]

    def inverted(runs):
        finding = check.evaluate(runs)
        return replace(finding, outcome=FLIPPED.get(finding.outcome, finding.outcome))

    assert any(fault.startswith("examples") for fault in faults(replace(check, evaluate=inverted)))


@pytest.mark.parametrize("stuck", ["holds", "fails", "inconclusive"])
@pytest.mark.parametrize("claim_id", list(CHECKS))
def test_a_check_that_always_says_the_same_is_caught(claim_id, stuck):
    check = CHECKS[claim_id]

    def constant(runs):
        return replace(check.evaluate(runs), outcome=stuck)

    assert faults(replace(check, evaluate=constant)) != []


@pytest.mark.parametrize("key", list(PAPERS))
def test_outcomes_are_made_in_one_place(key):
    """No module of a paper builds a finding or sets an outcome by hand."""
    assert list(source_faults(PAPERS[key])) == []


@pytest.mark.parametrize(
    "line",
    [
        "Finding(outcome=x)",
        "replace(f, leaning=x)",
        "replace(f, **{'outcome': x})",
        "replace(f, interval=None)",
    ],
)
def test_outcomes_made_by_hand_are_seen(line):
    assert made_by_hand(f"a = 1\nb = {line}") == [2]


@pytest.mark.parametrize("claim_id", list(CHECKS))
def test_the_hypotheses_of_a_check_are_named_at_every_preset(claim_id):
    check = CHECKS[claim_id]
    for scale in check.scales:
        for condition in check.conditions(check.experiment.preset(scale).config):
            assert condition.name
            assert condition.status in ("met", "unmet", "waived", "not checkable")
            assert condition.status != "waived" or condition.note


@pytest.mark.parametrize("claim_id", list(CHECKS))
def test_a_check_and_its_controls_can_be_planned_at_every_scale(claim_id):
    for scale in CHECKS[claim_id].scales:
        assert plan_claim(CHECKS[claim_id], scale).every


def test_relations_resolve():
    known = {statement.id for paper in PAPERS.values() for statement in paper.statements}
    for paper in PAPERS.values():
        for statement in paper.statements:
            for ids in statement.relations.values():
                assert set(ids) <= known, statement.id
                assert statement.id not in ids
