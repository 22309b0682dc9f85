"""The two feature-learning steps: full-batch hinge gradients whose decay forgets the weights before them."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.activations import Activation, SmoothedTruncatedRelu
from karat.core.checks import require_labels, require_number
from karat.core.norms import norm, two_inf_norm
from karat.nets.two_layer import TwoLayer

CHUNK = 1024
"""Samples per pass: the (samples, neurons) tables stay in the cache; those of a full batch would not even fit
into memory."""
FAR = 12.0
"""Standard deviations beyond which normal tails count as those at this point, 1e-32: in single precision they
would soon be denormal numbers, with which processors are slow."""


def class_weights(y: Tensor) -> Tensor:
    r""":math:`1 / (2 P(y))` for every sample, P from the sample itself: both classes then weigh 1/2.

    >>> class_weights(torch.tensor([1.0, -1.0, -1.0, -1.0])).tolist()
    [2.0, 0.6666666865348816, 0.6666666865348816, 0.6666666865348816]

    Ref: features, Eq (295)
    """
    positive = float((y > 0).double().mean())
    if not 0 < positive < 1:
        raise ValueError("`y` of `class_weights` must hold both labels, got one.")
    return torch.where(y > 0, 0.5 / positive, 0.5 / (1 - positive))


def is_paired(net: TwoLayer) -> bool:
    """Whether neurons come in pairs of equal weights and opposite output weights, so that f is zero."""
    half, odd = divmod(net.m, 2)
    if odd or net.c is not None:
        return False
    same_bias = net.b is None or torch.equal(net.b[:half], net.b[half:])
    return same_bias and torch.equal(net.W[:half], net.W[half:]) and torch.equal(net.a[:half], -net.a[half:])


@torch.no_grad()
def feature_step(
    net: TwoLayer,
    x: Tensor,
    y: Tensor,
    *,
    lr: float,
    decay_a: float = 0.0,
    decay_W: float | None = None,
    weights: Tensor | None = None,
) -> TwoLayer:
    r"""One full-batch gradient step on the (weighted) hinge loss with a penalty on the weights.

    .. math:: \theta \leftarrow \theta - \eta \nabla_\theta
              \big(\text{loss} + \lambda_a \|a\|^2 + \lambda_w \|W\|_F^2\big), \qquad
              W \leftarrow -\eta \nabla_W \text{loss} \quad\text{when } \lambda_w = 1 / (2 \eta)

    Symbols: lr is eta^(1) or eta^(2), decay_a lambda_a, decay_W lambda_w.

    Reading: decay_W = None forgets the old weights exactly, without computing w - lr (1/lr) w in floating
        point. Biases are not regularised. A paired net is exactly zero, so half of it is enough.

    Args:
        net: its activation is the smoothed one in these two steps.
        x: (n, d) samples.
        y: (n,) labels.
        lr: step size.
        decay_a: of the output weights.
        decay_W: of the hidden weights, None for the one that forgets them.
        weights: (n,) sample weights or None.

    Ref: features, Eq 4; features, Lem 23
    """
    require_number(lr, "lr", "feature_step", positive=True)
    require_number(decay_a, "decay_a", "feature_step", minimum=0)
    push = require_labels(y, len(x)).to(x) / len(x)
    if weights is not None:
        push = push * weights.to(x)
    gradient = _paired_gradient(net, x, push) if is_paired(net) else _hinge_gradient(net, x, y, push)
    # Exactly zero for the decay that forgets: the old weights then do not even enter the sum.
    keep = 0.0 if decay_W is None else 1 - 2 * lr * decay_W
    changed = {
        "W": keep * net.W - lr * gradient["W"] if keep else -lr * gradient["W"],
        "a": (1 - 2 * lr * decay_a) * net.a - lr * gradient["a"],
    }
    if net.b is not None:
        changed["b"] = net.b - lr * gradient["b"]
    return net.replace(**changed)


@dataclass(frozen=True)
class RankOneStep:
    r"""The second step in closed form and how far it is from the real one.

    Args:
        net: the net after the step.
        spread: largest :math:`|\langle w_i, x \rangle| / \sigma` before it, which must be far below 1.
        active: whether :math:`y f \le 1` on every sample before it.
    """

    net: TwoLayer
    spread: float
    active: bool

    @property
    def valid(self) -> bool:
        """Whether the closed form is the real step up to a relative error of about `spread`."""
        return self.active and self.spread <= 1e-3


@torch.no_grad()
def rank_one_step(
    net: TwoLayer, x: Tensor, y: Tensor, *, lr: float = 1.0, weights: Tensor | None = None
) -> RankOneStep:
    r"""The second feature-learning step when the weights before it are tiny: every neuron sees its bias only.

    .. math:: w_i \leftarrow \eta\, a_i\, \big[\Phi(b_i / \sigma) - \Phi((b_i - 1) / \sigma)\big]\,
              \overline{y x}

    So the features after two steps are the difference of the class means. Both decays are
    :math:`1 / (2 \eta)`.

    Args:
        net: after step one, with smoothed activation.
        x: (n, d) samples.
        y: (n,) labels.
        lr: step size.
        weights: (n,) sample weights or None.

    Ref: features, Lem 23; features, Lem 19
    """
    activation = net.activation
    if not isinstance(activation, SmoothedTruncatedRelu) or net.b is None:
        raise ValueError("`net` of `rank_one_step` must have biases and the smoothed truncated ReLU.")
    push = require_labels(y, len(x)).to(x) / len(x)
    if weights is not None:
        push = push * weights.to(x)
    slope, value = activation.derivative(net.b), activation(net.b)
    longest = float(norm(x, 2).max())
    spread = float(two_inf_norm(net.W)) * longest / activation.sigma
    # |phi(b + t) - phi(b)| is at most about phi'(b) |t|, and |t| is at most spread * sigma.
    f_bound = abs(float(net.a @ value)) + float((net.a * slope).abs().sum()) * spread * activation.sigma
    after = net.replace(
        W=torch.outer(lr * net.a * slope, push @ x),
        b=net.b + lr * net.a * slope * push.sum(),
        a=lr * value * push.sum(),
    )
    return RankOneStep(after, spread, f_bound <= 1)


@torch.no_grad()
def float32_forgetting(W: Tensor, gradient: Tensor, lr: float) -> Tensor:
    """The first step as `torch.optim.SGD(lr=lr, weight_decay=1/lr)` computes it in single precision.

    The decay should remove W exactly; rounding of W/lr leaves an isotropic residue of relative size 1e-7 that
    grows with the dimension and, for a tiny lr, hides the gradient.

    Args:
        W: (m, d) weights before the step.
        gradient: (m, d) of the loss.
        lr: step size.

    Ref: features, Tab 3
    """
    start = W.float()
    return start.add(gradient.float().add(start, alpha=1 / lr), alpha=-lr).to(W.dtype)


def _paired_gradient(net: TwoLayer, x: Tensor, push: Tensor) -> dict[str, Tensor]:
    """At f = 0 every sample is active; the second half of the neurons mirrors the first."""
    half = net.m // 2
    first = net.replace(W=net.W[:half], a=net.a[:half], b=None if net.b is None else net.b[:half])
    one = _gradient(first, x, -push)
    mirrored = {"W": torch.cat([one["W"], -one["W"]]), "a": one["a"].repeat(2)}
    if "b" in one:
        mirrored["b"] = torch.cat([one["b"], -one["b"]])
    return mirrored


def _hinge_gradient(net: TwoLayer, x: Tensor, y: Tensor, push: Tensor) -> dict[str, Tensor]:
    """Only samples with y f <= 1 push."""
    f = torch.cat([net(chunk) for chunk in x.split(CHUNK)])
    return _gradient(net, x, -push * (y.to(f) * f <= 1))


def _gradient(net: TwoLayer, x: Tensor, residual: Tensor) -> dict[str, Tensor]:
    r""":math:`\sum_i r_i \, \partial f(x_i) / \partial\theta` in chunks, values and slopes from one pass."""
    W, top = torch.zeros_like(net.W), torch.zeros_like(net.a)
    slopes = torch.zeros_like(net.a)
    for xs, rs in zip(x.split(CHUNK), residual.split(CHUNK), strict=True):
        value, slope = value_and_slope(net.activation, net.preactivations(xs))
        top += rs @ value
        slope *= rs.unsqueeze(1)
        W += slope.T @ xs
        slopes += slope.sum(dim=0)
    arm = net.scale * net.a
    gradient = {"W": W * arm.unsqueeze(1), "a": net.scale * top}
    return gradient if net.b is None else gradient | {"b": slopes * arm}


def value_and_slope(activation: Activation, z: Tensor) -> tuple[Tensor, Tensor]:
    """Activation and derivative together.

    Reading: for the smoothed truncated ReLU both share their normal tails; the value is then exact to
    absolute rounding, not relative to its far tails, which is all that a mean over samples needs.
    """
    if not isinstance(activation, SmoothedTruncatedRelu):
        return activation(z), activation.derivative(z)
    sigma = activation.sigma
    u = z / sigma
    low, density = _tail_and_density(u)
    high, density_high = _tail_and_density(u - 1 / sigma)
    slope = low.sub_(high).mul_(0.5)
    value = (z * slope).add_(high, alpha=0.5)
    value.add_(density.sub_(density_high), alpha=sigma / math.sqrt(2 * math.pi))
    return value, slope


def _tail_and_density(u: Tensor) -> tuple[Tensor, Tensor]:
    r""":math:`2 \Phi(u)` and :math:`e^{-u^2 / 2}`."""
    u = u.clamp(-FAR, FAR)
    return torch.special.erfc(u * -math.sqrt(0.5)), u.square().div_(-2).exp_()
