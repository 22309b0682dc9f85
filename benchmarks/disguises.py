"""Models that are not what their layers say, and models at degenerate scales, for the soundness benchmark.

A disguised model computes something else than the plain layers it is made of (a subclass, a hook, a `forward`
of its own, ...) or is unusual but honest (a layer used twice). `certify` may refuse it; what it calls robust
must be robust for the model that was given. A degenerate model has weights, inputs and radii that differ by
up to 24 decades, or logits that are equal up to rounding; it is compared in exact rational arithmetic.
"""

import math
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook
from torch.nn.utils import parametrize

from karat.certificates import Certificate, UnsupportedLayer, certify
from karat.core import Ball, Relu
from karat.nets import TwoLayer, to_module
from karat.nets.module import NetModule

Disguise = Callable[[nn.Sequential, Tensor, ExitStack], Any]
PER_MODEL = 8
_DEPTH = 400.0  # of the spike that a disguise puts into the ball
_WIDTH = 0.08


def spike(x: Tensor, centre: Tensor) -> Tensor:
    """(n, 1) a deep narrow hole around a point, invisible from the samples."""
    return _DEPTH * torch.relu(_WIDTH - (x.flatten(1) - centre.to(x)).norm(dim=1, keepdim=True))


def _subclass(kind: type, change: Callable[[Tensor], Tensor]) -> type:
    """A subclass that changes what it is given."""

    def forward(self: nn.Module, x: Tensor) -> Tensor:
        return kind.forward(self, change(x))  # type: ignore[attr-defined]

    return type(f"Odd{kind.__name__}", (kind,), {"forward": forward})


def _holed(net: nn.Sequential, hole: Tensor, _: ExitStack) -> nn.Module:
    class Holed(nn.Sequential):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) - spike(x, hole)

    return Holed(*net)


def _hooked(net: nn.Sequential, hole: Tensor, _: ExitStack) -> nn.Module:
    net.register_forward_hook(lambda module, inputs, output: output - spike(inputs[0], hole))
    return net


def _pre_hooked(net: nn.Sequential, hole: Tensor, _: ExitStack) -> nn.Module:
    net[1].register_forward_pre_hook(lambda module, inputs: (-inputs[0],))
    return net


def _globally_hooked(net: nn.Sequential, hole: Tensor, stack: ExitStack) -> nn.Module:
    def flip(module: nn.Module, inputs: Any, output: Tensor) -> Tensor | None:
        return -output if isinstance(module, nn.ReLU) else None

    stack.callback(register_module_forward_hook(flip).remove)
    return net


def _backward_hooked(net: nn.Sequential, hole: Tensor, _: ExitStack) -> nn.Module:
    deep = nn.Sequential(net[0], nn.ReLU(), nn.Linear(net[0].out_features, 4), nn.ReLU(), nn.Linear(4, 1))
    deep[2].register_full_backward_hook(
        lambda module, given, out: tuple(None if g is None else 0 * g for g in given)
    )
    return deep


def _own_forward(net: nn.Sequential, hole: Tensor, _: ExitStack) -> nn.Module:
    plain = net.forward
    net.forward = lambda x: plain(x) - spike(x, hole)  # type: ignore[method-assign]
    return net


def _odd_layer(kind: type) -> Disguise:
    def disguise(net: nn.Sequential, hole: Tensor, _: ExitStack) -> nn.Module:
        odd = _subclass(kind, torch.neg)
        if kind is nn.Linear:
            layer = odd(net[0].in_features, net[0].out_features)
            layer.load_state_dict(net[0].state_dict())
            return nn.Sequential(layer, *list(net)[1:])
        if kind is nn.ReLU:
            return nn.Sequential(net[0], odd(), net[2])
        return nn.Sequential(net[0], odd(), *list(net)[1:])

    return disguise


class _Minus(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return -weight


def _parametrised(net: nn.Sequential, hole: Tensor, _: ExitStack) -> nn.Module:
    parametrize.register_parametrization(net[2], "weight", _Minus())
    return net


def _exchanged_class(net: nn.Sequential, hole: Tensor, stack: ExitStack) -> nn.Module:
    plain = nn.ReLU.forward
    stack.callback(setattr, nn.ReLU, "forward", plain)
    nn.ReLU.forward = lambda self, x: -plain(self, x)  # type: ignore[method-assign]
    return net


def _shared(net: nn.Sequential, hole: Tensor, _: ExitStack) -> nn.Module:
    """Honest: one ReLU used twice is two layers."""
    relu, width = nn.ReLU(), net[0].out_features
    return nn.Sequential(net[0], relu, nn.Linear(width, width), relu, nn.Linear(width, 1))


def _negative_pooling(net: nn.Sequential, hole: Tensor, _: ExitStack) -> nn.Module:
    return nn.Sequential(nn.AvgPool2d(1, divisor_override=-1), nn.Flatten(), *net)  # takes (n, 1, 1, d)


def _own_net(net: nn.Sequential, hole: Tensor, _: ExitStack) -> Any:
    class Holed(TwoLayer):
        def __call__(self, x: Tensor) -> Tensor:
            return super().__call__(x) - spike(x, hole).squeeze(1)

    return Holed(**_two_layer(net))


def _own_module(net: nn.Sequential, hole: Tensor, _: ExitStack) -> Any:
    class Holed(NetModule):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) - spike(x, hole).squeeze(1)

    return Holed(TwoLayer(**_two_layer(net)))


