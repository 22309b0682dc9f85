"""Special paths of the checks: trivial bounds, hypotheses, certificates, and what leaves them undecided."""

import math
from dataclasses import replace

import pytest

from karat.papers.convergence.bounds import regret_gap
from karat.papers.convergence.checks.two_layer_runs import EXAMPLE, MEASURED, START_LOSS
from karat.papers.convergence.experiments.activations import SLOPE_LIPSCHITZ
from karat.papers.convergence.experiments.antipodes import AntipodesConfig
from karat.papers.convergence.experiments.deep import DeepConfig
from karat.study.hypothesis import conditions_at
from karat.study.judging import Undecided
from karat.study.registry import PAPERS
from karat.study.run import Runs, examples

CHECKS = PAPERS["convergence"].checks


def judged(item, runs):
    return CHECKS[f"convergence.{item}"].evaluate(Runs(runs))


def unmet(item, config):
    conditions = conditions_at(CHECKS[f"convergence.{item}"], config)
    return [condition.name for condition in conditions if condition.status == "unmet"]


@pytest.mark.parametrize(
    ("item", "settings", "names"),
    [
        ("thm5.1", {}, []),
        ("thm5.1", {"m": 1598}, ["m >= R^4/tol^2"]),
        ("thm5.1", {"steps": 399}, ["steps >= sqrt(m)/lr"]),
        ("thm5.1", {"lr": 4.0}, ["lr <= tol"]),
        ("thm5.1", {"activation": "relu"}, ["Asm 5.1: phi' is Lipschitz"]),
        ("thm5.1", {"projected": True}, ["no projection"]),
        ("cor5.1", {}, []),
        ("cor5.1", {"steps": 399}, ["steps >= R^2/(tol lr)"]),
        ("thm5.1.gap", {"activation": "quadratic_relu"}, ["Asm 5.3: |phi'| <= 1"]),
    ],
)
def test_hypotheses_of_two_layer_theorems_are_met_from_their_own_width_and_time_on(item, settings, names):
    seen = unmet(item, replace(EXAMPLE, **settings))
    assert len(seen) == len(names)
    assert all(name.startswith(start) for name, start in zip(seen, names, strict=True))


def test_width_of_the_deep_theorem_is_the_last_to_be_met():
    config = DeepConfig(m=1024, depth=2, steps=10**6, step=0.05)
    assert unmet("thm4.1", config) == ["m >= max(R^9 depth^16/tol^7, d^2)"]


def test_a_target_that_the_start_meets_is_vacuous():
    near = replace(
        MEASURED, target_loss=START_LOSS - 0.05, reference_bound=0.36, reference=0.361, best_loss=0.37
    )
    assert judged("thm5.1", examples((EXAMPLE, near))).outcome == "vacuous"
    assert judged("cor5.1", examples((replace(EXAMPLE, tol=0.5), MEASURED))).outcome == "vacuous"


def test_a_lower_bound_above_a_loss_that_was_found_is_no_certificate():
    raised = replace(MEASURED, reference_bound=1.2)
    with pytest.raises(Undecided, match="smaller loss"):
        judged("thm5.1", examples((EXAMPLE, raised)))


def test_the_curvature_of_the_net_is_subtracted_from_the_linearised_bound():
    finding = judged("thm5.1", examples((EXAMPLE, MEASURED)))
    slack = SLOPE_LIPSCHITZ["smoothed_relu"] * EXAMPLE.R**2 / (2 * math.sqrt(EXAMPLE.m))
    assert finding.measured == pytest.approx(MEASURED.best_loss - (MEASURED.reference_bound - slack))


def test_limits_above_the_gap_of_the_start_do_not_count():
    c = SLOPE_LIPSCHITZ["smoothed_relu"]
    finding = judged("thm5.1.gap", examples((EXAMPLE, MEASURED)))
    limits = {T: regret_gap(EXAMPLE.R, EXAMPLE.m, EXAMPLE.lr, T, c) for T in (10, 100, 300, 400)}
    telling = [T for T, limit in limits.items() if limit < START_LOSS - MEASURED.target_loss]
    assert telling == [300, 400]
    assert finding.measured == pytest.approx(max(0.01 / limits[T] for T in telling))
    large_steps = replace(EXAMPLE, lr=0.5)
    assert judged("thm5.1.gap", examples((large_steps, MEASURED))).outcome == "vacuous"


@pytest.mark.parametrize("item", ["thm5.1.regret", "thm5.1.gap", "thm5.1.exit"])
def test_projected_runs_and_kinked_activations_have_no_recursion(item):
    for config in (replace(EXAMPLE, projected=True), replace(EXAMPLE, activation="relu")):
        with pytest.raises(Undecided):
            judged(item, examples((config, MEASURED)))


def test_runs_that_all_stay_show_one_case_only():
    with pytest.raises(Undecided, match="only one of the two cases"):
        judged("thm5.1.exit", examples((EXAMPLE, MEASURED)))


def test_a_bound_above_the_function_itself_is_vacuous():
    runs = CHECKS["convergence.propC.1"].satisfied
    wide = [replace(run, result=replace(run.result, features_bound=8.0)) for run in runs]
    assert judged("propC.1", wide).outcome == "vacuous"


