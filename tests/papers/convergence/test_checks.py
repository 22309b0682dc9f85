"""Special paths of the checks: trivial bounds, hypotheses, certificates, and what leaves them undecided."""

import math
from dataclasses import replace

import pytest

from karat.papers.convergence.bounds import regret_gap
from karat.papers.convergence.checks.two_layer_runs import (
    EXAMPLE,
    MEASURED,
    START_LOSS,
    certified_optimum,
)
from karat.papers.convergence.experiments.activations import SLOPE_LIPSCHITZ
from karat.papers.convergence.experiments.antipodes import AntipodesConfig
from karat.papers.convergence.experiments.wide import WideConfig
from karat.study.hypothesis import conditions_at
from karat.study.judging import Undecided
from karat.study.registry import PAPERS
from karat.study.run import Runs, examples

CHECKS = PAPERS["convergence"].checks
STAYED = (replace(EXAMPLE, lr=0.05, steps=1005), MEASURED)


def judged(item, runs):
    return CHECKS[f"convergence.{item}"].evaluate(Runs(runs))


def unmet(item, config):
    conditions = conditions_at(CHECKS[f"convergence.{item}"], config)
    return [condition.name for condition in conditions if condition.status == "unmet"]


PROVED = {"activation": "softplus", "steps": 461}
"""Softplus and so many steps: the constants of the proof of Theorem 5.1 are small enough there."""


@pytest.mark.parametrize(
    ("item", "settings", "names"),
    [
        ("thm5.1", PROVED, []),
        ("thm5.1", {**PROVED, "m": 1598}, ["m >= R^4/tol^2"]),
        ("thm5.1", {**PROVED, "steps": 399}, ["steps >= sqrt(m)/lr", "the proof's own bound"]),
        ("thm5.1", {**PROVED, "steps": 440}, ["the proof's own bound"]),
        ("thm5.1", {**PROVED, "lr": 4.0}, ["lr <= tol", "the proof's own bound"]),
        ("thm5.1", {"activation": "relu"}, ["the proof's own bound", "Asm 5.1: phi' is Lipschitz"]),
        ("thm5.1", {**PROVED, "projected": True}, ["no projection"]),
        ("cor5.1", {}, []),
        ("cor5.1", {"steps": 399}, ["steps >= R^2/(tol lr)"]),
        ("thm5.1.gap", {"activation": "quadratic_relu"}, ["Asm 5.3: |phi'| <= 1"]),
    ],
)
def test_hypotheses_of_two_layer_theorems_are_met_from_their_own_width_and_time_on(item, settings, names):
    seen = unmet(item, replace(EXAMPLE, **settings))
    assert len(seen) == len(names)
    assert all(name.startswith(start) for name, start in zip(seen, names, strict=True))


def test_every_hypothesis_of_the_deep_theorem_is_met_from_its_own_number_on():
    config = WideConfig(m=16_384, tol=0.25, step=0.25, steps=16)
    assert unmet("thm4.1", config) == []
    assert unmet("thm4.1", replace(config, m=16_383)) == ["m >= max(R^9/tol^7, d^2)"]
    assert unmet("thm4.1", replace(config, step=0.26)) == ["lr <= tol/m"]
    assert unmet("thm4.1", replace(config, steps=15)) == ["steps >= R^2/(m tol lr)"]
    assert unmet("thm4.1", replace(config, R=0.9, steps=16)) == ["R >= 1"]


def test_targets_that_starts_meet_are_left_out_and_alone_are_vacuous():
    runs = CHECKS["convergence.thm4.1"].satisfied
    near = [replace(run, result=replace(run.result, start_loss=0.6)) for run in runs]
    narrow = [replace(run, config=replace(run.config, tol=0.3), config_hash="narrow") for run in near]
    assert judged("thm4.1", near).outcome == "vacuous"
    assert judged("thm4.1", [*runs, *narrow]).outcome == "holds"


def test_a_bound_above_the_loss_of_a_net_of_the_ball_is_no_certificate():
    runs = [
        replace(r, result=replace(r.result, certified=0.6)) for r in CHECKS["convergence.thm4.1"].satisfied
    ]
    with pytest.raises(Undecided, match="smaller robust loss"):
        judged("thm4.1", runs)


@pytest.mark.parametrize("item", ["thm4.1", "thm5.1", "thm5.1.attacks", "cor5.1"])
def test_a_worst_attack_that_is_none_fails(item):
    runs = CHECKS[f"convergence.{item}"].satisfied
    weak = [replace(run, result=replace(run.result, attack_shortfall=0.01)) for run in runs]
    assert judged(item, weak).outcome == "fails"


