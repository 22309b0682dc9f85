"""Training on inner products: when it is exact, its state, and one update, which is the plain trainer's."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from karat.attacks.inner_products.attack import Form, attack_obstacle, attack_of, perturb
from karat.attacks.inner_products.dense import Attack, Perturbed
from karat.attacks.inner_products.gram import GramNet
from karat.core.checks import require_labels, require_shape
from karat.core.divergence import Diverged
from karat.nets.two_layer import TwoLayer
from karat.reductions.span.descent import Products, move_weights, weigh
from karat.reductions.span.momentum import Velocity, move_weights_with_momentum
from karat.reductions.span.run import ExactState
from karat.training.regularisers import SquaredNorms
from karat.training.trainer import Trainer


def exactness_obstacle(trainer: Trainer, net: Any) -> str | None:
    """Why `train_exact` cannot reproduce this training exactly; None if it can.

    Under gradient descent, momentum, squared-norm penalties and l2 attacks from zero, the weights and all
    attacked points stay in the span of the first weights and the data, where only inner products matter. Sign
    and coordinate steps (l_inf and l_1 attacks, Adam), boxes and random starts leave it.

    Args:
        trainer: the rule of one update.
        net: any net.

    >>> from karat.training import Constant
    >>> exactness_obstacle(Trainer(lr=Constant(0.1), batch_size=5), None)
    'the net NoneType is not a TwoLayer net'
    """
    if type(net) is not TwoLayer:  # a subclass may be another function
        return f"the net {type(net).__name__} is not a TwoLayer net"
    if trainer.batch_size is not None:
        return "the engine runs full-batch training only, and `batch_size` is set"
    if trainer.projection is not None:
        return f"the projection {type(trainer.projection).__name__} is not expressed in inner products"
    if trainer.regulariser is not None and not isinstance(trainer.regulariser, SquaredNorms):
        return f"the regulariser {type(trainer.regulariser).__name__} is not expressed in inner products"
    if trainer.adversary is None:
        return None
    return attack_obstacle(trainer.adversary.method, trainer.adversary.ball)


class ExactEngine:
    """Training on inner products, one `advance` per update; buffers are allocated once and changed in place.

    Args:
        trainer: anything for which `exactness_obstacle` is None.
        net: the net before the first update.
        x: (n, r) samples.
        y: (n,) labels +-1.
        weights: keep W up to date.
        track: (k, r) further points whose products are carried along.
        form: "sides", "dense", or "auto".
        despite_obstacle: run also where there is one, leaving out what inner products cannot express.
    """

    def __init__(
        self,
        trainer: Trainer,
        net: TwoLayer,
        x: Tensor,
        y: Tensor,
        *,
        weights: bool = True,
        track: Tensor | None = None,
        form: Form = "auto",
        despite_obstacle: bool = False,
    ) -> None:
        obstacle = None if despite_obstacle else exactness_obstacle(trainer, net)
        if obstacle is not None:
            raise ValueError(f"`train_exact` cannot run this training: {obstacle}.")
        require_shape(x, "x", (None, net.d))
        if x.dtype != net.W.dtype:
            raise TypeError(f"`x` and the weights must have one dtype, got {x.dtype} and {net.W.dtype}.")
        if x.dtype not in (torch.float32, torch.float64):
            raise TypeError(f"`train_exact` runs in float32 or float64, got {x.dtype}.")
        net = net.replace(**{name: tensor.detach() for name, tensor in net.parameters().items()})
        x = x.detach()
        track = x[:0] if track is None else require_shape(track, "track", (None, net.d)).to(x.dtype)
        self.trainer, self.net, self.form = trainer, net, form
        self.y = require_labels(y, len(x)).to(x.dtype)
        self.products = Products(net.W, x, track, keep=weights)
        self.perturbed = Perturbed(len(x), net.m, x.dtype, H=self.products.H)
        self.velocity = Velocity(self.products) if trainer.momentum else None
        self.small = {name: value.clone() for name, value in net.parameters().items() if name != "W"}
        self.small_velocity: dict[str, Tensor] = {}
        self.gradient_a, self.gradient_b = torch.empty_like(net.a), torch.empty_like(net.a)
        self.nothing = torch.zeros_like(net.a)
        self.decay: Mapping[str, float] = (
            trainer.regulariser.decays if isinstance(trainer.regulariser, SquaredNorms) else {}
        )
        self.step = 0
        self._attack: tuple[float | None, Attack] | None = None

    def copy(self) -> "ExactEngine":
        """The same state in buffers of its own; the trainer and the first net are shared."""
        return deepcopy(self, {id(shared): shared for shared in (self.trainer, self.net)})

    def state(self) -> ExactState:
        """The present state, as views of the buffers."""
        products = self.products
        W = None if products.weights is None else products.weights.W
        small = self.net.replace(**self.small)
        return ExactState(self.step, self.gram(), products.P, products.tracked, small, W)

    def gram(self) -> GramNet:
        """The present net up to rotation."""
        small, net = self.small, self.net
        b, c = small.get("b", self.nothing), small.get("c", self.nothing[0])
        return GramNet(self.products.G, net.scale * small["a"], b, c, net.activation)

    def attack(self) -> Attack | None:
        """The adversary of the present step."""
        adversary = self.trainer.adversary
        if adversary is None or self.step < adversary.first_step:
            return None
        tau = None if adversary.radius is None else adversary.radius(self.step)
        if self._attack is None or self._attack[0] != tau:
            ball = adversary.ball if tau is None else adversary.ball.with_tau(tau)
            try:
                self._attack = (tau, attack_of(adversary.method, ball, len(self.y), self.y.dtype))
            except OverflowError as error:
                raise Diverged(self.step, str(error).rstrip(".")) from error
        return self._attack[1]

    def advance(self) -> float:
        """One update; returns the loss at the attacked points before it, or raises Diverged."""
        trainer, products, perturbed = self.trainer, self.products, self.perturbed
        gram = self.gram()
        perturb(gram, products.P, self.y, self.attack(), perturbed, form=self.form)
        margin = self.y * (perturbed.f + gram.c)
        if not bool(torch.isfinite(margin).all()):
            raise Diverged(self.step, "the training margins are not finite")
        mean = trainer.reduction == "mean"
        residual = trainer.loss.derivative(margin) * self.y
        if mean:
            residual = residual / len(self.y)
        self._weigh(residual)
        lr = trainer.lr(self.step)
        if not lr <= torch.finfo(self.y.dtype).max:
            raise Diverged(self.step, f"the step size {lr:g} does not fit into {self.y.dtype}")
        if "W" in trainer.trainable:
            self._move_weights(lr)
        gradients = {"a": self.net.scale * self.gradient_a, "b": self.gradient_b, "c": residual.sum()}
        for name in trainer.trainable:
            if name != "W":
                self._move(name, gradients[name], lr)
        self.step += 1
        losses = trainer.loss(margin)
        return float(losses.mean() if mean else losses.sum())

    def _weigh(self, residual: Tensor) -> None:
        """Fill D and the gradients of a and b."""
        arrays = (
            self.perturbed.Z,
            self.perturbed.F,
            residual,
            self.products.D,
            self.gradient_a,
            self.gradient_b,
        )
        weigh(*(tensor.numpy() for tensor in arrays))

    def _move_weights(self, lr: float) -> None:
        decay = 2 * self.decay.get("W", 0.0)
        if self.velocity is None:
            move_weights(self.products, self.perturbed, lr, decay)
        else:
            momentum = self.trainer.momentum
            move_weights_with_momentum(self.products, self.velocity, self.perturbed, lr, decay, momentum)

    def _move(self, name: str, gradient: Tensor, lr: float) -> None:
        """The same rule for a, b and c, which are small enough to be themselves."""
        if name in self.decay:
            gradient = gradient + 2 * self.decay[name] * self.small[name]
        if self.trainer.momentum:
            if name in self.small_velocity:
                gradient = self.trainer.momentum * self.small_velocity[name] + gradient
            self.small_velocity[name] = gradient.clone()
        self.small[name] = self.small[name] - lr * gradient