def _hooked_module(net: nn.Sequential, hole: Tensor, _: ExitStack) -> Any:
    module = to_module(TwoLayer(**_two_layer(net)))
    module.register_forward_hook(lambda module, inputs, output: output - spike(inputs[0], hole).squeeze(1))
    return module


def _own_activation(net: nn.Sequential, hole: Tensor, _: ExitStack) -> Any:
    class Minus(Relu):
        def __call__(self, z: Tensor) -> Tensor:
            return -super().__call__(z)

    return TwoLayer(**_two_layer(net), activation=Minus())


def _two_layer(net: nn.Sequential) -> dict[str, Tensor]:
    first, last = net[0], net[2]
    return {
        "W": first.weight.detach(),
        "a": last.weight.detach()[0],
        "b": first.bias.detach(),
        "c": last.bias.detach()[0],
    }


DISGUISES: dict[str, Disguise] = {
    "subclass of Sequential": _holed,
    "forward hook": _hooked,
    "forward pre-hook": _pre_hooked,
    "hook on all modules": _globally_hooked,
    "backward hook": _backward_hooked,
    "forward of its own": _own_forward,
    "subclass of Linear": _odd_layer(nn.Linear),
    "subclass of ReLU": _odd_layer(nn.ReLU),
    "subclass of Identity": _odd_layer(nn.Identity),
    "subclass of Dropout": _odd_layer(nn.Dropout),
    "parametrisation": _parametrised,
    "exchanged class": _exchanged_class,
    "layer used twice": _shared,
    "negative divisor": _negative_pooling,
    "subclass of TwoLayer": _own_net,
    "subclass of NetModule": _own_module,
    "hooked NetModule": _hooked_module,
    "subclass of Relu": _own_activation,
}


def check_disguise(name: str, *, generator: torch.Generator) -> Counter[str]:
    """Certify one disguised model; `false` counts samples called robust on which the model itself errs."""
    d = 1 + int(torch.randint(3, (), generator=generator))
    net = nn.Sequential(nn.Linear(d, 8), nn.ReLU(), nn.Linear(8, 1)).double()
    for p in net.parameters():
        p.data = torch.randn(p.shape, generator=generator, dtype=torch.float64)
    x = 0.3 * torch.randn(PER_MODEL, d, generator=generator, dtype=torch.float64)
    hole = x[0] + 0.1
    with ExitStack() as stack:
        model = DISGUISES[name](net, hole, stack)
        x = x.reshape(-1, 1, 1, d) if name == "negative divisor" else x
        model = model.double().eval() if isinstance(model, nn.Module) else model
        with torch.no_grad():
            y = torch.sign(model(x).reshape(-1))
        y[y == 0] = 1.0
        ball = Ball(2, 0.25)
        count = Counter({"disguised": len(x)})
        try:
            found = certify(model, x, y, ball, domains_per_sample=20, generator=generator)
        except (UnsupportedLayer, TypeError):
            return count + Counter({"disguised, refused": len(x)})
        except Exception as error:
            return count + Counter({"violations of disguises (crash)": len(x), f"crash: {error}"[:120]: 1})
        robust = torch.tensor([status == "robust" for status in found.status])
        errs = torch.zeros(len(x), dtype=torch.bool)
        for _ in range(60):
            delta = ball.sample(x, generator=generator)
            with torch.no_grad():
                errs |= model(x + delta).reshape(-1) * y < -1e-9
        with torch.no_grad():
            at_hole = model(hole.reshape(1, *x.shape[1:])).reshape(-1)
        near = (x.flatten(1) - hole).norm(dim=1) <= 0.25
        errs |= near & (at_hole * y < -1e-9)
    return count + Counter({"violations of disguises": int((robust & errs).sum())})


