"""Sabotage: where the reason of a statement is taken away, its check must not say that it holds."""

import pytest

from karat.lab.execute import execute
from karat.study.claim import judge_claim
from karat.study.lookup import find_experiment
from karat.study.plan import control_cells
from karat.study.registry import CHECKS, get_statement

SURVIVED_BEFORE = {
    "convergence.thm5.1.gap": "sign",  # the loss of the start counts, so uphill is as good as not at all
    "convergence.thm5.2.built": "learner",
    "features.tab1": "sign",
    "features.fig5": "sign",
    "features.fig6": "sign",
    "features.lem6": "labels",
    "features.cor3": "learner",
    "features.thm2": "learner",
    "lazy.cor3.2": "ball",
    "purification.sec3.linear": "learner",
}
"""Claims that once held without this ingredient."""


def theory(check):
    return all(find_experiment(name).part == "theory" for name in check.names) and "quick" in check.scales


CONTROLLED = sorted({check.name for check in CHECKS.values() if check.controls and theory(check)})


def test_every_check_has_a_control():
    assert [claim_id for claim_id, check in CHECKS.items() if not check.controls] == []


@pytest.mark.parametrize(("claim_id", "ingredient"), SURVIVED_BEFORE.items())
def test_known_sabotages_are_controls(claim_id, ingredient):
    assert ingredient in {control.removes for control in CHECKS[claim_id].controls}


def test_controls_have_names_of_their_own_and_reasons():
    for claim_id, check in CHECKS.items():
        names = [control.name for control in check.controls]
        assert len(names) == len(set(names)), claim_id
        assert all(control.why for control in check.controls), claim_id


@pytest.mark.slow
@pytest.mark.parametrize("experiment", CONTROLLED)
def test_no_check_holds_without_its_reason(experiment):
    computed = {}
    for claim_id, check in CHECKS.items():
        if check.name != experiment or not theory(check):
            continue
        for control in check.controls:
            cells = control_cells(check, control, "quick")
            for cell in cells:
                if cell.key not in computed:
                    computed[cell.key] = execute(cell, show_traceback=True)
            records = [computed[cell.key] for cell in cells]
            assert [record.error for record in records if record.status == "failed"] == []
            # Judged with the control's own records in both places: only the outcome of the control counts.
            claim = judge_claim(get_statement(claim_id), check, records, "quick", {control.name: records})
            outcome = next(one for one in claim.controls if one.control.name == control.name)
            assert not outcome.holds, (claim_id, control.name, outcome.measured)
