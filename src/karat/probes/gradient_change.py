"""How much the input gradient of a two-layer ReLU net can change within a small ball."""

import torch
from torch import Tensor

from karat.core.checks import require_integer, require_shape
from karat.nets.two_layer import TwoLayer


@torch.no_grad()
def largest_gradient_change(
    net: TwoLayer,
    x: Tensor,
    tau: float | Tensor,
    *,
    generator: torch.Generator,
    starts: int = 4,
    steps: int = 12,
) -> Tensor:
    r"""The largest change of the input gradient in a ball, by ascent: a lower bound on it, (n,).

    .. math:: \max_{\|\delta\| \le \tau} \|\nabla f(x + \delta) - \nabla f(x)\|

    Along a direction r the change is
    :math:`\sum_s a_s \langle w_s, r \rangle (\text{gate}_s(x + \delta) - \text{gate}_s(x))`; with the gates
    replaced by steep sigmoids it has a gradient in :math:`\delta`, and r follows the change found. The starts
    are against the gradient, and random directions.

    Args:
        net: with the ReLU.
        x: (n, d) centres of the balls.
        tau: radius, a number or (n,).
        generator: of the random starts.
        starts: how many in all.
        steps: of each ascent.

    Ref: lazy, Lem 4.4
    """
    require_shape(x, "x", (None, net.d))
    require_integer(starts, "starts", "largest_gradient_change", minimum=1)
    radius = torch.as_tensor(tau, dtype=x.dtype).expand(len(x)).unsqueeze(1)
    z, base = net.preactivations(x), net.input_gradient(x)
    width = radius * torch.linalg.vector_norm(net.W, dim=1).mean() / 6
    best = x.new_zeros(len(x))
    for start in range(starts):
        if start == 0:
            delta = -base
        else:
            delta = torch.randn(x.shape, generator=generator, dtype=x.dtype)
        delta = radius * delta / torch.linalg.vector_norm(delta, dim=1, keepdim=True).clamp_min(1e-30)
        for step in range(steps):
            change = net.input_gradient(x + delta) - base
            size = torch.linalg.vector_norm(change, dim=1)
            best = torch.maximum(best, size)
            r = change / size.clamp_min(1e-30).unsqueeze(1)
            # The derivative of a steep sigmoid stands for the jump of the gate.
            gate = torch.sigmoid((z + delta @ net.W.T) / width.clamp_min(1e-30))
            push = (r @ net.W.T) * (net.scale * net.a) * gate * (1 - gate)
            ascent = push @ net.W
            edge = radius * ascent / torch.linalg.vector_norm(ascent, dim=1, keepdim=True).clamp_min(1e-30)
            delta = delta + 2 / (step + 3) * (edge - delta)  # Frank-Wolfe keeps delta inside the ball
        best = torch.maximum(best, torch.linalg.vector_norm(net.input_gradient(x + delta) - base, dim=1))
    return best


@torch.no_grad()
def gradient_change_bound(net: TwoLayer, x: Tensor, tau: float | Tensor) -> Tensor:
    r"""An upper bound on the same maximum, from the spectral norm of the rows that can switch.

    .. math:: \Big\| \sum_{s \in S} \pm a_s w_s \Big\| \le \max_s |a_s| \, \|W_S\|_{op} \sqrt{|S|}, \qquad
              S = \{ s : |z_s| \le \tau \|w_s\| \}

    Args:
        net: with the ReLU.
        x: (n, d) centres of the balls.
        tau: radius, a number or (n,).
    """
    require_shape(x, "x", (None, net.d))
    radius = torch.as_tensor(tau, dtype=x.dtype).expand(len(x)).unsqueeze(1)
    near = net.preactivations(x).abs() <= radius * torch.linalg.vector_norm(net.W, dim=1)
    top = float(net.a.abs().max()) * net.scale
    bounds = []
    for mask in near:
        rows = net.W[mask]
        spectral = torch.linalg.matrix_norm(rows, 2) if len(rows) else x.new_zeros(())
        bounds.append(top * spectral * len(rows) ** 0.5)
    return torch.stack(bounds)


@torch.no_grad()
def certified_step(net: TwoLayer, x: Tensor) -> tuple[Tensor, Tensor]:
    r"""The shortest step along the gradient that provably flips the prediction, and its kappa, (n,) each.

    On the ray :math:`x - t \operatorname{sign}(f)\, u`, :math:`u = \nabla f / \|\nabla f\|`, the gradient
    jumps where a neuron changes sign. With :math:`\kappa(L)` the largest
    :math:`\|\nabla f(\text{ray}) - \nabla f(x)\| / \|\nabla f(x)\|` up to length L, the step L lands beyond
    :math:`-|f|` if

    .. math:: L \, \|\nabla f\| \, (1 - \kappa(L)) \ge 2 |f|.

    Reading: the proof takes kappa over a whole ball, but integrates along the ray alone, where kappa is found
        exactly from the breakpoints.

    Args:
        net: with the ReLU.
        x: (n, d) inputs.

    Returns:
        lengths, inf where none satisfies the inequality; kappa up to them, NaN where there is none.

    Ref: lazy, proof of Thm 3.1
    """
    require_shape(x, "x", (None, net.d))
    value, gradient = net.value_and_input_gradient(x)
    steps = [_certified_step(net, *row) for row in zip(x, value, gradient, strict=True)]
    length, kappa = torch.tensor(steps, dtype=torch.float64).T
    return length, kappa


def _certified_step(net: TwoLayer, x: Tensor, value: Tensor, gradient: Tensor) -> tuple[float, float]:
    """One input: kappa is constant between breakpoints, so each stretch of the ray is tried in turn."""
    size = torch.linalg.vector_norm(gradient).double()
    z = net.preactivations(x.unsqueeze(0))[0].double()
    slope = (torch.sign(value) * (net.W @ gradient)).double() / size
    at = z / torch.where(slope == 0, torch.inf, slope)
    at = torch.where(at > 0, at, torch.inf)  # breakpoints behind x are never met
    order = at.argsort()[: int(torch.isfinite(at).sum())]
    jump = (net.scale * net.a * torch.where(z > 0, -1.0, 1.0))[order].unsqueeze(1) * net.W[order]
    change = torch.linalg.vector_norm(jump.double().cumsum(dim=0), dim=1) / size
    zero = torch.zeros(1, dtype=torch.float64)
    # Between breakpoints the gradient is constant, so its largest change so far is a running maximum.
    kappa = torch.cat([zero, change]).cummax(dim=0).values
    begin, end = torch.cat([zero, at[order]]), torch.cat([at[order], zero + torch.inf])
    needed = torch.maximum(begin, 2 * value.abs().double() / (size * (1 - kappa).clamp_min(0)))
    good = (needed < end) & (kappa < 1)
    if not bool(good.any()):
        return float("inf"), float("nan")
    first = int(good.double().argmax())
    return float(needed[first]), float(kappa[first])
