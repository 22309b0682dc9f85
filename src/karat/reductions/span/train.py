"""Adversarial training on inner products, from start to end."""

from collections.abc import Collection

import torch
from torch import Tensor

from karat.attacks.inner_products.attack import Form
from karat.core.checks import require_integer
from karat.core.divergence import Diverged
from karat.nets.two_layer import TwoLayer
from karat.reductions.span.engine import ExactEngine
from karat.reductions.span.run import ExactRun, Observer
from karat.training.trainer import Trainer
from karat.training.trajectory import Measurement


def train_exact(
    trainer: Trainer,
    net: TwoLayer,
    x: Tensor,
    y: Tensor,
    *,
    steps: int,
    observe: Observer | None = None,
    observe_at: Collection[int] = (),
    weights: bool = True,
    track: Tensor | None = None,
    refresh_every: int | None = None,
    form: Form = "auto",
) -> ExactRun:
    r"""Run the trainer's own gradient descent on inner products: the same path, up to rounding.

    :math:`P = X W^T` and :math:`G = W W^T` are carried along, and nothing else is needed.

    For ReLU and leaky ReLU an attack costs 2 n m^2 flops, then one pass over m numbers per sample and step;
    for other activations 2 n m^2 per step. Weights cost 2 n m^2 + 8 n^2 m, and 4 n m r more if kept.

    Args:
        trainer: anything for which `exactness_obstacle` is None.
        net: in d dimensions, in the coordinates of a `Subspace`, or from `gaussian_rows`.
        x: (n, d) samples, in the same coordinates.
        y: (n,) labels +-1.
        steps: number of updates.
        observe: called as observe(t, state_t) before update number t, and after the last one.
        observe_at: the steps t = 0..steps at which it is called.
        weights: keep W up to date: evaluation on given points needs it, Gaussian test points do not.
        track: (k, r) further points, such as mu, whose products are carried along.
        refresh_every: recompute G and P from the kept W that often, against the drift of float32.
        form: "sides", "dense", or "auto".

    Returns:
        an ExactRun; divergence ends it early and is recorded there.

    >>> from karat.attacks.pgd import PGD
    >>> from karat.core import Ball
    >>> from karat.nets.init import pytorch_default
    >>> from karat.training import Adversary, Constant, Trainer
    >>> generator = torch.Generator().manual_seed(0)
    >>> attack = PGD(steps=20, step_ratio=0.2, keep="last")
    >>> trainer = Trainer(lr=Constant(0.1), trainable=("W", "a"), adversary=Adversary(attack, Ball(2, 0.5)))
    >>> x = torch.randn(8, 30, generator=generator, dtype=torch.float64)
    >>> net = pytorch_default(30, 6, generator=generator)
    >>> run = train_exact(trainer, net, x, x[:, 0].sign(), steps=20)
    >>> plain = trainer.run(net, x, x[:, 0].sign(), steps=20)
    >>> bool(torch.allclose(run.net.W, plain.net.W, rtol=1e-12))
    True

    Ref: benign, Alg 1
    """
    require_integer(steps, "steps", "train_exact", minimum=0)
    if refresh_every is not None:
        require_integer(refresh_every, "refresh_every", "train_exact", minimum=1)
        if not weights or trainer.momentum:
            raise ValueError("`refresh_every` of `train_exact` needs kept weights and no momentum.")
    engine = ExactEngine(trainer, net, x, y, weights=weights, track=track, form=form)
    watched = frozenset(observe_at)
    losses: list[float] = []
    measurements: list[tuple[int, Measurement]] = []
    divergence: Diverged | None = None
    try:
        while True:
            if observe is not None and engine.step in watched:
                measurements.append((engine.step, _observed(observe, engine)))
            if engine.step >= steps:
                break
            losses.append(engine.advance())
            if refresh_every is not None and engine.step % refresh_every == 0:
                engine.products.refresh()
        _require_finite(engine)
    except Diverged as stopped:
        divergence = stopped
    return ExactRun(tuple(losses), tuple(measurements), engine.state(), divergence)


def _observed(observe: Observer, engine: ExactEngine) -> Measurement:
    """What is seen of a finite state; raises Diverged where the state or an attack on it overflows."""
    _require_finite(engine)
    try:
        return observe(engine.step, engine.state())
    except OverflowError as error:
        raise Diverged(engine.step, str(error).rstrip(".")) from error


def _require_finite(engine: ExactEngine) -> None:
    products = engine.products
    if not bool(torch.isfinite(products.stack).all()) or not bool(torch.isfinite(products.G).all()):
        raise Diverged(engine.step, "the products of weights and data are not finite")
