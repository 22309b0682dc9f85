r"""Hypotheses of purification's theorems, and which of them a run breaks.

Reading: constants hidden in :math:`O(\cdot)` and :math:`\Theta(\cdot)` are 1.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from karat.papers.purification.bounds import GAMMA, l2_window, regularisation, robust_radius


@dataclass(frozen=True, kw_only=True)
class TheoremSetting:
    r"""Everything the theorems ask about.

    Args:
        d: input dimension.
        k: sparsity.
        m: pairs of neurons.
        sigma_x: standard deviation of the Gaussian input noise.
        p: norm of the attacks in training, 2 or inf.
        tau: radius of the attacks in training, None if it is not known.
        lam: weight :math:`\lambda` of the regulariser.
        random_start: whether the first rows are small and Gaussian.
        ticket: first threshold over :math:`\sigma_0 \sqrt{2 \log d}`.
        sampled_noise: whether rho is drawn inside the loss.
        paper_schedule: whether bias and noise follow the printed schedules.
        axis_dictionary: whether the features lie along the axes.
    """

    d: int
    k: int
    m: int
    sigma_x: float
    p: float
    tau: float | None
    lam: float
    random_start: bool
    ticket: float
    sampled_noise: bool
    paper_schedule: bool
    axis_dictionary: bool

    @property
    def c0(self) -> float:
        """From m = d^(1 + c0), as it is: the theorems want it tiny, which no finite m > d can show."""
        return math.log(self.m) / math.log(self.d) - 1


def unmet_clean(s: TheoremSetting) -> list[str]:
    r"""Hypotheses of the theorems on clean training that a run breaks, each with both sides in numbers.

    .. math:: k \le d^{0.499}, \quad \lambda = \frac{\log\log\log d}{d}, \quad
        b_0 \ge \sqrt{2 + 2 (1 - \gamma) c_0} \, \sigma_0 \sqrt{\log d}, \quad k \log^{2.5} d < d

    Args:
        s: the run as the theorems see it.

    Reading: the last inequality is :math:`T_a < T_b`, without which there is no first phase.

    Ref: purification, Asm 2.1; purification, Thm 5.1; purification, Thm C.1
    """
    limit, printed, wait = s.d**0.499, regularisation(s.d), s.k * math.log(s.d) ** 2.5
    least = math.sqrt(2 + 2 * (1 - GAMMA) * s.c0)
    checks = [
        (s.k <= limit, f"Asm 2.1: k <= d^0.499 = {limit:.3g}, k = {s.k}"),
        (
            abs(s.lam - printed) <= 0.5 * printed,
            f"Sec 4: lambda = logloglog(d)/d = {printed:.3g}, is {s.lam:.3g}",
        ),
        (s.random_start, "Sec 4.1: random start w ~ N(0, sigma_0^2 I), here the pure features"),
        (
            s.random_start and s.ticket * math.sqrt(2) >= least,
            f"Lem B.2: b0 >= sqrt(2 + {2 * (1 - GAMMA):g} c0) sigma_0 sqrt(log d) with c0 = {s.c0:.2f}, "
            f"is {s.ticket * math.sqrt(2):.3g} sigma_0 sqrt(log d)",
        ),
        (
            not s.random_start or wait < s.d,
            f"Thm C.1: T_a < T_b, i.e. k log(d)^2.5 < d, {wait:.3g} against {s.d}",
        ),
        (s.paper_schedule, "Sec 4.1: bias and noise schedules of the paper; here a two-stage or frozen bias"),
        (s.sampled_noise, "Alg 1: noise drawn inside the loss; here the loss of the smoothed net"),
        # Every experiment draws fresh batches and takes steps of finite size.
        (False, "Alg 1: full-batch descent on one fixed set of poly(d) points with lr <= 1/poly(d)"),
    ]
    return _broken(checks)


def unmet_fragile(s: TheoremSetting) -> list[str]:
    r"""Hypotheses of the theorem on the fragility of the clean net, those of clean training included.

    .. math:: k > d^{(1 - c_0)/3}

    Args:
        s: the run as the theorems see it.

    Ref: purification, Thm E.1
    """
    least = s.d ** ((1 - s.c0) / 3)
    sentence = f"Thm E.1: k > d^((1 - c0)/3) = {least:.3g} with c0 = {s.c0:.2f}, k = {s.k}"
    return unmet_clean(s) + _broken([(s.k > least, sentence)])


def unmet_robust(s: TheoremSetting) -> list[str]:
    r"""Hypotheses of the theorems on adversarial training, those of clean training included.

    .. math:: k^{2.5} < \frac{d^{1 - 2 c_0}}{\log d}, \quad \sigma_x \le \frac{d^{2 - 4 c_0}}{k^{5.5}}, \quad
        \tau \le \frac{1}{\sqrt k \, d^{c_0}}, \quad d^{1/3} < k < d^{0.4}

    The first is asked for both norms, the others for l2; the l_inf theorem asks for a sparse dictionary.

    Args:
        s: the run as the theorems see it.

    Ref: purification, Thm 5.3; purification, Thm F.1; purification, Thm F.4
    """
    low, high = l2_window(s.d)
    room = s.d ** (1 - 2 * s.c0) / math.log(s.d)
    bound = min(1.0, s.d ** (2 * (1 - 2 * s.c0)) / s.k**5.5)
    radius = robust_radius(s.d, s.k, s.c0)
    checks = [
        (
            s.k**2.5 < room,
            f"Thm F.1: k^2.5 < d^(1 - 2 c0)/log d = {room:.3g} with c0 = {s.c0:.2f}, k^2.5 = {s.k**2.5:.3g}",
        ),
        (
            s.p != 2 or s.sigma_x <= bound,
            f"Thm F.1: sigma_x <= d^(2 - 4 c0)/k^5.5 = {bound:.2g}, is {s.sigma_x:g}",
        ),
        (
            s.p != 2 or s.tau is None or s.tau <= radius,
            f"Thm F.1: tau = 1/(sqrt(k) d^c0) = {radius:.3g}, is {s.tau or 0:.3g}",
        ),
        (
            s.p != 2 or low < s.k < high,
            f"Cor F.3: d^(1/3) < k < d^0.4, i.e. {low:.3g} < k < {high:.3g}, k = {s.k}",
        ),
        (
            s.p == 2 or s.axis_dictionary,
            "Thm 5.4: row and column sums of M are d^o(1); a dense M has sqrt(d)",
        ),
    ]
    return unmet_clean(s) + _broken(checks)


def _broken(checks: Iterable[tuple[bool, str]]) -> list[str]:
    return [sentence for met, sentence in checks if not met]
