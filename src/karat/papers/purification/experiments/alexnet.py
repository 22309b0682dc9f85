"""AlexNet before and after adversarial training: filters, leftovers of their start, perturbations, codes."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated

import torch
from torch import Tensor, nn

from karat.core.ranges import Count
from karat.papers.purification.experiments.feature_pictures import Quantised
from karat.papers.purification.experiments.image_codes import (
    RATIOS,
    CodeCurve,
    code_curves,
    span_errors,
    sparse_pictures,
)
from karat.papers.purification.experiments.image_measures import (
    Lottery,
    StagesResult,
    ViewsResult,
    look,
    lottery,
)
from karat.papers.purification.experiments.image_setting import source_or_digits
from karat.papers.purification.experiments.trained_pair import PairSetting, first_filters, train_pair
from karat.probes.leftover import leftover
from karat.probes.reconstruction import as_targets, blurred, blurred_noise, filter_atoms, rescaled
from karat.probes.roughness import low_frequency_share, roughness
from karat.study.experiment import Experiment, Preset
from karat.study.quantised import quantise
from karat.study.result import Together, Undefined, from_values

NAME = "purification.alexnet"
PADDING, STRIDE = 5, 4
"""Of AlexNet's first convolution."""

SHOWN = 6
"""Images and channels kept as pictures."""


@dataclass(frozen=True, kw_only=True)
class AlexnetConfig(PairSetting):
    """Settings of one run.

    Args:
        coded: images (and perturbations) that are rebuilt from filters.
        code_stride: distance between the places of the filters there.
        code_iterations: of the Lasso per weight.
        other_starts: whether tickets are read with the starts of other filters, as a control.

    Reading: at the layer's own stride 4 a filter has 64 places, and 64 width filters of them make 4/3 width
        atoms per pixel value: undercomplete for small widths. `code_stride` = 2 at width 1/4 restores the
        paper's 4/3. The paper's rates (0.02, weight decay 5e-4) keep much of the start for as many epochs as
        anyone can wait here; rate 0.1 and weight decay 5e-3 do not.
    """

    coded: Count = 10
    code_stride: Count = 2
    code_iterations: Count = 60
    other_starts: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.network.startswith("alexnet:"):
            owner = type(self).__name__
            raise ValueError(f"`network` of `{owner}` must be an alexnet, got {self.network!r}.")


@dataclass(frozen=True, kw_only=True)
class LeftoverMeans:
    r"""What is left of the start in a layer, :math:`w_0 \to w \to w'`; see `Leftover`.

    Args:
        energy_before: share of :math:`\|w\|^2` along the filter's own :math:`w_0`.
        energy_after: share of :math:`\|w'\|^2` along it.
        cosine: of :math:`w' - w` with the own :math:`w_0`.
        cosine_others: mean absolute cosine with the starts of other filters.
        chance: mean absolute cosine of unrelated directions.
        rough_before: roughness of :math:`w`.
        rough_after: roughness of :math:`w'`.
        rest_before: roughness of :math:`w` without its component along :math:`w_0`.
        rest_after: roughness of :math:`w'` without it.
        forgotten: share of the fall in roughness that vanishes once the starts are projected out.
    """

    energy_before: float
    energy_after: float
    cosine: float
    cosine_others: float
    chance: float
    rough_before: float
    rough_after: float
    rest_before: float
    rest_after: float
    forgotten: Annotated[float, Undefined("the filters do not get smoother")]


@dataclass(frozen=True, kw_only=True)
class FiltersResult:
    """First-layer filters of the nets "start", "clean", "robust" and "continued".

    Args:
        filters: net -> pictures.
        filter_roughness: net -> one value per filter.
        filter_low: net -> low-frequency share per filter.
        leftover_robust: what adversarial training leaves of the start.
        leftover_continued: what more clean training leaves of it.
    """

    filters: dict[str, Quantised]
    filter_roughness: dict[str, list[float]]
    filter_low: dict[str, list[float]]
    leftover_robust: Annotated[LeftoverMeans, Together()]
    leftover_continued: Annotated[LeftoverMeans, Together()]


@dataclass(frozen=True, kw_only=True)
class AtomCounts:
    """Sizes of the dictionaries.

    Args:
        code: atoms at the stride of the codes.
        own: atoms at the layer's own stride.
        pixels: values of an image.
    """

    code: int
    own: int
    pixels: int


@dataclass(frozen=True, kw_only=True)
class CodesResult:
    """Images and perturbations rebuilt from filters; names are "what|from what".

    Args:
        curves: sparse codes.
        ratios: weights of the l1 norm along them.
        rebuilt: images from few robust filters.
        rebuilt_share: of their coefficients that are not zero.
        rebuilt_error: their relative squared error.
        span: error of the best regression at the stride of the codes.
        span_own: error of the best regression at the layer's own stride.
        atoms: how many there are.
    """

    curves: dict[str, CodeCurve]
    ratios: list[float]
    rebuilt: Quantised
    rebuilt_share: float
    rebuilt_error: float
    span: dict[str, float]
    span_own: dict[str, float]
    atoms: Annotated[AtomCounts, Together()]


