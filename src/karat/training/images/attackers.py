"""The attackers that image networks are trained against, by name: l_inf, l2 on noisy copies, noise alone."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from karat.attacks.pgd import PATH, PGD
from karat.core.ball import Ball
from karat.core.classifier import Classifier
from karat.core.ranges import Count, NonNegative, Positive, Steps, checked
from karat.core.region import Region
from karat.nets.modes import still

FORMS = "linf:RADIUS (in 255ths), l2:RADIUS, l2:RADIUS:SIGMA, noise:SIGMA, each with @STEPS if wanted"


@dataclass(frozen=True, kw_only=True)
@checked
class ImageAttacker:
    r"""Projected gradient ascent on the cross entropy, averaged over noisy copies of each image.

    The perturbation :math:`\delta` ascends

    .. math:: -\log \frac{1}{\text{draws}} \sum_j \operatorname{softmax}_y f(x + \delta + \xi_j), \qquad
              \xi_j \sim N(0, \sigma^2 I),

    and the net is trained on all the copies :math:`x + \delta + \xi_j` with the same noise.

    Args:
        p: norm of the ball of perturbations.
        tau: radius of the ball.
        steps: of the ascent, 0 for none (noise alone).
        step_ratio: length of a step as a share of tau.
        random_start: uniform in the ball, else zero.
        clip: keep x + delta in [0, 1].
        sigma: size of the noise that is added to the copies, 0 for none.
        draws: number of noisy copies.

    Reading: l2(tau, sigma) of the literature is the attacker of smoothed adversarial training: 4 steps of
        tau / 2 from zero, 2 noise draws held fixed during the ascent, no clipping. l_inf: 7 steps of
        2.5 tau / 7 from a random start, clipped to the pixel range.

    Ref: purification, Sec 8
    """

    p: float
    tau: float
    steps: Steps
    step_ratio: Positive
    random_start: bool = False
    clip: bool = False
    sigma: NonNegative = 0.0
    draws: Count = 1

    def __post_init__(self) -> None:
        Ball(self.p, self.tau)

    def ball(self, share: float = 1.0) -> Ball:
        """The perturbations allowed, with the radius scaled by `share`."""
        return Ball(self.p, self.tau * share, (0.0, 1.0) if self.clip else None)

    def noise(self, x: Tensor, *, generator: torch.Generator) -> Tensor | None:
        """(draws, n, ...) noise for every image, None without noise; drawn on the CPU, moved to x."""
        if self.sigma == 0:
            return None
        drawn = torch.randn((self.draws, *x.shape), generator=generator, dtype=x.dtype)
        return drawn.mul_(self.sigma).to(x.device)

    def perturb(
        self,
        module: nn.Module,
        x: Tensor,
        labels: Tensor,
        *,
        generator: torch.Generator,
        noise: Tensor | None = None,
        share: float = 1.0,
    ) -> Tensor:
        """Perturbations shaped like x, against the module in evaluation mode, which is left as it was.

        Args:
            module: returns logits.
            x: (n, channels, height, width) images.
            labels: (n,) class indices.
            generator: of random starts.
            noise: (draws, n, ...) added to the images, None for none.
            share: of the radius.
        """
        ball = self.ball(share)
        if self.steps == 0 or self.tau * share == 0:
            return torch.zeros_like(x)
        start = random_start if self.random_start else None
        pgd = PGD(steps=self.steps, step_ratio=self.step_ratio, start=start, keep="last")
        with still(module):
            return pgd(LogProbability(module, noise), x, labels, ball, generator=generator)

    def copies(
        self,
        module: nn.Module,
        x: Tensor,
        labels: Tensor,
        *,
        generator: torch.Generator,
        share: float = 1.0,
    ) -> tuple[Tensor, Tensor]:
        """Attacked noisy copies (draws n, ...) of a batch, draw after draw, and their labels.

        Args:
            module: returns logits.
            x: (n, channels, height, width) images.
            labels: (n,) class indices.
            generator: of noise and random starts.
            share: of the radius.
        """
        noise = self.noise(x, generator=generator)
        moved = x + self.perturb(module, x, labels, generator=generator, noise=noise, share=share)
        if noise is None:
            return moved, labels
        return (moved + noise).flatten(0, 1), labels.repeat(self.draws)


@dataclass(frozen=True)
class LogProbability:
    r"""A classifier whose margin is minus the cross entropy, over noisy copies if there is noise.

    .. math:: \log \frac{1}{\text{draws}} \sum_j \operatorname{softmax}_y f(x + \text{noise}_j)

    Args:
        module: returns logits.
        noise: (draws, n, ...) or None.
    """

    module: nn.Module
    noise: Tensor | None = None

    def margin(self, x: Tensor, y: Tensor) -> Tensor:
        """The values (n,), without a graph."""
        with torch.no_grad():
            return self._value(x, y)

    def margin_and_gradient(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Values and input gradients."""
        with torch.enable_grad():
            leaf = x.detach().requires_grad_(True)
            value = self._value(leaf, y)
            (gradient,) = torch.autograd.grad(value.sum(), leaf)
        return value.detach(), gradient

    def _value(self, x: Tensor, y: Tensor) -> Tensor:
        if self.noise is None:
            return torch.log_softmax(self.module(x), dim=1).gather(1, y.unsqueeze(1)).squeeze(1)
        draws = len(self.noise)
        logs = torch.log_softmax(self.module((x + self.noise).flatten(0, 1)), dim=1)
        picked = logs.gather(1, y.repeat(draws).unsqueeze(1)).view(draws, len(x))
        return torch.logsumexp(picked, dim=0) - math.log(draws)


