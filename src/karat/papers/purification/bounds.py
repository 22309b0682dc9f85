"""Formulas of purification: radii, times, ticket counts, and the hypotheses of its theorems.

Symbols: sigma_0 is `init_scale`, eta is `lr`, Xi2 = d^(2 gamma c0), m = d^(1 + c0). Radii are rates: hidden
constants are 1 and the text's small exponents are arguments.
"""

import math
from dataclasses import dataclass

from scipy.special import ndtr

from karat.core.checks import require_integer, require_number

GAMMA = 0.05
"""The slack gamma of the lottery's levels, which the proofs take in (0, 0.1)."""


def regularisation(d: int) -> float:
    """lambda = log log log d / d, and 0 below d = 16 where the triple logarithm is not positive.

    >>> round(200 * regularisation(200), 3)
    0.511

    Ref: purification, Sec 4
    """
    return max(0.0, math.log(math.log(math.log(d)))) / d if d > math.e else 0.0


def xi2(d: int, c0: float, gamma: float) -> float:
    """Xi2 = d^(2 gamma c0), the bound on potential winners per feature.

    Ref: purification, Lemma B.2
    """
    return float(d ** (2 * gamma * c0))


def clean_failure_radius(
    d: int, k: int, c0: float, gamma: float, *, p: float = 2.0, row_sum: float = 1.0
) -> float:
    """Radius at which clean training has lost all accuracy, Xi2^10 sqrt(d)/k^2 or (l_inf) Xi2^10 row_sum/k^2.

    Args:
        row_sum: largest absolute row sum of M; only l_inf uses it.

    Holds when: k > d^((1 - c0)/3).
    Reading: the statement evaluates f(x - delta) at a delta that already carries -y; the proof moves x
        against y. Its |M|_1 is read as the largest absolute row sum, which is what bounds |M w*|_inf.

    Ref: purification, Thm E.1
    """
    lever = math.sqrt(d) if p == 2 else row_sum
    return xi2(d, c0, gamma) ** 10 * lever / k**2


def robust_radius(d: int, k: int, c0: float, *, p: float = 2.0, column_sum: float = 1.0) -> float:
    """Radius where adversarial training holds: 1/(sqrt(k) d^c0) in l2, 1/(k^1.75 column_sum d^c0) in l_inf.

    Reading: |M|_inf of the l_inf theorem is read as the largest absolute column sum, which bounds |M z|_1.

    Ref: purification, Thm F.1; purification, Thm F.4
    """
    size = math.sqrt(k) if p == 2 else k**1.75 * column_sum
    return 1 / (size * d**c0)


def universal_radius(k: int, c: float) -> float:
    """k^-(0.5 + 10 c): from here on the universal direction fools the clean net.

    Ref: purification, Thm 5.1(c)
    """
    return float(k ** -(0.5 + 10 * c))


def l_inf_radii(k: int, c0: float, c1: float) -> tuple[float, float]:
    """(k^-(2 - c1), k^-(1.75 + 2 c0)): where the clean net falls, and where the robust one still holds.

    Ref: purification, Thm 5.4
    """
    return k ** -(2 - c1), k ** -(1.75 + 2 * c0)


def l2_window(d: int) -> tuple[float, float]:
    """(d^(1/3), d^0.4): the sparsities between which the theorems separate clean from robust in l2.

    Reading: sqrt(d)/k^2 < 1/sqrt(k) needs k > d^(1/3), the movement bound needs k^2.5 < d.

    Ref: purification, Cor F.3
    """
    return d ** (1 / 3), d**0.4


def times(
    d: int, k: int, lr: float, init_scale: float, *, c0: float = 0.0, gamma: float = 0.0
) -> dict[str, float]:
    """The paper's iteration counts: end of the first lottery phase, of the lottery, winners grown, T_c, T_g.

    Reading: T_g = k^2 d^(2 c0)/lr, for which the statement prints k^2/d^(1 - 2 c0).

    Ref: purification, Thm C.1; purification, Thm C.2; purification, Thm 5.1; purification, Thm F.1
    """
    log_d = math.log(d)
    return {
        "T_a": d * init_scale * log_d**2.5 / lr,
        "T_b": d**2 * init_scale / (k * lr),
        "T_e": d / (lr * xi2(d, c0, gamma) * log_d),
        "T_c": d**1.01 / lr,
        "T_g": k**2 * d ** (2 * c0) / lr,
    }


