r"""Worst cases over a ball around a start with one hidden layer, exactly: by a sort of the neurons.

At an input u the net is :math:`\sum_s a_s \mathrm{relu}(z_s)`. Moving the weights by at most :math:`\rho`
moves the preactivations by any :math:`\delta` with :math:`\|\delta\|_2 \le \rho \|u\|`, the `reach`. What
these :math:`\delta` do at most is a choice of neurons under a budget. The best choice takes those of smallest
:math:`t_s = |z_s| / |a_s|`, up to a part of one neuron: so every worst case lies between a value that is
attained and a bound, which that one neuron tells apart.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Enclosed:
    """Worst cases between two numbers each.

    Args:
        attained: (...) by weights of the ball.
        bound: (...) by no weights of the ball exceeded.
    """

    attained: Tensor
    bound: Tensor


@dataclass(frozen=True)
class Missed:
    """What two nets of the ball miss of convexity.

    Args:
        total: (...) at most.
        slope: (...) at most, over the distance of their preactivations.
    """

    total: Enclosed
    slope: Enclosed


def changed_signs(z: Tensor, reach: Tensor) -> Tensor:
    r"""(...) how many signs change at most: the largest k with :math:`\sum_{s \le k} z_{(s)}^2 \le` reach^2.

    Args:
        z: (..., m) preactivations at the start.
        reach: (...) of every input.

    Ref: convergence, Eq 10
    """
    _, spent = _nearest(z.abs(), z.square(), reach)
    return (spent <= reach.square().unsqueeze(-1)).sum(dim=-1)


def changed_weight(z: Tensor, a: Tensor, reach: Tensor) -> Enclosed:
    r"""The largest :math:`\sqrt{\sum a_s^2}` over neurons that can change side together.

    A knapsack of values :math:`a_s^2` and costs :math:`z_s^2`, bounded by taking a part of the last neuron.

    Args:
        z: (..., m) preactivations at the start.
        a: (m,) output weights.
        reach: (...) of every input.

    Ref: convergence, Lem A.5
    """
    chosen = _choose(z, a, reach)
    return Enclosed(chosen.whole_weight.sqrt(), (chosen.whole_weight + chosen.part_weight).sqrt())


def non_convexity(z: Tensor, a: Tensor, reach: Tensor) -> Missed:
    r"""The largest :math:`f(W_2) - f(W_1) - \langle \nabla f(W_1), W_2 - W_1 \rangle` in the ball.

    Neuron s contributes :math:`a_s |z_s^{(2)}|` if its two sides differ, so that only positive :math:`a_s`
    count (call it with -a for the other sign). Brought beyond its kink by :math:`W_1`, at the cost
    :math:`z_s^2`, and moved by :math:`v_s` the other way by :math:`W_2`, it contributes
    :math:`a_s (|z_s| + v_s)`; moved across by :math:`W_2` alone :math:`a_s (v_s - |z_s|)`. The bound is the
    Lagrange dual at the multipliers of the best choice: for all :math:`\mu, \lambda > 0`

    .. math:: \sum_s \max\Big(0,\; \frac{r a_s^2}{2 \mu} + a_s |z_s| - \lambda z_s^2,\;
        \frac{r a_s^2}{2 \mu} - a_s |z_s|\Big) + \frac{r \mu}{2} + \lambda r^2, \qquad r = \text{reach},

    or, if that is smaller, what all neurons together can do, :math:`r \|a\| + \sum_s a_s |z_s|`.

    Over the distance of their preactivations two nets on either side of these kinks, as near as one likes,
    miss :math:`\sqrt{\sum a_s^2}`. No two miss more than this over all neurons on which they differ. One of
    them has changed each, at a cost of :math:`2 r^2` together, which buys twice as much at most as the
    budget of one.

    Args:
        z: (..., m) preactivations at the start.
        a: (m,) output weights.
        reach: (...) of every input.

    Ref: convergence, Lem A.6
    """
    a = a.clamp_min(0)
    chosen = _choose(z, a, reach)
    attained = reach * chosen.whole_weight.sqrt() + chosen.whole_product
    # With the part as well: of a ball that turns no neuron that part alone is there.
    mu = (chosen.whole_weight + chosen.part_weight).sqrt().clamp_min(1e-300).unsqueeze(-1)
    # Of a ball that turns every neuron no part of a neuron is left, and its multiplier is nearly 0.
    r, t = reach.unsqueeze(-1), chosen.last.unsqueeze(-1).clamp(1e-100, 1e100)
    multiplier = (r / (2 * mu) + t) / t.square()
    gain, height = r * a.square() / (2 * mu), a * z.abs()
    both = gain + height - multiplier * z.square()
    dual = torch.maximum(both, gain - height).clamp_min_(0).sum(dim=-1)
    bound = dual + reach * mu.squeeze(-1) / 2 + multiplier.squeeze(-1) * reach.square()
    every = reach * a.square().sum().sqrt() + height.sum(dim=-1)
    total = Enclosed(attained, torch.maximum(attained, torch.minimum(bound, every)))
    enough = (2 * (chosen.whole_weight + chosen.part_weight)).sqrt()
    return Missed(total, Enclosed(chosen.whole_weight.sqrt(), enough))


@dataclass(frozen=True)
class _Choice:
    r"""The neurons of smallest :math:`t_s` whose costs the budget pays, and the part of the next one.

    Args:
        whole_weight: sum of :math:`a_s^2` over the whole ones.
        whole_product: sum of :math:`a_s |z_s|` over them.
        part_weight: what the rest of the budget pays of the next one.
        last: :math:`t_s` of the next one.
    """

    whole_weight: Tensor
    whole_product: Tensor
    part_weight: Tensor
    last: Tensor


def _choose(z: Tensor, a: Tensor, reach: Tensor) -> _Choice:
    weight = a.abs().expand_as(z)
    order, spent = _nearest(z.abs() / weight, z.square(), reach)
    budget = reach.square().unsqueeze(-1)
    a2, cost = weight.gather(-1, order).square(), z.square().gather(-1, order)
    paid = spent <= budget
    # The first that is not paid; where all are, the last one stands for it, with nothing left to pay.
    following = paid.sum(dim=-1, keepdim=True).clamp_max(paid.shape[-1] - 1)
    left = (budget - (cost * paid).sum(dim=-1, keepdim=True)).clamp_min(0)
    share = (left / cost.gather(-1, following).clamp_min(1e-300)).clamp_max(1) * ~paid.gather(-1, following)
    heights = (a2 * cost).sqrt()
    return _Choice(
        whole_weight=(a2 * paid).sum(dim=-1),
        whole_product=(heights * paid).sum(dim=-1),
        part_weight=(a2.gather(-1, following) * share).squeeze(-1),
        last=(cost.gather(-1, following) / a2.gather(-1, following)).sqrt().squeeze(-1),
    )


def _nearest(key: Tensor, cost: Tensor, reach: Tensor) -> tuple[Tensor, Tensor]:
    """Indices of the smallest keys in order, as many as the budget pays and more, and the costs so far."""
    m = key.shape[-1]
    # A whole sort is seldom needed: few neurons change side.
    for count in (min(m, max(256, m // 64)), min(m, max(256, m // 8)), m):
        order = key.topk(count, dim=-1, largest=False).indices
        spent = cost.gather(-1, order).cumsum(dim=-1)
        if count == m or bool((spent[..., -1] > reach.square()).all()):
            break
    return order, spent
