"""Sabotage: where the reason of a statement is taken away, its check must not say that it holds."""

import pytest

from karat.lab.execute import execute
from karat.study.claim import judge_claim
from karat.study.plan import check_cells, control_cells
from karat.study.registry import CHECKS, find_experiment, get_statement

OF_IMAGES = (
    "features.fig17", "features.fig18", "features.fig19", "features.fig21", "features.fig23",
    "lazy.sec5.2.beyond", "lazy.sec5.2.projection", "lazy.fig7.bell",
)  # fmt: skip
"""Claims about images, whose controls and placebos say other things with other images (`KARAT_DATA`)."""

SILENT = {
    "lazy.lemB.9": "the bound is vacuous at every size at which nets are drawn",
    **dict.fromkeys(("features.appF", "features.thm1"), "the rate is vacuous at every size that can be run"),
    **dict.fromkeys(("features.fig18", "features.fig19", "features.fig23"), "needs images that are not here"),
    "features.fig21": "one width at quick: the claim itself has no answer there",
}
"""Claims whose controls say nothing, and whose placebos do neither."""

NO_PLACEBO = {
    **SILENT,
    **dict.fromkeys(
        (
            "benign.fig4", "convergence.appD.constant", "convergence.lemA.2",
            "convergence.thm4.1.distance",
            "features.secE.1.1.scale", "features.secE.1.1.second", "features.tab1", "features.tab1.overfit",
            "features.tab2", "features.tab2.weighted", "features.tab3", "features.tab3.one-step",
            "features.tab4", "features.tab4.balanced", "features.tab5", "features.thm4",
            "lazy.alg1.line4", "lazy.eq7.subset", "lazy.fig2", "lazy.fig4.constant", "lazy.fig4.edge",
            "lazy.fig6", "lazy.fig7", "lazy.lemB.4", "lazy.sec5.1.error", "purification.fig9.random",
            "purification.sec5.purify", "purification.sec6.universal", "purification.lemE.2.zero",
            "purification.lemH.2", "purification.lemH.3", "purification.lemH.4", "purification.sec6.one-each",
            "purification.def5.5", "purification.lemG.5", "purification.claimG.6", "purification.sec6.chance",
            "purification.thm5.3a.weak", "purification.lemB.2", "purification.thmE.1", "purification.thm5.4",
            "purification.thmF.1", "purification.corF.2", "purification.eqF.17",
            "purification.lemF.15", "purification.lemF.16",
        ),
        "the claim fails",
    ),
    **dict.fromkeys(
        (
            "benign.thm3.1.1", "features.fig20", "features.fig22", "features.fig26",
            "features.lem23.lp", "features.tab7", "purification.cor5.7",
            "purification.thm5.2",
            "purification.thmC.1", "purification.thmC.2",
        ),
        "the claim is out of its regime, and leans to fail there",
    ),
    **dict.fromkeys(
        (
            "benign.fig6", "features.fig7", "features.fig11", "lazy.fig3", "lazy.fig4.radius",
            "purification.eq6.2", "purification.sec1.principle", "purification.thmF.4",
            "purification.corF.5",
        ),
        "the claim is undecided at quick, and does not lean to hold",
    ),
    "benign.fig1": "undecided at quick: half-way between the two exponents",
    "benign.fig2": "undecided at quick: one setting is at the edge of the printed decimal",
    "benign.fig5": "undecided at quick: both resolutions rise from 0 to one half, neither by more",
    "purification.sec7.mixture": "undecided at quick: at the edge of the percentage point",
    "features.fig17": "the size of the start decides, so that the claim has no answer",
}  # fmt: skip
"""Claims without a cheap size at which they were seen to hold."""


def theory(check):
    return all(find_experiment(name).part == "theory" for name in check.names) and "quick" in check.scales


CONTROLLED = sorted({check.name for check in CHECKS.values() if check.controls and theory(check)})


def test_every_check_has_a_control():
    assert [claim_id for claim_id, check in CHECKS.items() if not check.controls] == []


def test_controls_have_names_of_their_own_and_reasons():
    for claim_id, check in CHECKS.items():
        names = [control.name for control in check.controls]
        assert len(names) == len(set(names)), claim_id
        assert all(control.why for control in check.controls), claim_id


@pytest.mark.slow
def test_placebos_can_be_planned_at_every_scale():
    for check in CHECKS.values():
        for control in check.controls:
            assert all(placebo_cells(check, control, scale) for scale in check.scales)


def test_exceptions_are_checks():
    assert NO_PLACEBO.keys() - CHECKS.keys() == set()


@pytest.mark.slow
@pytest.mark.parametrize("experiment", CONTROLLED)
def test_no_check_holds_without_its_reason(experiment):
    computed = {}
    for check, control in controls_of(experiment):
        outcome = outcome_on(control_cells(check, control, "quick"), check, control, computed)
        said = (False, None) if check.claim_id in SILENT else (False,)
        assert outcome.holds in said, (check.claim_id, control.name, outcome.measured)


@pytest.mark.slow
@pytest.mark.parametrize("experiment", CONTROLLED)
def test_no_check_fails_because_its_control_is_small(experiment):
    computed = {}
    for check, control in controls_of(experiment):
        if control.cheap and check.claim_id not in NO_PLACEBO:
            outcome = outcome_on(placebo_cells(check, control, "quick"), check, control, computed)
            assert outcome.holds, (check.claim_id, control.name, outcome.measured)


def controls_of(experiment):
    for check in CHECKS.values():
        if check.name == experiment and theory(check) and check.claim_id not in OF_IMAGES:
            yield from ((check, control) for control in check.controls)


def placebo_cells(check, control, scale):
    """The cells of a control in which nothing is taken away: cheap, and nothing else."""
    return check_cells(check, scale, control.seeds, control.cheap)


def outcome_on(cells, check, control, computed):
    """What the check says of some cells, by the rules for controls."""
    for cell in cells:
        if cell.key not in computed:
            computed[cell.key] = execute(cell, show_traceback=True)
    records = [computed[cell.key] for cell in cells]
    assert [record.error for record in records if record.status == "failed"] == []
    # Judged with the same records in both places: only the outcome of the control counts.
    statement = get_statement(check.claim_id)
    claim = judge_claim(statement, check, records, "quick", {control.name: records})
    return next(one for one in claim.controls if one.control.name == control.name)