def test_draws_without_a_certificate_do_not_count_as_within_the_bound():
    runs = CHECKS["convergence.propC.1"].satisfied
    bare = [replace(run, result=replace(run.result, features_certified=[math.inf] * 20)) for run in runs]
    assert judged("propC.1", bare).outcome == "fails"
    elsewhere = [replace(run, config=replace(run.config, d=10)) for run in bare]
    with pytest.raises(Undecided, match="covered"):
        judged("propC.1", elsewhere)


def test_a_radius_that_grows_with_the_width_fails_the_existence():
    runs = CHECKS["convergence.thm5.2"].satisfied
    growing = [replace(run, result=replace(run.result, frobenius=run.config.m**0.5)) for run in runs]
    assert judged("thm5.2", growing).outcome == "fails"


def test_a_net_outside_the_radius_of_the_proof_fails_the_existence():
    runs = CHECKS["convergence.thm5.2"].satisfied
    far = [replace(run, result=replace(run.result, frobenius=40.0)) for run in runs]
    assert judged("thm5.2", far).outcome == "fails"


def test_a_function_that_could_not_be_certified_refutes_nothing():
    runs = CHECKS["convergence.asm5.2"].satisfied
    loose = [replace(run, result=replace(run.result, supremum=0.3, certified_supremum=0.3)) for run in runs]
    with pytest.raises(Undecided, match="certified"):
        judged("asm5.2", loose)


@pytest.mark.parametrize(
    ("item", "broken"),
    [
        ("asm5.2", {"certified_supremum": 0.1}),
        ("asm5.2", {"norm_bound": 9.0}),
        ("propC.1", {"features_certified": [0.0] * 20}),
        ("thm5.2.built", {"net_certified": [0.0] * 20}),
        ("parity.floor", {"floor": 0.41}),
    ],
)
def test_certificates_below_what_a_search_finds_decide_nothing(item, broken):
    runs = [
        replace(run, result=replace(run.result, **broken)) for run in CHECKS[f"convergence.{item}"].satisfied
    ]
    with pytest.raises(Undecided, match=r"certif|below all"):
        judged(item, runs)


def test_the_printed_corollary_fails_by_a_floor_alone():
    """Whatever training reaches: a floor above tol refutes, losses above tol at six seeds need not."""
    runs = CHECKS["convergence.appC.2"].satisfied
    floors = [replace(run, result=replace(run.result, floor=0.3)) for run in runs]
    finding = judged("appC.2", floors)
    assert finding.outcome == "fails"
    assert finding.measured == 0.3


@pytest.mark.parametrize(
    ("item", "settings", "names"),
    [
        ("appC.2", {}, []),
        ("appC.2", {"data": "ring", "n": 8}, []),
        ("appC.2", {"data": "ring", "n": 6}, ["Asm C.1"]),
        ("appC.2", {"data": "opposite"}, ["Asm C.1"]),
        ("appC.2", {"m": 1004}, ["m >= tol^-(d+1)"]),
        ("appC.2", {"steps": 317}, ["steps >= sqrt(m)/lr"]),
        ("appC.2", {"lift": True}, ["phi = ReLU^2"]),
        ("appC.2.repaired", {"data": "opposite"}, []),
        ("appC.2.repaired", {"data": "ring", "n": 8}, ["caps of different labels"]),
    ],
)
def test_hypotheses_of_the_quadratic_corollary(item, settings, names):
    seen = unmet(item, replace(AntipodesConfig(m=1006), **settings))
    assert len(seen) == len(names)
    assert all(name.startswith(start) for name, start in zip(seen, names, strict=True))


def test_too_few_draws_decide_nothing_about_the_closed_form():
    runs = CHECKS["convergence.def5.1.closed"].satisfied
    few = [replace(run, config=replace(run.config, draws=1000)) for run in runs]
    with pytest.raises(Undecided, match="noise"):
        judged("def5.1.closed", few)


def test_a_long_change_of_the_first_layer_fails():
    runs = CHECKS["convergence.lemA.4"].satisfied
    long = [replace(run, result=replace(run.result, shift_length=float(run.config.m))) for run in runs]
    assert judged("lemA.4", long).outcome == "fails"


def test_layers_that_are_too_short_fail_as_those_that_are_too_long():
    runs = CHECKS["convergence.lemA.2"].satisfied
    short = [replace(run, result=replace(run.result, wide_low=0.0014)) for run in runs]
    assert judged("lemA.2", short).outcome == "fails"


def test_without_a_ball_inside_the_regime_all_data_sets_of_the_smallest_are_judged():
    """At C0 = 8 > tau sqrt(2 d) = 2.8 one of three data sets has a robust net, and the ledger says unmet."""
    runs = [
        replace(run, config=replace(run.config, C0=8.0))
        for run in CHECKS["convergence.vs-lazy.none"].satisfied
    ]
    loose = replace(runs[-1], result=replace(runs[-1].result, bound=0.1))
    assert judged("vs-lazy.none", [*runs[:-1], loose]).measured == 0.1
    assert unmet("vs-lazy.none", runs[0].config) == ["C0 <= tau sqrt(2 d)"]


@pytest.mark.parametrize("claim_id", list(CHECKS))
def test_a_sweep_that_has_just_begun_is_no_error(claim_id):
    """No run at all, or a single one, leaves a check undecided or with a finding, never with an exception."""
    check = CHECKS[claim_id]
    for runs in ([], check.satisfied[:1], check.violated[-1:]):
        try:
            finding = check.evaluate(Runs(runs))
        except Undecided:
            continue
        assert finding.outcome in ("holds", "fails", "inconclusive", "vacuous")
