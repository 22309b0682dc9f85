"""What is being certified: the model in float64, samples checked, and the problems behind their margins."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from karat.certificates.deep_relaxation import deep_bound
from karat.certificates.interval import Chain, interval_bounds
from karat.certificates.layers import chain_of, dense
from karat.certificates.problem import Problem
from karat.certificates.profile import profile_of
from karat.certificates.rounding import gamma
from karat.certificates.translate import as_ridge, label_rows, plain, problem_of
from karat.core.ball import Ball
from karat.core.checks import ShapeError
from karat.core.classifier import Classifier
from karat.nets.deep import Deep
from karat.nets.module import as_classifier
from karat.nets.outputs import fit_labels, score_count

_LARGEST, _SMALLEST = 1e60, 1e-70


@dataclass(frozen=True, eq=False)
class Target:
    """Samples of one model over one ball.

    Args:
        classifier: of the float64 model.
        x: (n, ...) samples in float64.
        y: (n,) labels.
        ball: norm and radii (n,).
        problem: the two-layer problems, or None for a deeper model.
        owner: (N,) the sample each problem (or row) belongs to.
        chain: the layers of a deeper model, else none.
        rows: (N, outputs) what a deeper model's outputs are combined with into margins, else none.
    """

    classifier: Classifier
    x: Tensor
    y: Tensor
    ball: Ball
    problem: Problem | None
    owner: Tensor
    chain: Chain
    rows: Tensor

    def part(self, samples: Tensor) -> "Target":
        """The target of some samples (k,), each named once."""
        new_index = torch.full((len(self.x),), -1)
        new_index[samples] = torch.arange(len(samples))
        rows = (new_index[self.owner] >= 0).nonzero().squeeze(1)
        return replace(
            self,
            x=self.x[samples],
            y=self.y[samples],
            ball=self.ball.with_tau(self.ball.radius(self.x)[samples]),
            problem=None if self.problem is None else self.problem.rows(rows),
            owner=new_index[self.owner[rows]],
            rows=self.rows[rows] if len(self.rows) else self.rows,
        )

    def per_sample(self, values: Tensor) -> Tensor:
        """(n,) smallest of every sample's problems."""
        return self._reduce(values, "amin")

    def _reduce(self, values: Tensor, how: str) -> Tensor:
        out = torch.full((len(self.x),), torch.inf if how == "amin" else 0.0, dtype=torch.float64)
        return out.scatter_reduce(0, self.owner, values, how)

    def margin_error(self, delta: Tensor) -> Tensor:
        """(n,) bound on the rounding of the margins at x + delta."""
        if self.problem is not None:
            return self._reduce(self.problem.value_error(delta.flatten(1)[self.owner]), "amax")
        point = Ball(self.ball.p, 0.0)
        with torch.no_grad():
            low, high = (side.flatten(1) for side in interval_bounds(self.chain, self.x + delta, point)[-1])
        size = (self.rows.abs() * (high - low)[self.owner]).sum(dim=1)
        size = size + gamma(self.rows.shape[1]) * (self.rows.abs() * high.abs()[self.owner]).sum(dim=1)
        return self._reduce(size, "amax")

    def scale(self) -> Tensor:
        """(n,) sizes summed in a margin: what a tie is relative to."""
        if self.problem is not None:
            problem = self.problem
            low, high = problem.interval
            top = torch.maximum(problem.profile.value(low).abs(), problem.profile.value(high).abs())
            return self._reduce(problem.offset.abs() + (problem.c.abs() * top).sum(dim=1), "amax")
        with torch.no_grad():
            low, high = (side.flatten(1) for side in interval_bounds(self.chain, self.x, self.ball)[-1])
        return self._reduce(
            (self.rows.abs() * torch.maximum(low.abs(), high.abs())[self.owner]).sum(1), "amax"
        )

    def deep_bound(self) -> Tensor:
        """(N,) linear-relaxation bounds of a deeper model."""
        return deep_bound(self.chain, self.x, self.rows, self.owner, self.ball)[1]


def target_of(model: Any, x: Tensor, y: Tensor, ball: Ball) -> Target:
    """Check the arguments of a certification and set it up; every message names what is wrong.

    Args:
        model: karat net or torch.nn.Module.
        x: (n, ...) samples.
        y: (n,) labels +-1, or class indices for logits.
        ball: the allowed perturbations.
    """
    x, y = _checked(x, y)
    radius = ball.radius(x)
    ball = ball.with_tau(radius)
    if ball.box is not None:
        ball.project(torch.zeros_like(x), x)  # raises if a sample is outside the box
    model = plain(model)
    classifier = as_classifier(model)
    empty = torch.zeros(0, dtype=torch.float64)
    ridge = as_ridge(model)
    if ridge is not None:
        if len(ridge.A) == 1:
            y = fit_labels(y, 1).double()
        problem, owner = problem_of(ridge, x, y, ball)
        _require_sizes(problem, owner)
        return Target(classifier, x, y, ball, problem, owner, [], empty)
    chain = _deep_chain(model) if isinstance(model, Deep) else chain_of(model)
    if isinstance(model, nn.Module):
        with torch.no_grad():
            count = score_count(model(x[:1]), 1)
    else:
        count = 1
    y = fit_labels(y, count).double() if count == 1 else y
    rows, owner = label_rows(y, count)
    return Target(classifier, x, y, ball, None, owner, chain, rows)


def _checked(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    x, y = torch.as_tensor(x), torch.as_tensor(y)
    if x.dim() < 2 or len(x) == 0:
        raise ShapeError(f"`x` must have shape (n, ...) with n >= 1, got {tuple(x.shape)}.")
    if y.shape != (len(x),):
        raise ShapeError(f"`y` must have shape ({len(x)},), got {tuple(y.shape)}.")
    if not bool(torch.isfinite(x).all()):
        raise ValueError("`x` must hold finite numbers.")
    return x.detach().double(), y.detach()


def _require_sizes(problem: Problem, owner: Tensor) -> None:
    """Error bounds are relative: they hold while squares of products neither overflow nor round to zero."""
    sizes = torch.maximum(problem.magnitude.amax(dim=1), problem.c.abs().amax(dim=1))
    if not bool((sizes <= _LARGEST).all()):
        sample = int(owner[int((~(sizes <= _LARGEST)).nonzero()[0])])
        raise ValueError(
            f"`certify` needs weights, inputs and radii whose products stay below {_LARGEST:g}, "
            f"got {float(sizes.max()):.3g} (first at sample {sample}): rescale the model or the data."
        )
    for weights in (problem.W, problem.c):
        size = float(weights.abs().max())
        if 0 < size < _SMALLEST:
            raise ValueError(
                f"`certify` needs a layer's weights not all below {_SMALLEST:g}, "
                f"got {size:.3g} as the largest: rescale the model."
            )


def _deep_chain(model: Deep) -> Chain:
    """The layers of convergence's deep net."""
    chain: Chain = [dense(model.A)]
    for layer in model.layers:
        chain += [dense(layer), profile_of(model.activation)]
    return [*chain, dense(model.a.unsqueeze(0))]
