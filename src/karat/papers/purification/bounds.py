r"""Formulas of purification: radii, times and ticket counts.

Radii are rates: hidden constants are 1, and the small exponents of the text are arguments.

Symbols: :math:`\sigma_0` is `init_scale`, :math:`\eta` is `lr`, :math:`m = d^{1 + c_0}` and
    :math:`\Xi_2 = d^{2 \gamma c_0}`.
"""

import math
from dataclasses import dataclass

from scipy import optimize
from scipy.special import ndtr

from karat.core.checks import require_integer, require_number

GAMMA = 0.005
r"""The slack :math:`\gamma` of the lottery's levels: the largest with :math:`\Xi_2^{100} \le d^{c_0}`.

Ref: purification, Lemma B.2
"""


def regularisation(d: int) -> float:
    r"""Weight of the regulariser, and 0 below d = 16 where the triple logarithm is not positive.

    .. math:: \lambda = \frac{\log \log \log d}{d}

    Args:
        d: input dimension.

    >>> round(200 * regularisation(200), 3)
    0.511

    Ref: purification, Sec 4
    """
    return max(0.0, math.log(math.log(math.log(d)))) / d if d > math.e else 0.0


def xi2(d: int, c0: float, gamma: float) -> float:
    r"""The bound on the potential winners of one feature, :math:`\Xi_2 = d^{2 \gamma c_0}`.

    Args:
        d: input dimension.
        c0: exponent of the width, m = d^(1 + c0).
        gamma: slack of the lottery's levels.

    Ref: purification, Lemma B.2
    """
    return float(d ** (2 * gamma * c0))


def clean_failure_radius(
    d: int, k: int, c0: float, gamma: float, *, p: float = 2.0, row_sum: float = 1.0
) -> float:
    r"""Radius at which the net of clean training has lost all accuracy.

    .. math:: \tau_2 = \Xi_2^{10} \frac{\sqrt d}{k^2}, \qquad
        \tau_\infty = \Xi_2^{10} \frac{\max_i \sum_j |M_{ij}|}{k^2}

    Args:
        d: input dimension.
        k: sparsity.
        c0: exponent of the width, m = d^(1 + c0).
        gamma: slack of the lottery's levels.
        p: norm of the perturbations, 2 or inf.
        row_sum: largest absolute row sum of M; only p = inf uses it.

    Holds when: :math:`k > d^{(1 - c_0)/3}`.
    Reading: the statement evaluates :math:`f(x - \delta)` at a :math:`\delta` that already carries -y; the
        proof moves x against y. Its :math:`\|M\|_1` is read as the largest absolute row sum, which is what
        bounds :math:`\|M w^*\|_\infty`.

    Ref: purification, Thm E.1
    """
    lever = math.sqrt(d) if p == 2 else row_sum
    return xi2(d, c0, gamma) ** 10 * lever / k**2


def robust_radius(d: int, k: int, c0: float, *, p: float = 2.0, column_sum: float = 1.0) -> float:
    r"""Radius up to which adversarial training makes the net robust.

    .. math:: \tau_2 = \frac{1}{\sqrt k \, d^{c_0}}, \qquad
        \tau_\infty = \frac{1}{k^{1.75} \, d^{c_0} \max_j \sum_i |M_{ij}|}

    Args:
        d: input dimension.
        k: sparsity.
        c0: exponent of the width, m = d^(1 + c0).
        p: norm of the perturbations, 2 or inf.
        column_sum: largest absolute column sum of M; only p = inf uses it.

    Reading: :math:`\|M\|_\infty` of the l_inf theorem is read as the largest absolute column sum, which
        bounds :math:`\|M z\|_1`.

    Ref: purification, Thm F.1; purification, Thm F.4
    """
    size = math.sqrt(k) if p == 2 else k**1.75 * column_sum
    return 1 / (size * d**c0)


def universal_radius(k: int, c: float) -> float:
    r"""From :math:`k^{-(0.5 + 10 c)}` on the universal direction fools the clean net.

    Args:
        k: sparsity.
        c: the theorem's small constant.

    Ref: purification, Thm 5.1(c)
    """
    return float(k ** -(0.5 + 10 * c))


def l_inf_radii(k: int, c0: float, c1: float) -> tuple[float, float]:
    r"""Where the clean net falls in l_inf, and where the robust one still holds.

    .. math:: k^{-(2 - c_1)} \qquad \text{and} \qquad k^{-(1.75 + 2 c_0)}

    Args:
        k: sparsity.
        c0: exponent of the width, m = d^(1 + c0).
        c1: the theorem's constant in (0, c0).

    Ref: purification, Thm 5.4
    """
    return k ** -(2 - c1), k ** -(1.75 + 2 * c0)


def l2_window(d: int) -> tuple[float, float]:
    r"""The sparsities :math:`(d^{1/3}, d^{0.4})` for which the theorems separate clean from robust in l2.

    Args:
        d: input dimension.

    Reading: :math:`\sqrt d / k^2 < 1/\sqrt k` needs :math:`k > d^{1/3}`, the bound on the movement of the
        weights needs :math:`k^{2.5} < d`.

    Ref: purification, Cor F.3
    """
    return d ** (1 / 3), d**0.4


