"""What is measured on a trained odd net: accuracies under attack, its features, its perturbations."""

import math
from typing import Any

import torch
from torch import Tensor

from karat.attacks import PGD, Method, Steepest, run_attack
from karat.attacks.cascade import surviving
from karat.core.ball import Ball
from karat.core.divergence import Diverged
from karat.data import Samples, SparseCoding
from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.regime import Regime, strong_attacks, universal
from karat.papers.purification.experiments.ties import TiesToPlus, Wake
from karat.probes.activity import activation_rate, near_threshold_count
from karat.probes.cosines import cosine_with, mean_pairwise_cosine, weight_coherence
from karat.probes.dense_mixture import DenseMixture, feature_coverage, split_mixture
from karat.probes.density import flatness
from karat.probes.linearity import linearity_gap
from karat.probes.live_rows import grown_neurons
from karat.training.odd import OddClassifier, forward

Values = dict[str, Any]
CURVE = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
"""Radii of the accuracy curves, in units of tau."""


def undefined(*nets: str) -> dict[str, str]:
    """Which values of `accuracies` and `features` may have no number, under the prefixes of these nets."""
    seen = "no live neuron leans on one feature alone, or an input is zero"
    reasons = {
        "pgd_wide": "no attacked point has a large score",
        "mixture_on_data": seen,
        "mixture_on_data_high": seen,
        "mixture_along": "no live neuron leans on one feature alone",
    }
    return {f"{net}_{name}": reason for net in nets for name, reason in reasons.items()}


def require_awake(net: OddTwoLayer, x: Tensor, step: int) -> None:
    """Raise Diverged for a collapsed net: one that sleeps on most inputs is constant, hence 'robust'."""
    gates = forward(net, x)[1].value
    asleep = float((gates.amax(dim=1) < 0.5).double().mean())
    if asleep > 0.5:
        raise Diverged(step, f"the net collapsed, no neuron wakes on {asleep:.0%} of the inputs")


def share(mask: Tensor) -> float:
    """Share of true entries; NaN for none at all."""
    return float(mask.double().mean()) if len(mask) else math.nan


def accuracies(
    config: Regime,
    model: SparseCoding,
    net: OddTwoLayer,
    test: Samples,
    generator: torch.Generator,
) -> Values:
    """Clean, universal, FGM and strongest accuracy, the last also on the half with a large score.

    Reading: "margin half" are points with |<w*, z>| >= sqrt(E<w*, z>^2)/2, a secondary number of ours. A net
        that sleeps on an input predicts +1, the paper's sign of zero.
    """
    x, y, classifier = test.x, test.y, TiesToPlus(OddClassifier(net))
    fixed, fast = universal(model, config.p), Steepest()

    def under(method: Method, factor: float) -> float:
        radius = config.ball(model, factor)
        return 1 - run_attack(method, classifier, x, y, radius, generator=generator).error

    few = test.take(slice(0, config.n_attack))
    alive = unbroken(config, model, net, few, config.ball(model), generator)
    assert few.z is not None
    wide = (few.z.double() @ model.w_star).abs() >= 0.5 * math.sqrt(model.score_variance)
    return {
        "accuracy": share(classifier.margin(x, y) > 0),
        "universal": under(fixed, 1.0),
        "fgm": under(fast, 1.0),
        "pgd": share(alive),
        "pgd_wide": share(alive[wide]),
        "universal_far": under(fixed, 1.5),
        "fgm_far": under(fast, 1.5),
    }


def unbroken(
    config: Regime,
    model: SparseCoding,
    net: OddTwoLayer,
    few: Samples,
    ball: Ball,
    generator: torch.Generator,
) -> Tensor:
    """(n,) bool: correct under all the strong attacks and under the push that wakes a sleeping net."""
    attacks = (*strong_attacks(model, config.p, config.pgd_steps), Wake(net))
    return surviving(TiesToPlus(OddClassifier(net)), few.x, few.y, ball, attacks, generator=generator)


def curve(
    config: Regime, model: SparseCoding, net: OddTwoLayer, test: Samples, generator: torch.Generator
) -> Values:
    """Accuracy against the radius: universal direction, FGM, and both of them refined by PGD."""
    few, classifier = test.take(slice(0, min(300, config.n_attack))), TiesToPlus(OddClassifier(net))
    fixed, fast = universal(model, config.p), Steepest()
    rows: dict[str, list[float]] = {"universal": [], "fgm": [], "pgd": []}
    clean = share(classifier.margin(few.x, few.y) > 0)
    for factor in CURVE:
        ball = config.ball(model, factor)
        for name, attacks in (
            ("universal", (fixed,)),
            ("fgm", (fast,)),
            ("pgd", (fixed, fast, PGD(steps=15, start=fast), PGD(steps=15, start=fixed), Wake(net))),
        ):
            alive = surviving(classifier, few.x, few.y, ball, attacks, generator=generator)
            rows[name].append(share(alive))
    return {f"curve_{name}": [clean, *values] for name, values in rows.items()}