def check_degenerate(*, generator: torch.Generator) -> Counter[str]:
    """Certify one model at odd scales; every status and bound is checked in rational arithmetic."""

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def decade(reach: float = 12.0) -> float:
        return float(10 ** (reach * (2 * torch.rand((), generator=generator, dtype=torch.float64) - 1)))

    d, m, logits = (1 + int(torch.randint(top, (), generator=generator)) for top in (3, 5, 3))
    net = nn.Sequential(nn.Linear(d, m), nn.ReLU(), nn.Linear(m, logits)).double()
    size = decade()
    for part, scale in ((net[0], decade()), (net[2], decade())):
        part.weight.data, part.bias.data = (
            scale * draw(*part.weight.shape),
            scale * size * draw(*part.bias.shape),
        )
    kind = int(torch.randint(4, (), generator=generator))
    if kind == 0 and logits > 1:  # logits equal up to rounding
        net[2].weight.data[1:] = net[2].weight.data[:1] * (1 + 1e-13 * draw(logits - 1, m))
        net[2].bias.data[1:] = net[2].bias.data[:1]
    elif kind == 1:  # a constant, often zero
        net[0].weight.data.zero_()
        net[2].bias.data.zero_()
    x = size * draw(PER_MODEL, d)
    p = (1.0, 2.0, math.inf)[int(torch.randint(3, (), generator=generator))]
    box = (float(x.min()), float(x.max())) if kind == 2 else None
    tau = size * decade(3.0 if kind else 12.0)
    with torch.no_grad():
        output = net(x)
    y = torch.where(output[:, 0] < 0, -1.0, 1.0).double() if logits == 1 else output.argmax(dim=1)
    count = Counter({"degenerate": len(x)})
    try:
        found = certify(net, x, y, Ball(p, tau, box), domains_per_sample=20, generator=generator)
    except ValueError as error:
        if "rescale" in str(error):
            return count + Counter({"degenerate, refused": len(x)})
        raise
    except Exception as error:
        return count + Counter(
            {"violations of degenerate scales (crash)": len(x), f"crash: {error}"[:120]: 1}
        )
    wrong = sum(_wrong(net, x[i], y[i], Ball(p, tau, box), found, i, generator) for i in range(len(x)))
    count["degenerate, decided"] = sum(status in ("robust", "broken") for status in found.status)
    return count + Counter({"violations of degenerate scales": wrong})


def _wrong(
    net: nn.Sequential,
    x: Tensor,
    y: Tensor,
    ball: Ball,
    found: Certificate,
    i: int,
    generator: torch.Generator,
) -> bool:
    """Whether rational arithmetic contradicts the bracket, the status or the witness of one sample."""
    witness = found.delta[i]
    moves = ball.sample(x.expand(6, -1), generator=generator) * (1 - 1e-12)
    if ball.box is not None:
        moves = (x + moves).clamp(*ball.box) - x
    points = [move for move in (*moves, witness, torch.zeros_like(x)) if exactly_inside(move, x, ball)]
    margins = [exact_margin(net, x, move, int(y)) for move in points]
    lower = float(found.lower[i])
    beaten = math.isfinite(lower) and any(Fraction(lower) > margin for margin in margins)
    false_proof = found.status[i] == "robust" and any(margin <= 0 for margin in margins)
    false_break = found.status[i] == "broken" and exact_margin(net, x, witness, int(y)) >= 0
    return beaten or false_proof or false_break or not exactly_inside(witness, x, ball)


def exactly_inside(delta: Tensor, x: Tensor, ball: Ball) -> bool:
    """Whether a perturbation is allowed, for real numbers."""
    parts, tau = [abs(Fraction(v)) for v in delta.tolist()], Fraction(float(ball.tau))
    if ball.p == 1:
        fits = sum(parts) <= tau
    else:
        fits = sum(v * v for v in parts) <= tau * tau if ball.p == 2 else max(parts) <= tau
    if ball.box is None:
        return fits
    moved = [Fraction(a) + Fraction(b) for a, b in zip(x.tolist(), delta.tolist(), strict=True)]
    return fits and all(Fraction(ball.box[0]) <= v <= Fraction(ball.box[1]) for v in moved)


def exact_margin(net: nn.Sequential, x: Tensor, delta: Tensor, y: int) -> Fraction:
    """The margin of Linear, ReLU, Linear at x + delta without any rounding."""
    values = [Fraction(a) + Fraction(b) for a, b in zip(x.tolist(), delta.tolist(), strict=True)]
    values = [max(v, Fraction(0)) for v in _exact_layer(net[0], values)]
    logits = _exact_layer(net[2], values)
    if len(logits) == 1:
        return y * logits[0]
    return logits[y] - max(logits[:y] + logits[y + 1 :])


def _exact_layer(layer: Any, values: list[Fraction]) -> list[Fraction]:
    rows, bias = layer.weight.detach().tolist(), layer.bias.detach().tolist()
    return [
        Fraction(b) + sum((Fraction(w) * v for w, v in zip(row, values, strict=True)), Fraction(0))
        for row, b in zip(rows, bias, strict=True)
    ]


def run(problems: int, *, seed: int) -> Counter[str]:
    """At least so many problems, half of them disguised, half at degenerate scales."""
    generator = torch.Generator().manual_seed(seed)
    total: Counter[str] = Counter()
    names, number = list(DISGUISES), seed
    while total["disguised"] + total["degenerate"] < problems:
        total.update(check_disguise(names[number % len(names)], generator=generator))
        total.update(check_degenerate(generator=generator))
        number += 1
    return total