@dataclass(frozen=True, kw_only=True)
class Times:
    """Iterations at which the phases of training end.

    Args:
        T_a: the first part of the lottery's first phase.
        T_b: the lottery's first phase.
        T_e: sure winners have grown.
        T_c: clean training may stop.
        T_g: adversarial training may stop, counted from its own start.
    """

    T_a: float
    T_b: float
    T_e: float
    T_c: float
    T_g: float


def times(d: int, k: int, lr: float, init_scale: float, *, c0: float = 0.0, gamma: float = 0.0) -> Times:
    r"""The paper's iteration counts.

    .. math:: T_a = \frac{d \sigma_0 \log^{2.5} d}{\eta}, \quad T_b = \frac{d^2 \sigma_0}{k \eta}, \quad
        T_e = \frac{d}{\eta \, \Xi_2 \log d}, \quad T_c = \frac{d^{1.01}}{\eta}, \quad
        T_g = \frac{k^2 d^{2 c_0}}{\eta}

    Args:
        d: input dimension.
        k: sparsity.
        lr: training step.
        init_scale: standard deviation of the first weights.
        c0: exponent of the width, m = d^(1 + c0).
        gamma: slack of the lottery's levels.

    Reading: for :math:`T_g` the statement prints :math:`k^2/d^{1 - 2 c_0}`.

    Ref: purification, Thm C.1; purification, Thm C.2; purification, Thm 5.1; purification, Thm F.1
    """
    log_d = math.log(d)
    return Times(
        T_a=d * init_scale * log_d**2.5 / lr,
        T_b=d**2 * init_scale / (k * lr),
        T_e=d / (lr * xi2(d, c0, gamma) * log_d),
        T_c=d**1.01 / lr,
        T_g=k**2 * d ** (2 * c0) / lr,
    )


@dataclass(frozen=True, kw_only=True)
class TicketCounts:
    """Expected numbers of lottery tickets at initialisation.

    Args:
        sure: sure winners per feature.
        potential: potential winners per feature.
        tickets_per_neuron: features of which one neuron is a potential winner.
    """

    sure: float
    potential: float
    tickets_per_neuron: float


def ticket_counts(d: int, m: int, c0: float, gamma: float) -> TicketCounts:
    r"""Exact expectations behind Lemma B.2, from Gaussian tails instead of their exponents.

    With the Gaussian tail Q a neuron is a sure winner of a feature with probability

    .. math:: Q(s_+) \, (1 - 2 Q(s_-))^{d - 1}, \qquad s_\pm = \sqrt{(c_1 \pm c_2) \log d}, \quad
        c_1 = 2 + 2 (1 - \gamma) c_0, \quad c_2 = \gamma c_0

    and a potential one with probability :math:`2 Q(s_-)`.

    Args:
        d: input dimension.
        m: pairs of neurons.
        c0: exponent of the width, m = d^(1 + c0).
        gamma: slack of the lottery's levels.

    Reading: the lemma's :math:`\Omega(d^{7 c_0/4})` is the proof's :math:`d^{\gamma c_0/4}`; at finite d
        neither exponent says much, the tails do. :math:`Q(s_+)` has no factor 2: a sure winner has the sign
        of :math:`w^*_j`.

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


def sure_winners_from(c0: float, gamma: float) -> float:
    r"""From which dimension on every feature may expect its sure winners, as :math:`\log_{10} d`.

    For all d features to have one with probability :math:`1 - d^{-3}` a feature must expect
    :math:`4 \log d` of them. With :math:`m = d^{1 + c_0}` neurons and :math:`L = \log d` it expects

    .. math:: m \, Q(s_+) \approx \frac{e^{\gamma c_0 L / 2}}{\sqrt{2 \pi (c_1 + c_2) L}},

    which falls before it grows: the root of the equation is that on the growing side.

    Args:
        c0: exponent of the width, m = d^(1 + c0).
        gamma: slack of the lottery's levels.

    Reading: the tail's leading term, and no second ticket, both right for large d.

    >>> round(sure_winners_from(1.0, 0.1))
    96

    Ref: purification, Lemma B.2
    """
    require_number(c0, "c0", "sure_winners_from", positive=True)
    require_number(gamma, "gamma", "sure_winners_from", positive=True)
    c1, c2 = 2 + 2 * (1 - gamma) * c0, gamma * c0

    def missing(log_d: float) -> float:
        expected = gamma * c0 * log_d / 2 - 0.5 * math.log(2 * math.pi * (c1 + c2) * log_d)
        return math.log(4 * log_d) - expected

    lowest = 3 / (gamma * c0)  # where the expected number over 4 log d is smallest
    high = lowest
    while missing(high) > 0:
        high *= 2
    return float(optimize.brentq(missing, lowest, high)) / math.log(10)


def mixture_ratio(expected_support: float, d: int) -> float:
    r"""Equilibrium :math:`\beta/\alpha` of a neuron that wakes exactly when the code of its feature is on.

    .. math:: \frac{\beta}{\alpha} = \frac{E \|z\|_0}{d}

    Gradient and decay balance: the neuron's own coefficient grows by :math:`E[\ell' z_j y]` with probability
    one of waking, every other one with the probability :math:`P(z_i \ne 0) = E \|z\|_0 / d` of it. The paper
    says :math:`\Theta(k/d)`.

    Args:
        expected_support: mean number of non-zero codes.
        d: number of features.

    Ref: purification, Eq 5.1
    """
    return expected_support / d