@dataclass(frozen=True, kw_only=True)
class AlexnetResult(StagesResult, ViewsResult, FiltersResult, CodesResult):
    """All that was seen of the four nets.

    Args:
        lottery: first-layer filters over the epochs of clean training.
    """

    lottery: Annotated[Lottery, Together()]


def run(config: AlexnetConfig, generator: torch.Generator) -> AlexnetResult:
    """Train clean, then adversarially and, as a control, clean again; then look at all four nets."""
    pair = train_pair(NAME, config, generator, control=True)
    views = look(
        pair,
        config,
        count=max(config.attacked, config.coded),
        layers=("conv3", "conv5"),
        channels=SHOWN,
        shown=SHOWN,
    )
    deltas = {name: delta[: config.coded] for name, delta in views.deltas.items()}
    return AlexnetResult(
        **vars(from_values(StagesResult, pair.values)),
        **vars(views.result),
        **vars(filter_measures(pair.nets)),
        **vars(_codes(config, views.x[: config.coded], deltas, pair.nets, generator)),
        lottery=lottery(pair.filters, others=config.other_starts),
    )


def filter_measures(nets: Mapping[str, nn.Module]) -> FiltersResult:
    """Return the first-layer filters of all nets, their roughness, and how much they remember the start."""
    filters = {name: first_filters(net) for name, net in nets.items()}

    def left(name: str) -> LeftoverMeans:
        means = leftover(filters["start"], filters["clean"], filters[name])
        return LeftoverMeans(**asdict(means), forgotten=means.forgotten)

    return FiltersResult(
        filters={name: quantise(w) for name, w in filters.items()},
        filter_roughness={name: roughness(w).tolist() for name, w in filters.items()},
        filter_low={name: low_frequency_share(w).tolist() for name, w in filters.items()},
        leftover_robust=left("robust"),
        leftover_continued=left("continued"),
    )


def _codes(
    config: AlexnetConfig,
    images: Tensor,
    deltas: Mapping[str, Tensor],
    nets: Mapping[str, nn.Module],
    generator: torch.Generator,
) -> CodesResult:
    shape = tuple(images.shape[1:])
    filters = {name: first_filters(nets[name]) for name in ("start", "clean", "robust")}
    # Two controls: what smoothness alone is worth, and smooth atoms that no training has seen.
    filters["clean blurred"] = blurred(filters["clean"], 3)
    filters["noise"] = blurred_noise(filters["start"], 5, generator=generator)

    def placed(stride: int) -> dict[str, Tensor]:
        return {name: filter_atoms(w, shape, stride=stride, padding=PADDING) for name, w in filters.items()}

    atoms, own_atoms = placed(config.code_stride), placed(STRIDE)
    curves, paths = code_curves(atoms, images, deltas, config.code_iterations)
    pictures, share, error = sparse_pictures(paths["robust"], atoms["robust"], images)
    targets = {"image": as_targets(images), "clean_delta": rescaled(deltas["clean_delta"], images)}
    return CodesResult(
        curves=curves,
        ratios=list(RATIOS),
        rebuilt=quantise(pictures[:SHOWN]),
        rebuilt_share=share,
        rebuilt_error=error,
        span=span_errors({name: atoms[name] for name in ("start", "robust", "noise")}, targets),
        span_own=span_errors(own_atoms, targets),
        atoms=AtomCounts(code=len(atoms["robust"]), own=len(own_atoms["robust"]), pixels=images[0].numel()),
    )


_HERE = source_or_digits("cifar10")
_QUICK = AlexnetConfig(
    network="alexnet:0.25",
    source=_HERE,
    n=None,
    clean_epochs=40,
    robust_epochs=4,
    lr=0.1,
    robust_lr=0.02,
    weight_decay=5e-3,
    batch_size=64,
    attacked=200,
    restarts=1,
    attacker="l2:1",
)
_TINY = replace(
    _QUICK,
    network="alexnet:0.07",
    source="digits",
    n=192,
    test=100,
    batch_size=32,
    clean_epochs=3,
    robust_epochs=1,
    attacked=24,
    steps=5,
    coded=3,
    code_stride=4,
    code_iterations=15,
    ascent_steps=3,
)
_FULL = replace(
    _QUICK,
    network="alexnet:1",
    source="cifar10",
    clean_epochs=200,
    robust_epochs=50,
    lr=0.02,
    attack_warmup=10,
    batch_size=128,
    attacker="l2:1:0.25",
    attacked=500,
    restarts=3,
    coded=100,
    code_stride=4,
    code_iterations=300,
    paper_ascent=True,
)
_RATES = ({"weight_decay": 5e-3, "lr": 0.1}, {"weight_decay": 5e-4, "lr": 0.02})
"""A setting under which the start is forgotten in clean training, and the paper's own rates."""

ALEXNET = Experiment(
    name=NAME,
    title="What does adversarial training change in AlexNet, and how much of it is a forgotten start?",
    paper="purification",
    part="images",
    presets={
        "tiny": Preset(config=_TINY, points=_RATES, seeds=1, cell_seconds=2),
        "quick": Preset(config=_QUICK, points=_RATES, seeds=2, cell_seconds=100),
        "full": Preset(config=_FULL, points=_RATES, seeds=3, cell_seconds=100_000),
    },
    run=run,
)
