"""Gaussian clusters on a cube: does every centre find a neuron that points at it?"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from karat.core.activations import Relu
from karat.core.losses import Logistic
from karat.core.ranges import Count, NonNegative, Positive, Share, settings
from karat.data import HypercubeMixture
from karat.nets import TwoLayer
from karat.papers.features.experiments.pictures import PlanarPicture, planar_picture
from karat.probes.alignment import covered
from karat.study.experiment import Experiment, Preset
from karat.training import Constant, Trainer

DRAWN = 150
"""Neurons in a picture."""


@dataclass(frozen=True, kw_only=True)
@settings
class HypercubeConfig:
    r"""Settings of one run: a ReLU net of m neurons, logistic loss, SGD with momentum on all parameters.

    Args:
        d: input dimension.
        k: dimension of the cube, which has :math:`2^k` centres.
        sigma_r: :math:`\sigma_r` of the clusters.
        m: neurons.
        n: samples.
        epochs: of SGD.
        lr: of SGD.
        momentum: of SGD.
        batch_size: of SGD.
        init_scale: sd of the weights times :math:`\sqrt d`. Reading: the paper's n, rate and start are not
            stated; a start as large as the centres classifies without aligning, so it is an axis here.
        n_test: samples of the test.
        pictures: whether directions are kept.
    """

    d: Count
    k: Count
    sigma_r: NonNegative
    m: Count = 800
    n: Count = 4000
    epochs: Count = 20
    lr: Positive = 0.05
    momentum: Share = 0.9
    batch_size: Count = 200
    init_scale: Positive = 0.1
    n_test: Count = 2000
    pictures: bool = True


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Which centres have a neuron within cosine 0.9.

    Args:
        covered: how many.
        worst_cos: best cosine of a neuron to the worst centre.
    """

    covered: int
    worst_cos: float


@dataclass(frozen=True, kw_only=True)
class HypercubeResult:
    """Coverage of the centres before and after training.

    Args:
        centres: how many there are.
        test: accuracy at the end.
        start: before training.
        end: after training.
        pictures: "start" and "end" -> neurons and, last, the centres in the plane.
        centre_labels: +1 or -1 for every centre, kept with the pictures.
    """

    centres: int
    test: float
    start: Coverage
    end: Coverage
    pictures: dict[str, PlanarPicture] | None = None
    centre_labels: list[float] | None = None


def run(config: HypercubeConfig, generator: torch.Generator) -> HypercubeResult:
    """Train, then look at which centres are covered and how well the net classifies.

    Args:
        config: settings of the run.
        generator: draws mixture, samples, start and batches.
    """
    model = HypercubeMixture.draw(d=config.d, k=config.k, sigma_r=config.sigma_r, generator=generator)
    train = model.sample(config.n, generator=generator, dtype=torch.float32)
    test = model.sample(config.n_test, generator=generator, dtype=torch.float32)
    net = _start(config, generator)
    trainer = Trainer(
        lr=Constant(config.lr),
        trainable=("W", "a", "b"),
        loss=Logistic(),
        momentum=config.momentum,
        batch_size=config.batch_size,
    )
    steps = config.epochs * trainer.steps_per_epoch(config.n)
    final = trainer.run(net, train.x, train.y, steps=steps, generator=generator).net
    centres, labels = model.centres()
    nets = {"start": net, "end": final}
    return HypercubeResult(
        centres=len(centres),
        test=float((final(test.x) * test.y > 0).double().mean()),
        start=_coverage(net, centres),
        end=_coverage(final, centres),
        pictures={name: _picture(one, centres) for name, one in nets.items()} if config.pictures else None,
        centre_labels=labels.tolist() if config.pictures else None,
    )


def _start(config: HypercubeConfig, generator: torch.Generator) -> TwoLayer:
    signs = torch.randint(2, (config.m,), generator=generator) * 2.0 - 1
    return TwoLayer(
        config.init_scale / config.d**0.5 * torch.randn(config.m, config.d, generator=generator),
        signs / config.m**0.5,
        torch.zeros(config.m),
        activation=Relu(),
    )


def _coverage(net: TwoLayer, centres: Tensor) -> Coverage:
    count, worst = covered(net.W, centres)
    return Coverage(covered=count, worst_cos=worst)


def _picture(net: TwoLayer, centres: Tensor) -> PlanarPicture:
    """Neurons of largest influence |a_i| |w_i| and the centres (last), in the plane of their scaling."""
    influence = net.a.abs() * torch.linalg.vector_norm(net.W, dim=1)
    strongest = net.W[influence.argsort(descending=True)[:DRAWN]].double()
    return planar_picture(torch.cat([strongest, centres.double()]))


_PAPER = (
    {"d": 100, "k": 4, "sigma_r": 1.0},
    {"d": 25, "k": 4, "sigma_r": 0.7},
    {"d": 100, "k": 5, "sigma_r": 1.0, "epochs": 40},
)
_BASE = HypercubeConfig(d=100, k=4, sigma_r=1.0)

TAB6 = Experiment(
    name="features.tab6",
    title="On Gaussian clusters with parity labels, is every centre covered by a neuron?",
    paper="features",
    presets={
        "tiny": Preset(
            config=replace(_BASE, d=10, k=2, m=40, n=400, epochs=5, n_test=200), seeds=2, cell_seconds=0.1
        ),
        "quick": Preset(config=_BASE, points=_PAPER, seeds=3, cell_seconds=0.46),
        "full": Preset(config=_BASE, points=_PAPER, grid={"init_scale": (0.1, 1.0)}, seeds=5, cell_seconds=6),
    },
    run=run,
)
