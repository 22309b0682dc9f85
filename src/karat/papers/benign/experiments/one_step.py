"""What one gradient step does to margins: lower bounds on the gain, as the lemmas state them."""

import torch
from torch import Tensor

from karat.core.losses import Logistic
from karat.nets import TwoLayer
from karat.papers.benign.experiments.mixture import MixtureConfig


def certified_gain(config: MixtureConfig, old: TwoLayer, new: TwoLayer, x: Tensor, y: Tensor) -> Tensor:
    """Return lower bounds on the gain of margin over the ball of radius tau around each point.

    Args:
        config: attack radius and activation.
        old: the net before a step.
        new: the net after it.
        x: (n, r) centres of the balls.
        y: (n,) their labels.

    Returns:
        (n,).

    Ref: benign, Lemma B.9; benign, Lemma B.26
    """
    smooth = config.activation == "smooth_leaky_relu"
    return (_smooth_gain if smooth else _kinked_gain)(config, old, new, x, y)


def _kinked_gain(config: MixtureConfig, old: TwoLayer, new: TwoLayer, x: Tensor, y: Tensor) -> Tensor:
    r"""For piecewise linear activations: neurons that no attack switches change linearly over the ball.

    With :math:`\Delta = W_{new} - W_{old}` and S(x) the neurons whose sign is the same in both nets and at
    every point of the ball, the gain is at least

    .. math::
        \langle v, x \rangle - \tau \|v\| + \sum_{s \notin S} q_s, \qquad
        v = \frac{1}{\sqrt{m}} \sum_{s \in S} y a_s\, \phi'(\langle w_s, x \rangle)\, \Delta_s .

    A neuron outside S contributes at least :math:`q_s`, the better of two bounds: a monotone activation of
    slope at most 1 changes in the direction of its argument and by no more, and each of its two values lies
    between those at the ends of its range.
    """
    move, weight = new.W - old.W, y.unsqueeze(1) * old.scale * old.a
    h_old, h_new = old.preactivations(x), new.preactivations(x)
    reach_old, reach_new = (config.tau * torch.linalg.vector_norm(net.W, dim=1) for net in (old, new))
    fixed = (h_old * h_new > 0) & (h_old.abs() > reach_old) & (h_new.abs() > reach_new)
    v = torch.where(fixed, weight * old.activation.derivative(h_old), 0.0) @ move
    phi, sign = old.activation, torch.sign(weight)
    ends = phi(h_new - sign * reach_new) - phi(h_old + sign * reach_old)
    # The change of the argument against the sign of its weight, at the worst point of the ball.
    change = sign * (x @ move.T) - config.tau * torch.linalg.vector_norm(move, dim=1)
    switching = torch.where(fixed, 0.0, torch.maximum(weight * ends, weight.abs() * change.clamp_max(0.0)))
    return (v * x).sum(dim=1) - config.tau * torch.linalg.vector_norm(v, dim=1) + switching.sum(dim=1)


def _smooth_gain(config: MixtureConfig, old: TwoLayer, new: TwoLayer, x: Tensor, y: Tensor) -> Tensor:
    r"""For smooth activations: the gain at the centre less tau times a Lipschitz constant of the change.

    With :math:`\Delta = W_{new} - W_{old}` the gain is at least

    .. math::
        y [f_{new}(x) - f_{old}(x)]
        - \tau \|\Delta\|_2 \Bigl(1 + \frac{(1 - \gamma) H (\|x\| + \tau) \|W_{old}\|_2}{2 \sqrt{m}}\Bigr) .

    The second term bounds tau times the gradient of :math:`f_{new} - f_{old}` in the ball, as
    :math:`\phi' \le 1` climbs by :math:`1 - \gamma` over a length of 2/H.
    """
    move, length = (torch.linalg.matrix_norm(W, ord=2) for W in (new.W - old.W, old.W))
    farthest = torch.linalg.vector_norm(x, dim=1) + config.tau
    bend = (1 - config.slope) / 2 * config.smoothness
    steepest = move * (1 + bend * farthest * length / old.m**0.5)
    return y * (new(x) - old(x)) - config.tau * steepest


def increment_slack(
    config: MixtureConfig,
    old: TwoLayer,
    new: TwoLayer,
    attacked: Tensor,
    y: Tensor,
    x: Tensor,
    y_test: Tensor,
) -> tuple[float, float]:
    r"""Return the smallest slack of the one-step margin inequality, and the smallest correlation in it.

    .. math::
        y [f_{new}(x) - f_{old}(x)] \ge
        \frac{\eta}{n} \sum_i g_i r_i \langle y_i \tilde x_i, y x \rangle
        - \frac{H \|x\|^2 \|W_{new} - W_{old}\|_2^2}{2 \sqrt{m}}, \qquad
        r_i = \frac{1}{m} \sum_s \phi'(\langle w_s, x \rangle)\, \phi'(\langle w_s, \tilde x_i \rangle)

    Both sides are exact: no hidden constant.

    Args:
        config: step size and smoothness.
        old: the net before a step.
        new: the net after it.
        attacked: (n, r) the training points :math:`\tilde x_i` that the step saw.
        y: (n,) their labels.
        x: (k, r) test points.
        y_test: (k,) their labels.

    Returns:
        the slack over the test points, as a share of the largest gain, and the smallest :math:`r_i`.

    Ref: benign, Lemma 4.3
    """
    gain = y_test * (new(x) - old(x))
    weight = -Logistic().derivative(y * old(attacked))
    slopes = old.activation.derivative(old.preactivations(x))
    correlation = slopes @ old.activation.derivative(old.preactivations(attacked)).T / old.m
    products = (y_test.unsqueeze(1) * x) @ (y.unsqueeze(1) * attacked).T
    first_order = config.lr / len(y) * (correlation * products) @ weight
    move = torch.linalg.matrix_norm(new.W - old.W, ord=2)
    curvature = config.smoothness * x.square().sum(dim=1) * move.square() / (2 * old.m**0.5)
    slack = (gain - first_order + curvature).min() / gain.abs().max()
    return float(slack), float(correlation.min())
