"""What is measured on a clean and a robust image net: attacks, density, sparse codes, pictures, tickets."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor, nn

from karat.attacks.pgd import PGD
from karat.core.ball import Ball
from karat.nets.module import as_classifier
from karat.probes.bases import frequency_coefficients, principal_components
from karat.probes.density import (
    components_for,
    leading_share,
    mean_density,
    noise_density,
    participation_ratio,
)
from karat.probes.lasso import LassoPath, lasso_path
from karat.probes.pictures import InputAscent
from karat.probes.reconstruction import as_targets, rescaled
from karat.probes.roughness import centred, low_frequency_share, roughness
from karat.probes.span import span_error
from karat.training.images.attackers import attacked

LEVELS = (0.1, 0.2, 0.3, 0.5, 0.8)
"""Relative squared errors at which the non-zeros of a code are counted."""

RATIOS = (0.3, 0.15, 0.08, 0.04, 0.02, 0.01)
"""Weights of the l1 norm along a curve, in units of the one that makes every coefficient zero."""

PRINTED = 0.0405
"""Share of non-zero coefficients in the paper's reconstructions."""


def perturbations(net: nn.Module, x: Tensor, labels: Tensor, ball: Ball, steps: int) -> Tensor:
    """What projected gradient steps on the margin find in the ball, from zero; nothing is random."""
    with attacked(net):
        parts = zip(x.split(250), labels.split(250), strict=True)
        return torch.cat([PGD(steps=steps)(as_classifier(net), part, y, ball) for part, y in parts])


def density_values(deltas: Mapping[str, Tensor], images: Tensor, train: Tensor) -> dict[str, Any]:
    """Density of perturbations and of the images themselves in pixels, waves and principal components.

    Returns:
        `density`: name -> basis -> means, white noise by formula among the names; `participation`: name ->
        basis -> one value per image, for intervals.
    """
    components = principal_components(train).to(train)
    table: dict[str, dict[str, dict[str, float]]] = {}
    single: dict[str, dict[str, list[float]]] = {}
    for name, vectors in {**deltas, "image": centred(images)}.items():
        codes = {
            "pixels": vectors.flatten(1),
            "dct": frequency_coefficients(vectors),
            "pca": vectors.flatten(1) @ components.T,
        }
        table[name] = {basis: asdict(mean_density(code)) for basis, code in codes.items()}
        single[name] = {
            "dct": _short(participation_ratio(codes["dct"])),
            "pca": _short(participation_ratio(codes["pca"])),
            "pca_leading": _short(leading_share(codes["pca"])),
            "dct_k90": _short(components_for(codes["dct"]).double()),
        }
    noise = asdict(noise_density(images[0].numel()))
    table["noise"] = dict.fromkeys(("pixels", "dct", "pca"), noise)
    return {"density": table, "participation": single}


def code_values(
    dictionaries: Mapping[str, Tensor], images: Tensor, deltas: Mapping[str, Tensor], iterations: int
) -> tuple[dict[str, Any], dict[str, LassoPath]]:
    """Sparsity-error curves of images from every dictionary, and of perturbations from some of them.

    Perturbations are rescaled to the size of their images; they are rebuilt from the "robust" features and
    from the "noise" dictionary, which no training has seen.

    Returns:
        `curves`: "what|from what" -> counts, errors, counts at each of `LEVELS`, largest duality gap; and
        the paths of the images.
    """
    targets = {"image": as_targets(images)}
    targets |= {name: rescaled(delta, images) for name, delta in deltas.items()}
    curves, paths = {}, {}
    for source, atoms in dictionaries.items():
        names = list(targets) if source in ("robust", "noise") else ["image"]
        wanted = torch.cat([targets[name] for name in names])
        path = lasso_path(wanted, atoms, ratios=RATIOS, iterations=iterations)
        for index, name in enumerate(names):
            part = slice(index * len(images), (index + 1) * len(images))
            own = LassoPath(
                path.ratios,
                path.nonzeros[:, part],
                path.errors[:, part],
                path.gaps[:, part],
                path.codes[:, part],
            )
            counts, errors = own.curve()
            curves[f"{name}|{source}"] = {
                "counts": counts,
                "errors": errors,
                "at": {f"{level:g}": _short(own.nonzeros_at(level)) for level in LEVELS},
                "gap": float(own.gaps.max()),
                "atoms": own.atoms,
            }
            if name == "image":
                paths[source] = own
    return {"curves": curves, "ratios": list(RATIOS)}, paths


