"""Many small two-layer nets trained side by side, cleanly or against attacks, from random starts."""

import torch
from torch import Tensor

from karat.attacks.pgd import PATH
from karat.core.checks import require_integer, require_labels, require_number
from karat.nets.two_layer import TwoLayer


def train_batch(
    x: Tensor,
    y: Tensor,
    tau: float,
    width: int,
    *,
    restarts: int,
    steps: int,
    attack_steps: int,
    lr: float,
    generator: torch.Generator,
) -> list[tuple[TwoLayer, float]]:
    """Adam on the logistic loss of all samples at once, against l_2 attacks if tau is positive.

    Args:
        x: (n, d).
        y: (n,) labels.
        width: hidden ReLU neurons with biases.
        restarts: nets trained together.

    Returns:
        every net with its smallest margin under a longer attack, the best net first.
    """
    require_labels(y, len(x))
    require_integer(width, "width", "train_batch", minimum=1)
    require_number(tau, "tau", "train_batch", minimum=0)
    n, d = x.shape
    spread = (2 / d) ** 0.5 / max(float(x.std()), 1e-12)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=x.dtype)

    W = spread * draw(restarts, width, d)
    # Hyperplanes through the middle of the data.
    b = -(W @ x.mean(dim=0)) + 0.5 * draw(restarts, width)
    parameters = [W, b, draw(restarts, width) / width**0.5, torch.zeros(restarts, dtype=x.dtype)]
    state = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]
    for step in range(1, steps + 1):
        points = x.expand(restarts, n, d)
        if tau > 0:
            points = points + _attack(parameters, x, y, tau, attack_steps)
        rate = lr * min(1.0, 2 * (1 - step / (steps + 1)))
        _adam(parameters, state, _gradients(parameters, points, y), rate, step)
    delta = (
        _attack(parameters, x, y, tau, 4 * attack_steps)
        if tau > 0
        else torch.zeros(restarts, n, d, dtype=x.dtype)
    )
    margins = y * _forward(parameters, x + delta)[1]
    smallest = torch.minimum(margins, y * _forward(parameters, x.expand(restarts, n, d))[1]).amin(dim=1)
    order = smallest.argsort(descending=True).tolist()
    return [
        (
            TwoLayer(*(p[i] for p in (parameters[0], parameters[2], parameters[1], parameters[3]))),
            float(smallest[i]),
        )
        for i in order
    ]


def _forward(parameters: list[Tensor], points: Tensor) -> tuple[Tensor, Tensor]:
    """Preactivations (restarts, n, width) and outputs (restarts, n)."""
    W, b, a, c = parameters
    z = torch.baddbmm(b.unsqueeze(1), points, W.transpose(1, 2))
    return z, (torch.relu(z) @ a.unsqueeze(2)).squeeze(2) + c.unsqueeze(1)


def _gradients(parameters: list[Tensor], points: Tensor, y: Tensor) -> list[Tensor]:
    """Gradients of the mean logistic loss of every net."""
    _, _, a, _ = parameters
    z, f = _forward(parameters, points)
    residual = -torch.sigmoid(-y * f) * y / points.shape[1]
    at_z = residual.unsqueeze(2) * (z > 0) * a.unsqueeze(1)
    return [
        at_z.transpose(1, 2) @ points,
        at_z.sum(dim=1),
        (residual.unsqueeze(1) @ torch.relu(z)).squeeze(1),
        residual.sum(dim=1),
    ]


def _attack(parameters: list[Tensor], x: Tensor, y: Tensor, tau: float, steps: int) -> Tensor:
    """PGD from zero on all nets, the last point, (restarts, n, d)."""
    W, _, a, _ = parameters
    delta = torch.zeros(len(W), *x.shape, dtype=x.dtype)
    length = PATH * tau / steps
    for _ in range(steps):
        z, _ = _forward(parameters, x + delta)
        gradient = y.unsqueeze(1) * (((z > 0) * a.unsqueeze(1)) @ W)
        size = torch.linalg.vector_norm(gradient, dim=2, keepdim=True)
        delta = delta - length * gradient / size.clamp_min(1e-12)
        delta = delta * (
            tau / torch.linalg.vector_norm(delta, dim=2, keepdim=True).clamp_min(1e-12)
        ).clamp_max(1)
    return delta


def _adam(
    parameters: list[Tensor],
    state: list[tuple[Tensor, Tensor]],
    gradients: list[Tensor],
    lr: float,
    step: int,
) -> None:
    for p, (mean, square), g in zip(parameters, state, gradients, strict=True):
        mean.mul_(0.9).add_(g, alpha=0.1)
        square.mul_(0.999).addcmul_(g, g, value=0.001)
        scaled = mean / (1 - 0.9**step) / ((square / (1 - 0.999**step)).sqrt() + 1e-8)
        p.sub_(lr * scaled)
