"""Robust accuracy between what attacks break and what certificates prove, smoothing apart from both."""

import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from karat.attacks.judge import judge
from karat.certificates import UnsupportedLayer, certify, smoothed_certificate
from karat.certificates.layers import named_layers
from karat.core.ball import Ball
from karat.core.statistics import clopper_pearson
from karat.models.checkpoints.settings import ProbeSettings
from karat.models.checkpoints.subject import Bench, Subject
from karat.nets.chain import as_sequential
from karat.nets.module import NetModule

LARGEST_MAP = 20_000
"""Numbers in the largest layer up to which linear relaxation fits into memory."""


@dataclass(frozen=True)
class Share:
    """A count with its exact 95 % interval for the distribution behind the inputs."""

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
        accuracy: right votes; certified: right, and certified at the l2 radius; mean_radius: over all inputs,
            wrong and abstained ones counting 0; ceiling: the largest radius these draws could certify.
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
        clean: right answers; attacked: still right under the strongest attack, an upper bound;
        proven: proven robust, a lower bound, on fewer inputs; left: of those, not broken by any attack;
        certificate: what the lower bound rests on, or why there is none.
    """

    net: str
    clean: Share
    attacked: Share
    proven: Share | None
    left: Share | None
    certificate: str
    smoothed: Smoothed | None


def robustness(
    bench: Bench, net: Subject, delta: Tensor, ball: Ball, settings: ProbeSettings, generator: torch.Generator
) -> Robustness:
    """Accuracies of one net; `delta` are the strongest perturbations of the first inputs."""
    x, y = bench.some(settings.samples)
    with torch.no_grad():
        clean = net.classifier.margin(x, y) > 0
    broken = judge(net.classifier, x, y, delta, ball).success
    proven, left, words = _proof(bench, net, ball, settings, generator)
    return Robustness(
        net=net.name,
        clean=Share.of(clean),
        attacked=Share.of(clean & ~broken),
        proven=proven,
        left=left,
        certificate=words,
        smoothed=_smoothed(bench, net, ball, settings, generator),
    )


def _proof(
    bench: Bench, net: Subject, ball: Ball, settings: ProbeSettings, generator: torch.Generator
) -> tuple[Share | None, Share | None, str]:
    if settings.certified == 0:
        return None, None, "not asked for"
    x, y = bench.some(settings.certified)
    reason = why_no_certificate(net.module, x)
    if reason:
        return None, None, reason
    module = as_sequential(net.module, x) or net.module
    began = time.perf_counter()
    first = certify(module, x[:1], y[:1], ball, settings.seconds, generator=generator)
    spent = time.perf_counter() - began
    allowed = max(1, int(settings.certified * max(settings.seconds, 0.5) / max(spent, 1e-9)))
    status = list(first.status)
    if len(x) > 1 and allowed > 1:
        rest = slice(1, min(len(x), allowed))
        status += certify(module, x[rest], y[rest], ball, settings.seconds, generator=generator).status
    robust = torch.tensor([word == "robust" for word in status])
    broken = torch.tensor([word == "broken" for word in status])
    stages = ", ".join(first.seconds)
    return Share.of(robust), Share.of(~broken), f"real-arithmetic certificate ({stages})"


def why_no_certificate(module: nn.Module, x: Tensor) -> str:
    """The reason why a net cannot be certified here, empty if it can."""
    if isinstance(module, NetModule):
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

    def note(_: nn.Module, __: Any, output: Any) -> None:
        sizes.append(output.numel() if isinstance(output, Tensor) else 0)

    handles = [part.register_forward_hook(note) for part in module.modules()]
    try:
        with torch.no_grad():
            module(x[:1])
    finally:
        for handle in handles:
            handle.remove()
    return max(sizes)


def _smoothed(
    bench: Bench, net: Subject, ball: Ball, settings: ProbeSettings, generator: torch.Generator
) -> Smoothed | None:
    if settings.smoothed == 0:
        return None
    tau = float(torch.as_tensor(ball.tau).max())
    sigma = settings.sigma or (tau / 2 if ball.p == 2 and tau > 0 else 0.25)
    x, y = bench.some(settings.smoothed)
    found = smoothed_certificate(net.scores, x, sigma=sigma, draws=settings.draws, generator=generator)
    right = (found.prediction == y.long()) & ~found.abstained
    floor = clopper_pearson(settings.draws, settings.draws, level=1 - 2 * found.p_fail).low
    ceiling = sigma * float(torch.special.ndtri(torch.tensor(floor, dtype=torch.float64)))
    return Smoothed(
        sigma=sigma,
        radius=2 * sigma,
        draws=settings.draws,
        p_fail=found.p_fail,
        accuracy=Share.of(right),
        certified=Share.of(right & (found.radius >= 2 * sigma)),
        mean_radius=float((found.radius * right).mean()),
        ceiling=max(ceiling, 0.0),
    )
