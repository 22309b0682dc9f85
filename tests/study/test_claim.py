"""The verdict of a claim follows from its records, its hypotheses and nothing else."""

import json
import math
from dataclasses import dataclass, replace

import pytest

from karat.study.check import Check
from karat.study.claim import claim_json, judge_claim
from karat.study.control import Control
from karat.study.experiment import Experiment, Preset
from karat.study.finding import ERROR
from karat.study.hypothesis import at_least, at_most, is_so, waived
from karat.study.judging import Undecided, bound, exact_bound, share
from karat.study.plan import plan_claim
from karat.study.registry import get_statement

FIELDS = {
    "id", "paper", "title", "kind", "origin", "status", "verdict", "reported", "predicted", "measured",
    "unit", "interval", "scale", "seeds", "ledger", "controls", "caveat", "trace", "p_value", "resolution",
    "settles", "seeds_needed", "images", "grounds",
    "error", "curve", "hypotheses_unmet",
}  # fmt: skip
STATEMENT = get_statement("benign.thm3.1.3")


@dataclass(frozen=True, kw_only=True)
class Config:
    d: int = 10


@dataclass(frozen=True, kw_only=True)
class Result:
    robust_error: float


def run(config, generator) -> Result:
    raise AssertionError("records are made by hand")


TOY, OTHER = (
    Experiment(
        name=name, title="?", paper="benign", presets={"tiny": Preset(config=Config(), seeds=1)}, run=run
    )
    for name in ("benign.toy", "benign.other")
)


def make_check(**changes):
    settings = {
        "claim_id": STATEMENT.id,
        "experiment": TOY,
        "evaluate": lambda runs: bound([run.result.robust_error for run in runs], "at most", 0.2, ERROR),
        "reported": 0.1,
    }
    return Check(**settings | changes)


def test_json_has_exactly_the_documented_fields(make_record):
    records = [make_record(seed, robust_error=0.1 + 0.01 * seed) for seed in range(3)]
    for claim in (
        judge_claim(STATEMENT, None, []),
        judge_claim(STATEMENT, make_check(), []),
        judge_claim(STATEMENT, make_check(), records, "tiny"),
    ):
        plain = claim_json(claim)
        assert set(plain) == FIELDS
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_a_statement_without_a_check_is_stated():
    claim = judge_claim(STATEMENT, None, [])
    assert (claim.status, claim.verdict, claim.seeds, claim.measured) == ("stated", None, 0, None)


def test_an_executable_claim_is_unjudged_until_it_ran():
    claim = judge_claim(STATEMENT, make_check(), [], "quick")
    assert (claim.status, claim.verdict, claim.scale) == ("executable", None, "quick")
    assert claim.reported == 0.1


def test_measured_predicted_and_interval_come_from_the_records(make_record):
    records = [make_record(seed, robust_error=0.1 + 0.01 * seed) for seed in range(3)]
    claim = judge_claim(STATEMENT, make_check(), records, "tiny")
    assert claim.verdict == "holds"
    assert claim.seeds == 3
    plain = claim_json(claim)
    assert plain["measured"] == pytest.approx(0.11)
    assert plain["predicted"] == 0.2
    low, high = plain["interval"]
    assert low < 0.11 < high


def test_seeds_are_counted_once_over_a_grid(make_record):
    records = [make_record(seed, config={"d": d}, robust_error=0.1) for seed in range(2) for d in (10, 20)]
    assert judge_claim(STATEMENT, make_check(), records).seeds == 2


def test_unmet_hypotheses_overrule_the_verdict_and_keep_the_numbers(make_record):
    def conditions(config):
        return [
            at_least("d >= 15", config.d, 15),
            at_most("lr <= 1/d^2", 1.0, 0.1),
            waived("SGD", "p. 3: or GD"),
        ]

    records = [
        make_record(seed, config={"d": d}, robust_error=0.9 + seed / 100)
        for seed in range(3)
        for d in (20, 10)
    ]
    claim = judge_claim(STATEMENT, make_check(conditions=conditions), records)
    assert claim.verdict == "out of regime"
    assert claim.hypotheses_unmet == ("d >= 15 (10 against 15)", "lr <= 1/d^2 (1 against 0.1)")
    assert [(entry.status, entry.settings, entry.unmet) for entry in claim.ledger] == [
        ("unmet", 2, 1),
        ("unmet", 2, 2),
        ("waived", 2, 0),
    ]
    assert claim.settles == "a setting with lr <= 1/d^2, now off by a factor 10"
    assert claim.measured == pytest.approx(0.91)
    assert claim.interval is not None