def features(model: SparseCoding, net: OddTwoLayer, x: Tensor) -> Values:
    """The neurons as pure features plus mixture, over live neurons and as the paper averages."""
    mixture = split_mixture(net.W, model.M, model.w_star)
    live = grown_neurons(net.W)
    if not bool(live.any()):
        raise Diverged(None, "no neuron is live")
    own = mixture.select(live)
    rate = activation_rate(net, x)[live]
    one = own.select(own.own_count == 1)
    # Eq 6.2: what the mixture sees of a natural input, and of a dense one of the same length.
    dense = one.dense @ model.M.to(x).T
    seen = (x @ dense.T).abs() / torch.linalg.vector_norm(x, dim=1, keepdim=True)
    return {
        "mixture_on_data": float(seen.mean()) if len(dense) else math.nan,
        "mixture_on_data_high": _high(seen),
        "mixture_along": float(one.along.mean()) if len(dense) else math.nan,
        "alpha": float(own.alpha.mean()),
        "ratio": float((own.mean_beta / own.alpha).mean()),
        "ratio_median": float((own.mean_beta / own.alpha).median()),
        "aligned": float(own.aligned.mean()),
        "along": float((own.along / torch.linalg.vector_norm(own.coefficients, dim=1)).mean()),
        "paper_beta": mixture.paper_mean(),
        "largest_beta": float((own.dense.abs()).max()),
        "single": share(own.own_count == 1),
        "largest_own": int(own.own_count.max()),
        "live": share(live),
        "covered": feature_coverage(mixture),
        "coherence": weight_coherence(net.W),
        "pairwise": mean_pairwise_cosine(net.W[live]),
        "rate_median": float(rate.median()),
        "rate_largest": float(rate.max()),
        "awake_count": float(near_threshold_count(net, x).double().mean()),
        "lowest_dense": float((net.W @ model.dense_direction.to(net.W)).min()),
        "threshold": -float(net.b),
    }


def _high(values: Tensor) -> float:
    """What 95% of the entries stay below; NaN for none at all."""
    flat = values.flatten()
    return float(flat.kthvalue(math.ceil(0.95 * len(flat))).values) if len(flat) else math.nan


def perturbations(
    config: Regime, model: SparseCoding, net: OddTwoLayer, test: Samples, generator: torch.Generator
) -> Values:
    """Density of PGD's perturbations in the dictionary, their cosine with M w*, and the gap to linearity."""
    few = test.take(slice(0, min(300, config.n_attack)))
    classifier, ball = OddClassifier(net), config.ball(model)
    fast = Steepest()
    delta = PGD(steps=20, start=fast)(classifier, few.x, few.y, ball, generator=generator)
    moved = torch.linalg.vector_norm(delta, dim=1) > 0
    if not bool(moved.any()):
        raise Diverged(None, "the net is flat around every attacked point")
    delta, y = delta[moved], few.y[moved]
    direction = universal(model, config.p)(classifier, few.x, few.y, ball)[moved]
    gap = _gap(config, model, classifier, few, ball, generator)
    margin = classifier.margin(few.x, few.y).abs().median()
    # In the dictionary and against the label: a dense perturbation is positive everywhere.
    profile = -(delta @ model.M.to(delta)) * y.unsqueeze(1) * model.w_star.sign().to(delta)
    example = profile[int(flatness(delta, model.M).argsort()[len(delta) // 2])]
    return {
        "density": float(flatness(delta, model.M).mean()),
        "cosine": float(cosine_with(delta, direction).mean()),
        "gap_mean": float(gap.mean()),
        "gap_wide": float(gap.quantile(0.9)),
        "gap_relative": float(gap.median() / margin),
        "output_median": float(margin),
        "example": [round(float(v), 5) for v in example / float(ball.tau)],
    }


def _gap(
    config: Regime,
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


def neurons(model: SparseCoding, before: OddTwoLayer, after: OddTwoLayer, most: int = 400) -> Values:
    """Pure and dense part of the same neurons before and after, those live after either training."""
    live = (grown_neurons(before.W) | grown_neurons(after.W)).nonzero().squeeze(1)[:most]
    rows: Values = {}
    for name, net in (("clean", before), ("robust", after)):
        part = split_mixture(net.W, model.M, model.w_star).select(live)
        rows |= {
            f"{name}_pure": _rounded(part.pure_norm),
            f"{name}_dense": _rounded(part.along),
            f"{name}_own": part.own_count.tolist(),
            f"{name}_histogram": _histogram(part),
        }
    return rows


HISTOGRAM = (-0.1, 0.1, 80)
"""Range and bins of the histograms of beta_ij / alpha_i."""


def _histogram(part: DenseMixture) -> list[int]:
    """Counts of beta_ij / alpha_i off N_i; values beyond the range fall into the last bins."""
    low, high, bins = HISTOGRAM
    beta = (part.coefficients / part.w_star / part.alpha.unsqueeze(1))[~part.own]
    return [int(v) for v in torch.histc(beta.clamp(low, high), bins, low, high)]


def _rounded(values: Tensor) -> list[float]:
    return [round(float(v), 4) for v in values]


def named(prefix: str, values: Values) -> Values:
    """The same values with a prefix."""
    return {f"{prefix}_{name}": value for name, value in values.items()}
