"""The probe itself: one measurement after the other on two nets, then sentences from the numbers."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor

from karat.core.ball import Ball
from karat.nets.outputs import returns_one_tensor
from karat.nets.weight_layers import layers_in_order
from karat.probes.activity import Gate, gates
from karat.probes.kernel_drift import affordable_samples, compare_kernels, empirical_kernel, output_directions
from karat.probes.layer_change import layer_changes
from karat.probes.leftover import Leftover, leftover
from karat.probes.linearisation import linearisation_error
from karat.version import __version__
from karat.yours.probe import said_of_attacks, said_of_weights
from karat.yours.probe.first_layer import FirstLayer, find_first_layer
from karat.yours.probe.perturbations import densities, described, l2_radius, strongest_deltas, transfer_rates
from karat.yours.probe.pictures import Pictures, draw
from karat.yours.probe.rebuilding import Rebuilding, rebuild
from karat.yours.probe.result import Kernels, Probe
from karat.yours.probe.robustness import Robustness, kept, paired, robustness
from karat.yours.probe.sentence import Sentence
from karat.yours.probe.settings import ProbeSettings
from karat.yours.probe.subject import Bench, on_bench

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
        before, after: the nets, of one architecture.
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
    with on_bench(before, after, data, init, image) as bench:
        return _Run(bench, ball, settings, generator, listener).probe()


class _Run:
    """One probe under way: the stages share perturbations and the clock."""

    def __init__(
        self,
        bench: Bench,
        ball: Ball,
        settings: ProbeSettings,
        generator: torch.Generator,
        listener: Listener | None,
    ) -> None:
        self.bench, self.ball, self.settings = bench, ball, settings
        self.generator, self.listener = generator, listener
        self.seconds: dict[str, float] = {}
        self.notes: list[str] = []

    def probe(self) -> Probe:
        bench, settings, ball = self.bench, self.settings, self.ball
        with self.stage("weights"):
            tables = [layers_in_order(net.module, bench.x) for net in (*bench.pair, *bench.nets[:-2])]
            layers = layer_changes(*tables)
            first = find_first_layer(bench)
            left = self.attempt("The decomposition along the start", lambda: self.decompose(first), None)
        with self.stage("activity"):
            inputs = bench.some(settings.gate_samples)[0]
            old, new = (net.module for net in bench.pair)
            signs: tuple[Gate, ...] = self.attempt("Activation patterns", lambda: gates(old, new, inputs), ())
        with self.stage("kernel"):
            kernels = self.kernels()
        with self.stage("attacks"):
            deltas = strongest_deltas(bench, ball, settings, self.generator)
            rates = transfer_rates(bench, deltas, ball, settings)
            shown = described(bench, deltas, ball, settings, self.generator)
        with self.stage("densities"):
            bases = densities(bench, shown, first, settings, self.generator)
        with self.stage("reconstruction"):
            rebuilt: tuple[Rebuilding, ...] = self.attempt(
                "Sparse reconstruction", lambda: self.rebuilt(first), ()
            )
        with self.stage("robustness"):
            nets = self.robustness(deltas)
            versus = paired(*(kept(bench, net, deltas[net.name], ball, settings) for net in bench.pair))
        with self.stage("pictures"):
            paint = partial(draw, bench, shown, first, settings, self.generator)
            pictures = self.attempt("Pictures", paint, Pictures())
        self.explain(first, bool(signs), pictures)
        parts = [
            said_of_attacks.robust_gain(*nets, versus),
            said_of_weights.regime(kernels.linearised, kernels.drifts, layers),
            said_of_weights.identity(layers),
            said_of_weights.forgotten_start(layers),
            said_of_attacks.perturbation_density(bases),
            said_of_weights.smoothness(pictures.numbers, left),
            said_of_attacks.sparse_rebuilding(rebuilt),
            said_of_weights.activity(signs),
            said_of_attacks.transferring(rates),
        ]
        sentences: list[Sentence] = [part for part in parts if part is not None]
        return Probe(
            setting=self.setting(first),
            summary=(said_of_attacks.purified(sentences), *sentences),
            layers=layers,
            gates=signs,
            kernels=kernels,
            robustness=nets,
            versus=versus,
            transfer=rates,
            densities=bases,
            rebuilding=rebuilt,
            leftover=left,
            pictures=pictures,
            notes=tuple(self.notes),
            seconds=self.seconds,
        )

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
            reason = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
            self.notes.append(f"{what} could not be measured: {reason}.")
            return otherwise

    def kernels(self) -> Kernels:
        bench = self.bench
        count = affordable_samples(bench.before.module, self.settings.kernel_samples)
        x, y = bench.some(count)
        order = y.argsort(stable=True)
        x, y = x[order], y[order]
        directions = output_directions(bench.outputs, generator=self.generator)
        found = {net.name: empirical_kernel(net.scores, x, directions) for net in bench.nets}
        nets, inputs = {net.name: net for net in bench.nets}, bench.some(self.settings.linearised)[0]
        pairs = [("before", "after")]
        pairs += [("start", "before"), ("start", "after")] if bench.start else []
        return Kernels(
            samples=len(x),
            directions=len(directions),
            drifts={f"{old} -> {new}": compare_kernels(found[old], found[new]) for old, new in pairs},
            linearised={
                f"{old} -> {new}": self.attempt(
                    f"The linearisation {old} -> {new}",
                    partial(linearisation_error, nets[old].scores, nets[new].scores, inputs),
                    math.nan,
                )
                for old, new in pairs
            },
            tables={name: (K / K.diagonal().mean().clamp_min(1e-300)).tolist() for name, K in found.items()},
            labels=y.double().tolist(),
        )

    def decompose(self, first: FirstLayer | None) -> Leftover | None:
        if first is None or self.bench.start is None:
            return None
        return leftover(*(first.filters(net) for net in self.bench.nets))

    def rebuilt(self, first: FirstLayer | None) -> tuple[Rebuilding, ...]:
        if first is None or self.settings.lasso_samples == 0:
            return ()
        return rebuild(self.bench, first, self.settings, self.generator)

    def robustness(self, deltas: dict[str, Tensor]) -> tuple[Robustness, Robustness]:
        old, new = (
            robustness(self.bench, net, deltas[net.name], self.ball, self.settings, self.generator)
            for net in self.bench.pair
        )
        return old, new

    def explain(self, first: FirstLayer | None, has_gates: bool, pictures: Pictures) -> None:
        """Say what was not measured, and why."""
        if self.bench.start is None:
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
        if self.bench.image is None:
            self.notes.append("The inputs are no pictures of 1 or 3 channels: no pictures, no frequencies.")
        elif first is not None and not pictures.filters:
            self.notes.append("The first layer's filters are smaller than 3 x 3 pixels: not drawn.")
        if not returns_one_tensor(self.bench.before.module, self.bench.x):
            self.notes.append("The nets return several values; the first tensor was taken as their scores.")

    def setting(self, first: FirstLayer | None) -> dict[str, Any]:
        bench, x = self.bench, self.bench.x
        return {
            "version": __version__,
            "inputs": len(x),
            "shape": list(x.shape[1:]),
            "image": list(bench.image) if bench.image else None,
            "outputs": bench.outputs,
            "parameters": sum(p.numel() for p in bench.before.module.parameters()),
            "start": bench.start is not None,
            "first_layer": first.name if first else None,
            "p": self.ball.p,
            "tau": float(torch.as_tensor(self.ball.tau).max()),
            "box": list(self.ball.box) if self.ball.box else None,
            "described_radius": l2_radius(self.ball, x[0].numel()),
            **asdict(self.settings),
        }
