"""Robust accuracy between what attacks break and what certificates prove, smoothing apart from both."""

from dataclasses import dataclass
from typing import Any

import torch
from scipy import stats
from torch import Tensor, nn

from karat.attacks.judge import judge
from karat.certificates import UnsupportedLayer, certify, smoothed_certificate
from karat.certificates.layers import named_layers
from karat.core.ball import Ball
from karat.core.statistics import clopper_pearson
from karat.data.loading import evenly
from karat.nets.chain import as_sequential
from karat.nets.hooks import watching
from karat.nets.module import NetModule
from karat.nets.unaltered import alteration
from karat.yours.probe.comparison import Comparison, ProbedNet
from karat.yours.probe.settings import ProbeSettings

LARGEST_MAP = 20_000
"""Numbers in the largest layer up to which linear relaxation fits into memory."""
_WORK = 100_000  # numbers in the largest layer times inputs


@dataclass(frozen=True)
class Share:
    """A count with its exact 95 % interval for the distribution behind the inputs.

    Args:
        count: how many.
        trials: out of so many inputs.
        value: count / trials.
        low: lower end of the interval.
        high: upper end of the interval.
    """

    count: int
    trials: int
    value: float
    low: float
    high: float

    @classmethod
    def of(cls, hits: Tensor) -> "Share":
        """The share of true entries."""
        count, trials = int(hits.sum()), len(hits)
        interval = clopper_pearson(count, trials)
        return cls(count, trials, count / trials, interval.low, interval.high)


@dataclass(frozen=True)
class Smoothed:
    """The majority vote under Gaussian noise, another classifier than the net.

    Args:
        sigma: of the noise.
        radius: l2 radius at which votes are certified.
        draws: of noise, for each input.
        p_fail: probability that a certified radius is wrong, at most.
        accuracy: right votes.
        certified: right, and certified at the radius.
        mean_radius: over all inputs, wrong and abstained ones counting 0.
        ceiling: the largest radius these draws could certify.
    """

    sigma: float
    radius: float
    draws: int
    p_fail: float
    accuracy: Share
    certified: Share
    mean_radius: float
    ceiling: float


@dataclass(frozen=True, kw_only=True)
class Robustness:
    """One net: clean accuracy, the bracket of its robust accuracy, and its smoothed version.

    Args:
        net: before or after.
        clean: right answers.
        attacked: still right under the strongest attack, an upper bound.
        proven: proven robust, a lower bound, on fewer inputs.
        left: of those, not broken by any attack.
        certificate: what the lower bound rests on, or why there is none.
        smoothed: the majority vote under noise, if asked for.
    """

    net: str
    clean: Share
    attacked: Share
    proven: Share | None
    left: Share | None
    certificate: str
    smoothed: Smoothed | None


@dataclass(frozen=True)
class Paired:
    """The two nets on the same inputs under their own strongest attacks.

    Args:
        after_only: inputs that only the net after keeps right.
        before_only: inputs that only the net before keeps right.
        p_value: of the exact sign test, the probability of a split at least as uneven if both nets were
            equally robust.
    """

    after_only: int
    before_only: int
    p_value: float


