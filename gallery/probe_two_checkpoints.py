"""What adversarial training changed inside a small convolutional net: a page, and its angles as a picture."""

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn

import karat
from karat.data.images import load_images
from karat.yours import ProbeSettings
from karat.yours.probe.charts import draw_weights

STEPS = {"tiny": (20, 5), "quick": (600, 200), "full": (3000, 1000)}
BALL = karat.Ball(2, 1.0)


def make_net() -> nn.Module:
    """Any torch.nn.Module will do; karat knows nothing of this one."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 7, stride=2, padding=3), nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
        nn.AvgPool2d(3), nn.Flatten(), nn.Linear(128, 10),
    )  # fmt: skip


def train(net: nn.Module, x: Tensor, y: Tensor, steps: int, lr: float, *, robust: bool) -> nn.Module:
    optimiser = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9, weight_decay=2e-3)
    for _ in range(steps):
        rows = torch.randint(0, len(x), (128,))
        batch, labels = x[rows], y[rows]
        if robust:
            batch = batch + karat.attack(net, batch, labels, BALL, "pgd", steps=3).delta
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(batch), labels).backward()
        optimiser.step()
    return net


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", default="quick", choices=list(STEPS))
    parser.add_argument("--out", type=Path, default=Path("gallery/pictures"), help="folder of page and PNG")
    options = parser.parse_args()
    torch.manual_seed(0)
    clean_steps, robust_steps = STEPS[options.scale]
    x, y = load_images("digits", train=True)
    nets = {"init": make_net(), "clean": make_net(), "robust": make_net()}
    nets["clean"].load_state_dict(nets["init"].state_dict())
    train(nets["clean"], x, y, clean_steps, 0.05, robust=False)
    nets["robust"].load_state_dict(nets["clean"].state_dict())
    train(nets["robust"], x, y, robust_steps, 0.02, robust=True)
    found = karat.probe(
        nets["clean"],
        nets["robust"],
        load_images("digits", train=False),
        BALL,
        init=nets["init"],
        settings=ProbeSettings.tiny() if options.scale == "tiny" else ProbeSettings(),
    )
    print(*(f"{sentence.answer:8}{sentence.text}" for sentence in found.summary), sep="\n")
    print(found.write(options.out / "probe", {"before": "clean", "after": "robust", "start": "init"}))
    draw_weights(found.to_json()).savefig(options.out / "probe_two_checkpoints.png", dpi=150)


if __name__ == "__main__":
    main()
