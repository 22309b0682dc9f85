"""Many small two-layer nets trained side by side, cleanly or against attacks, from random starts."""

import torch
from torch import Tensor

from karat.attacks.pgd import PATH
from karat.core.checks import require_integer, require_labels, require_number
from karat.nets.two_layer import TwoLayer
from karat.training.optimisers import Adam

Parameters = dict[str, Tensor]
"""W (restarts, width, d), b and a (restarts, width), c (restarts,): as in `TwoLayer`, one net per row."""


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
        x: (n, d) samples.
        y: (n,) labels.
        tau: radius of the attacks, 0 for clean training.
        width: hidden ReLU neurons with biases.
        restarts: nets trained together.
        steps: of Adam.
        attack_steps: of PGD inside every step; the last attack takes four times as many.
        lr: learning rate, falling linearly to zero over the second half of the steps.
        generator: of the first weights.

    Returns:
        every net with its smallest margin under a longer attack, the best net first.
    """
    require_labels(y, len(x))
    require_integer(width, "width", "train_batch", minimum=1)
    require_number(tau, "tau", "train_batch", minimum=0)
    clean = x.expand(restarts, *x.shape)
    nets = _first_weights(x, width, restarts, generator)
    optimiser = Adam(nets)
    for step in range(1, steps + 1):
        points = clean if tau == 0 else clean + _attack(nets, x, y, tau, attack_steps)
        rate = lr * min(1.0, 2 * (1 - step / (steps + 1)))
        optimiser.step(_gradients(nets, points, y), rate)
    attacked = clean if tau == 0 else x + _attack(nets, x, y, tau, 4 * attack_steps)
    # The last point of an attack may be kinder than no attack at all.
    margins = torch.minimum(y * _forward(nets, attacked)[1], y * _forward(nets, clean)[1])
    smallest = margins.amin(dim=1)
    return [
        (TwoLayer(nets["W"][i], nets["a"][i], nets["b"][i], nets["c"][i]), float(smallest[i]))
        for i in smallest.argsort(descending=True).tolist()
    ]


def _first_weights(x: Tensor, width: int, restarts: int, generator: torch.Generator) -> Parameters:
    d = x.shape[1]
    spread = (2 / d) ** 0.5 / max(float(x.std()), 1e-12)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=x.dtype)

    W = spread * draw(restarts, width, d)
    # Hyperplanes through the middle of the data.
    b = -(W @ x.mean(dim=0)) + 0.5 * draw(restarts, width)
    return {
        "W": W,
        "b": b,
        "a": draw(restarts, width) / width**0.5,
        "c": torch.zeros(restarts, dtype=x.dtype),
    }


def _forward(nets: Parameters, points: Tensor) -> tuple[Tensor, Tensor]:
    """Preactivations (restarts, n, width) and outputs (restarts, n)."""
    z = torch.baddbmm(nets["b"].unsqueeze(1), points, nets["W"].transpose(1, 2))
    return z, (torch.relu(z) @ nets["a"].unsqueeze(2)).squeeze(2) + nets["c"].unsqueeze(1)


def _gradients(nets: Parameters, points: Tensor, y: Tensor) -> Parameters:
    """Gradients of the mean logistic loss of every net."""
    z, f = _forward(nets, points)
    residual = -torch.sigmoid(-y * f) * y / points.shape[1]
    at_z = residual.unsqueeze(2) * (z > 0) * nets["a"].unsqueeze(1)
    return {
        "W": at_z.transpose(1, 2) @ points,
        "b": at_z.sum(dim=1),
        "a": (residual.unsqueeze(1) @ torch.relu(z)).squeeze(1),
        "c": residual.sum(dim=1),
    }


def _attack(nets: Parameters, x: Tensor, y: Tensor, tau: float, steps: int) -> Tensor:
    """PGD from zero on all nets, the last point, (restarts, n, d)."""
    W, a = nets["W"], nets["a"]
    delta = torch.zeros(len(W), *x.shape, dtype=x.dtype)
    length = PATH * tau / steps
    for _ in range(steps):
        z, _ = _forward(nets, x + delta)
        gradient = y.unsqueeze(1) * (((z > 0) * a.unsqueeze(1)) @ W)
        size = torch.linalg.vector_norm(gradient, dim=2, keepdim=True)
        delta = delta - length * gradient / size.clamp_min(1e-12)
        delta = delta * (
            tau / torch.linalg.vector_norm(delta, dim=2, keepdim=True).clamp_min(1e-12)
        ).clamp_max(1)
    return delta