def test_only_the_settings_that_a_finding_reads_count(make_record):
    def large(runs):
        return bound([run.result.robust_error for run in runs if run.config.d > 15], "at most", 0.2, ERROR)

    check = make_check(evaluate=large, conditions=lambda config: [at_least("d >= 15", config.d, 15)])
    records = [
        make_record(seed, config={"d": d}, robust_error=0.1 + seed / 100)
        for seed in range(3)
        for d in (20, 10)
    ]
    claim = judge_claim(STATEMENT, check, records)
    assert (claim.verdict, claim.ledger[0].settings) == ("holds", 1)


def test_a_claim_whose_control_holds_is_inconclusive(make_record):
    check = make_check(controls=(Control(name="no training", removes="training", settings={"d": 1}),))
    own = [make_record(seed, robust_error=0.1 + 0.01 * seed) for seed in range(3)]
    good = {"no training": [make_record(0, config={"d": 1}, robust_error=0.5)]}
    claim = judge_claim(STATEMENT, check, own, "quick", good)
    assert (claim.verdict, claim.controls[0].holds, claim.controls[0].measured) == ("holds", False, 0.5)
    bad = {"no training": [make_record(0, config={"d": 1}, robust_error=0.15)]}
    claim = judge_claim(STATEMENT, check, own, "quick", bad)
    assert claim.verdict == "inconclusive"
    assert claim.caveat.startswith("The control holds as well (no training)")
    silent = judge_claim(STATEMENT, check, own, "quick")
    assert (silent.verdict, silent.controls[0].holds) == ("inconclusive", None)
    assert silent.caveat.startswith("No control has shown")


def test_a_control_without_an_answer_says_nothing_unless_that_is_expected(make_record):
    def crosses(runs):
        if all(run.result.robust_error > 0.4 for run in runs):
            raise Undecided("it never crosses")
        return bound([run.result.robust_error for run in runs], "at most", 0.2, ERROR)

    own = [make_record(seed, robust_error=0.1 + 0.01 * seed) for seed in range(3)]
    records = {"none": [make_record(0, config={"d": 1}, robust_error=0.5)]}
    for unanswered, verdict in ((False, "inconclusive"), (True, "holds")):
        control = Control(name="none", removes="training", unanswered=unanswered)
        check = make_check(evaluate=crosses, controls=(control,))
        assert judge_claim(STATEMENT, check, own, "quick", records).verdict == verdict


def test_a_claim_without_an_answer_outside_its_hypotheses_is_out_of_regime(make_record):
    def evaluate(runs):
        assert runs[0].result
        raise Undecided("no crossing")

    check = make_check(evaluate=evaluate, conditions=lambda config: [at_least("d >= 15", config.d, 15)])
    claim = judge_claim(STATEMENT, check, [make_record(robust_error=0.1)])
    assert (claim.verdict, claim.caveat) == ("out of regime", "No crossing.")


def test_two_records_of_one_cell_are_refused(make_record):
    records = [make_record(0, robust_error=0.1)] * 3
    claim = judge_claim(STATEMENT, make_check(), records)
    assert claim.verdict is None
    assert "several records" in claim.caveat


def test_a_failing_claim_fails_whatever_its_control_says(make_record):
    check = make_check(controls=(Control(name="none", removes="training"),))
    own = [make_record(seed, robust_error=0.5 + 0.01 * seed) for seed in range(3)]
    controls = {"none": [make_record(0, robust_error=0.1)]}
    assert judge_claim(STATEMENT, check, own, "quick", controls).verdict == "fails"


def test_diverged_cells_are_left_out_and_named(make_record):
    records = [make_record(seed, robust_error=0.1 + 0.01 * seed) for seed in range(3)]
    records += [make_record(3, status="diverged"), make_record(4, status="failed", error="KeyError")]
    claim = judge_claim(STATEMENT, make_check(), records)
    assert claim.verdict == "inconclusive"
    assert claim.caveat == (
        "Of the planned cells 1 diverged, 1 failed, and might not agree with the others. "
        "Left out of 5 cells: 1 diverged, 1 failed."
    )
    assert judge_claim(STATEMENT, make_check(), records[:3]).verdict == "holds"


@pytest.mark.parametrize("status", ["diverged", "failed"])
def test_a_setting_without_any_result_leaves_the_claim_open(make_record, status):
    records = [make_record(seed, robust_error=0.1 + 0.01 * seed) for seed in range(3)]
    lost = [make_record(seed, status=status, config={"d": 80}) for seed in range(3)]
    assert judge_claim(STATEMENT, make_check(), records + lost).verdict == "inconclusive"


def test_nothing_is_decided_before_all_planned_cells_have_run(make_record):
    for error in (0.1, 0.5):
        records = [make_record(seed, robust_error=error + 0.01 * seed) for seed in range(3)]
        early = judge_claim(STATEMENT, make_check(), records, missing=2)
        assert early.verdict == "inconclusive"
        assert "2 have not run" in early.caveat
        assert judge_claim(STATEMENT, make_check(), records).verdict in ("holds", "fails")