def sparse_pictures(path: LassoPath, atoms: Tensor, images: Tensor) -> tuple[Tensor, float, float]:
    """Images rebuilt at the last weight whose mean share of non-zeros is at most the printed one.

    Returns:
        pictures with the images' own mean colours, mean share of non-zeros, mean relative squared error.

    Ref: purification, Fig 4
    """
    share = path.nonzeros.double().mean(dim=1) / path.atoms
    index = max(int((share <= PRINTED).sum()) - 1, 0)
    rebuilt = (path.codes[index] @ nn.functional.normalize(atoms, dim=1)).reshape(images.shape)
    mean = images.mean(dim=(2, 3), keepdim=True)
    return rebuilt + mean, float(share[index]), float(path.errors[index].mean())


def ascent_values(
    nets: Mapping[str, nn.Module],
    layers: Sequence[str],
    count: int,
    shape: tuple[int, ...],
    ascent: InputAscent,
    seed: int,
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Pictures of the same channels of the same layers in every net, from the same first image.

    Returns:
        `ascent`: "net|layer" -> roughness and low-frequency share per channel, number of waves; and the
        pictures by the same names.
    """
    found, pictures = {}, {}
    for layer in layers:
        channels = None
        for name, net in nets.items():
            if channels is None:
                channels = strongest_channels(net, layer, count)
            generator = torch.Generator().manual_seed(seed)
            drawn = ascent.run(net, layer, channels, shape, generator=generator)
            flat = centred(drawn)
            found[f"{name}|{layer}"] = {
                "roughness": _short(roughness(flat)),
                "low": _short(low_frequency_share(flat)),
                "waves": _short(participation_ratio(frequency_coefficients(flat))),
                "channels": channels,
            }
            pictures[f"{name}|{layer}"] = drawn
    return found, pictures


def strongest_channels(net: nn.Module, layer: str, count: int) -> list[int]:
    """The channels of a convolution whose filters are longest: a choice that looks at no picture."""
    weight = dict(net.named_modules())[layer].weight
    assert isinstance(weight, Tensor)
    order = weight.detach().flatten(1).norm(dim=1).argsort(descending=True)
    return sorted(order[:count].tolist())


def span_values(atoms: Mapping[str, Tensor], targets: Mapping[str, Tensor]) -> dict[str, float]:
    """Mean relative squared error "what|from what" of the best regression on the span of each dictionary.

    Ref: purification, Rem 8.2
    """
    found = {}
    for source, rows in atoms.items():
        errors = span_error(torch.cat(list(targets.values())), rows)
        for name, part in zip(targets, errors.split([len(t) for t in targets.values()]), strict=True):
            found[f"{name}|{source}"] = float(part.mean())
    return found


def lottery_values(snapshots: Sequence[Tensor], alive: float = 0.05) -> dict[str, Any]:
    """Cosines of every filter over training with the filter it ends as, and with those of the others.

    Returns:
        `own`, `others`: means per snapshot; `rank`: per snapshot the mean share of other filters that are
        less correlated with a feature than the one that ends there; `first_ranks`: per feature at the start.

    Reading: a feature is the direction a filter ends at, so every filter wins its own; 1/2 is chance for
        the rank at the start. Dead filters have no feature and are left out.

    Ref: purification, Fig 8
    """
    length = snapshots[-1].flatten(1).norm(dim=1)
    rows = length > alive * length.median()
    features = nn.functional.normalize(snapshots[-1][rows].flatten(1), dim=1)
    own, others, ranks = [], [], []
    for filters in snapshots:
        table = nn.functional.normalize(filters[rows].flatten(1), dim=1) @ features.T
        mine, count = table.diagonal(), len(table)
        rivals = max(count - 1, 1)
        own.append(float(mine.mean()))
        others.append(float((table.sum() - mine.sum()) / (count * rivals)))
        ranks.append((table < mine.unsqueeze(0)).double().sum(dim=0) / rivals)
    return {
        "own": own,
        "others": others,
        "rank": [float(rank.mean()) for rank in ranks],
        "first_ranks": _short(ranks[0]),
    }


def _short(values: Tensor) -> list[float]:
    """Values with five digits, for a record of modest size."""
    return [float(f"{value:.5g}") for value in values.double().tolist()]
