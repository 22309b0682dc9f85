"""The command probe: two checkpoints of a user's own net, and what training changed between them."""

from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli.errors import bad_input
from karat.cli.inputs import (
    BoxText,
    DataSource,
    ModelName,
    Norm,
    TrustPickle,
    allow_own_code,
    parse_box,
    parse_numbers,
    require_folder,
    stage_bar,
)
from karat.cli.options import Json
from karat.cli.output import print_json, print_pairs, print_table

if TYPE_CHECKING:
    from karat.yours import Probe
    from karat.yours.probe.comparison import Comparison


def probe(
    before: Annotated[Path, typer.Option(help="Checkpoint before: .pt, .pth or .safetensors.")],
    after: Annotated[Path, typer.Option(help="Checkpoint after, of the same net.")],
    model: ModelName,
    data: DataSource,
    init: Annotated[Path | None, typer.Option(help="Checkpoint at the start of training, if kept.")] = None,
    p: Norm = "2",
    tau: Annotated[float, typer.Option(help="Radius of the attacks.")] = 0.5,
    box: BoxText = None,
    image: Annotated[
        str | None, typer.Option(metavar="C,H,W", help="Shape of pictures that are given as vectors.")
    ] = None,
    samples: Annotated[int | None, typer.Option(help="Inputs that are attacked; default 200.")] = None,
    sigma: Annotated[float | None, typer.Option(help="Noise of randomised smoothing.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few inputs and steps, to see that it runs.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of random starts and draws.", min=0, max=2**63 - 1)] = 0,
    trust_pickle: TrustPickle = False,
    out: Annotated[Path, typer.Option(help="Folder of the page and the JSON file.")] = Path("probe"),
    json: Json = False,
) -> None:
    """Show what training changed between two checkpoints: one page, one JSON file, plain sentences.\f

    Args:
        before: checkpoint before.
        after: checkpoint after.
        model: what makes the net.
        data: file or set with samples and labels.
        init: checkpoint at the start of training.
        p: norm of the ball.
        tau: its radius.
        box: range of the inputs.
        image: shape of pictures that are given as vectors.
        samples: inputs that are attacked.
        sigma: noise of randomised smoothing.
        quick: few inputs and steps.
        seed: of random starts and draws.
        trust_pickle: open files that run code.
        out: folder of the page and the JSON file.
        json: print strict JSON.
    """
    import torch

    from karat.core.ball import Ball
    from karat.core.norms import exponent
    from karat.report.folders import without_folders
    from karat.yours.probe.measure import measure_changes

    allow_own_code()
    checkpoints = {"before": before, "after": after} | ({"start": init} if init else {})
    with ExitStack() as stack:
        with bad_input():
            ball = Ball(exponent(p), tau, parse_box(box))
            settings = _settings(quick, samples, sigma)
            comparison = stack.enter_context(_compared(model, checkpoints, data, image, trust_pickle))
            require_folder(out, "--out")
        listener = stack.enter_context(stage_bar("probe"))
        changes = measure_changes(
            comparison, ball, settings, generator=torch.Generator().manual_seed(seed), listener=listener
        )
    sources = {role: path.name for role, path in checkpoints.items()}
    sources |= {"model": without_folders(model), "data": Path(data).name}
    page = changes.write(out, sources)
    if json:
        print_json(changes.to_json() | {"names": sources, "page": str(page)})
    else:
        _print(changes, page)


def _compared(
    model: str, checkpoints: dict[str, Path], data: str, image: str | None, trust_pickle: bool
) -> AbstractContextManager["Comparison"]:
    """Load the nets and the data, and find out whether they fit together."""
    from karat.data.loading import load_samples
    from karat.nets.loading import load_model
    from karat.yours.probe.comparison import compared

    shape = [int(n) for n in parse_numbers(image, "--image", "C,H,W", int)]
    nets = {role: load_model(model, path, trust_pickle=trust_pickle) for role, path in checkpoints.items()}
    samples = load_samples(data, trust_pickle=trust_pickle)
    size = (shape[0], shape[1], shape[2]) if shape else None
    return compared(nets["before"], nets["after"], samples, nets.get("start"), size)


def _settings(quick: bool, samples: int | None, sigma: float | None) -> Any:
    from dataclasses import replace

    from karat.yours import ProbeSettings

    settings = ProbeSettings.tiny() if quick else ProbeSettings()
    settings = settings if samples is None else replace(settings, samples=samples)
    return settings if sigma is None else replace(settings, sigma=sigma)


def _print(changes: "Probe", page: Path) -> None:
    print_table(
        ["answer", "question", "what was found"],
        [[item.answer, f"{item.topic}?", item.text] for item in changes.summary],
    )
    print_pairs([("page", str(page)), ("numbers", str(page.with_suffix(".json")))])