def paired(kept_before: Tensor, kept_after: Tensor) -> Paired:
    """Compare two nets input by input.

    >>> kept = torch.tensor([True] * 6 + [False] * 2)
    >>> paired(~kept, kept).p_value
    0.2890625
    """
    gained = int((kept_after & ~kept_before).sum())
    lost = int((kept_before & ~kept_after).sum())
    p_value = float(stats.binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
    return Paired(gained, lost, p_value)


def stays_right(
    comparison: Comparison, net: ProbedNet, delta: Tensor, ball: Ball, settings: ProbeSettings
) -> Tensor:
    """(n,) inputs that the net gets right, clean and under its strongest perturbation.

    Args:
        comparison: the nets and the inputs.
        net: one of the nets.
        delta: its strongest perturbations.
        ball: in which they lie.
        settings: sample sizes.
    """
    x, y = comparison.some(settings.samples)
    return (net.classifier.margin(x, y) > 0) & ~judge(net.classifier, x, y, delta, ball).success


def robustness(
    comparison: Comparison,
    net: ProbedNet,
    delta: Tensor,
    ball: Ball,
    settings: ProbeSettings,
    generator: torch.Generator,
) -> Robustness:
    """Accuracies of one net; `delta` are the strongest perturbations of the first inputs.

    Args:
        comparison: the nets and the inputs.
        net: one of the nets.
        delta: its strongest perturbations of the first inputs.
        ball: in which they lie.
        settings: sample sizes.
        generator: of the certificate's search and of the noise.
    """
    x, y = comparison.some(settings.samples)
    proven, left, words = _proof(comparison, net, ball, settings, generator)
    return Robustness(
        net=net.name,
        clean=Share.of(net.classifier.margin(x, y) > 0),
        attacked=Share.of(stays_right(comparison, net, delta, ball, settings)),
        proven=proven,
        left=left,
        certificate=words,
        smoothed=_smoothed(comparison, net, ball, settings, generator),
    )


def _proof(
    comparison: Comparison, net: ProbedNet, ball: Ball, settings: ProbeSettings, generator: torch.Generator
) -> tuple[Share | None, Share | None, str]:
    if settings.certified == 0:
        return None, None, "not asked for"
    x, y = comparison.some(settings.certified)
    reason = why_no_certificate(net.module, x)
    if reason:
        return None, None, reason
    module = as_sequential(net.module, x) or net.module
    x, y = evenly(x, y, max(1, _WORK // max(1, _largest_map(net.module, x))))
    certificate = certify(module, x, y, ball, settings.seconds, generator=generator)
    status = certificate.status
    robust = torch.tensor([word == "robust" for word in status])
    broken = torch.tensor([word == "broken" for word in status])
    stages = ", ".join(certificate.seconds)
    return Share.of(robust), Share.of(~broken), f"real-arithmetic certificate ({stages})"


def why_no_certificate(module: nn.Module, x: Tensor) -> str:
    """The reason why a net cannot be certified here, empty if it can."""
    if type(module) is NetModule and alteration(module) is None:
        return ""
    try:
        named_layers(as_sequential(module, x) or module)
    except UnsupportedLayer as error:
        return str(error).partition(";")[0].rstrip(".")
    largest = _largest_map(module, x)
    if largest > LARGEST_MAP:
        return f"too large: {largest} numbers in one layer, at most {LARGEST_MAP} are certified here"
    return ""


def _largest_map(module: nn.Module, x: Tensor) -> int:
    sizes = [0]

    def note(name: str, output: Any) -> None:
        sizes.append(output.numel() if isinstance(output, Tensor) else 0)

    with watching(module, after=note), torch.no_grad():
        module(x[:1].clone())
    return max(sizes)


def _smoothed(
    comparison: Comparison, net: ProbedNet, ball: Ball, settings: ProbeSettings, generator: torch.Generator
) -> Smoothed | None:
    if settings.smoothed == 0:
        return None
    tau = float(torch.as_tensor(ball.tau).max())
    sigma = settings.sigma or (tau / 2 if ball.p == 2 and tau > 0 else 0.25)
    x, y = comparison.some(settings.smoothed)
    certificate = smoothed_certificate(net.scores, x, sigma=sigma, draws=settings.draws, generator=generator)
    right = (certificate.prediction == y.long()) & ~certificate.abstained
    floor = clopper_pearson(settings.draws, settings.draws, level=1 - 2 * certificate.p_fail).low
    ceiling = sigma * float(torch.special.ndtri(torch.tensor(floor, dtype=torch.float64)))
    return Smoothed(
        sigma=sigma,
        radius=2 * sigma,
        draws=settings.draws,
        p_fail=certificate.p_fail,
        accuracy=Share.of(right),
        certified=Share.of(right & (certificate.radius >= 2 * sigma)),
        mean_radius=float((certificate.radius * right).mean()),
        ceiling=max(ceiling, 0.0),
    )
