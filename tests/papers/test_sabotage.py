"""Sabotages that earlier checks did not notice: each must change what the check says now.

Some take a setting away and are controls, which `test_controls.py` runs; others spoil the numbers of runs on
which the check says `holds`, or move them out of the hypotheses. A constant factor on what is only known up
to a constant (`lazy.lem4.4`, `purification.lemH.1`) spoils nothing and is not among them.
"""

import math
from dataclasses import replace
from statistics import NormalDist

import pytest

from karat.contract.examples import judge_example
from karat.study.registry import CHECKS

AS_CONTROLS = {
    "benign.lem4.2": {"noisier test points"},
    "benign.thm3.1.2.regime": {"gradient ascent"},
    "benign.thm3.1.3.regime": {"gradient ascent"},
    "benign.fig5": {"no training"},
    "convergence.thm4.1": {"no training", "wrong sign", "no attack", "no ball"},
    "convergence.thm5.1": {"no training", "wrong sign", "no attack"},
    "convergence.cor5.1": {"no training", "wrong sign", "no attack"},
    "convergence.thm5.1.gap": {"no training", "wrong sign"},
    "convergence.thm5.1.exit": {"no training", "wrong sign"},
    "convergence.thm5.2.built": {"zero function", "printed signs", "wrong sign"},
    "convergence.propC.1": {"zero features", "wrong sign"},
    "convergence.lemA.2": {"shrunk input layer"},
    "features.tab1": {"feature steps ascend"},
    "features.fig5": {"feature steps ascend", "untrained fixed features"},
    "features.fig6": {"feature steps ascend", "no second step"},
    "features.fig9": {"untrained fixed features"},
    "features.fig10": {"no second step"},
    "features.fig12": {"no second step"},
    "features.fig13": {"untrained fixed features"},
    "features.fig14": {"no second step"},
    "features.lem6": {"permuted labels", "feature steps ascend"},
    "features.sec5.2.mean": {"permuted labels", "feature steps ascend"},
    "features.thm2": {"zero function"},
    "features.cor3": {"zero function"},
    "features.thm29": {"majority labels"},
    "lazy.cor3.2": {"no ball", "a ball ten times larger"},
    "lazy.thm3.1": {"a ball eight times larger"},
    "lazy.lem4.1": {"rows that do not move"},
    "lazy.lemB.5": {"rows that do not move"},
    "lazy.lem4.3": {"rows that do not move"},
    "purification.sec3.linear": {"a random classifier"},
    "purification.sec6.tickets": {"lower levels"},
    "purification.thm5.3c": {"no adversarial training"},
}
"""Claim -> controls that are such sabotages."""


def deep(result, **changes):
    """The result with some of its values changed; `a__b` is the value b of the value a."""
    nested = {name.split("__")[0]: {} for name in changes if "__" in name}
    for name in [name for name in changes if "__" in name]:
        outer, inner = name.split("__", 1)
        nested[outer][inner] = changes.pop(name)
    inner = {outer: deep(getattr(result, outer), **values) for outer, values in nested.items()}
    return replace(result, **changes, **inner)


def value(**changes):
    """Sets values of every result."""
    return lambda run: deep(run.result, **changes)


def times(factor, *names):
    """Multiplies values of every result, item by item in lists."""

    def changed(old):
        return [item * factor for item in old] if isinstance(old, list) else old * factor

    return lambda run: replace(run.result, **{name: changed(getattr(run.result, name)) for name in names})


def edge(*, k=None, variance=None, less=1.5):
    """Sets shares to those of a wrong formula for the edge of the ball."""

    def wrong(run):
        tau, C0, d = run.config.tau, run.config.C0, run.config.d
        decline = k(tau) if k else tau * (1 - math.asin(tau) / math.pi)
        spread = math.sqrt(variance(decline) if variance else 1 / 2 - decline**2 / 4)
        mean = C0 / 2 - decline * math.sqrt((d - less) / 2)
        return replace(run.result, defeated=NormalDist().cdf(-mean / spread))

    return wrong


def method(name, **changes):
    """Sets scores of one method."""

    def change(run):
        methods = run.result.methods
        return replace(run.result, methods=methods | {name: replace(methods[name], **changes)})

    return change


def growing(name):
    """Multiplies a value by the root of the width."""
    return lambda run: replace(run.result, **{name: getattr(run.result, name) * math.sqrt(run.config.m)})


def third_never_flips(run):
    count = len(run.result.worst) // 3
    return replace(
        run.result,
        worst=[math.inf] * count + run.result.worst[count:],
        flipped=[False] * count + run.result.flipped[count:],
    )


def third_not_flipped(run):
    count = len(run.result.certified) // 3
    flags = [True] * count + run.result.refuted[count:]
    return replace(run.result, certified=[not flag for flag in flags], refuted=flags)


def robust_nowhere(run):
    return replace(run.result, robust_accuracy=0.02)


