"""What is measured on a clean and a robust image net: perturbations, their density, pictures, tickets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from karat.attacks.pgd import PGD
from karat.core.ball import Ball
from karat.nets.modes import still
from karat.nets.module import as_classifier
from karat.papers.purification.experiments.feature_pictures import (
    FeatureMeasures,
    Quantised,
    feature_pictures,
    five_digits,
)
from karat.papers.purification.experiments.image_setting import ImageResult, Scores
from karat.papers.purification.experiments.trained_pair import Pair, PairSetting, right_first
from karat.probes.bases import frequency_coefficients, principal_components
from karat.probes.density import (
    Density,
    components_for,
    leading_share,
    mean_density,
    noise_density,
    participation_ratio,
)
from karat.probes.roughness import centred
from karat.study.quantised import quantise
from karat.study.result import Undefined


@dataclass(frozen=True, kw_only=True)
class StagesResult(ImageResult):
    """The nets on the way, as `train_pair` saw them.

    Args:
        activity: stage -> share of active neurons per epoch and rectifier.
        clean: accuracies after clean training.
        robust: accuracies after adversarial training.
        continued: accuracies after more clean training instead, where that control was run.
    """

    activity: dict[str, list[list[float]]]
    clean: Scores
    robust: Scores
    continued: Scores | None = None


@dataclass(frozen=True, kw_only=True)
class Participation:
    """Density of single pictures, one value per image.

    Args:
        dct: effective number of waves.
        pca: effective number of principal components.
        pca_leading: share of the energy in the 50 leading principal components.
        dct_k90: waves that hold 90% of the energy.
    """

    dct: list[float]
    pca: list[float]
    pca_leading: list[float]
    dct_k90: list[float]


@dataclass(frozen=True, kw_only=True)
class ViewsResult:
    """What the clean and the robust net make of images.

    Args:
        seen: test images that were attacked.
        seen_right: how many of them the robust net gets right.
        density: perturbation ("clean_delta", "robust_delta"), "image" or "noise" -> basis -> means.
        participation: the same names without noise -> values of single images.
        shown: the first of the images.
        shown_deltas: their perturbations.
        ascent: "net|layer" -> feature pictures.
        ascent_pictures: "net|layer" -> the first of them.
    """

    seen: int
    seen_right: int
    density: Annotated[
        dict[str, dict[str, Density]],
        Undefined("none where there is no energy"),
    ]
    participation: Annotated[dict[str, Participation], Undefined("none where there is no energy")]
    shown: Quantised
    shown_deltas: dict[str, Quantised]
    ascent: dict[str, FeatureMeasures]
    ascent_pictures: dict[str, Quantised]


@dataclass(frozen=True, eq=False)
class Views:
    """The images behind a `ViewsResult`.

    Args:
        x: (n, channels, height, width) test images, those that the robust net gets right first.
        deltas: "clean_delta" and "robust_delta" -> their perturbations.
        result: what was measured.
    """

    x: Tensor
    deltas: dict[str, Tensor]
    result: ViewsResult


def look(
    pair: Pair, config: PairSetting, *, count: int, layers: Sequence[str], channels: int, shown: int
) -> Views:
    """Attack both nets of a pair on the same images, and draw features of the same layers.

    Args:
        pair: with nets "clean" and "robust".
        config: radius and steps of the attack, and how features are drawn.
        count: test images.
        layers: whose features are drawn.
        channels: features of each layer.
        shown: images, perturbations and features that are kept as pictures.
    """
    nets = {name: pair.nets[name] for name in ("clean", "robust")}
    x, labels, right = right_first(nets["robust"], pair.images, count)
    ball = Ball(2, config.tau)
    deltas = {
        f"{name}_delta": perturbations(net, x, labels, ball, config.steps) for name, net in nets.items()
    }
    density, participation = densities(deltas, x, pair.images.x)
    ascent, pictures = feature_pictures(nets, layers, channels, tuple(x.shape[1:]), config.ascent, seed=0)
    result = ViewsResult(
        seen=len(x),
        seen_right=right,
        density=density,
        participation=participation,
        shown=quantise(x[:shown]),
        shown_deltas={name: quantise(delta[:shown]) for name, delta in deltas.items()},
        ascent=ascent,
        ascent_pictures={name: quantise(drawn[:shown]) for name, drawn in pictures.items()},
    )
    return Views(x, deltas, result)


def perturbations(net: nn.Module, x: Tensor, labels: Tensor, ball: Ball, steps: int) -> Tensor:
    """Return what projected gradient steps on the margin find in the ball, from zero; nothing is random.

    Args:
        net: to be attacked.
        x: (n, channels, height, width) images.
        labels: (n,) theirs.
        ball: of the perturbations.
        steps: of the attack.
    """
    with still(net):
        batches = zip(x.split(250), labels.split(250), strict=True)
        return torch.cat([PGD(steps=steps)(as_classifier(net), batch, y, ball) for batch, y in batches])


def densities(
    deltas: Mapping[str, Tensor], images: Tensor, train: Tensor
) -> tuple[dict[str, dict[str, Density]], dict[str, Participation]]:
    """Return the density of perturbations and images in pixels, waves and principal components.

    Args:
        deltas: name -> (n, channels, height, width) perturbations.
        images: (n, channels, height, width), measured as well.
        train: images whose principal components are the basis.

    Returns:
        name -> basis -> means, white noise by formula among the names; name -> values of single images, for
        intervals.
    """
    components = principal_components(train).to(train)
    means: dict[str, dict[str, Density]] = {}
    single: dict[str, Participation] = {}
    for name, vectors in {**deltas, "image": centred(images)}.items():
        codes = {
            "pixels": vectors.flatten(1),
            "dct": frequency_coefficients(vectors),
            "pca": vectors.flatten(1) @ components.T,
        }
        means[name] = {basis: mean_density(code) for basis, code in codes.items()}
        single[name] = Participation(
            dct=five_digits(participation_ratio(codes["dct"])),
            pca=five_digits(participation_ratio(codes["pca"])),
            pca_leading=five_digits(leading_share(codes["pca"])),
            dct_k90=five_digits(components_for(codes["dct"]).double()),
        )
    # White noise has the same law in every orthonormal basis.
    means["noise"] = dict.fromkeys(("pixels", "dct", "pca"), noise_density(images[0].numel()))
    return means, single


@dataclass(frozen=True, kw_only=True)
class Lottery:
    r"""How every filter approaches the feature it ends at, :math:`f_i = w_i / \|w_i\|` of the last snapshot.

    Args:
        own: per snapshot, mean cosine of a filter with its own feature.
        others: per snapshot, mean cosine with the features of the others.
        rank: per snapshot, mean share of other filters that are less correlated with a feature than the one
            that ends there.
        first_ranks: per feature, that share at the start.
        remembered: mean share of the energy of a feature along the first snapshot of its own filter.
    """

    own: list[float]
    others: list[float]
    rank: list[float]
    first_ranks: list[float]
    remembered: float


def lottery(snapshots: Sequence[Tensor], alive: float = 0.05, *, others: bool = False) -> Lottery:
    """Compare every filter over training with the filter it ends as, and with those of the others.

    Args:
        snapshots: (m, ...) filters, first to last.
        alive: filters that end shorter than this share of the median are dead.
        others: give every filter the start of its neighbour, as a control in which no start leads.

    Reading: a feature is the direction a filter ends at, so every filter wins its own; 1/2 is chance for
        the rank at the start. Dead filters have no feature and are left out.

    Ref: purification, Fig 8
    """
    length = snapshots[-1].flatten(1).norm(dim=1)
    rows = length > alive * length.median()
    features = nn.functional.normalize(snapshots[-1][rows].flatten(1), dim=1)
    live = [filters[rows].flatten(1) for filters in snapshots]
    if others:
        live[0] = live[0].roll(1, dims=0)
    own, strange, ranks = [], [], []
    for filters in live:
        cosines = nn.functional.normalize(filters, dim=1) @ features.T
        mine, count = cosines.diagonal(), len(cosines)
        rivals = max(count - 1, 1)
        own.append(float(mine.mean()))
        strange.append(float((cosines.sum() - mine.sum()) / (count * rivals)))
        # A column holds the cosines of all filters with one feature: its own filter's is on the diagonal.
        ranks.append((cosines < mine.unsqueeze(0)).double().sum(dim=0) / rivals)
    return Lottery(
        own=own,
        others=strange,
        rank=[float(rank.mean()) for rank in ranks],
        first_ranks=five_digits(ranks[0]),
        remembered=float((nn.functional.normalize(live[0], dim=1) * features).sum(dim=1).square().mean()),
    )
