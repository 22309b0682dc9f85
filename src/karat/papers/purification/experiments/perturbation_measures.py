"""The perturbations of a trained odd net: how dense they are, and how far the net is from linear."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from karat.attacks import PGD, Steepest
from karat.core.ball import Ball
from karat.core.divergence import Diverged
from karat.core.norms import dual_exponent
from karat.data import Samples, SparseCoding
from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.attackers import universal
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.probes.cosines import cosine_with
from karat.probes.density import flatness
from karat.probes.linearity import linearity_gap
from karat.training.odd import OddClassifier


@dataclass(frozen=True, kw_only=True)
class PerturbationMeasures:
    r"""What PGD finds on one net.

    Args:
        density: mean :math:`\|c\|_1^2 / (d \|c\|_2^2)` of the perturbations' coefficients in the dictionary.
        cosine: their mean cosine with the universal perturbation.
        gap_mean: mean largest deviation of the margin from its tangent in the ball, as far as ascent finds.
        gap_bound: mean of an upper bound on these deviations, see `deviation_bound`.
        gap_wide: what 90% of the deviations stay below.
        gap_relative: median deviation over the median margin.
        output_median: median size of the margin.
        example: coefficients of the perturbation of median density in units of tau, positive against y.
    """

    density: float
    cosine: float
    gap_mean: float
    gap_bound: float
    gap_wide: float
    gap_relative: float
    output_median: float
    example: list[float]


def perturbations(
    config: OddNetConfig, model: SparseCoding, net: OddTwoLayer, test: Samples, generator: torch.Generator
) -> PerturbationMeasures:
    """Attack by PGD and look at the perturbations; raise Diverged if the net is flat around every point.

    Args:
        config: the attacks.
        model: gives the dictionary, the universal direction and the radius.
        net: to be attacked.
        test: points, of which at most 300 are used.
        generator: of random starts.
    """
    few = test.take(slice(0, min(300, config.n_attack)))
    classifier, ball = OddClassifier(net), config.ball(model)
    delta = PGD(steps=20, start=Steepest())(classifier, few.x, few.y, ball, generator=generator)
    moved = torch.linalg.vector_norm(delta, dim=1) > 0
    if not bool(moved.any()):
        raise Diverged(None, "the net is flat around every attacked point")
    delta, y = delta[moved], few.y[moved]
    direction = universal(model, config.p)(classifier, few.x, few.y, ball)[moved]
    gap = _gap(config, model, classifier, few, ball, generator)
    margin = classifier.margin(few.x, few.y).abs().median()
    # In the dictionary and against the label: a dense perturbation is positive everywhere.
    profile = -(delta @ model.M.to(delta)) * y.unsqueeze(1) * model.w_star.sign().to(delta)
    densities = flatness(delta, model.M)
    example = profile[int(densities.argsort()[len(delta) // 2])]
    return PerturbationMeasures(
        density=float(densities.mean()),
        cosine=float(cosine_with(delta, direction).mean()),
        gap_mean=float(gap.mean()),
        gap_bound=float(deviation_bound(net, few.x, ball).mean()),
        gap_wide=float(gap.quantile(0.9)),
        gap_relative=float(gap.median() / margin),
        output_median=float(margin),
        example=[round(float(v), 5) for v in example / float(ball.tau)],
    )


def deviation_bound(net: OddTwoLayer, x: Tensor, ball: Ball) -> Tensor:
    r"""(n,) upper bound on the deviation of the net from its tangent in the ball, one neuron at a time.

    A perturbation moves the preactivation u of a neuron by at most :math:`r = \tau \|w_i\|_q`. The smoothed
    ReLU s is convex, so that it leaves its tangent most at an end of :math:`[u - r, u + r]`; the two halves
    of a pair deviate with opposite signs, so that the larger one bounds their difference:

    .. math:: \sum_i \max_{\pm u} \max_{v = \pm r} \; s(u + v) - s(u) - s'(u) \, v

    Args:
        net: of smoothed neurons.
        x: (n, d) inputs.
        ball: of the perturbations, of one radius.

    Ref: purification, Eq F.17
    """
    W, b, sigma = net.W.double(), float(net.b), max(net.sigma_rho, 1e-12)
    u = x.double() @ W.T
    reach = float(ball.tau) * torch.linalg.vector_norm(W, ord=dual_exponent(ball.p), dim=1)

    def smoothed(preactivation: Tensor) -> Tensor:
        t = (preactivation + b) / sigma
        density = torch.exp(-t.square() / 2) / math.sqrt(2 * math.pi)
        return sigma * (t * torch.special.ndtr(t) + density)

    def deviation(preactivation: Tensor) -> Tensor:
        slope = torch.special.ndtr((preactivation + b) / sigma)
        ends = [smoothed(preactivation + v) - slope * v for v in (reach, -reach)]
        return torch.maximum(*ends) - smoothed(preactivation)

    return torch.maximum(deviation(u), deviation(-u)).sum(dim=1)


def _gap(
    config: OddNetConfig,
    model: SparseCoding,
    classifier: OddClassifier,
    few: Samples,
    ball: Ball,
    generator: torch.Generator,
) -> Tensor:
    starts = tuple(
        method(classifier, few.x, few.y, ball, generator=generator)
        for method in (universal(model, config.p), Steepest())
    )
    return linearity_gap(classifier, few.x, few.y, ball, starts=starts, steps=15, generator=generator)
