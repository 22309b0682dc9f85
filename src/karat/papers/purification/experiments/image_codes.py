"""Sparse codes of images and perturbations in the filters of a net, and what those filters span."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from karat.papers.purification.experiments.feature_pictures import five_digits
from karat.probes.lasso import LassoPath, lasso_path
from karat.probes.reconstruction import as_targets, rescaled
from karat.probes.span import span_error
from karat.study.result import Undefined

LEVELS = (0.1, 0.2, 0.3, 0.5, 0.8)
"""Relative squared errors at which the non-zeros of a code are counted."""

RATIOS = (0.3, 0.15, 0.08, 0.04, 0.02, 0.01)
"""Weights of the l1 norm along a curve, in units of the one that makes every coefficient zero."""

PRINTED_SHARE = 0.0405
"""Share of non-zero coefficients in the paper's reconstructions."""


@dataclass(frozen=True, kw_only=True)
class CodeCurve:
    """Codes of several targets in one dictionary.

    Args:
        counts: mean number of non-zeros per weight of the l1 norm.
        errors: mean relative squared error per weight.
        at: error, one of `LEVELS` -> non-zeros that each target needs for it.
        gap: largest duality gap.
        atoms: length of a code.
    """

    counts: list[float]
    errors: list[float]
    at: Annotated[dict[str, list[float]], Undefined("infinite where no code of the path reaches the error")]
    gap: float
    atoms: int


def code_curves(
    dictionaries: Mapping[str, Tensor], images: Tensor, deltas: Mapping[str, Tensor], iterations: int
) -> tuple[dict[str, CodeCurve], dict[str, LassoPath]]:
    """Return sparsity-error curves of images from every dictionary, and of perturbations from some of them.

    Perturbations are rescaled to the size of their images; they are rebuilt from the "robust" features and
    from the "noise" dictionary, which no training has seen.

    Args:
        dictionaries: name -> (D, pixels) atoms.
        images: (n, channels, height, width).
        deltas: name -> (n, channels, height, width) perturbations of these images.
        iterations: of the Lasso per weight.

    Returns:
        curves by "what|from what", and the paths of the images by dictionary.
    """
    targets = {"image": as_targets(images)}
    targets |= {name: rescaled(delta, images) for name, delta in deltas.items()}
    curves, paths = {}, {}
    for source, atoms in dictionaries.items():
        names = list(targets) if source in ("robust", "noise") else ["image"]
        # All targets of a dictionary at once, so that its Gram matrix is computed once.
        path = lasso_path(
            torch.cat([targets[name] for name in names]), atoms, ratios=RATIOS, iterations=iterations
        )
        for index, name in enumerate(names):
            rows = slice(index * len(images), (index + 1) * len(images))
            single = LassoPath(
                path.ratios,
                path.nonzeros[:, rows],
                path.errors[:, rows],
                path.gaps[:, rows],
                path.codes[:, rows],
            )
            curves[f"{name}|{source}"] = _curve(single)
            if name == "image":
                paths[source] = single
    return curves, paths


def _curve(path: LassoPath) -> CodeCurve:
    counts, errors = path.curve()
    return CodeCurve(
        counts=counts,
        errors=errors,
        at={f"{level:g}": five_digits(path.nonzeros_at(level)) for level in LEVELS},
        gap=float(path.gaps.max()),
        atoms=path.atoms,
    )


def sparse_pictures(path: LassoPath, atoms: Tensor, images: Tensor) -> tuple[Tensor, float, float]:
    """Return images rebuilt at the last weight whose mean share of non-zeros is at most the printed one.

    Args:
        path: codes of the images.
        atoms: (D, pixels) the dictionary of the codes.
        images: (n, channels, height, width).

    Returns:
        pictures with the images' own mean colours, mean share of non-zeros, mean relative squared error.

    Ref: purification, Fig 4
    """
    share = path.nonzeros.double().mean(dim=1) / path.atoms
    index = max(int((share <= PRINTED_SHARE).sum()) - 1, 0)
    # Codes are of unit atoms, and of images with mean zero per channel.
    rebuilt = (path.codes[index] @ nn.functional.normalize(atoms, dim=1)).reshape(images.shape)
    mean = images.mean(dim=(2, 3), keepdim=True)
    return rebuilt + mean, float(share[index]), float(path.errors[index].mean())


def span_errors(dictionaries: Mapping[str, Tensor], targets: Mapping[str, Tensor]) -> dict[str, float]:
    """Return the mean relative squared error "what|from what" of the best regression on each dictionary.

    Ref: purification, Rem 8.2
    """
    means = {}
    for source, atoms in dictionaries.items():
        errors = span_error(torch.cat(list(targets.values())), atoms)
        sizes = [len(rows) for rows in targets.values()]
        for name, single in zip(targets, errors.split(sizes), strict=True):
            means[f"{name}|{source}"] = float(single.mean())
    return means
