"""Theorems 3.1 and 3.2 and the paper's headline experiment."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from karat.papers.benign import bounds
from karat.papers.benign.checks.predictions import error_floor
from karat.papers.benign.checks.settings import config_of, per_setting, unmet, with_hidden_constant
from karat.study.claim import Check, Finding
from karat.study.curves import combine, vacuous, with_caveat
from karat.study.evaluate import ROUNDING, upper_bound_finding, values_of
from karat.study.record import Record


def _training_loss(records: Sequence[Record]) -> Finding:
    """Loss below the proof's bound, and no training point left that the attack can break.

    A bound of log 2 or more, the loss of the zero net, says nothing; the training error is judged anyway.
    """
    config = config_of(records[0])
    setting, losses = config.setting(), values_of(records, "final_train_loss")
    bound = bounds.training_loss_bound(setting, config.elapsed)
    loss = upper_bound_finding(losses, bound)
    if bound >= math.log(2):
        needed = bounds.training_time(setting, math.log(2))
        note = (
            f"after {config.steps} steps the loss bound {bound:.3g} is above log 2, the loss of the zero "
            f"net; it says something from T = {needed:.2g} on."
        )
        loss = vacuous(max(losses), bound, note)
    error = upper_bound_finding(values_of(records, "final_train_error"), 0.0, deterministic=True)
    return combine([error, loss], f"Largest robust training error: {error.measured:.3g}.")


def _hidden_constant(records: Sequence[Record], name: str, *, robust: bool) -> Finding:
    """A bound with a hidden constant C: met at C = 1, or by which C it would be met.

    Missing the bound at C = 1 refutes nothing, for the theorem only says that some C works.
    """
    setting = config_of(records[0]).setting()
    predicted = (bounds.robust_error_bound if robust else bounds.clean_error_bound)(setting)
    finding = upper_bound_finding(values_of(records, name), predicted)
    if finding.verdict == "holds" or finding.measured is None:
        return finding
    high = finding.interval.high if finding.interval else finding.measured
    needed = bounds.implied_constant(setting, high, robust=robust)
    text = f"The prediction takes the hidden constant C as 1; the measurement needs C >= {needed:.2f}."
    return replace(finding, verdict="inconclusive", caveat=text)


def _clean_error(records: Sequence[Record]) -> Finding:
    return _hidden_constant(records, "final_clean_error", robust=False)


def _robust_error(records: Sequence[Record]) -> Finding:
    """The bound is on a supremum: only the certified error, not what an attack finds, can be below it."""
    finding = _hidden_constant(records, "final_certified_error", robust=True)
    attacked = max(values_of(records, "final_robust_error"))
    return with_caveat(finding, f"Certified from above; PGD finds {attacked:.4g}.")


def _floor(records: Sequence[Record]) -> Finding:
    """Robust error of trained nets against the bound for every classifier, tau below and above |mu|.

    PGD's error is a lower bound on the true one, so a cell above the floor is decisive. A cell below it by
    more than three standard deviations of its test points would refute the theorem; less than that is noise.
    """
    slacks = [(r.values["robust_error"] - error_floor(r), error_floor(r), config_of(r)) for r in records]
    slack, floor, config = min(slacks, key=lambda item: item[0])
    slack = 0.0 if abs(slack) <= ROUNDING else slack
    noise = math.sqrt(floor * (1 - floor) / config.n_test)
    verdict: Any = "holds" if slack >= 0 else "inconclusive" if slack > -3 * noise else "fails"
    where = (
        f"Smallest slack over {len(records)} runs: {slack:.4f}, at |mu| = {config.mu:g}, tau/|mu| = "
        f"{config.test_tau / config.mu:g}."
    )
    return Finding(measured=floor + slack, interval=None, predicted=floor, verdict=verdict, caveat=where)


def _experiment(records: Sequence[Record]) -> Finding:
    """Robust test error at the flip rate, as far as one test set of the paper's size can tell.

    A test set of n_test points resolves an error rate to its binomial standard deviation; twice that above
    the flip rate is where a printed curve would visibly stay off it.
    """
    config = config_of(records[0])
    spread = math.sqrt(config.flip_rate * (1 - config.flip_rate) / config.n_test)
    finding = upper_bound_finding(values_of(records, "final_robust_error"), config.flip_rate + 2 * spread)
    broken = max(values_of(records, "final_train_error"))
    if broken > 0:
        return replace(finding, verdict="fails", caveat=f"Robust training error is {broken:.3g}, not 0.")
    bracket = max(values_of(records, "final_certified_error"))
    note = (
        f"Judged against the flip rate plus two standard deviations of {config.n_test} test points; "
        f"the certificate allows a robust error up to {bracket:.3f}."
    )
    return replace(finding, caveat=" ".join(filter(None, [finding.caveat, note])))


def _independent_flips(config: Mapping[str, Any]) -> list[str]:
    """Hypotheses of Theorem 3.2."""
    return [] if config["flips"] == "independent" else ["Thm 3.2: label flips are independent"]


_READINGS = {
    "thm3.1.1": "The loss is compared with the proof's bound at time sum of steps, c0 = 1; "
    "training error by PGD.",
    "thm3.1.2": "c = 1/2 (concentration of strongly log-concave laws), hidden constant C = 1.",
    "thm3.1.3": "c = 1/2, C = 1; certified robust error, labels flipped exactly, not drawn.",
}


def _theorem(item: str, evaluate: Callable[[Sequence[Record]], Finding]) -> Check:
    """A part of Theorem 3.1: at the paper's own size, or (`.regime`) at a size inside its hypotheses."""
    inside = item.endswith(".regime")
    return Check(
        claim_id=f"benign.{item}",
        experiment="benign.regime" if inside else "benign.thm3.1",
        evaluate=per_setting(with_hidden_constant(evaluate)),
        hypotheses=unmet,
        reading=_READINGS[item.removesuffix(".regime")],
        headline=True,
    )


CHECKS = (
    _theorem("thm3.1.1", _training_loss),
    _theorem("thm3.1.2", _clean_error),
    _theorem("thm3.1.3", _robust_error),
    _theorem("thm3.1.1.regime", _training_loss),
    _theorem("thm3.1.2.regime", _clean_error),
    _theorem("thm3.1.3.regime", _robust_error),
    Check(
        claim_id="benign.thm3.2",
        experiment="benign.thm3.2",
        evaluate=_floor,
        hypotheses=_independent_flips,
        reading="PGD's robust error is a lower bound on the true one: staying above the floor is decisive.",
        headline=True,
    ),
    Check(
        claim_id="benign.sec5",
        experiment="benign.sec5",
        evaluate=per_setting(_experiment),
        reported="100% robust training accuracy; robust test error converges to 0.1",
        reading="PGD strength and step in units of |mu|; all parameters trained, PyTorch start.",
        headline=True,
    ),
)