def test_cells_lost_beside_an_experiment_count(make_record):
    records = [make_record(seed, robust_error=0.1 + 0.01 * seed) for seed in range(3)]
    lost = make_record(0, status="diverged", experiment="benign.other")
    check = make_check(beside=(OTHER,))
    assert judge_claim(STATEMENT, check, records).verdict == "holds"
    assert judge_claim(STATEMENT, check, [*records, lost]).verdict == "inconclusive"


def test_an_evaluation_that_returns_nothing_is_an_error(make_record):
    records = [make_record(seed, robust_error=0.1) for seed in range(3)]
    claim = judge_claim(STATEMENT, make_check(evaluate=lambda runs: None), records)
    assert claim.verdict is None
    assert "returned nothing" in claim.error


def test_nothing_but_divergence_is_inconclusive(make_record):
    records = [make_record(seed, status="diverged") for seed in range(3)]
    claim = judge_claim(STATEMENT, make_check(), records)
    assert (claim.verdict, claim.measured) == ("inconclusive", None)
    assert claim.caveat == "Left out of 3 cells: 3 diverged."


def test_nothing_but_failures_stays_unjudged(make_record):
    claim = judge_claim(STATEMENT, make_check(), [make_record(status="failed", error="no memory")])
    assert claim.verdict is None
    assert "1 failed" in claim.caveat


def test_records_of_other_experiments_are_ignored(make_record):
    records = [make_record(seed, experiment="lazy.other", robust_error=0.1) for seed in range(3)]
    assert judge_claim(STATEMENT, make_check(), records).verdict is None


def test_records_without_the_value_ask_for_a_new_run(make_record):
    claim = judge_claim(STATEMENT, make_check(), [make_record(loss=0.1)])
    assert claim.verdict is None
    assert "no value 'robust_error'" in claim.caveat


def test_an_evaluation_that_finds_no_answer_is_inconclusive(make_record):
    def evaluate(runs):
        raise Undecided("the curve stays above 0.5 on the whole grid: no crossing to report.")

    claim = judge_claim(STATEMENT, make_check(evaluate=evaluate), [make_record(robust_error=0.1)])
    assert (claim.verdict, claim.measured) == ("inconclusive", None)
    assert claim.caveat == "The curve stays above 0.5 on the whole grid: no crossing to report."


@pytest.mark.parametrize(
    "evaluate", [lambda runs: runs[7], lambda runs: 1 / (len(runs) - 1), lambda runs: {}["x"]]
)
def test_a_bug_of_a_check_is_an_error_and_no_verdict(make_record, evaluate):
    claim = judge_claim(STATEMENT, make_check(evaluate=evaluate), [make_record(robust_error=0.1)])
    assert claim.verdict is None
    assert claim.error.startswith("the check failed (")


def test_a_check_judges_its_own_statement_only():
    with pytest.raises(
        ValueError, match=r"the check of 'benign\.fig1' cannot judge the claim 'benign\.thm3\.1\.3'"
    ):
        judge_claim(STATEMENT, make_check(claim_id="benign.fig1"), [])


def test_numbers_that_are_not_finite_become_null(make_record):
    def evaluate(runs):
        return bound([run.result.robust_error for run in runs], "at most", math.inf, ERROR)

    records = [make_record(seed, robust_error=0.1) for seed in range(3)]
    plain = claim_json(judge_claim(STATEMENT, make_check(evaluate=evaluate, reported="~0.1"), records))
    assert plain["predicted"] is None
    assert plain["reported"] == "~0.1"
    json.dumps(plain, allow_nan=False)


@pytest.mark.parametrize(
    "crash", [ValueError("math domain error"), OverflowError(34, "out of range"), AttributeError("no `m`")]
)
def test_hypotheses_that_raise_are_an_error_of_the_check_and_no_verdict(make_record, crash):
    def conditions(config):
        raise crash

    records = [make_record(seed, robust_error=0.1) for seed in range(3)]
    claim = judge_claim(STATEMENT, make_check(conditions=conditions), records)
    assert claim.verdict is None
    assert claim.ledger == ()
    said = f"hypotheses of `{STATEMENT.id}` cannot be computed ({type(crash).__name__}: {crash})"
    assert said in claim.error


def test_a_hypothesis_may_look_at_what_was_measured(make_record):
    def observed(run):
        return [is_so("training has succeeded", run.result.robust_error < 0.5)]

    good = [make_record(seed, robust_error=0.1 + 0.01 * seed) for seed in range(3)]
    assert judge_claim(STATEMENT, make_check(observed=observed), good).verdict == "holds"
    bad = [*good, make_record(3, robust_error=0.9)]
    claim = judge_claim(STATEMENT, make_check(observed=observed), bad)
    assert claim.hypotheses_unmet == ("training has succeeded",)