def test_lemmas_are_judged_inside_their_regime_where_there_is_one():
    runs = CHECKS["convergence.lemA.5"].satisfied
    outside = [replace(run, config=replace(run.config, R=4.0)) for run in runs]
    wrong = [replace(run, result=replace(run.result, gradient=float(run.config.m))) for run in outside]
    assert judged("lemA.5", [*runs, *wrong]).outcome == "holds"
    assert judged("lemA.5", wrong).outcome == "fails"
    assert unmet("lemA.5", outside[0].config) == ["R/sqrt(m) <= 1/(log m)^3"]


def test_narrow_layers_are_no_limit():
    runs = CHECKS["convergence.eq10.tight"].satisfied
    narrow = [replace(run, config=replace(run.config, m=100)) for run in runs]
    with pytest.raises(Undecided):
        judged("eq10.tight", narrow)


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
    run = examples((EXAMPLE, MEASURED))[0]
    slack = SLOPE_LIPSCHITZ["smoothed_relu"] * EXAMPLE.R**2 / (2 * math.sqrt(EXAMPLE.m))
    assert certified_optimum(run) == pytest.approx(MEASURED.reference_bound - slack)


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
        judged("thm5.1.exit", examples(STAYED))


@pytest.mark.parametrize("left", [None, 50])
def test_both_cases_of_the_exit_must_meet_the_target(left):
    """Without a loss near the target a run fails, whether it leaves the ball or stays."""
    still = (STAYED[0], replace(MEASURED, left_triple=left, loss_before_exit=START_LOSS))
    assert judged("thm5.1.exit", examples(still)).outcome == "fails"


def test_the_time_of_the_exit_lies_between_e_and_four():
    config = STAYED[0]
    assert unmet("thm5.1.exit", config) == []
    assert unmet("thm5.1.exit", replace(config, steps=1000)) == ["steps >= sqrt(m)/(c lr)"]
    assert unmet("thm5.1.exit", replace(config, steps=1400)) == ["S_T <= 4, so that R^2 - 4 R^2/S_T <= 0"]
    assert (
        unmet("thm5.1.exit", replace(config, activation="relu", steps=10**9))
        == [
            "steps >= sqrt(m)/(c lr)",
            "S_T <= 4, so that R^2 - 4 R^2/S_T <= 0",
            "Asm 5.1: phi' is Lipschitz",
        ][1:]
    )


def test_a_larger_ball_whose_net_is_not_certified_below_decides_against_the_radius():
    runs = CHECKS["convergence.thm4.1.radius"].satisfied
    small, large = (next(run for run in runs if run.config.R == R) for R in (0.5, 1.0))
    finding = judged("thm4.1.radius", [small, large])
    lower = certified_optimum(small)
    assert finding.measured == pytest.approx(large.result.target_loss - lower)
    no_better = replace(large, result=replace(large.result, target_loss=small.result.target_loss))
    assert judged("thm4.1.radius", [small, no_better]).outcome == "fails"


def test_a_certificate_above_a_loss_that_was_found_decides_nothing():
    runs = CHECKS["convergence.vs-lazy.none"].satisfied
    above = [replace(run, result=replace(run.result, bound=run.result.loss + 0.1)) for run in runs]
    with pytest.raises(Undecided, match="smaller loss"):
        judged("vs-lazy.none", above)


def test_only_balls_small_for_the_width_are_held_against_the_kernel():
    """At C0 = 8 a width of 100 is too small, and a large loss there is no exception."""
    runs = CHECKS["convergence.vs-lazy.loss"].satisfied
    wide = [
        replace(run, config=replace(run.config, C0=8.0), result=replace(run.result, loss=9.0)) for run in runs
    ]
    assert judged("vs-lazy.loss", [*runs, *wide]).outcome == "holds"
    with pytest.raises(Undecided, match="small enough"):
        judged("vs-lazy.loss", wide)


def test_deep_runs_that_all_stay_say_nothing_about_the_projection():
    run = CHECKS["convergence.sec7.free"].satisfied[0]
    with pytest.raises(Undecided, match="no run left the ball"):
        judged("sec7.free", [replace(run, result=replace(run.result, moved=0.5))])
    with pytest.raises(Undecided, match="no lower bound"):
        judged("sec7.free", [replace(run, result=replace(run.result, projected=-0.01))])


def test_nets_that_fail_at_their_task_give_no_price():
    runs = CHECKS["convergence.thm6.1.capacity"].satisfied
    with pytest.raises(Undecided, match="does not do what it was built for"):
        judged("thm6.1.capacity", [replace(run, result=replace(run.result, robust=0.9)) for run in runs])
    with pytest.raises(Undecided, match="does not do what it was built for"):
        judged(
            "thm6.1.capacity",
            [replace(run, result=replace(run.result, planes_interpolated=0.5)) for run in runs],
        )
    with pytest.raises(Undecided, match="12 log_2 n"):
        judged("thm6.1.capacity", [replace(run, config=replace(run.config, d=64)) for run in runs])


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