def random_start(
    classifier: Classifier, x: Tensor, y: Tensor, ball: Region, *, generator: torch.Generator | None = None
) -> Tensor:
    """A uniform point of the ball for every image, drawn on the CPU: equal seeds, equal points anywhere.

    Args:
        classifier: not looked at.
        x: (n, ...) images.
        y: not looked at.
        ball: the perturbations allowed.
        generator: of the draw.
    """
    assert generator is not None
    return ball.sample(x.cpu(), generator=generator).to(x.device)


def named_attacker(name: str) -> ImageAttacker:
    """The attacker of a name: "linf:8", "l2:1", "l2:1:0.25" with noise, "noise:0.25", "linf:8@3" in 3 steps.

    Reading: plain l2 is 3 steps of 2.5 tau / 3 from a random start, unclipped, so that it is the smoothed
        attacker without its noise and without its memory of two draws.

    >>> named_attacker("linf:8").steps, round(named_attacker("linf:8").tau, 4)
    (7, 0.0314)
    >>> named_attacker("l1:3")
    Traceback (most recent call last):
    ...
    ValueError: an attacker is linf:RADIUS (in 255ths), l2:RADIUS, l2:RADIUS:SIGMA, noise:SIGMA, each with \
@STEPS if wanted; got 'l1:3'.
    """
    body, _, count = name.partition("@")
    kind, *texts = body.split(":")
    try:
        numbers = [float(text) for text in texts]
        steps = int(count) if count else None
        match kind, numbers:
            case "linf", [radius]:
                return _plain(math.inf, radius / 255, steps or 7, clip=True)
            case "l2", [radius]:
                return _plain(2.0, radius, steps or 3, clip=False)
            case "l2", [radius, sigma] if sigma > 0:
                steps = steps or 4
                return ImageAttacker(
                    p=2.0, tau=radius, steps=steps, step_ratio=2 / steps, sigma=sigma, draws=2
                )
            case "noise", [sigma] if sigma > 0 and not count:
                return ImageAttacker(p=2.0, tau=0.0, steps=0, step_ratio=1.0, sigma=sigma, draws=2)
    except ValueError:
        pass
    raise ValueError(f"an attacker is {FORMS}; got {name!r}.")


def _plain(p: float, tau: float, steps: int, *, clip: bool) -> ImageAttacker:
    return ImageAttacker(p=p, tau=tau, steps=steps, step_ratio=PATH / steps, random_start=True, clip=clip)
