"""Robust accuracy of a model karat did not write, against the radius, by three attacks."""

import argparse
from pathlib import Path

import torch

import karat
from karat.study.drawing.style import PALETTE, finish, new_figure

STEPS = {"tiny": 30, "quick": 300, "full": 1000}


def train(samples: karat.data.Samples, steps: int) -> torch.nn.Module:
    """A plain PyTorch net, trained the plain way."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(samples.d, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1)
    ).double()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimiser.zero_grad()
        torch.nn.functional.softplus(-samples.y * model(samples.x).squeeze(1)).mean().backward()
        optimiser.step()
    return model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", default="quick", choices=list(STEPS))
    parser.add_argument("--out", type=Path, default=Path("gallery/pictures"), help="folder for the PNG file")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    mixture = karat.data.NoisyMixture(d=20, signal_norm=2.0, flip_rate=0.0)
    model = train(mixture.sample(200, generator=torch.Generator().manual_seed(0)), STEPS[options.scale])
    test = mixture.sample(500, generator=torch.Generator().manual_seed(1))
    figure, (ax,) = new_figure(1, width=4.5, height=3.2)
    radii = [0.25 * i for i in range(9)]
    for index, method in enumerate(("fgm", "pgd", "strongest")):
        errors = [karat.attack(model, test.x, test.y, karat.Ball(2, tau), method).error for tau in radii]
        accuracy = [1 - error for error in errors]
        ax.plot(radii, accuracy, marker="o", markersize=3, color=PALETTE[index], label=method)
    finish(ax, x="radius (l2)", y="robust accuracy", title="Attacks on a PyTorch model")
    figure.savefig(options.out / "attack_your_model.png", dpi=150)


if __name__ == "__main__":
    main()
