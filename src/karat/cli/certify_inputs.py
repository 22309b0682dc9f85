"""What the command certify is given: a model with its weights, samples with labels, and radii."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from karat.cli.errors import BAD_INPUT, Failure
from karat.cli.inputs import allow_own_code
from karat.errors import reason

if TYPE_CHECKING:
    from torch import Tensor

KINDS = ("linear", "two_layer", "odd_two_layer")
FIGURES = (".png", ".svg", ".pdf")
POINTS = 4  # of the curve when only its end is given


@dataclass(frozen=True, eq=False)
class Radii:
    """One radius for all samples and those of the curve around it, or one radius per sample.

    Args:
        main: the radius that brackets and witnesses are for.
        curve: increasing, holds `main`.
        own: (n,) the samples' own radii; then there is no curve.
    """

    main: float
    curve: tuple[float, ...]
    own: "Tensor | None" = None


def load_net(kind: str, checkpoint: Path | None, trust_pickle: bool) -> Any:
    """The user's model by name, its weights loaded, or a karat net from the tensors of a file.

    Args:
        kind: of a karat net, or module:FUNCTION of the user's own.
        checkpoint: file with its weights.
        trust_pickle: open files that run code.
    """
    from karat.nets import NETS
    from karat.nets.loading import load_model, read_state

    if kind not in KINDS:
        if ":" not in kind:
            raise Failure(
                f"`--model` must be one of {', '.join(KINDS)} or module:FUNCTION, got {kind!r}.", BAD_INPUT
            )
        allow_own_code()
        return load_model(kind, checkpoint, trust_pickle=trust_pickle)
    if checkpoint is None:
        raise Failure(f"`--model {kind}` needs its weights: pass `--checkpoint`.", BAD_INPUT)
    tensors = read_state(checkpoint, trust_pickle=trust_pickle)
    for name, tensor in tensors.items():
        if tensor.is_complex() or not bool(tensor.double().isfinite().all()):
            raise Failure(f"`{name}` of `{checkpoint}` must hold finite real numbers.", BAD_INPUT)
    try:
        return NETS[kind](**{name: tensor.double() for name, tensor in tensors.items()})
    except (TypeError, ValueError) as error:
        raise Failure(f"`{checkpoint}` does not fit `{kind}`: {reason(error)}.", BAD_INPUT) from error


def load_inputs(
    data: str, net: Any, samples: int, trust_pickle: bool
) -> "tuple[Tensor, Tensor, Tensor, int]":
    """Samples and labels as the model wants them, which ones they are, and how many there were.

    Args:
        data: file or name of a set.
        net: the model.
        samples: how many are taken.
        trust_pickle: open files that run code.
    """
    from karat.data.loading import choose_samples

    if samples < 1:
        raise ValueError(f"`--samples` must be a whole number >= 1, got {samples}.")
    chosen = choose_samples(data, samples, trust_pickle=trust_pickle)
    return chosen.x, _labels(net, chosen.x, chosen.y), chosen.places, chosen.total


def read_radii(tau: str | None, taus: str | None, chosen: "Tensor", count: int, trust_pickle: bool) -> Radii:
    """The radii of `--tau` and `--taus`.

    Args:
        tau: of `--tau`.
        taus: of `--taus`.
        chosen: which samples of the data are certified.
        count: how many samples the data have.
        trust_pickle: open files that run code.
    """
    if tau is None and taus is None:
        raise ValueError("a radius is needed: pass `--tau` or `--taus`.")
    if tau is not None and tau.endswith((".npz", ".pt", ".safetensors")):
        if taus is not None:
            raise ValueError("`--taus` needs one radius for all samples, not a file.")
        own = _own_radii(tau, count, trust_pickle)[chosen]
        return Radii(float(own.max()), (), own)
    curve = [] if taus is None else _numbers(taus, "--taus")
    if tau is None:
        return Radii(curve[-1], tuple(curve))
    (main,) = _numbers(tau, "--tau", most=1)
    curve = [main * (k + 1) / POINTS for k in range(POINTS - 1)] if taus is None else curve
    return Radii(main, tuple(sorted({*curve, main})))


def _own_radii(path: str, count: int, trust_pickle: bool) -> "Tensor":
    from karat.core.tensor_files import FileError, plain_tensor, read_tensor_file

    stored = read_tensor_file(path, trust_pickle=trust_pickle)
    if not isinstance(stored, Mapping) or "tau" not in stored:
        raise FileError(f"`{path}` must hold `tau`, one radius per sample.")
    radii = plain_tensor(stored["tau"], "tau", path)
    if radii.shape != (count,):
        raise FileError(f"`tau` of `{path}` must hold {count} radii, got shape {tuple(radii.shape)}.")
    if radii.is_complex() or not bool((radii.double().isfinite() & (radii.double() >= 0)).all()):
        raise FileError(f"`tau` of `{path}` must hold finite numbers >= 0.")
    return radii.double()


def _labels(net: Any, x: "Tensor", y: "Tensor") -> "Tensor":
    """Labels +-1 for one score, class indices for logits; two classes may be written either way."""
    import torch

    from karat.certificates.layers import named_layers
    from karat.nets.module import NetModule
    from karat.nets.outputs import count_outputs, fit_labels

    if not isinstance(net, torch.nn.Module) or isinstance(net, NetModule):
        return fit_labels(y, 1)
    named_layers(net)  # says which layer no certificate knows
    kind = next((q.dtype for q in net.parameters() if q.is_floating_point()), x.dtype)
    try:
        outputs = count_outputs(net, x.to(kind))
    except (RuntimeError, NotImplementedError, IndexError) as error:
        shape = tuple(x.shape[1:])
        raise ValueError(f"the model cannot take inputs of shape {shape}: {reason(error, 200)}.") from error
    return fit_labels(y, outputs)


def _numbers(text: str, option: str, most: int | None = None) -> list[float]:
    try:
        numbers = sorted({float(part) for part in text.split(",")})
    except ValueError:
        numbers = []
    good = all(math.isfinite(number) and number >= 0 for number in numbers)
    if not numbers or not good or (most is not None and len(numbers) > most):
        rule = "finite numbers >= 0 such as 0.1,0.2" if most is None else "a finite number >= 0 or a file"
        raise ValueError(f"`{option}` must be {rule}, got {text!r}.")
    return numbers


def require_paths(figure: Path | None, witnesses: Path | None) -> None:
    """Say before the work, not after it, that a file cannot be written."""
    for option, path, endings in (
        ("--figure", figure, FIGURES),
        ("--witnesses", witnesses, (".npz",)),
    ):
        if path is not None and path.suffix not in endings:
            raise ValueError(f"`{option}` must end in {', '.join(endings)}, got {str(path)!r}.")
        if path is not None and not path.absolute().parent.is_dir():
            raise ValueError(f"`{option}`: there is no folder {path.parent}.")
