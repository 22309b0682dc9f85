"""Gradient descent on the odd net: clean training with a growing bias, then adversarial training."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from karat.core.checks import require_integer
from karat.core.divergence import Diverged
from karat.core.losses import Logistic
from karat.core.ranges import NonNegative, checked
from karat.nets.odd_two_layer import OddTwoLayer
from karat.training.adversary import Adversary
from karat.training.odd.batches import Batches
from karat.training.odd.bias import BiasSchedule, FrozenBias, NoiseSchedule, ProportionalNoise, RelativeStep
from karat.training.odd.forward import OddClassifier, forward

Observer = Callable[[int, OddTwoLayer], dict[str, Any]]
Measured = list[tuple[int, dict[str, Any]]]


@dataclass(frozen=True, kw_only=True)
@checked
class OddTrainer:
    r"""Descent on the logistic loss with a penalty on the lengths of the neurons, in steps of length h d.

    .. math:: w_i \leftarrow w_i - h d \, \nabla_{w_i} \Big[ \overline{\log(1 + e^{-y f})}
              + \frac{\text{decay}}{d} \sum_i \big( \tfrac12 \|w_i\|^2 + \tfrac13 \|w_i\|^3 \big) \Big]

    Time is rescaled: at every d a winner moves by O(h) per step. Perturb with the present net, then step.

    Args:
        step: h as a function of the threshold.
        decay: lambda of the theory times d.
        bias: schedule of the threshold b.
        noise: schedule of sigma_rho.
        adversary: attacker of robust training, None for clean training.
        sampled_noise: draw rho anew per sample and step, as printed, instead of averaging f over it.
        bias_rate: gradient descent on the bias with this multiple of h, besides its schedule.

    Reading: the algorithms put the noise inside the loss,
        :math:`\mathbb{E}_\rho \log(1 + e^{-y f(\rho)})`. The default smooths f instead,
        :math:`\log(1 + e^{-y\, \mathbb{E} f})`, which needs no random numbers and is what is attacked and
        certified. Descent on the bias is the variant of footnote 8.

    Ref: purification, Alg 1; purification, Alg 2
    """

    step: RelativeStep
    decay: NonNegative
    bias: BiasSchedule = field(default_factory=FrozenBias)
    noise: NoiseSchedule = field(default_factory=ProportionalNoise)
    adversary: Adversary | None = None
    sampled_noise: bool = False
    bias_rate: NonNegative = 0.0

    @torch.no_grad()
    def advance(
        self,
        net: OddTwoLayer,
        x: Tensor,
        y: Tensor,
        step: int,
        *,
        time: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> OddTwoLayer:
        """One update; raises Diverged when outputs are no longer finite.

        Args:
            net: before the update.
            x: (n, d) samples of this step.
            y: (n,) their labels.
            step: number of the update.
            time: rescaled, before the update.
            generator: of sampled noise and random attacks.
        """
        threshold = -float(net.b)
        h = self.step(threshold)
        x = self._perturbed(net, x, y, step, generator)
        f, pull = self._forward(net, x, generator)
        if not bool(torch.isfinite(f).all()):
            raise Diverged(step, "the training margins are not finite")
        residual = Logistic().derivative(y * f) * y / len(x)
        gradient, bias_gradient = pull(residual)
        # The gradient of the penalty is (decay / d) (1 + |w|) w, and lr = h d.
        shrink = 1 - h * self.decay * (1 + torch.linalg.vector_norm(net.W, dim=1, keepdim=True))
        W = gradient.mul_(-h * net.d).addcmul_(net.W, shrink)
        threshold = self.bias(threshold, h)
        if self.bias_rate > 0:
            # The threshold is minus the bias, so a step down in the bias is a step up here.
            threshold = max(threshold + self.bias_rate * h * bias_gradient, 1e-12)
        return net.replace(W=W, b=net.b.new_tensor(-threshold), sigma_rho=self.noise(threshold, time + h))

    def run(
        self,
        net: OddTwoLayer,
        batches: Batches,
        *,
        steps: int,
        generator: torch.Generator | None = None,
        observe: Observer | None = None,
        observe_at: Collection[int] = (),
    ) -> tuple[OddTwoLayer, Measured]:
        """Train for `steps` updates; measurements (t, values) of the nets before update t, and of the last.

        To what is observed the values add `time`, the rescaled time: the sum of h over the updates so far.

        Args:
            net: where training begins; its noise is set by the schedule.
            batches: the samples of every step.
            steps: updates.
            generator: of sampled noise and random attacks.
            observe: called as observe(t, net_t).
            observe_at: the steps at which it is called.
        """
        require_integer(steps, "steps", "OddTrainer", minimum=0)
        watched, measured = frozenset(observe_at), []
        time = 0.0
        net = net.replace(sigma_rho=self.noise(-float(net.b), time))
        for step in range(steps + 1):
            if observe is not None and step in watched:
                _require_finite(net, step)
                measured.append((step, {"time": time, **observe(step, net)}))
            if step < steps:
                h = self.step(-float(net.b))
                net = self.advance(net, *batches(step), step, time=time, generator=generator)
                time += h
        _require_finite(net, steps)
        return net, measured

    def _perturbed(
        self, net: OddTwoLayer, x: Tensor, y: Tensor, step: int, generator: torch.Generator | None
    ) -> Tensor:
        adversary = self.adversary
        if adversary is None or step < adversary.first_step:
            return x
        ball = adversary.ball if adversary.radius is None else adversary.ball.with_tau(adversary.radius(step))
        return x + adversary.method(OddClassifier(net), x, y, ball, generator=generator)

    def _forward(
        self, net: OddTwoLayer, x: Tensor, generator: torch.Generator | None
    ) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, float]]]:
        """Outputs, and the map from residuals to the gradients of the weights and of the bias."""
        if self.sampled_noise:
            if generator is None:
                raise ValueError("`sampled_noise` of `OddTrainer` draws random numbers: pass a `generator`.")
            return _noisy(net, x, generator)
        if self.bias_rate > 0:
            f, pullback = net.value_and_pullback(x)

            def both(residual: Tensor) -> tuple[Tensor, float]:
                gradient = pullback(residual)
                return gradient["W"], float(gradient["b"])

            return f, both
        f, gates = forward(net, x)
        return f, lambda residual: (gates.weight_gradient(x, residual), 0.0)


def _require_finite(net: OddTwoLayer, step: int) -> None:
    if not bool(torch.isfinite(net.W).all()):
        raise Diverged(step, "the weights are not finite")


def _noisy(
    net: OddTwoLayer, x: Tensor, generator: torch.Generator
) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, float]]]:
    """One draw of rho per sample and neuron, the same in both halves of a pair."""
    u = net.projections(x)
    shift = net.b + net.sigma_rho * torch.randn(u.shape, generator=generator, dtype=u.dtype)
    plus, minus = u + shift, shift - u

    def pull(residual: Tensor) -> tuple[Tensor, float]:
        on, off = (plus > 0).to(u.dtype), (minus > 0).to(u.dtype)
        bias = residual @ (on - off).sum(dim=1)
        return (on + off).T @ (residual.unsqueeze(1) * x), float(bias)

    return (plus.clamp_min(0) - minus.clamp_min(0)).sum(dim=1), pull


def columns(measured: Measured) -> dict[str, Any]:
    """What a training observed, as one list over the steps for every name, `time` included.

    Args:
        measured: (step, values by name) as a trainer returns them.
    """
    return {name: [values[name] for _, values in measured] for name in measured[0][1]}
