"""What is measured on a trained odd net: accuracies under attack, its features, its perturbations."""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from karat.attacks import PGD, Method, Steepest, run_attack
from karat.attacks.cascade import surviving
from karat.core.ball import Ball
from karat.core.divergence import Diverged
from karat.data import Samples, SparseCoding
from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.attackers import strong_attacks, universal
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.ties import TiesToPlus, Wake
from karat.probes.activity import activation_rate, near_threshold_count
from karat.probes.cosines import mean_pairwise_cosine, weight_coherence
from karat.probes.dense_mixture import feature_coverage, split_mixture
from karat.probes.live_rows import grown_neurons
from karat.study.result import Undefined
from karat.training.odd import OddClassifier, forward

CURVE = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
"""Radii of the accuracy curves, in units of tau."""

HUB = 10
"""A neuron with more own features than this is called a hub; the theorems allow O(1)."""

_NO_SINGLE = Undefined("no live neuron leans on one feature alone")
_NOT_SEEN = Undefined("no live neuron leans on one feature alone, or an input is zero")


def require_awake(net: OddTwoLayer, x: Tensor, step: int) -> None:
    """Raise Diverged for a collapsed net: one that sleeps on most inputs is constant, hence 'robust'.

    Args:
        net: after training.
        x: (n, d) inputs.
        step: at which training ended, for the message; a net before its first step cannot have collapsed.
    """
    if step == 0:
        return
    gates = forward(net, x)[1].value
    asleep = float((gates.amax(dim=1) < 0.5).double().mean())
    if asleep > 0.5:
        raise Diverged(step, f"the net collapsed, no neuron wakes on {asleep:.0%} of the inputs")


def share(mask: Tensor) -> float:
    """Share of true entries; NaN for none at all."""
    return float(mask.double().mean()) if len(mask) else math.nan


@dataclass(frozen=True, kw_only=True)
class Accuracies:
    r"""Shares of test points that a net gets right, without and under attack.

    Args:
        accuracy: without attack.
        universal: moved along the universal direction.
        fgm: under the fast gradient method.
        pgd: under the strongest attack.
        pgd_wide: the same on points with a large score, a secondary number of ours.
        universal_far: along the universal direction, at 1.5 times the radius.
        fgm_far: under the fast gradient method, at 1.5 times the radius.
    """

    accuracy: float
    universal: float
    fgm: float
    pgd: float
    pgd_wide: Annotated[float, Undefined("no attacked point has a large score")]
    universal_far: float
    fgm_far: float


def accuracies(
    config: OddNetConfig, model: SparseCoding, net: OddTwoLayer, test: Samples, generator: torch.Generator
) -> Accuracies:
    r"""Measure a net under attacks of growing strength.

    Args:
        config: the attacks.
        model: gives the universal direction and the radius.
        net: to be attacked.
        test: points; the first `n_attack` of them meet the strongest attack.
        generator: of random starts.

    Reading: a large score is :math:`|\langle w^*, z \rangle| \ge \frac12 \sqrt{E \langle w^*, z \rangle^2}`.
        A net that sleeps on an input predicts +1, the paper's sign of zero.
    """
    x, y, classifier = test.x, test.y, TiesToPlus(OddClassifier(net))
    fixed, fast = universal(model, config.p), Steepest()

    def under(method: Method, factor: float) -> float:
        ball = config.ball(model, factor)
        return 1 - run_attack(method, classifier, x, y, ball, generator=generator).error

    few = test.take(slice(0, config.n_attack))
    alive = unbroken(config, model, net, few, config.ball(model), generator)
    assert few.z is not None
    wide = (few.z.double() @ model.w_star).abs() >= 0.5 * math.sqrt(model.score_variance)
    return Accuracies(
        accuracy=share(classifier.margin(x, y) > 0),
        universal=under(fixed, 1.0),
        fgm=under(fast, 1.0),
        pgd=share(alive),
        pgd_wide=share(alive[wide]),
        universal_far=under(fixed, 1.5),
        fgm_far=under(fast, 1.5),
    )


def unbroken(
    config: OddNetConfig,
    model: SparseCoding,
    net: OddTwoLayer,
    few: Samples,
    ball: Ball,
    generator: torch.Generator,
) -> Tensor:
    """(n,) bool: correct under all the strong attacks and under the push that wakes a sleeping net.

    Args:
        config: steps and norm of the attacks.
        model: gives the universal direction.
        net: to be attacked.
        few: points.
        ball: of the perturbations.
        generator: of random starts.
    """
    attacks = (*strong_attacks(model, config.p, config.pgd_steps), Wake(net))
    return surviving(TiesToPlus(OddClassifier(net)), few.x, few.y, ball, attacks, generator=generator)


@dataclass(frozen=True, kw_only=True)
class RadiusCurves:
    """Accuracy at radius 0 and at the radii of `CURVE`.

    Args:
        universal: along the universal direction.
        fgm: under the fast gradient method.
        pgd: under both of them, refined by PGD.
    """

    universal: list[float]
    fgm: list[float]
    pgd: list[float]


