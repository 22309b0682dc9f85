"""The command certify: a user's model, checkpoint and data, and the bracket of its robust error."""

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli.errors import BAD_INPUT, Failure, bad_input
from karat.cli.options import Json
from karat.cli.output import print_json, print_pairs, print_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor

    from karat.certificates import Certificate, ErrorBracket

KINDS = ("linear", "two_layer", "odd_two_layer")


def certify(
    model: Annotated[str, typer.Option(help=f"{', '.join(KINDS)}, or package.module:FUNCTION of your own.")],
    data: Annotated[str, typer.Option(help="File .npz or .pt with x and y, or `digits`.")],
    tau: Annotated[float, typer.Option(help="Radius of the ball.")],
    checkpoint: Annotated[Path | None, typer.Option(help="File .pt or .npz with the weights.")] = None,
    p: Annotated[str, typer.Option(help="Norm of the ball: 1, 2 or inf.")] = "2",
    box: Annotated[str | None, typer.Option(metavar="LOW,HIGH", help="Range of the inputs.")] = None,
    activation: Annotated[str, typer.Option(help="Of a two_layer net without settings.")] = "relu",
    scale: Annotated[float, typer.Option(help="Output scale of a two_layer net.")] = 1.0,
    samples: Annotated[int, typer.Option(help="How many samples, from the first on.")] = 100,
    seconds: Annotated[float, typer.Option(help="Search time per sample.")] = 3.0,
    radii: Annotated[int, typer.Option(help="Points of the curve up to tau; 1 for none.")] = 4,
    json: Json = False,
) -> None:
    """Bracket the robust error of a model: strongest attack below, certificate above."""
    from karat import certificates as layer
    from karat.core.ball import Ball
    from karat.core.norms import exponent
    from karat.version import __version__

    with bad_input():
        if samples < 1 or radii < 1:
            raise ValueError("`--samples` and `--radii` must be whole numbers >= 1.")
        ball = Ball(exponent(p), tau, _box(box))
        net = load_model(model, checkpoint, activation, scale)
        x, y = load_samples(data, samples)
        with _progress(sys.stderr.isatty()) as listener:
            found = layer.certify(net, x, y, ball, seconds, listener=listener)
            shares = [tau * (k + 1) / radii for k in range(radii - 1)]
            curve = layer.bracket_curve(net, x, y, ball, shares, seconds, listener=listener) if shares else []
    curve = [*curve, layer.bracket(found)]
    lines = list(zip([*shares, tau], curve, strict=True))
    if json:
        print_json(_json(found, lines) | {"p": p, "tau": tau, "version": __version__})
    else:
        _print(found, lines)


def load_model(kind: str, checkpoint: Path | None, activation: str, scale: float) -> Any:
    """A karat net from the tensors of a file, or the user's own function called, its weights loaded."""
    import importlib

    from karat.nets import NETS

    tensors = {} if checkpoint is None else _tensors(checkpoint)
    if ":" in kind:
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        module, _, name = kind.partition(":")
        try:
            build = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise Failure(f"`--model`: {error}.", BAD_INPUT) from error
        model = build()
        if tensors:
            model.load_state_dict(tensors)
        return model
    if kind not in KINDS:
        raise Failure(
            f"`--model` must be one of {', '.join(KINDS)} or module:FUNCTION, got {kind!r}.", BAD_INPUT
        )
    if not tensors:
        raise Failure(f"`--model {kind}` needs its weights: pass `--checkpoint`.", BAD_INPUT)
    settings: dict[str, Any] = {name: tensor.double() for name, tensor in tensors.items()}
    if kind == "two_layer":
        settings |= {"activation": _activation(activation), "scale": scale}
    try:
        return NETS[kind](**settings)
    except TypeError as error:
        raise Failure(f"`--checkpoint` does not fit `{kind}`: {error}.", BAD_INPUT) from error


def load_samples(source: str, count: int) -> "tuple[Tensor, Tensor]":
    """The first inputs and labels of a file, or of the digits' test set."""
    if source == "digits":
        from karat.data.digits import default_source, load_digits

        found = load_digits(default_source(), train=False)
        return found.x[:count], found.y[:count]
    tensors = _tensors(Path(source))
    missing = [name for name in ("x", "y") if name not in tensors]
    if missing:
        raise Failure(f"`{source}` must hold `x` and `y`; `{missing[0]}` is missing.", BAD_INPUT)
    return tensors["x"][:count].double(), tensors["y"][:count]


def _activation(name: str) -> Any:
    from karat.core.activations import ACTIVATIONS

    if name not in ACTIVATIONS:
        raise Failure(f"`--activation` must be one of {', '.join(ACTIVATIONS)}, got {name!r}.", BAD_INPUT)
    try:
        return ACTIVATIONS[name]()
    except TypeError:
        raise Failure(
            f"`--activation {name}` has settings; use your own module:FUNCTION.", BAD_INPUT
        ) from None


def _box(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    low, _, high = text.partition(",")
    try:
        return float(low), float(high)
    except ValueError:
        raise Failure(f"`--box` must be LOW,HIGH, got {text!r}.", BAD_INPUT) from None


def _tensors(path: Path) -> "dict[str, Tensor]":
    """Tensors by name from .npz or .pt; no code of the file is executed."""
    import pickle

    import numpy as np
    import torch

    try:
        if path.suffix == ".npz":
            with np.load(path) as file:
                return {name: torch.from_numpy(file[name]) for name in file.files}
        loaded = torch.load(path, weights_only=True)
    except (pickle.UnpicklingError, RuntimeError) as error:
        raise Failure(
            f"`{path}` cannot be read as tensors: {str(error).splitlines()[0]}", BAD_INPUT
        ) from error
    if not isinstance(loaded, dict):
        raise Failure(f"`{path}` must hold tensors by name.", BAD_INPUT)
    return dict(loaded)


@contextmanager
def _progress(show: bool) -> "Iterator[Callable[[str, int, int], None] | None]":
    if not show:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("certify", total=1)
        yield lambda stage, done, total: bar.update(task, description=stage, completed=done, total=total)


def _print(found: "Certificate", lines: "list[tuple[float, ErrorBracket]]") -> None:
    from karat.certificates import STATUSES

    titles = ["radius", "broken", "tie", "undecided", "robust error", "95 % interval"]
    rows = [
        [
            f"{radius:.4g}",
            str(curve.broken),
            str(curve.ties),
            str(curve.undecided),
            f"[{curve.low:.3f}, {curve.high:.3f}]",
            f"[{curve.interval.low:.3f}, {curve.interval.high:.3f}]",
        ]
        for radius, curve in lines
    ]
    print_table(titles, rows)
    counts = ", ".join(f"{found.count(status)} {status}" for status in STATUSES)
    spent = ", ".join(f"{name} {time:.2f} s" for name, time in found.seconds.items())
    print_pairs([("samples", f"{len(found)}: {counts}"), ("time", spent)])


def _json(found: "Certificate", lines: "list[tuple[float, ErrorBracket]]") -> dict[str, Any]:
    from dataclasses import asdict

    from karat.certificates import STATUSES

    return {
        "counts": {status: found.count(status) for status in STATUSES},
        "status": found.status,
        "lower": found.lower.tolist(),
        "upper": found.upper.tolist(),
        "seconds": found.seconds,
        "curve": [{"radius": radius} | asdict(curve) for radius, curve in lines],
    }
