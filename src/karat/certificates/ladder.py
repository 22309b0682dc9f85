"""The ladder: attack, Lipschitz, linear relaxation, slope ascent, parabolas, secants, branch and bound."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from karat.attacks.judge import judge, run_attack
from karat.attacks.method import Method
from karat.attacks.pgd import better
from karat.attacks.strongest import Strongest
from karat.certificates.ascent import optimised_lines
from karat.certificates.branch_and_bound import branch_and_bound
from karat.certificates.certificate import Certificate, classify
from karat.certificates.lipschitz import global_constant, lipschitz_bound, secant_bound
from karat.certificates.problem import Problem
from karat.certificates.quadratic_relaxation import quadratic_bound
from karat.certificates.relaxation import centre_lines, dual_bound
from karat.certificates.target import Target, target_of
from karat.certificates.witness import inside
from karat.core.ball import Ball
from karat.core.checks import require_integer, require_number

Listener = Callable[[str, int, int], None]
_MOST = 1500  # neurons up to which the eigenvalues of their Gram matrix are worth their cube
_WIDEST = 600  # unstable neurons or inputs, whichever is fewer, up to which the secant SDP is worth its cube


def certify(
    model: Any,
    x: Tensor,
    y: Tensor,
    ball: Ball,
    seconds_per_sample: float = 3.0,
    *,
    domains_per_sample: int | None = None,
    attack: Method | None = None,
    start: Tensor | None = None,
    generator: torch.Generator | None = None,
    tie_tolerance: float = 1e-8,
    listener: Listener | None = None,
) -> Certificate:
    """Bracket the worst margin of every sample over the ball and decide its sign as far as time allows.

    Each stage works only on samples the earlier ones left open. Two-layer nets (karat's, or Linear - ReLU -
    Linear modules, also with several logits) climb the whole ladder; deeper models get interval bounds and
    linear relaxation.

    Args:
        model: karat net or torch.nn.Module.
        x: (n, ...) samples.
        y: (n,) labels +-1, or class indices for logits.
        ball: norm, radius (a number or (n,)), optional box.
        seconds_per_sample: for the search.
        domains_per_sample: limit of the search instead of the time, whatever the machine's speed.
        attack: instead of the strongest of karat's.
        start: (n, ...) perturbations to try first.
        generator: of the attack's restarts, seeded with 0 when left out.
        tie_tolerance: margin that counts as zero, relative to the sizes summed in it.
        listener: called with (stage, samples done, samples).

    Returns:
        brackets, statuses, witnesses and the time of every stage.

    Reading: everything is computed in float64 for the real-arithmetic net with the model's weights, rounding
        charged; a float32 model is certified as that net, not as its float32 evaluation.

    >>> from karat.nets import Linear
    >>> net = Linear(torch.tensor([3.0, 4.0]))
    >>> certify(net, torch.ones(1, 2), torch.ones(1), Ball(2, 1.0)).status
    ['robust']
    """
    require_number(seconds_per_sample, "seconds_per_sample", "certify", minimum=0)
    require_number(tie_tolerance, "tie_tolerance", "certify", minimum=0)
    limit = _Limit(seconds_per_sample, math.inf)
    if domains_per_sample is not None:
        require_integer(domains_per_sample, "domains_per_sample", "certify", minimum=1)
        limit = _Limit(math.inf, domains_per_sample)
    target = target_of(model, x, y, ball)
    state = _State(target, listener)
    with state.stage("attack"):
        _attack(state, attack, start, generator or torch.Generator().manual_seed(0))
    if target.problem is None:
        with state.stage("relaxation"):
            state.raise_lower(torch.arange(len(target.owner)), target.deep_bound())
    else:
        _climb(state, target.problem, limit, tie_tolerance * target.scale())
    lower, error = target.per_sample(state.lower), state.error
    status = classify(lower, state.upper, error, tie_tolerance * target.scale())
    return Certificate(lower, state.upper, status, state.delta.reshape(x.shape), state.seconds)


@dataclass(frozen=True)
class _Limit:
    """What the search may spend on one sample."""

    seconds: float
    domains: float


@dataclass(eq=False)
class _State:
    """Bounds of all problems, and the best witness of every sample."""

    target: Target
    listener: Listener | None
    lower: Tensor = field(init=False)
    upper: Tensor = field(init=False)
    error: Tensor = field(init=False)
    delta: Tensor = field(init=False)
    seconds: dict[str, float] = field(default_factory=dict)
    name: str = ""

    def __post_init__(self) -> None:
        self.lower = torch.full((len(self.target.owner),), -torch.inf, dtype=torch.float64)
        self.delta = torch.zeros_like(self.target.x)
        self.upper = self.target.classifier.margin(self.target.x, self.target.y).detach()
        self.error = self.target.margin_error(self.delta)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage and tell the listener."""
        start, self.name = time.perf_counter(), name
        self.tell(len(self.target.x) - int(self.open_samples().sum()))
        yield
        self.seconds[name] = time.perf_counter() - start

    def tell(self, done: int) -> None:
        if self.listener is not None:
            self.listener(self.name, done, len(self.target.x))

    def raise_lower(self, rows: Tensor, bound: Tensor) -> None:
        """Keep the larger of two lower bounds; NaN counts for nothing."""
        self.lower[rows] = torch.fmax(self.lower[rows], bound)

    def try_witness(self, delta: Tensor, samples: Tensor) -> None:
        """Judge perturbations (k, ...) of some samples and keep those that lower the margin.

        A witness that is not finite is dropped: the bounds, and the other samples, do not depend on it.
        """
        part, known = self.target.part(samples), self.delta[samples]
        finite = torch.isfinite(delta).flatten(1).all(dim=1).reshape(-1, *[1] * (delta.dim() - 1))
        delta = torch.where(finite, inside(torch.where(finite, delta, 0.0), part.x, part.ball), known)
        result = judge(part.classifier, part.x, part.y, delta, part.ball, name="the witness")
        best, margin = better(self.delta[samples], self.upper[samples], result.delta, result.margin)
        self.delta[samples], self.upper[samples] = best, margin
        self.error[samples] = part.margin_error(best)

    def open_samples(self) -> Tensor:
        """(n,) booleans: neither proven robust nor broken beyond rounding."""
        return (self.target.per_sample(self.lower) <= 0) & (self.upper >= -self.error)

    def open_rows(self) -> Tensor:
        """Indices of the problems that still matter."""
        return (self.open_samples()[self.target.owner] & (self.lower <= 0)).nonzero().squeeze(1)