def radius_curves(
    config: OddNetConfig, model: SparseCoding, net: OddTwoLayer, test: Samples, generator: torch.Generator
) -> RadiusCurves:
    """Measure the accuracy against the radius.

    Args:
        config: the attacks.
        model: gives the universal direction and the radius.
        net: to be attacked.
        test: points, of which at most 300 are used.
        generator: of random starts.
    """
    few, classifier = test.take(slice(0, min(300, config.n_attack))), TiesToPlus(OddClassifier(net))
    fixed, fast = universal(model, config.p), Steepest()
    clean = share(classifier.margin(few.x, few.y) > 0)

    def curve(*attacks: Method) -> list[float]:
        balls = [config.ball(model, factor) for factor in CURVE]
        alive = [surviving(classifier, few.x, few.y, b, attacks, generator=generator) for b in balls]
        return [clean, *map(share, alive)]

    refined = (fixed, fast, PGD(steps=15, start=fast), PGD(steps=15, start=fixed), Wake(net))
    return RadiusCurves(universal=curve(fixed), fgm=curve(fast), pgd=curve(*refined))


@dataclass(frozen=True, kw_only=True)
class Features:
    r"""The neurons as pure features plus mixture, over live neurons unless it says otherwise.

    Args:
        mixture_on_data: mean of :math:`|\langle v, x \rangle| / \|x\|` for mixtures v and inputs x.
        mixture_on_data_high: what 95% of these stay below.
        mixture_along: mean component of the mixtures along the dense direction :math:`M w^*`.
        alpha: mean largest coefficient.
        ratio: mean of :math:`\beta/\alpha`, mixture over pure part.
        ratio_median: its median.
        aligned: share of mixture coefficients with the sign of w*.
        along: mean component of the mixture along w* over the neuron's length.
        paper_beta: mean of :math:`\beta_{ij}` over all neurons and features, as the paper averages.
        largest_beta: largest mixture coefficient.
        single: share of neurons with one own feature.
        largest_own: most own features of a neuron.
        live: share of live neurons.
        covered: share of features that some neuron holds.
        coherence: of the weights of all neurons.
        pairwise: mean |cos| of pairs of neurons.
        rate_median: median share of inputs on which a neuron wakes.
        rate_largest: its largest.
        awake_count: mean number of neurons that an input brings near the threshold, of all.
        lowest_dense: smallest :math:`\langle w_i, M w^* \rangle` of all neurons.
        threshold: the paper's b.
    """

    mixture_on_data: Annotated[float, _NOT_SEEN]
    mixture_on_data_high: Annotated[float, _NOT_SEEN]
    mixture_along: Annotated[float, _NO_SINGLE]
    alpha: float
    ratio: float
    ratio_median: float
    aligned: float
    along: float
    paper_beta: float
    largest_beta: float
    single: float
    largest_own: int
    live: float
    covered: float
    coherence: float
    pairwise: float
    rate_median: float
    rate_largest: float
    awake_count: float
    lowest_dense: float
    threshold: float


def features(model: SparseCoding, net: OddTwoLayer, x: Tensor) -> Features:
    """Write the neurons in the dictionary; raise Diverged if none is live.

    Args:
        model: gives dictionary and label vector.
        net: whose neurons.
        x: (n, d) inputs.
    """
    every = split_mixture(net.W, model.M, model.w_star)
    live = grown_neurons(net.W, -float(net.b))
    if not bool(live.any()):
        raise Diverged(None, "no neuron is live")
    mixture = every.select(live)
    rate = activation_rate(net, x)[live]
    single = mixture.select(mixture.own_count == 1)
    # Eq 6.2: what the mixture sees of a natural input, and of a dense one of the same length.
    dense = single.dense @ model.M.to(x).T
    seen = (x @ dense.T).abs() / torch.linalg.vector_norm(x, dim=1, keepdim=True)
    ratio = mixture.mean_beta / mixture.alpha
    length = torch.linalg.vector_norm(mixture.coefficients, dim=1)
    return Features(
        mixture_on_data=float(seen.mean()) if len(dense) else math.nan,
        mixture_on_data_high=_high(seen),
        mixture_along=float(single.along.mean()) if len(dense) else math.nan,
        alpha=float(mixture.alpha.mean()),
        ratio=float(ratio.mean()),
        ratio_median=float(ratio.median()),
        aligned=float(mixture.aligned.mean()),
        along=float((mixture.along / length).mean()),
        paper_beta=every.paper_mean(),
        largest_beta=float(mixture.dense.abs().max()),
        single=share(mixture.own_count == 1),
        largest_own=int(mixture.own_count.max()),
        live=share(live),
        covered=feature_coverage(every),
        coherence=weight_coherence(net.W),
        pairwise=mean_pairwise_cosine(net.W[live]),
        rate_median=float(rate.median()),
        rate_largest=float(rate.max()),
        awake_count=float(near_threshold_count(net, x).double().mean()),
        lowest_dense=float((net.W @ model.dense_direction.to(net.W)).min()),
        threshold=-float(net.b),
    )


def _high(values: Tensor) -> float:
    """What 95% of the entries stay below; NaN for none at all."""
    flat = values.flatten()
    return float(flat.kthvalue(math.ceil(0.95 * len(flat))).values) if len(flat) else math.nan
