"""The command probe: two checkpoints of a user's own net, and what training changed between them."""

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
    """Show what training changed between two checkpoints: one page, one JSON file, plain sentences."""
    import torch

    from karat.core.ball import Ball
    from karat.core.norms import exponent
    from karat.data.loading import load_samples
    from karat.nets.loading import load_model
    from karat.report.folders import without_folders
    from karat.yours.probe import probe as run

    allow_own_code()
    with bad_input():
        ball = Ball(exponent(p), tau, parse_box(box))
        shape = [int(n) for n in parse_numbers(image, "--image", "C,H,W", int)]
        settings = _settings(quick, samples, sigma)
        names = {"before": before, "after": after} | ({"start": init} if init else {})
        nets = {role: load_model(model, path, trust_pickle=trust_pickle) for role, path in names.items()}
        inputs = load_samples(data, trust_pickle=trust_pickle)
        require_folder(out, "--out")
        with stage_bar("probe") as listener:
            found = run(
                nets["before"],
                nets["after"],
                inputs,
                ball,
                init=nets.get("start"),
                image=(shape[0], shape[1], shape[2]) if shape else None,
                settings=settings,
                generator=torch.Generator().manual_seed(seed),
                listener=listener,
            )
    told = {role: path.name for role, path in names.items()}
    told |= {"model": without_folders(model), "data": Path(data).name}
    page = found.write(out, told)
    if json:
        print_json(found.to_json() | {"names": told, "page": str(page)})
    else:
        _print(found, page)


def _settings(quick: bool, samples: int | None, sigma: float | None) -> Any:
    from dataclasses import replace

    from karat.yours import ProbeSettings

    settings = ProbeSettings.tiny() if quick else ProbeSettings()
    settings = settings if samples is None else replace(settings, samples=samples)
    return settings if sigma is None else replace(settings, sigma=sigma)


def _print(found: "Probe", page: Path) -> None:
    print_table(
        ["answer", "question", "what was found"],
        [[item.answer, f"{item.topic}?", item.text] for item in found.summary],
    )
    print_pairs([("page", str(page)), ("numbers", str(page.with_suffix(".json")))])
