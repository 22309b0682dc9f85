"""Checks of benign: how its statements are tested."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from karat.bounds import benign as bounds
from karat.claims.claim import Check, Finding
from karat.claims.evaluate import lower_bound_finding, upper_bound_finding, values_of
from karat.data.cluster_law import overlap
from karat.experiments.benign.mixture import Config
from karat.experiments.config import config_from_json
from karat.experiments.record import Record


def _config(record: Record) -> Config:
    config: Config = config_from_json(Config, record.config)
    return config


def _unmet(config: Mapping[str, Any]) -> list[str]:
    """Hypotheses of Theorem 3.1 that a run breaks."""
    read: Config = config_from_json(Config, config)
    return bounds.unmet_hypotheses(read.setting())


def _training_loss(records: Sequence[Record]) -> Finding:
    """Loss below the proof's bound, and no training point left that the attack can break."""
    config = _config(records[0])
    predicted = bounds.training_loss_bound(config.setting(), config.elapsed)
    finding = upper_bound_finding(values_of(records, "final_train_loss"), predicted)
    broken = max(values_of(records, "final_train_error"))
    if broken > 0:
        return replace(
            finding, verdict="fails", caveat=f"A share {broken:.3g} of the training points is broken."
        )
    return finding


def _hidden_constant(records: Sequence[Record], name: str, *, robust: bool) -> Finding:
    """A bound with a hidden constant C: met at C = 1, or by which C it would be met.

    Missing the bound at C = 1 refutes nothing, for the theorem only says that some C works.
    """
    setting = _config(records[0]).setting()
    predicted = (bounds.robust_error_bound if robust else bounds.clean_error_bound)(setting)
    finding = upper_bound_finding(values_of(records, name), predicted)
    if finding.verdict == "holds" or finding.measured is None:
        return finding
    high = finding.interval.high if finding.interval else finding.measured
    needed = bounds.implied_constant(setting, high, robust=robust)
    return replace(
        finding,
        verdict="inconclusive",
        caveat=f"The prediction takes the hidden constant C as 1; the measurement needs C >= {needed:.2f}.",
    )


def _clean_error(records: Sequence[Record]) -> Finding:
    return _hidden_constant(records, "final_clean_error", robust=False)


def _robust_error(records: Sequence[Record]) -> Finding:
    return _hidden_constant(records, "final_robust_error", robust=True)


def _floor(records: Sequence[Record]) -> Finding:
    """Robust error of a trained net against the bound for every classifier."""
    config = _config(records[0])
    shared = overlap(config.law, 2 * (config.mu - config.tau)) if config.tau < config.mu else None
    predicted = bounds.robust_error_floor(config.mu, config.tau, config.flip_rate, overlap=shared)
    return lower_bound_finding(values_of(records, "final_robust_error"), predicted)


def _experiment(records: Sequence[Record]) -> Finding:
    """Robust test error at the flip rate, as far as one test set of the paper's size can tell.

    A test set of n_test points resolves an error rate to its binomial standard deviation; twice that above
    the flip rate is where a printed curve would visibly stay off it.
    """
    config = _config(records[0])
    spread = math.sqrt(config.flip_rate * (1 - config.flip_rate) / config.n_test)
    limit = config.flip_rate + 2 * spread
    finding = upper_bound_finding(values_of(records, "final_robust_error"), limit)
    broken = max(values_of(records, "final_train_error"))
    note = f"Judged against the flip rate plus two standard deviations of {config.n_test} test points."
    if broken > 0:
        return replace(finding, verdict="fails", caveat=f"Robust training error is {broken:.3g}, not 0.")
    return replace(finding, caveat=" ".join(filter(None, [finding.caveat, note])))


def _independent_flips(config: Mapping[str, Any]) -> list[str]:
    """Hypotheses of Theorem 3.2."""
    return [] if config["flips"] == "independent" else ["Thm 3.2: label flips are independent"]


CHECKS = (
    Check(
        claim_id="benign.thm3.1.1",
        experiment="benign.thm3.1",
        evaluate=_training_loss,
        hypotheses=_unmet,
        reading="The loss is compared with the proof's bound at time sum of step sizes, constant c0 = 1.",
        headline=True,
    ),
    Check(
        claim_id="benign.thm3.1.2",
        experiment="benign.thm3.1",
        evaluate=_clean_error,
        hypotheses=_unmet,
        reading="c = 1/2 (concentration of strongly log-concave laws), hidden constant C = 1.",
        headline=True,
    ),
    Check(
        claim_id="benign.thm3.1.3",
        experiment="benign.thm3.1",
        evaluate=_robust_error,
        hypotheses=_unmet,
        reading="c = 1/2, C = 1; robust error by PGD, labels flipped exactly rather than drawn.",
        headline=True,
    ),
    Check(
        claim_id="benign.thm3.2",
        experiment="benign.sec5",
        evaluate=_floor,
        hypotheses=_independent_flips,
        reading="PGD's robust error is a lower bound on the true one: staying above the floor is decisive.",
    ),
    Check(
        claim_id="benign.sec5",
        experiment="benign.sec5",
        evaluate=_experiment,
        reported="100% robust training accuracy; robust test error converges to 0.1",
        reading="PGD strength and step in units of |mu|; all parameters trained, PyTorch start.",
        headline=True,
    ),
)
