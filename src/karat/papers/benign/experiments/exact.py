"""A run on inner products: the same training as the plain one, at a cost that does not grow with d."""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from karat.attacks.inner_products.evaluate import attacked_margins
from karat.certificates.gram_relaxation import certified_margins
from karat.core.ball import Ball
from karat.core.losses import Logistic
from karat.data.label_noise import FLIPS
from karat.nets import TwoLayer
from karat.papers.benign.experiments.mixture import Config, draw_net, evaluation_steps
from karat.probes.errors import error_share, mix_flips
from karat.reductions.span import ExactRun, ExactState, gaussian_products, gaussian_rows, span_of, train_exact


@dataclass(frozen=True)
class Problem:
    """A net and its data in coordinates of their span.

    Args:
        net, x, y: start and training set.
        flipped: (n,) noisy labels.
        mu: (1, r) signal.
        test: (k, r) test points, or None when fresh ones can be drawn from the net's Gram matrix.
        y_test: (k,) their labels before flipping.
        noise_seed: of fresh test points.
    """

    net: TwoLayer
    x: Tensor
    y: Tensor
    flipped: Tensor
    mu: Tensor
    test: Tensor | None
    y_test: Tensor
    noise_seed: int


def draw(config: Config, generator: torch.Generator) -> Problem:
    """Draw start, training set and test labels; the same numbers for every mu at equal seed and dimension."""
    noise_seed = int(torch.randint(2**62, (), generator=generator))
    y_test = torch.randint(0, 2, (config.n_test,), generator=generator).to(config.dtype) * 2 - 1
    if config.in_span:
        return _draw_in_span(config, generator, y_test, noise_seed)
    net, mixture = draw_net(config, generator), config.mixture()
    train = mixture.sample(config.n, generator=generator, dtype=config.dtype)
    space = span_of(net, train.x)
    test = None
    if config.cluster != "gaussian":
        samples = mixture.sample(config.n_test, generator=generator, dtype=config.dtype)
        test, y_test = space.points(samples.x), samples.y_clean
    mu = space.points(mixture.mu.unsqueeze(0).to(config.dtype))
    return Problem(space.net, space.x, train.y, train.flipped, mu, test, y_test, noise_seed)


def _draw_in_span(config: Config, generator: torch.Generator, y_test: Tensor, noise_seed: int) -> Problem:
    """Gaussian weights and clusters in coordinates of their span, mu on the first axis.

    Reading: PyTorch's uniform weights become Gaussian ones of the same variance 1/(3 d).
    """
    symmetric = config.start == "symmetric"
    neurons = config.m // 2 if symmetric else config.m
    rows = gaussian_rows(neurons + config.n, config.d, generator=generator).to(config.dtype)
    r = rows.shape[1]
    W = rows[:neurons]
    W = config.symmetric_scale * W.repeat(2, 1) if symmetric else W / math.sqrt(3 * config.d)
    # A net in one dimension brings the top layer; PyTorch's biases shrink with the fan-in, as its weights do.
    net = draw_net(replace(config, d=1), generator).replace(W=W)
    if net.b is not None:
        net = net.replace(b=net.b / math.sqrt(config.d))
    y_clean = torch.randint(0, 2, (config.n,), generator=generator).to(config.dtype) * 2 - 1
    mu = torch.zeros(1, r, dtype=config.dtype)
    mu[0, 0] = config.mu
    x = rows[neurons:] + y_clean.unsqueeze(1) * mu
    flipped = FLIPS[config.flips](y_clean * x[:, 0], config.flip_rate, 10, generator)
    y = torch.where(flipped, -y_clean, y_clean)
    return Problem(net, x, y, flipped, mu, None, y_test, noise_seed)


def products_of_test(problem: Problem, state: ExactState) -> Tensor:
    """Products of the net's weights with the test points, (k, m)."""
    if problem.test is not None:
        return problem.test @ state.net.W.T
    noise = torch.Generator().manual_seed(problem.noise_seed)
    return gaussian_products(state.gram, state.tracked[0], problem.y_test, generator=noise)


def measure(config: Config, problem: Problem, state: ExactState, *, certify: bool = False) -> dict[str, Any]:
    """Robust training loss and error, test errors under flips, and on request the certified upper bound."""
    ball, method = Ball(2, config.test_tau), config.attack()
    train = attacked_margins(state.gram, state.P, problem.y, method, Ball(2, config.tau))
    P, y = products_of_test(problem, state), problem.y_test
    clean = y * state.gram.output(P)

    def robust(side: Tensor, margin: Tensor) -> float:
        """Share of errors; a point that errs unattacked needs no attack."""
        left = margin > 0
        worst = attacked_margins(state.gram, P[left], side[left], method, ball)
        return 1 - float((worst > 0).sum()) / len(P)

    def certified(side: Tensor, margin: Tensor) -> float:
        left = margin > 0
        lower = certified_margins(state.gram, P[left], side[left], config.test_tau)
        return 1 - float((lower > 0).sum()) / len(P)

    noisy = config.flip_rate > 0
    values = {
        "train_loss": float(Logistic()(train).mean()),
        "train_error": error_share(train),
        "clean_error": mix_flips(error_share(clean), error_share(-clean), config.flip_rate),
        "robust_error": mix_flips(robust(y, clean), robust(-y, -clean) if noisy else 1.0, config.flip_rate),
    }
    if certify and state.gram.activation.piecewise_linear:
        values["certified_error"] = mix_flips(
            certified(y, clean), certified(-y, -clean) if noisy else 1.0, config.flip_rate
        )
    return values


def train(config: Config, problem: Problem, **options: Any) -> ExactRun:
    """Run the config's trainer; options go to `train_exact`."""
    return train_exact(
        config.trainer(),
        problem.net,
        problem.x,
        problem.y,
        steps=config.steps,
        weights=problem.test is not None,
        track=problem.mu,
        **options,
    )


def run_exact(config: Config, generator: torch.Generator) -> list[tuple[int, dict[str, Any]]]:
    """Train on inner products; measurements at the evaluation steps, the last one with its certificate."""
    return run_problem(config, draw(config, generator))


def run_problem(config: Config, problem: Problem) -> list[tuple[int, dict[str, Any]]]:
    """The same for a given start and data."""

    def observe(step: int, state: ExactState) -> dict[str, Any]:
        return measure(config, problem, state, certify=step == config.steps)

    finished = train(
        config, problem, observe=observe, observe_at=evaluation_steps(config.steps, config.evaluations)
    )
    if finished.divergence is not None:
        raise finished.divergence
    return list(finished.measurements)