@dataclass(frozen=True, kw_only=True)
class TicketCounts:
    """Expected at initialisation: sure and potential winners per feature, potential tickets per neuron."""

    sure: float
    potential: float
    tickets_per_neuron: float


def ticket_counts(d: int, m: int, c0: float, gamma: float) -> TicketCounts:
    """Exact expectations behind Lemma B.2, from Gaussian tails instead of their exponents.

        P(sure) = Q(s+) (1 - p2)^(d-1),  s+- = sqrt((c1 +- c2) log d),  p2 = 2 Q(s-),  Q the Gaussian tail

    Reading: the lemma's Omega(d^(7 c0/4)) is the proof's d^(gamma c0/4); at finite d neither exponent says
        much, the tails do. Q(s+) without 2: a sure winner has the sign of w*_j.

    Ref: purification, Lemma B.2
    """
    require_integer(d, "d", "ticket_counts", minimum=2)
    require_number(c0, "c0", "ticket_counts", positive=True)
    c1, c2 = 2 + 2 * (1 - gamma) * c0, gamma * c0
    q_plus = float(ndtr(-math.sqrt((c1 + c2) * math.log(d))))
    p_two = 2 * float(ndtr(-math.sqrt((c1 - c2) * math.log(d))))
    return TicketCounts(
        sure=m * q_plus * (1 - p_two) ** (d - 1), potential=m * p_two, tickets_per_neuron=d * p_two
    )


def mixture_ratio(expected_support: float, d: int) -> float:
    """Equilibrium beta/alpha = E|z|_0 / d of a neuron that wakes exactly when its own code is on.

    Balance of gradient and decay: the own coefficient grows by E[l' z_j y] with probability one of waking,
    every other one with P(z_i on) = E|z|_0/d of it. The paper says Theta(k/d).

    Ref: purification, Eq 5.1
    """
    return expected_support / d


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Everything the theorems speak of.

    Args:
        d, k, m: sizes.
        sigma_x: Gaussian noise.
        p, tau: norm and radius of training (None: not known here).
        decay: lambda.
        random_start: small Gaussian rows.
        ticket: b0 over init_scale sqrt(2 log d).
        sampled_noise: rho drawn inside the loss.
        paper_schedule: bias and noise as printed.
        axis_dictionary: features along the axes.
    """

    d: int
    k: int
    m: int
    sigma_x: float
    p: float
    tau: float | None
    decay: float
    random_start: bool
    ticket: float
    sampled_noise: bool
    paper_schedule: bool
    axis_dictionary: bool

    @property
    def c0(self) -> float:
        """From m = d^(1 + c0), as it is: the theorems want it tiny, which no finite m > d can show."""
        return math.log(self.m) / math.log(self.d) - 1


def unmet_clean(s: Setting) -> list[str]:
    """Hypotheses of the theorems on clean training that a run breaks, each with both sides in numbers.

    Reading: constants hidden in O(.) and Theta(.) are 1. The first phase needs T_a < T_b.

    Ref: purification, Asm 2.1; purification, Thm 5.1; purification, Thm C.1
    """
    limit, lam, wait = s.d**0.499, regularisation(s.d), s.k * math.log(s.d) ** 2.5
    least = math.sqrt(2 + 2 * (1 - GAMMA) * s.c0)
    checks = [
        (s.k <= limit, f"Asm 2.1: k <= d^0.499 = {limit:.3g}, k = {s.k}"),
        (
            abs(s.decay - lam) <= 0.5 * lam,
            f"Sec 4: lambda = logloglog(d)/d = {lam:.3g}, is {s.decay:.3g}",
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
        (False, "Alg 1: full-batch descent on one fixed set of poly(d) points with lr <= 1/poly(d)"),
    ]
    return [sentence for met, sentence in checks if not met]


def unmet_fragile(s: Setting) -> list[str]:
    """Hypotheses of the theorem on the fragility of the clean net, those of clean training included.

    Ref: purification, Thm E.1
    """
    least = s.d ** ((1 - s.c0) / 3)
    sentence = f"Thm E.1: k > d^((1 - c0)/3) = {least:.3g} with c0 = {s.c0:.2f}, k = {s.k}"
    return unmet_clean(s) + ([] if s.k > least else [sentence])


def unmet_robust(s: Setting) -> list[str]:
    """Hypotheses of the theorems on adversarial training that a run breaks, those of clean training included.

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
    return unmet_clean(s) + [sentence for met, sentence in checks if not met]