def _attack(state: _State, attack: Method | None, start: Tensor | None, generator: torch.Generator) -> None:
    target, everyone = state.target, torch.arange(len(state.target.x))
    if start is not None:
        state.try_witness(start.reshape(target.x.shape).double(), everyone)
    rows = state.open_samples().nonzero().squeeze(1)
    if len(rows) == 0:
        return
    ball = target.ball.with_tau(target.ball.radius(target.x)[rows])
    method = Strongest() if attack is None else attack
    result = run_attack(method, target.classifier, target.x[rows], target.y[rows], ball, generator=generator)
    state.try_witness(result.delta, rows)


def _climb(state: _State, problem: Problem, limit: _Limit, tie: Tensor) -> None:
    """The stages of two-layer nets."""
    with state.stage("lipschitz"):
        if len(rows := state.open_rows()):
            part = problem.rows(rows)
            state.raise_lower(rows, lipschitz_bound(part, global_constant(part)))
    with state.stage("relaxation"):
        # Broken samples as well, so that every bracket has a lower end; robust ones as well, for the upper.
        everyone, alpha = torch.arange(len(problem)), centre_lines(problem)
        state.raise_lower(everyone, dual_bound(problem, alpha))
        _offer(state, everyone, problem.ball.extreme_point(-alpha @ problem.W, problem.x))
    slopes: dict[int, Tensor] = {}
    with state.stage("slopes"):
        if len(rows := state.open_rows()):
            bound, alpha, delta = optimised_lines(problem.rows(rows))
            state.raise_lower(rows, bound)
            slopes = dict(zip(rows.tolist(), alpha, strict=True))
            _offer(state, rows, delta)
    with state.stage("quadratic"):
        if len(rows := state.open_rows()) and problem.ball.p == 2 and len(problem.W) <= _MOST:
            bound, delta = quadratic_bound(problem.rows(rows))
            state.raise_lower(rows, bound)
            _offer(state, rows, delta)
    with state.stage("secant"):
        if len(rows := state.open_rows()) and min(problem.W.shape) <= _WIDEST:
            state.raise_lower(rows, secant_bound(problem.rows(rows)))
    with state.stage("search"):
        _search(state, problem, slopes, limit, tie)


def _offer(state: _State, rows: Tensor, delta: Tensor) -> None:
    """Try the answers (N, d) of a relaxation as witnesses, those of every rival of a sample."""
    owner, shape = state.target.owner[rows], state.target.x.shape[1:]
    first = torch.searchsorted(owner, owner)  # owners ascend
    rival = torch.arange(len(rows)) - first
    for k in range(int(rival.max()) + 1):
        chosen = (rival == k).nonzero().squeeze(1)
        state.try_witness(delta[chosen].reshape(-1, *shape), owner[chosen])


def _search(state: _State, problem: Problem, slopes: dict[int, Tensor], limit: _Limit, tie: Tensor) -> None:
    """Branch and bound on the rivals of one sample after the other; what a rival leaves goes to the next."""
    target = state.target
    for sample in state.open_samples().nonzero().squeeze(1).tolist():
        deadline, domains = time.perf_counter() + limit.seconds, limit.domains
        rows = ((target.owner == sample) & (state.lower <= 0)).nonzero().squeeze(1).tolist()
        for k, row in enumerate(rows):
            left = (deadline - time.perf_counter()) / (len(rows) - k)
            if left <= 0 or domains <= 0 or not bool(state.open_samples()[sample]):
                break
            search = branch_and_bound(
                problem.rows(torch.tensor([row])),
                seconds=left,
                domains=domains / (len(rows) - k),
                upper=float(state.upper[sample]),
                delta=state.delta[sample].flatten(),
                alpha=slopes.get(row),
                tie=float(tie[sample]),
            )
            domains -= search.domains
            state.raise_lower(torch.tensor([row]), torch.tensor([search.lower], dtype=torch.float64))
            state.try_witness(search.delta.reshape(1, *target.x.shape[1:]), torch.tensor([sample]))
        state.tell(len(target.x) - int(state.open_samples().sum()))
