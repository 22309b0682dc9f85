"""A run on inner products: the same training as the plain one, at a cost that does not grow with d."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from karat.attacks.inner_products.attack import attacked_margins
from karat.attacks.inner_products.gram import GramNet
from karat.certificates.gram_relaxation import certified_margins
from karat.core.ball import Ball
from karat.core.losses import Logistic
from karat.data.label_noise import FLIPS
from karat.nets import TwoLayer
from karat.papers.benign.experiments.evaluation import Evaluation, evaluation_steps
from karat.papers.benign.experiments.mixture import MixtureConfig, draw_net
from karat.probes.errors import error_share, mix_flips
from karat.reductions.span import ExactRun, ExactState, gaussian_products, gaussian_rows, span_of, train_exact


@dataclass(frozen=True)
class TrainingProblem:
    """A net and its data, in d dimensions or in coordinates of their span.

    Args:
        net: the start.
        x: (n, r) training points.
        y: (n,) their labels, some of them flipped.
        mu: (1, r) signal.
        test: (k, r) test points, or None when fresh ones can be drawn from the net's Gram matrix.
        y_test: (k,) labels of the test points before flipping.
        noise_seed: of fresh test points.
    """

    net: TwoLayer
    x: Tensor
    y: Tensor
    mu: Tensor
    test: Tensor | None
    y_test: Tensor
    noise_seed: int


def draw_problem(config: MixtureConfig, generator: torch.Generator) -> TrainingProblem:
    """Draw start, training set and test labels; the same numbers for every mu at equal seed and dimension.

    Args:
        config: what to draw.
        generator: draws it.
    """
    noise_seed = int(torch.randint(2**62, (), generator=generator))
    y_test = _fair_labels(config.n_test, config.dtype, generator)
    if config.in_span:
        return _draw_in_span(config, generator, y_test, noise_seed)
    net, mixture = draw_net(config, generator), config.mixture()
    train = mixture.sample(config.n, generator=generator, dtype=config.dtype)
    space = span_of(net, train.x)
    test = None
    if config.cluster != "gaussian":
        # Only Gaussian test points have products whose law the Gram matrix knows; others must be drawn.
        samples = mixture.sample(config.n_test, generator=generator, dtype=config.dtype)
        test, y_test = space.points(samples.x), samples.y_clean
    mu = space.points(mixture.mu.unsqueeze(0).to(config.dtype))
    return TrainingProblem(space.net, space.x, train.y, mu, test, y_test, noise_seed)


def _draw_in_span(
    config: MixtureConfig, generator: torch.Generator, y_test: Tensor, noise_seed: int
) -> TrainingProblem:
    """Gaussian weights and clusters in coordinates of their span, mu on the first axis.

    Reading: PyTorch's uniform weights become Gaussian ones of the same variance 1/(3 d).
    """
    symmetric = config.start == "symmetric"
    # The halves of the symmetric start share their weights and differ in the sign of the top layer.
    neurons = config.m // 2 if symmetric else config.m
    rows = gaussian_rows(neurons + config.n, config.d, generator=generator).to(config.dtype)
    r = rows.shape[1]
    W = rows[:neurons]
    W = config.symmetric_scale * W.repeat(2, 1) if symmetric else W / math.sqrt(3 * config.d)
    # A net in one dimension brings the top layer; PyTorch's biases shrink with the fan-in, as its weights do.
    net = draw_net(replace(config, d=1), generator).replace(W=W)
    if net.b is not None:
        net = net.replace(b=net.b / math.sqrt(config.d))
    y_clean = _fair_labels(config.n, config.dtype, generator)
    mu = torch.zeros(1, r, dtype=config.dtype)
    mu[0, 0] = config.mu
    x = math.sqrt(config.law.variance) * rows[neurons:] + y_clean.unsqueeze(1) * mu
    flipped = FLIPS[config.flips](y_clean * x[:, 0], config.flip_rate, 10, generator)
    y = torch.where(flipped, -y_clean, y_clean)
    return TrainingProblem(net, x, y, mu, None, y_test, noise_seed)


def _fair_labels(count: int, dtype: torch.dtype, generator: torch.Generator) -> Tensor:
    return torch.randint(0, 2, (count,), generator=generator).to(dtype) * 2 - 1


def products_of_test(config: MixtureConfig, problem: TrainingProblem, state: ExactState) -> Tensor:
    """Return the products of the net's weights with the test points, (k, m).

    Args:
        config: the law of the clusters.
        problem: which test points.
        state: of training, with the net's present weights or their Gram matrix.
    """
    if problem.test is not None:
        return problem.test @ state.net.W.T
    # The same noise at every step: curves over training then move by training alone.
    noise = torch.Generator().manual_seed(problem.noise_seed)
    # Noise of variance v has products of the law N(0, v G).
    spread = replace(state.gram, G=config.law.variance * state.gram.G)
    return gaussian_products(spread, state.tracked[0], problem.y_test, generator=noise)


def evaluate(
    config: MixtureConfig, problem: TrainingProblem, state: ExactState, *, certify: bool = False
) -> Evaluation:
    r"""Measure the net in a state of training: loss and error on the training set, errors on the test set.

    Label noise is not drawn: with :math:`e_\pm` the errors at the clean and at the flipped label, the error
    is :math:`(1 - \beta) e_+ + \beta e_-`.

    Args:
        config: attack radii and label noise.
        problem: data.
        state: of training.
        certify: whether to bound the robust error from above too, where the activation allows it.
    """
    method = config.attack()
    train = attacked_margins(state.gram, state.P, problem.y, method, Ball(2, config.tau))
    P, y = products_of_test(config, problem, state), problem.y_test
    clean = y * state.gram.output(P)

    def attacked(P: Tensor, y: Tensor) -> Tensor:
        return attacked_margins(state.gram, P, y, method, Ball(2, config.test_tau))

    def certified(P: Tensor, y: Tensor) -> Tensor:
        return certified_margins(state.gram, P, y, config.test_tau)

    def error(worst_margins: Callable[[Tensor, Tensor], Tensor]) -> float:
        at_flipped = _worst_error(P, -y, -clean, worst_margins) if config.flip_rate > 0 else 1.0
        return mix_flips(_worst_error(P, y, clean, worst_margins), at_flipped, config.flip_rate)

    certify_errors = certify and state.gram.activation.piecewise_linear
    safe_train = certified_margins(state.gram, state.P, problem.y, config.tau) if certify_errors else None
    return Evaluation(
        train_loss=float(Logistic()(train).mean()),
        train_error=error_share(train),
        clean_error=mix_flips(error_share(clean), error_share(-clean), config.flip_rate),
        robust_error=error(attacked),
        certified_error=error(certified) if certify_errors else None,
        certified_train_error=None if safe_train is None else error_share(safe_train),
        margin=_normalised_margin(state.gram, clean, y) if certify else None,
    )


def _normalised_margin(net: GramNet, margin: Tensor, y: Tensor) -> float | None:
    """Mean margin of the worse class over a Lipschitz constant of the net; None for a net that is zero."""
    steepest = float(torch.linalg.vector_norm(net.w) * torch.linalg.eigvalsh(net.G)[-1].clamp_min(0).sqrt())
    sides = [margin[y == side] for side in (1, -1)]
    if steepest == 0 or min(map(len, sides)) == 0:
        return None
    return min(float(side.mean()) for side in sides) / steepest


def _worst_error(
    P: Tensor, y: Tensor, margin: Tensor, worst_margins: Callable[[Tensor, Tensor], Tensor]
) -> float:
    """Share of points with an error in their ball; one that errs unattacked needs no attack."""
    correct = margin > 0
    return 1 - float((worst_margins(P[correct], y[correct]) > 0).sum()) / len(P)


def train(config: MixtureConfig, problem: TrainingProblem, **options: Any) -> ExactRun:
    """Run the config's trainer on inner products.

    Args:
        config: how to train.
        problem: start and data.
        options: further arguments of `train_exact`.
    """
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


def run_exact(config: MixtureConfig, generator: torch.Generator) -> dict[int, Evaluation]:
    """Draw a problem and train on it, on inner products.

    Args:
        config: the run.
        generator: draws the problem.

    Returns:
        step -> evaluation, the last one with a certificate.
    """
    return run_problem(config, draw_problem(config, generator))


def run_problem(config: MixtureConfig, problem: TrainingProblem) -> dict[int, Evaluation]:
    """Train on a given problem; the rest is as in `run_exact`.

    Args:
        config: the run.
        problem: start and data.
    """

    def observe(step: int, state: ExactState) -> dict[str, Any]:
        # Checks judge the last robust error only; the curves do without the cost of certificates.
        return vars(evaluate(config, problem, state, certify=step == config.steps))

    finished = train(
        config, problem, observe=observe, observe_at=evaluation_steps(config.steps, config.evaluations)
    )
    if finished.divergence is not None:
        raise finished.divergence
    return {step: Evaluation(**values) for step, values in finished.measurements}