def test_a_check_may_look_at_several_experiments(make_record):
    def evaluate(runs):
        other = [run.result.robust_error for run in runs.of(OTHER)]
        if not other:
            raise Undecided("the other experiment has not run.")
        return bound([run.result.robust_error for run in runs], "at most", sum(other) / len(other), ERROR)

    check = make_check(evaluate=evaluate, beside=(OTHER,))
    own = [make_record(seed, robust_error=0.1 + 0.01 * seed) for seed in range(3)]
    beside = [make_record(seed, experiment="benign.other", robust_error=0.3) for seed in range(2)]
    claim = judge_claim(STATEMENT, check, [*own, *beside])
    assert (claim.verdict, claim.predicted) == ("holds", 0.3)
    # Not yet run: no number to compare with, and no verdict of the wrong kind.
    assert judge_claim(STATEMENT, check, own).verdict == "inconclusive"


def test_seeds_beyond_the_plan_are_told_and_cost_width(make_record):
    records = [make_record(seed, robust_error=0.1 + 0.01 * seed) for seed in range(5)]
    planned = judge_claim(STATEMENT, make_check(), records, "tiny")
    added = judge_claim(STATEMENT, make_check(), records, "tiny", added=True)
    assert added.interval.high > planned.interval.high
    assert "not the planned one" in added.caveat
    assert "not the planned one" not in planned.caveat


def test_a_plan_knows_when_seeds_are_added():
    check = make_check()
    check = replace(check, experiment=replace(TOY, presets={"tiny": Preset(config=Config(), seeds=2)}))
    assert [plan_claim(check, "tiny", n).added for n in (None, 1, 2, 3)] == [False, True, False, True]


def test_a_share_is_settled_by_so_many_more_seeds(make_record):
    check = make_check(evaluate=lambda runs: share(10 * len(runs), 11 * len(runs), "at least", 0.8))
    records = [make_record(seed, robust_error=0.1) for seed in range(3)]
    claim = judge_claim(STATEMENT, check, records)
    assert claim.verdict == "inconclusive"
    assert claim.settles == f"about {claim.seeds_needed} seeds at the present spread"
    more = [make_record(seed, robust_error=0.1) for seed in range(claim.seeds_needed)]
    assert judge_claim(STATEMENT, check, more, added=True).verdict == "holds"
    assert judge_claim(STATEMENT, check, more[: len(more) // 2], added=True).verdict == "inconclusive"
    at_the_edge = make_check(evaluate=lambda runs: share(8 * len(runs), 10 * len(runs), "at least", 0.8))
    assert judge_claim(STATEMENT, at_the_edge, records).seeds_needed is None


DRAWN = replace(TOY, presets={"tiny": Preset(config=Config(), seeds=3)})


def every_value(side):
    return lambda runs: exact_bound([run.result.robust_error for run in runs], side, 0.2, ERROR, "proven")


def test_exact_numbers_of_random_draws_are_not_beyond_chance(make_record):
    check = make_check(experiment=DRAWN, evaluate=every_value("at most"))
    few, enough = ([make_record(seed, robust_error=0.1) for seed in range(n)] for n in (2, 3))
    assert judge_claim(STATEMENT, check, few).verdict == "inconclusive"
    claim = judge_claim(STATEMENT, check, enough)
    assert (claim.verdict, claim.grounds, claim.p_value) == ("holds", "every draw", 0.5**3)
    refuted = judge_claim(STATEMENT, make_check(experiment=DRAWN, evaluate=every_value("at least")), few[:1])
    assert (refuted.verdict, refuted.p_value) == ("fails", 0.0)
    alone = judge_claim(STATEMENT, make_check(evaluate=every_value("at most")), few[:1])
    assert (alone.verdict, alone.grounds, alone.p_value) == ("holds", "exact", 0.0)


@pytest.mark.parametrize("seeds", [1, 2])
def test_settings_do_not_stand_in_for_seeds(make_record, seeds):
    records = [
        make_record(seed, config={"d": d}, robust_error=0.1 + d / 1e4 + seed / 1e3)
        for seed in range(seeds)
        for d in (10, 20, 30, 40)
    ]
    claim = judge_claim(STATEMENT, make_check(), records)
    assert claim.verdict == "inconclusive"
    assert "seeds that a random quantity needs" in claim.caveat


def test_draws_inside_one_cell_do_not_stand_in_for_seeds(make_record):
    check = make_check(evaluate=lambda runs: share(len(runs) * 200, len(runs) * 200, "at least", 0.5))
    verdicts = [
        judge_claim(STATEMENT, check, [make_record(seed, robust_error=0.1) for seed in range(n)]).verdict
        for n in (1, 3)
    ]
    assert verdicts == ["inconclusive", "holds"]
