"""What the formulas say about records: the threshold law fitted to a sweep, and the bounds of a run."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from karat.data.cluster_law import overlap
from karat.papers.benign.bounds import loss_ratio_bound, robust_error_floor
from karat.papers.benign.bounds_fit import ThresholdFit, fit_threshold_law
from karat.papers.benign.checks.settings import by_setting, config_of
from karat.study.record import Record


@dataclass(frozen=True)
class FittedLaw:
    """Errors of a sweep, (k,) clean ones and then (k,) robust ones, with the law fitted to them.

    Args:
        error: (2k,) means over seeds.
        argument: (2k,) kappa |mu|^2 sqrt(n/d) - rho tau.
        flip_rate: (2k,).
    """

    error: np.ndarray
    argument: np.ndarray
    flip_rate: np.ndarray
    fit: ThresholdFit


def fitted_law(records: Sequence[Record]) -> FittedLaw:
    """Fit the threshold law to the clean (tau = 0) and robust errors of all settings at once.

    Ref: benign, Thm 3.1
    """
    groups = by_setting(records)
    configs = [config_of(group[0]) for group in groups]
    error = np.array(
        [
            np.mean([r.values[f"{kind}_error"] for r in group])
            for kind in ("clean", "robust")
            for group in groups
        ]
    )
    mu, n, d, flip_rate = (
        np.tile([float(getattr(config, name)) for config in configs], 2)
        for name in ("mu", "n", "d", "flip_rate")
    )
    tau = np.array([0.0] * len(configs) + [config.test_tau for config in configs])
    fit = fit_threshold_law(error, mu=mu, tau=tau, n=n, d=d, flip_rate=flip_rate)
    return FittedLaw(error, fit.kappa * mu**2 * np.sqrt(n / d) - fit.rho * tau, flip_rate, fit)


def loss_ratio_limit(record: Record) -> float:
    """Bound on the ratio of loss derivatives in the setting of a record.

    Ref: benign, Lemma 4.4
    """
    config = config_of(record)
    setting = config.setting()
    return loss_ratio_bound(
        config.d, config.tau, kappa=config.law.variance, slope=setting.slope, smooth=setting.smooth
    )


def error_floor(record: Record) -> float:
    """Robust error that no classifier can go below, in the setting of a record.

    Ref: benign, Thm 3.2
    """
    config = config_of(record)
    shared = overlap(config.law, 2 * (config.mu - config.test_tau)) if config.test_tau < config.mu else None
    return robust_error_floor(config.mu, config.test_tau, config.flip_rate, overlap=shared)
