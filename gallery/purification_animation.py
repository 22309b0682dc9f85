"""A training run as a GIF: neurons win their features, grow a dense mixture, and are purified again."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.figure import Figure

from karat.attacks import Steepest, run_attack
from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.odd_net_config import RANDOM_START, OddNetConfig
from karat.papers.purification.figures.drawings import KARAT, LEAST
from karat.probes.dense_mixture import split_mixture
from karat.probes.live_rows import grown_neurons
from karat.study.drawing.style import INK, finish
from karat.training.odd import OddClassifier

SCALES = {
    "tiny": (replace(RANDOM_START, d=40, k=10, batch=256, clean_steps=60, robust_steps=10, n_test=200), 10),
    "quick": (replace(RANDOM_START, d=100, k=20, batch=1024), 6),
    "full": (RANDOM_START, 3),
}


def frames(config: OddNetConfig, every: int) -> list[dict[str, Any]]:
    """Pure part and mixture of all neurons at every few steps of both trainings."""
    draws = split(torch.Generator().manual_seed(0), 6)
    model = config.draw_model(draws[0])
    test = model.sample(config.n_test, generator=draws[1], dtype=torch.float32)
    ball, seen = config.ball(model), []

    def observe(step: int, net: OddTwoLayer, phase: str) -> dict[str, Any]:
        part, classifier = split_mixture(net.W, model.M, model.w_star), OddClassifier(net)
        return {
            "phase": phase,
            "step": step,
            "pure": part.pure_norm.numpy(),
            "dense": part.along.numpy(),
            "clean": float((classifier.margin(test.x, test.y) > 0).double().mean()),
            "attacked": 1 - run_attack(Steepest(), classifier, test.x, test.y, ball).error,
        }

    net = config.draw_net(model, draws[2])
    for phase, trainer, steps, own, stride in (
        ("clean training", config.clean_trainer(), config.clean_steps, draws[3], every),
        ("adversarial training", config.robust_trainer(model), config.robust_steps, draws[4], 1),
    ):
        net, rows = trainer.run(
            net,
            config.batches(model, own),
            steps=steps,
            observe=lambda step, now, phase=phase: observe(step, now, phase),
            observe_at=range(0, steps + 1, stride),
        )
        seen += [row for _, row in rows]
    live = grown_neurons(net.W, -float(net.b)).numpy()
    return [row | {"pure": row["pure"][live], "dense": row["dense"][live]} for row in seen]


def animate(rows: list[dict[str, Any]]) -> tuple[Figure, FuncAnimation]:
    """One panel whose points move, with both accuracies below the title."""
    figure = Figure(figsize=(6.0, 4.4), layout="constrained")
    ax = figure.add_subplot()
    wide = 1.1 * max(float(np.quantile(row["pure"], 0.93)) for row in rows)
    high = 1.15 * max(float(np.quantile(row["dense"], 0.93)) for row in rows)
    ax.axhline(0, color="#FFD75E", linewidth=5, alpha=0.55, zorder=0)
    points = ax.scatter(
        [], [], c=[], cmap=KARAT, vmin=LEAST, vmax=24, s=26, linewidths=0.35, edgecolors="#3A3A3A"
    )
    ax.set_xlim(0, wide)
    ax.set_ylim(-0.2 * high, high)
    finish(ax, x="pure part", y="dense mixture along $Mw^\\star$", legend=False)
    title = ax.set_title("", loc="left", fontsize=12, fontweight="bold", color=INK, pad=20)
    text = ax.text(0, 1.02, "", transform=ax.transAxes, fontsize=9.5, color=INK)
    bar = figure.colorbar(points, ax=ax, shrink=0.85, aspect=28, pad=0.015)
    bar.set_label("purity in karat", color=INK)
    bar.outline.set_visible(False)

    def draw(index: int) -> list[Any]:
        row = rows[min(index, len(rows) - 1)]
        points.set_offsets(np.column_stack([row["pure"], row["dense"]]))
        points.set_array(24 * row["pure"] ** 2 / np.maximum(row["pure"] ** 2 + row["dense"] ** 2, 1e-12))
        title.set_text(f"{row['phase']}, step {row['step']}".capitalize())
        text.set_text(f"accuracy {row['clean']:.0%}, under FGM {row['attacked']:.0%}")
        return [points, title, text]

    draw(len(rows) - 1)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laid out once, not anew for every frame
    # The last frame stays for two seconds.
    return figure, FuncAnimation(figure, draw, frames=len(rows) + 24)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", default="quick", choices=list(SCALES))
    parser.add_argument("--out", type=Path, default=Path("gallery/pictures"), help="folder for the GIF file")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    config, every = SCALES[options.scale]
    _, animation = animate(frames(config, every))
    animation.save(options.out / "purification.gif", writer=PillowWriter(fps=12), dpi=80)


if __name__ == "__main__":
    main()
