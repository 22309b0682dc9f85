"""What the formulas say about runs: the threshold law fitted to a sweep, and the bounds of one setting."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from karat.data.cluster_law import overlap
from karat.papers.benign.bounds import robust_error_floor
from karat.papers.benign.bounds_fit import ThresholdFit, fit_threshold_law
from karat.papers.benign.bounds_lemmas import loss_ratio_bound
from karat.papers.benign.checks.settings import sorted_settings
from karat.papers.benign.experiments.evaluation import ErrorKind, Evaluation
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.study.run import Run

KINDS: tuple[ErrorKind, ErrorKind] = ("clean", "robust")


@dataclass(frozen=True)
class FittedLaw:
    r"""Errors of a sweep, (k,) clean ones and then (k,) robust ones, with the law fitted to them.

    Args:
        error: (2k,) means over seeds.
        argument: (2k,) :math:`\kappa \|\mu\|^2 \sqrt{n/d} - \rho \tau`.
        flip_rate: (2k,) label noise.
        fit: the law's constants.
    """

    error: np.ndarray
    argument: np.ndarray
    flip_rate: np.ndarray
    fit: ThresholdFit


def fitted_law(runs: Sequence[Run[MixtureConfig, Evaluation]]) -> FittedLaw:
    """Fit the threshold law to the clean (tau = 0) and robust errors of all settings at once.

    Args:
        runs: of a sweep.

    Ref: benign, Thm 3.1
    """
    groups = sorted_settings(runs)
    configs = [group[0].config for group in groups]
    error = np.array(
        [np.mean([run.result.test_error(kind) for run in group]) for kind in KINDS for group in groups]
    )
    mu, n, d, flip_rate = (
        np.tile(values, 2)
        for values in (
            [config.mu for config in configs],
            [float(config.n) for config in configs],
            [float(config.d) for config in configs],
            [config.flip_rate for config in configs],
        )
    )
    tau = np.array([0.0] * len(configs) + [config.test_tau for config in configs])
    fit = fit_threshold_law(error, mu=mu, tau=tau, n=n, d=d, flip_rate=flip_rate)
    return FittedLaw(error, fit.kappa * mu**2 * np.sqrt(n / d) - fit.rho * tau, flip_rate, fit)


def loss_ratio_limit(config: MixtureConfig) -> float:
    """Return the bound on the ratio of loss derivatives in a setting.

    Args:
        config: the setting.

    Ref: benign, Lemma 4.4
    """
    setting = config.setting()
    return loss_ratio_bound(
        config.d, config.tau, kappa=config.law.variance, slope=setting.slope, smooth=setting.smooth
    )


def error_floor(config: MixtureConfig) -> float:
    """Return the robust error that no classifier can go below in a setting.

    Args:
        config: the setting.

    Ref: benign, Thm 3.2
    """
    shared = overlap(config.law, 2 * (config.mu - config.test_tau)) if config.test_tau < config.mu else None
    return robust_error_floor(config.mu, config.test_tau, config.flip_rate, overlap=shared)