def small_mixtures(run):
    clean = run.result.clean
    names = ("mixture_on_data_high", "mixture_along")
    return replace(run.result, clean=replace(clean, **{name: 1e-6 * getattr(clean, name) for name in names}))


def students(original, injected):
    """All students agree with the teacher on so many inputs of each part, at every step."""

    def change(run):
        curves = run.result.mixture
        answers = {
            size: replace(
                one,
                original=[original] * 2,
                injected=[injected] * 2,
                original_final=original,
                injected_final=injected,
            )
            for size, one in curves.students.items()
        }
        return replace(run.result, mixture=replace(curves, students=answers))

    return change


SPOILED = [
    ("benign.thm3.1.1.regime", "loss 100", value(final__train_loss=100.0)),
    ("benign.thm3.1.2.regime", "error 1", value(final__clean_error=1.0)),
    ("benign.thm3.1.3.regime", "error 1", value(final__robust_error=1.0)),
    ("benign.sec3.onestep", "error 1", value(first_step__certified_error=1.0)),
    ("benign.lem4.4", "ratio 1e9", value(loss_ratio=1e9)),
    ("benign.lemB.26", "a small drop", value(drop_share=1e-3, certified_gain=-1e-2)),
    ("benign.fig5", "chance at every ratio", value(robust_error=0.5)),
    ("convergence.thm4.1", "a lower bound raised by 1", value(certified=1.5)),
    ("convergence.thm4.1", "an attack that is not the worst", value(attack_shortfall=0.1)),
    ("convergence.thm5.1", "a lower bound raised by 1", value(reference_bound=1.2)),
    ("convergence.thm5.1", "an attack that is not the worst", value(attack_shortfall=0.1)),
    ("convergence.thm5.1.attacks", "a lower bound raised by 1", value(reference_bound=1.2)),
    ("convergence.thm5.1.gap", "nothing learned", value(gap=[0.21] * 3, final_gap=0.21)),
    ("convergence.thm5.1.exit", "no run leaves", value(left_triple=None)),
    ("convergence.thm5.2", "rows moved everywhere", growing("frobenius")),
    ("convergence.lemA.2", "layers a thousand times shorter", times(1e-3, "wide_low", "wide_bar_low")),
    ("convergence.lemA.4", "W~ far from W", growing("shift_length")),
    ("features.thm29", "a correlation fifty times as strong", method("rf_unstructured", strength=0.5)),
    ("features.thm2", "zero function", method("rf", hinge=1.0, weight_norm=0.0)),
    ("features.fig5", "a lead of one test point", method("network", test=0.8402)),
    ("features.fig13", "a lead of one test point", method("network", test=0.8402)),
    ("features.fig5", "baselines at chance", method("ntk", test=0.5)),
    ("features.fig6", "both steps alike", value(step1__cos_mean=0.998)),
    ("features.fig6", "the other side", value(step2__signed=-0.998)),
    ("features.tab1", "train cells ruined", method("network", train=0.6)),
    ("features.tab1", "cosine cells ruined", method("two_step", cos=0.1)),
    ("features.tab1", "the other side", value(step2__signed=-0.998)),
    ("features.fig22", "students that learn nothing", students(0.1, 0.1)),
    ("features.fig22.images", "constant answers", students(0.3, 0.1)),
    ("features.fig24", "constant answers", students(0.3, 0.1)),
    ("features.fig25", "constant answers", students(0.3, 0.1)),
    ("lazy.thm3.1", "a third does not flip", third_not_flipped),
    ("lazy.thm3.1", "gradients a hundredth as long", times(0.01, "gradient")),
    ("lazy.thm3.1.adversary", "flips a hundred times as long", times(100.0, "worst")),
    ("lazy.thm3.1.adversary", "gradients a hundredth as long", times(0.01, "gradient")),
    ("lazy.thm3.1.adversary", "a third never flips", third_never_flips),
    ("lazy.thm3.1.figures", "flips a hundred times as long", times(100.0, "worst")),
    ("lazy.thm3.1.constant", "flips ten times as long", times(10.0, "worst")),
    ("lazy.thm3.1.constant", "flips ten times as short", times(0.1, "worst")),
    ("lazy.cor3.2.figures", "half of the images wrong", value(clean_accuracy=0.5)),
    ("lazy.cor3.2.edge", "the variance 1/2 of the start alone", edge(variance=lambda k: 0.5)),
    ("lazy.cor3.2.edge", "the mean square of chi for its mean", edge(less=0.0)),
    ("lazy.cor3.2.edge", "a decline that is right at 30 degrees", edge(k=lambda tau: 5 * tau / 6)),
    ("lazy.lem4.1", "the supremum of one net", value(supremum=[0.5] * 40)),
    ("lazy.lem4.3", "a hundredth of the count", times(0.01, "can_switch")),
    ("lazy.lemB.6.switch", "every neuron switches", value(switches=1000)),
    ("lazy.sec3.radius", "suprema of one net", value(supremum=[0.5] * 40)),
    ("lazy.sec5.2.projection", "half of the images wrong", value(clean_accuracy=0.5)),
    ("lazy.sec3.movement", "robust nowhere", robust_nowhere),
    ("lazy.fig4.radius", "robust nowhere", robust_nowhere),
    ("lazy.sec5.2.beyond", "robust nowhere", robust_nowhere),
    ("lazy.alg1.line4", "robust nowhere", robust_nowhere),
    ("purification.sec3.linear", "accuracy 0", value(linear_accuracy=0.0)),
    ("purification.eq6.2", "mixtures a million times smaller", small_mixtures),
    ("purification.sec6.universal", "an inaccurate net", value(clean__accuracy=0.3)),
    ("purification.sec6.transfer", "as a random direction", value(mean_rate=0.55, random=[0.54])),
    ("purification.sec5.purify", "a gain of 0.001", value(robust__pgd=0.201)),
    ("purification.sec5.purify", "no mixture at the start", value(clean__ratio=1e-5, robust__ratio=1e-6)),
    ("purification.thm5.3c", "training that does nothing", value(clean__law=1.0, robust__law=1.0)),
]  # fmt: skip
"""Claim, what is spoiled, and how: a run -> its spoiled result."""

