"""The command certify: a user's model, checkpoint and data, and the bracket of its robust error."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli.certify_inputs import KINDS, Radii, load_inputs, load_net, read_radii, require_paths
from karat.cli.certify_outcome import Outcome
from karat.cli.errors import bad_input
from karat.cli.inputs import BoxText, DataSource, Norm, TrustPickle, parse_box, stage_bar
from karat.cli.options import Json
from karat.cli.output import print_json

if TYPE_CHECKING:
    from torch import Tensor

    from karat.core.ball import Ball

ModelName = Annotated[
    str,
    typer.Option(
        help=f"package.module:FUNCTION or file.py:FUNCTION of your own, imported: its code is run; "
        f"or {', '.join(KINDS)}.",
        autocompletion=lambda: list(KINDS),
    ),
]
Tau = Annotated[str | None, typer.Option(help="Radius of the ball, or a file with `tau`, one per sample.")]
Taus = Annotated[str | None, typer.Option(metavar="R1,R2,...", help="Radii of the curve.")]
Checkpoint = Annotated[
    Path | None, typer.Option(help="Weights; left out if the function returns a trained model.")
]


def certify(
    model: ModelName,
    data: DataSource,
    tau: Tau = None,
    taus: Taus = None,
    checkpoint: Checkpoint = None,
    p: Norm = "2",
    box: BoxText = None,
    samples: Annotated[int, typer.Option(help="How many samples, evenly spaced over the data.")] = 100,
    seconds: Annotated[float, typer.Option(help="Search time per sample and radius.")] = 3.0,
    minimal: Annotated[bool, typer.Option("--minimal", help="Smallest adversarial radii, too.")] = False,
    figure: Annotated[Path | None, typer.Option(help="Draw the curve: .png, .svg or .pdf.")] = None,
    witnesses: Annotated[Path | None, typer.Option(help="Save perturbations to this .npz.")] = None,
    trust_pickle: TrustPickle = False,
    json: Json = False,
) -> None:
    """Bracket the robust error of a model: strongest attack below, certificate above.\f

    Args:
        model: what makes the net, or the kind of a karat net.
        data: file or set with samples and labels.
        tau: radius of the ball, or a file with one per sample.
        taus: radii of the curve.
        checkpoint: weights of the net.
        p: norm of the ball.
        box: range of the inputs.
        samples: how many are certified.
        seconds: of search per sample and radius.
        minimal: bracket the smallest adversarial radii, too.
        figure: where to draw the curve.
        witnesses: where to save perturbations.
        trust_pickle: open files that run code.
        json: print strict JSON.
    """
    with bad_input():
        require_paths(figure, witnesses)
        limits = parse_box(box)
        net = load_net(model, checkpoint, trust_pickle)
        x, y, chosen, count = load_inputs(data, net, samples, trust_pickle)
        radii = read_radii(tau, taus, chosen, count, trust_pickle)
        from karat.certificates.target import target_of
        from karat.core.ball import Ball
        from karat.core.checks import require_number
        from karat.core.norms import exponent

        require_number(seconds, "seconds", "certify", minimum=0)
        ball = Ball(exponent(p), radii.main if radii.own is None else radii.own, limits)
        target_of(net, x, y, ball)  # what does not fit together is said before the work
    outcome = _bracketed(net, x, y, ball, radii, seconds, minimal)
    if figure is not None:
        outcome.draw(figure, ball.p)
    if witnesses is not None:
        outcome.save(witnesses, x, y, chosen)
    if json:
        print_json(outcome.as_json() | {"model": model, "data": data, "p": p, "tau": tau or radii.main})
    else:
        outcome.show([path for path in (figure, witnesses) if path is not None])


def _bracketed(
    net: Any, x: "Tensor", y: "Tensor", ball: "Ball", radii: Radii, seconds: float, minimal: bool
) -> Outcome:
    from karat import certificates
    from karat.lab.execute import one_thread

    with one_thread(), stage_bar("certify") as listener:
        certificate = certificates.certify(net, x, y, ball, seconds, listener=listener)
        curve, widest, known = [certificate.status], ball, {radii.main: certificate}
        if radii.own is None:
            curve = certificates.status_curve(
                net, x, y, ball, radii.curve, seconds, known=known, listener=listener
            )
            widest = ball.with_tau(max(radii.curve))
        least = certificates.minimal_radius_bracket(net, x, y, widest, seconds) if minimal else None
    return Outcome(certificate, radii, curve, least)
