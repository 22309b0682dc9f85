"""The command certify: a user's model, checkpoint and data, and the bracket of its robust error."""

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from karat.cli.certify_inputs import KINDS, load_inputs, load_net, read_box, read_radii, require_paths
from karat.cli.certify_outcome import Outcome
from karat.cli.errors import bad_input
from karat.cli.options import Json
from karat.cli.output import print_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ModelName = Annotated[
    str,
    typer.Option(
        help=f"package.module:FUNCTION or file.py:FUNCTION of your own, imported: its code is run; "
        f"or {', '.join(KINDS)}."
    ),
]
Data = Annotated[
    str, typer.Option(help="File with x and y (.npz, .pt, .safetensors), or a set such as digits01.")
]
Tau = Annotated[str | None, typer.Option(help="Radius of the ball, or a file with `tau`, one per sample.")]
Taus = Annotated[str | None, typer.Option(metavar="R1,R2,...", help="Radii of the curve.")]
Checkpoint = Annotated[
    Path | None, typer.Option(help="Weights; left out if the function returns a trained model.")
]


def certify(
    model: ModelName,
    data: Data,
    tau: Tau = None,
    taus: Taus = None,
    checkpoint: Checkpoint = None,
    p: Annotated[str, typer.Option(help="Norm of the ball: 1, 2 or inf.")] = "2",
    box: Annotated[str | None, typer.Option(metavar="LOW,HIGH", help="Range of the inputs.")] = None,
    samples: Annotated[int, typer.Option(help="How many samples, evenly spaced over the data.")] = 100,
    seconds: Annotated[float, typer.Option(help="Search time per sample and radius.")] = 3.0,
    minimal: Annotated[bool, typer.Option("--minimal", help="Smallest adversarial radii, too.")] = False,
    figure: Annotated[Path | None, typer.Option(help="Draw the curve: .png, .svg or .pdf.")] = None,
    witnesses: Annotated[Path | None, typer.Option(help="Save perturbations to this .npz.")] = None,
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Open files that run code; only from people you trust.")
    ] = False,
    json: Json = False,
) -> None:
    """Bracket the robust error of a model: strongest attack below, certificate above."""
    with bad_input():
        require_paths(figure, witnesses)
        limits = read_box(box)
        net = load_net(model, checkpoint, trust_pickle)
        x, y, chosen, count = load_inputs(data, net, samples, trust_pickle)
        radii = read_radii(tau, taus, chosen, count, trust_pickle)
        from karat import certificates as layer
        from karat.core.ball import Ball
        from karat.core.norms import exponent
        from karat.lab.execute import one_thread

        ball = Ball(exponent(p), radii.main if radii.own is None else radii.own, limits)
        with one_thread(), _progress(sys.stderr.isatty()) as listener:
            found = layer.certify(net, x, y, ball, seconds, listener=listener)
            known, curve = {radii.main: found}, [found.status]
            if radii.own is None:
                asked = (net, x, y, ball, radii.curve, seconds)
                curve = layer.status_curve(*asked, known=known, listener=listener)
            widest = ball if radii.own is not None else ball.with_tau(max(radii.curve))
            least = layer.minimal_radius_bracket(net, x, y, widest, seconds) if minimal else None
        outcome = Outcome(found, radii, curve, least)
        if figure is not None:
            outcome.draw(figure, ball.p)
        if witnesses is not None:
            outcome.save(witnesses, x, y, chosen)
    if json:
        print_json(outcome.as_json() | {"model": model, "data": data, "p": p, "tau": tau or radii.main})
    else:
        outcome.show([path for path in (figure, witnesses) if path is not None])


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
