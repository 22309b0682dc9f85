"""The threshold law of benign overfitting, and its two constants from measured errors."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares
from scipy.special import ndtr, ndtri

Numbers = np.ndarray | list[float] | float
# Excess errors nearer to 0 or 1 than this carry no slope for the first guess.
_EDGE = 0.02


@dataclass(frozen=True)
class ThresholdFit:
    r"""Constants of the law with the errors it gives.

    Args:
        kappa: signal gained per :math:`\|\mu\|^2 \sqrt{n/d}`.
        rho: signal lost per unit of the attack radius.
        rmse: root mean square of measured minus fitted.
        fitted: (k,) errors of the law at the measured points.
    """

    kappa: float
    rho: float
    rmse: float
    fitted: np.ndarray


def threshold_law(
    mu: Numbers, tau: Numbers, n: Numbers, d: Numbers, flip_rate: Numbers, *, kappa: float, rho: float
) -> np.ndarray:
    r"""Test error of a margin that grows as the theorem says, under Gaussian noise and an attack.

    .. math::
        \beta + (1 - 2\beta)\, \Phi\bigl(-(\kappa \|\mu\|^2 \sqrt{n/d} - \rho \alpha)\bigr)

    Symbols: :math:`\alpha` is `tau`, :math:`\beta` is `flip_rate`.

    Args:
        mu: length of the signal, a number or (k,) as all that follow.
        tau: attack radius, 0 for the clean error.
        n: training samples.
        d: input dimension.
        flip_rate: label noise.
        kappa: signal gained per :math:`\|\mu\|^2 \sqrt{n/d}`.
        rho: signal lost per unit of the attack radius.

    Reading: the bound of the theorem has :math:`e^{-c x^2}` where this has :math:`\Phi(-x)`, the value for
        Gaussian margins; both depend on :math:`n \|\mu\|^4 / d` and tau only. C of the theorem is rho/kappa.

    >>> float(threshold_law(0.0, 0.0, 100, 1000, 0.1, kappa=0.5, rho=1.3))
    0.5

    Ref: benign, Thm 3.1(3)
    """
    signal = np.square(mu) * np.sqrt(np.asarray(n, dtype=float) / np.asarray(d, dtype=float))
    beta = np.asarray(flip_rate, dtype=float)
    return np.asarray(beta + (1 - 2 * beta) * ndtr(rho * np.asarray(tau) - kappa * signal))


def fit_threshold_law(
    error: Numbers, *, mu: Numbers, tau: Numbers, n: Numbers, d: Numbers, flip_rate: Numbers
) -> ThresholdFit:
    r"""Return the constants :math:`\kappa, \rho \ge 0` of `threshold_law` by least squares on the errors.

    Args:
        error: (k,) measured errors, clean and robust ones.
        mu: length of the signal, a number or (k,) as all that follow.
        tau: attack radius, 0 where the error is the clean one.
        n: training samples.
        d: input dimension.
        flip_rate: label noise.

    Reading: least squares on the errors themselves, so that cells far from the threshold, where the law is
        flat, neither help nor harm.

    Ref: benign, Thm 3.1(3)
    """
    measured, mus, taus, ns, ds, betas = (
        np.ravel(values) for values in np.broadcast_arrays(error, mu, tau, n, d, flip_rate)
    )
    if len(measured) < 3:
        raise ValueError(f"`error` of `fit_threshold_law` must hold at least 3 numbers, got {len(measured)}.")
    for name, values in (("error", measured), ("mu", mus), ("tau", taus)):
        if not np.isfinite(values).all():
            raise ValueError(f"`{name}` of `fit_threshold_law` must hold finite numbers.")
    if not (taus > 0).any():
        raise ValueError("`tau` of `fit_threshold_law` must be above 0 somewhere: rho is unknown without it.")

    def residual(constants: np.ndarray) -> np.ndarray:
        kappa, rho = constants
        return threshold_law(mus, taus, ns, ds, betas, kappa=kappa, rho=rho) - measured

    guess = _first_guess(measured, np.square(mus) * np.sqrt(ns / ds), taus, betas)
    # Under small attacks the errors hardly depend on rho; scaling by the Jacobian makes its steps as large.
    solution = least_squares(residual, guess, bounds=(0.0, np.inf), x_scale="jac")
    kappa, rho = map(float, solution.x)
    rmse = math.sqrt(float(np.mean(solution.fun**2)))
    return ThresholdFit(kappa, rho, rmse, measured + solution.fun)


def _first_guess(error: np.ndarray, signal: np.ndarray, tau: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Linear least squares on the probit scale, over the points that are not saturated.

    There the law is linear in its constants, so that the guess needs no start of its own.
    """
    excess = (error - beta) / (1 - 2 * beta)
    inner = (excess > _EDGE) & (excess < 1 - _EDGE)
    design = np.column_stack([signal, -tau])[inner]
    guess = np.linalg.lstsq(design, -ndtri(excess[inner]), rcond=None)[0] if inner.any() else np.zeros(2)
    # Noise can bring a guess to 0 or below, the edge of what is searched.
    return np.asarray(np.clip(guess, 1e-2, None))
