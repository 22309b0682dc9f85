"""The probe itself: one measurement after the other on two nets, then sentences from the numbers."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor

from karat.core.ball import Ball
from karat.errors import reason
from karat.nets.outputs import returns_one_tensor
from karat.nets.weight_layers import layers_in_order
from karat.probes.activity import Gate, gates
from karat.probes.kernel_drift import affordable_samples, compare_kernels, empirical_kernel, output_directions
from karat.probes.layer_change import LayerChange, layer_changes
from karat.probes.leftover import Leftover, leftover
from karat.probes.linearisation import linearisation_error
from karat.version import __version__
from karat.yours.probe.comparison import Comparison, compared
from karat.yours.probe.first_layer import FirstLayer, find_first_layer
from karat.yours.probe.perturbations import (
    densities,
    describe_perturbations,
    l2_radius,
    strongest_deltas,
    transfer_rates,
)
from karat.yours.probe.pictures import Pictures, draw
from karat.yours.probe.rebuilding import Rebuilding, rebuild
from karat.yours.probe.result import Kernels, Probe
from karat.yours.probe.robustness import Paired, Robustness, paired, robustness, stays_right
from karat.yours.probe.sentences.summary import summarise
from karat.yours.probe.settings import ProbeSettings

Listener = Callable[[str, int, int], None]
Result = TypeVar("Result")
STAGES = ("weights", "activity", "kernel", "attacks", "densities", "reconstruction", "robustness", "pictures")


def probe(
    before: Any,
    after: Any,
    data: Any,
    ball: Ball | None = None,
    *,
    init: Any | None = None,
    image: tuple[int, int, int] | None = None,
    settings: ProbeSettings | None = None,
    generator: torch.Generator | None = None,
    listener: Listener | None = None,
) -> Probe:
    """What training changed between two checkpoints of one network.

    Works on any torch.nn.Module on the CPU: scores (n,), (n, 1) or (n, classes), as a tensor or as the first
    tensor of a tuple or mapping. Nets in train mode are put into eval mode while they are probed.

    Args:
        before: the net before.
        after: the net after, of the same architecture.
        data: (x, y), Samples, a file or the name of a set.
        ball: of the attacks, l2 with radius 0.5 when left out.
        init: the net at the start of training, without which angles to the start stay unknown.
        image: (C, H, W) of pictures given as vectors.
        settings: sample sizes.
        generator: seeded with 0 when left out.
        listener: called with (stage, done, all).

    Returns:
        numbers, pictures and sentences; its `write` makes a page of them.

    >>> import karat
    >>> seeds = [torch.Generator().manual_seed(seed) for seed in (0, 1, 2)]
    >>> x = torch.randn(30, 4, generator=seeds[0], dtype=torch.float64)
    >>> clean, robust = (karat.nets.init.pytorch_default(4, 6, generator=seed) for seed in seeds[1:])
    >>> found = probe(clean, robust, (x, x[:, 0].sign()), settings=ProbeSettings.tiny())
    >>> [(layer.name, layer.m) for layer in found.layers]
    [('W', 6)]
    """
    ball = Ball(2, 0.5) if ball is None else ball
    settings = settings or ProbeSettings()
    generator = generator or torch.Generator().manual_seed(0)
    with compared(before, after, data, init, image) as comparison:
        return measure_changes(comparison, ball, settings, generator=generator, listener=listener)


def measure_changes(
    comparison: Comparison,
    ball: Ball,
    settings: ProbeSettings,
    *,
    generator: torch.Generator,
    listener: Listener | None = None,
) -> Probe:
    """Return what training changed between two nets that were found to fit together.

    Args:
        comparison: the nets and the inputs.
        ball: of the attacks.
        settings: sample sizes.
        generator: of random starts and draws.
        listener: called with (stage, done, all).
    """
    return _Measurement(comparison, ball, settings, generator, listener).probe()


class _Measurement:
    """One probe under way: the stages share perturbations and the clock."""

    def __init__(
        self,
        comparison: Comparison,
        ball: Ball,
        settings: ProbeSettings,
        generator: torch.Generator,
        listener: Listener | None,
    ) -> None:
        self.comparison, self.ball, self.settings = comparison, ball, settings
        self.generator, self.listener = generator, listener
        self.seconds: dict[str, float] = {}
        self.notes: list[str] = []

    def probe(self) -> Probe:
        comparison, settings, ball = self.comparison, self.settings, self.ball
        with self.stage("weights"):
            layers = self.layers()
            first = find_first_layer(comparison)
            remains = self.attempt("The decomposition along the start", partial(self.decompose, first), None)
        with self.stage("activity"):
            activity: tuple[Gate, ...] = self.attempt("Activation patterns", self.activity, ())
        with self.stage("kernel"):
            kernels = self.kernels()
        with self.stage("attacks"):
            deltas = strongest_deltas(comparison, ball, settings, self.generator)
            rates = transfer_rates(comparison, deltas, ball, settings)
            described = describe_perturbations(comparison, deltas, ball, settings, self.generator)
        with self.stage("densities"):
            bases = densities(comparison, described, first, settings, self.generator)
        with self.stage("reconstruction"):
            rebuilt: tuple[Rebuilding, ...] = self.attempt(
                "Sparse reconstruction", partial(self.rebuilt, first), ()
            )
        with self.stage("robustness"):
            nets, versus = self.robustness(deltas)
        with self.stage("pictures"):
            paint = partial(draw, comparison, described, first, settings, self.generator)
            pictures = self.attempt("Pictures", paint, Pictures())
        self.explain(first, bool(activity), pictures)
        found = Probe(
            setting=self.setting(first),
            summary=(),
            layers=layers,
            gates=activity,
            kernels=kernels,
            robustness=nets,
            versus=versus,
            transfer=rates,
            densities=bases,
            rebuilding=rebuilt,
            leftover=remains,
            pictures=pictures,
            notes=tuple(self.notes),
            seconds=self.seconds,
        )
        return replace(found, summary=summarise(found))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        if self.listener is not None:
            self.listener(name, STAGES.index(name), len(STAGES))
        began = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - began
        if self.listener is not None:
            self.listener(name, STAGES.index(name) + 1, len(STAGES))

    def attempt(self, what: str, measure: Callable[[], Result], otherwise: Result) -> Result:
        """A measurement that a user's module may not allow: the page then says so, and the rest goes on."""
        try:
            return measure()
        except (RuntimeError, TypeError, ValueError, LookupError, NotImplementedError) as error:
            self.notes.append(f"{what} could not be measured: {reason(error, 200)}.")
            return otherwise

    def layers(self) -> tuple[LayerChange, ...]:
        comparison = self.comparison
        known = comparison.pair if comparison.start is None else (*comparison.pair, comparison.start)
        return layer_changes(*(layers_in_order(net.module, comparison.x) for net in known))

    def activity(self) -> tuple[Gate, ...]:
        inputs, _ = self.comparison.some(self.settings.gate_samples)
        before, after = self.comparison.pair
        return gates(before.module, after.module, inputs)

    def kernels(self) -> Kernels:
        comparison = self.comparison
        count = affordable_samples(comparison.before.module, self.settings.kernel_samples)
        x, y = comparison.some(count)
        order = y.argsort(stable=True)
        x, y = x[order], y[order]
        directions = output_directions(comparison.outputs, generator=self.generator)
        kernels = {net.name: empirical_kernel(net.scores, x, directions) for net in comparison.nets}
        nets, inputs = (
            {net.name: net for net in comparison.nets},
            comparison.some(self.settings.linearised)[0],
        )
        pairs = [("before", "after")]
        pairs += [("start", "before"), ("start", "after")] if comparison.start else []
        return Kernels(
            samples=len(x),
            directions=len(directions),
            drifts={f"{old} -> {new}": compare_kernels(kernels[old], kernels[new]) for old, new in pairs},
            linearised={
                f"{old} -> {new}": self.attempt(
                    f"The linearisation {old} -> {new}",
                    partial(linearisation_error, nets[old].scores, nets[new].scores, inputs),
                    math.nan,
                )
                for old, new in pairs
            },
            tables={
                name: (K / K.diagonal().mean().clamp_min(1e-300)).tolist() for name, K in kernels.items()
            },
            labels=y.double().tolist(),
        )

    def decompose(self, first: FirstLayer | None) -> Leftover | None:
        if first is None or self.comparison.start is None:
            return None
        return leftover(*(first.filters(net) for net in self.comparison.nets))

    def rebuilt(self, first: FirstLayer | None) -> tuple[Rebuilding, ...]:
        if first is None or self.settings.lasso_samples == 0:
            return ()
        return rebuild(self.comparison, first, self.settings, self.generator)

    def robustness(self, deltas: dict[str, Tensor]) -> tuple[tuple[Robustness, Robustness], Paired]:
        comparison, ball, settings = self.comparison, self.ball, self.settings
        before, after = (
            robustness(comparison, net, deltas[net.name], ball, settings, self.generator)
            for net in comparison.pair
        )
        right = (stays_right(comparison, net, deltas[net.name], ball, settings) for net in comparison.pair)
        return (before, after), paired(*right)

    def explain(self, first: FirstLayer | None, has_gates: bool, pictures: Pictures) -> None:
        """Say what was not measured, and why."""
        if self.comparison.start is None:
            self.notes.append(
                "The initial weights were not given: angles to the start and the decomposition along it are "
                "unknown. A fresh draw from the model's factory is another start and would not do."
            )
        if first is None:
            self.notes.append(
                "The layer called first is not a dense layer or a plain convolution on the whole input: no "
                "feature basis, sparse reconstruction or filter pictures."
            )
        if not has_gates and not any(note.startswith("Activation patterns") for note in self.notes):
            self.notes.append("The nets call no rectifier that karat knows: no activation patterns.")
        if self.comparison.image is None:
            self.notes.append("The inputs are no pictures of 1 or 3 channels: no pictures, no frequencies.")
        elif first is not None and not pictures.filters:
            self.notes.append("The first layer's filters are smaller than 3 x 3 pixels: not drawn.")
        if not returns_one_tensor(self.comparison.before.module, self.comparison.x):
            self.notes.append("The nets return several values; the first tensor was taken as their scores.")

    def setting(self, first: FirstLayer | None) -> dict[str, Any]:
        comparison, x = self.comparison, self.comparison.x
        return {
            "version": __version__,
            "inputs": len(x),
            "shape": list(x.shape[1:]),
            "image": list(comparison.image) if comparison.image else None,
            "outputs": comparison.outputs,
            "parameters": sum(p.numel() for p in comparison.before.module.parameters()),
            "start": comparison.start is not None,
            "first_layer": first.name if first else None,
            "p": self.ball.p,
            "tau": float(torch.as_tensor(self.ball.tau).max()),
            "box": list(self.ball.box) if self.ball.box else None,
            "described_radius": l2_radius(self.ball, x[0].numel()),
            **asdict(self.settings),
        }