OUT_OF_REGIME = [
    ("benign.thm3.1.3.regime", {"d": 60_000, "mu": 23.0, "ratio": 0.5, "lr": 2.7e-10, "steps": 50}),
    ("benign.thm3.2", {"p": 1.0, "engine": "plain"}),
    ("convergence.thm4.1", {"step": 1.0}),
    ("convergence.thm5.1", {"lr": 4.0}),
    ("convergence.thm5.1.regret", {"activation": "relu"}),
    ("convergence.appC.2", {"tol": 0.1, "m": 512}),
    ("features.fig22", {"source": "digits", "n": 60_000}),
    ("lazy.lem4.4", {"m": 1000, "d": 25}),
    ("purification.sec5.purify", {"d": 200, "k": 30}),
]
"""Claim -> settings that do not meet its hypotheses, of which it once said `holds`."""

NAMED_BEFORE = [
    "benign.lem4.1", "benign.lem4.4", "benign.lem4.5", "benign.lemB.9", "benign.lemB.14", "benign.lemB.26",
    "benign.lemB.33", "benign.propB.34", "benign.sec3.onestep", "benign.thm3.1.1", "benign.thm3.1.2",
    "benign.thm3.1.3", "benign.thm3.1.1.regime", "benign.thm3.1.2.regime", "benign.thm3.1.3.regime",
    "purification.thm5.2", "purification.eqF.17", "purification.lemC.10", "purification.lemC.19",
    "purification.claimE.3", "purification.lemE.2",
    "lazy.thm3.1", "lazy.lem4.4", "lazy.lemB.6", "lazy.fig4.constant", "purification.eq5.1",
]  # fmt: skip
"""Claims that once could not say `fails`, whatever happened."""


@pytest.mark.parametrize(("claim_id", "names"), AS_CONTROLS.items())
def test_sabotages_of_a_setting_are_controls(claim_id, names):
    assert names <= {control.name for control in CHECKS[claim_id].controls}


@pytest.mark.parametrize(
    ("claim_id", "what", "spoil"), SPOILED, ids=[f"{row[0]}: {row[1]}" for row in SPOILED]
)
def test_spoiled_numbers_are_noticed(claim_id, what, spoil):
    check = CHECKS[claim_id]
    spoiled = [replace(run, result=spoil(run)) for run in check.satisfied]
    assert judge_example(check, check.satisfied)[0] == "holds"
    assert judge_example(check, spoiled)[0] in ("fails", "inconclusive"), what


@pytest.mark.parametrize(("claim_id", "settings"), OUT_OF_REGIME)
def test_settings_outside_the_hypotheses_are_noticed(claim_id, settings):
    check = CHECKS[claim_id]
    outside = replace(check.experiment.preset("quick").config, **settings)
    assert "unmet" in {condition.status for condition in check.conditions(outside)}


def test_an_attack_that_does_not_move_is_noticed():
    check = CHECKS["benign.lem4.1"]
    still = [
        replace(run, result=replace(run.result, perturbation=0.0, distance=0.0)) for run in check.satisfied
    ]
    assert {condition.status for run in still for condition in check.observed(run)} == {"unmet"}


@pytest.mark.parametrize("claim_id", NAMED_BEFORE)
def test_every_claim_can_fail(claim_id):
    assert judge_example(CHECKS[claim_id], CHECKS[claim_id].violated)[0] == "fails"


def test_no_data_is_no_confirmation():
    assert [name for name, check in CHECKS.items() if judge_example(check, [])[0] == "holds"] == []
