"""The exact engine against autograd in d dimensions: the same path, not a similar one."""

from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor

from karat.attacks.inner_products.attack import attacked_margins
from karat.attacks.inner_products.gram import gram_net
from karat.attacks.pgd import PGD
from karat.core import ACTIVATIONS, Ball, LeakyRelu, Relu, SmoothLeakyRelu, TruncatedRelu
from karat.core.activations import Activation
from karat.nets.init import pytorch_default, symmetric
from karat.nets.two_layer import TwoLayer
from karat.reductions.span import span_of, train_exact
from karat.training import Adversary, Constant, SquaredNorms, StepDecay, Trainer

ALL = ("W", "a", "b", "c")


@dataclass(frozen=True)
class Case:
    """One training set-up, in the words of the naive loop."""

    activation: Activation = field(default_factory=Relu)
    trainable: tuple[str, ...] = ALL
    bias: bool = True
    momentum: float = 0.0
    decay: float = 0.0
    every: int = 30
    lr: float = 0.3
    tau: float = 0.5
    first_step: int = 0
    symmetric: bool = False
    d: int = 300
    m: int = 64
    n: int = 40
    steps: int = 50

    def trainer(self) -> Trainer:
        attack = PGD(steps=20, step_ratio=0.2, gradient="normalised", keep="last")
        return Trainer(
            lr=StepDecay(self.lr, 0.1, self.every),
            trainable=self.trainable,
            momentum=self.momentum,
            regulariser=SquaredNorms(dict.fromkeys(self.trainable, self.decay / 2)) if self.decay else None,
            adversary=Adversary(attack, Ball(2, self.tau), first_step=self.first_step),
        )

    def problem(self, dtype: torch.dtype = torch.float64) -> tuple[TwoLayer, Tensor, Tensor]:
        generator = torch.Generator().manual_seed(3)
        if self.symmetric:
            net = symmetric(self.d, self.m, 0.05, generator=generator, activation=self.activation)
        else:
            net = pytorch_default(
                self.d, self.m, generator=generator, activation=self.activation, bias=self.bias
            )
        y = torch.randint(2, (self.n,), generator=generator).double() * 2 - 1
        x = torch.randn(self.n, self.d, generator=generator, dtype=torch.float64)
        x[:, 0] += 3 * y
        y = torch.where(torch.rand(self.n, generator=generator) < 0.1, -y, y)
        net = net.replace(**{name: tensor.to(dtype) for name, tensor in net.parameters().items()})
        return net, x.to(dtype), y.to(dtype)


def forward(net: TwoLayer, parameters: dict[str, Tensor], x: Tensor) -> Tensor:
    hidden = x @ parameters["W"].T
    if "b" in parameters:
        hidden = hidden + parameters["b"]
    f = net.scale * (net.activation(hidden) @ parameters["a"])
    return f + parameters["c"] if "c" in parameters else f


def naive_attack(
    net: TwoLayer, parameters: dict[str, Tensor], x: Tensor, y: Tensor, tau: float, steps: int = 20
) -> Tensor:
    delta = torch.zeros_like(x)
    for _ in range(steps):
        delta.requires_grad_()
        (gradient,) = torch.autograd.grad(forward(net, parameters, x + delta).sum(), delta)
        size = gradient.norm(dim=1, keepdim=True)
        step = torch.where(size > 0, gradient / size.clamp_min(1e-300), 0.0)
        delta = delta.detach() - y.unsqueeze(1) * tau / 5 * step
        delta = delta * (tau / delta.norm(dim=1, keepdim=True).clamp_min(1e-30)).clamp_max(1)
    return delta


def naive_training(case: Case, net: TwoLayer, x: Tensor, y: Tensor) -> tuple[dict[str, Tensor], list[float]]:
    """Textbook adversarial training: autograd for everything, in the dimension of the data."""
    parameters = {name: tensor.clone() for name, tensor in net.parameters().items()}
    velocity: dict[str, Tensor] = {}
    losses = []
    for t in range(case.steps):
        delta = naive_attack(net, parameters, x, y, case.tau) if t >= case.first_step else torch.zeros_like(x)
        leaves = {name: tensor.requires_grad_() for name, tensor in parameters.items()}
        loss = torch.nn.functional.softplus(-y * forward(net, leaves, x + delta)).mean()
        losses.append(float(loss.detach()))
        gradients = torch.autograd.grad(loss, [leaves[name] for name in case.trainable])
        lr = case.lr * 0.1 ** (t // case.every)
        parameters = {name: tensor.detach() for name, tensor in leaves.items()}
        for name, gradient in zip(case.trainable, gradients, strict=True):
            gradient = gradient + case.decay * parameters[name]
            velocity[name] = case.momentum * velocity[name] + gradient if name in velocity else gradient
            parameters[name] = parameters[name] - lr * velocity[name]
    return parameters, losses


def relative(have: Tensor, want: Tensor) -> float:
    return float((have - want).norm() / want.norm().clamp_min(1e-300))


CASES = {
    "relu, everything trained": Case(),
    "relu, top frozen, no biases": Case(trainable=("W",), bias=False),
    "leaky relu": Case(activation=LeakyRelu(0.1)),
    "smooth leaky relu": Case(activation=SmoothLeakyRelu(0.2, 3.0), steps=30),
    "truncated relu": Case(activation=TruncatedRelu(), steps=20),
    "momentum": Case(momentum=0.9, lr=0.05, steps=30),
    "momentum and decay": Case(momentum=0.8, decay=0.03, lr=0.05, activation=LeakyRelu(0.2), steps=30),
    "weight decay and schedule": Case(decay=0.1, every=10, lr=0.5),
    "symmetric init, top frozen": Case(symmetric=True, trainable=("W",), first_step=1, lr=2.0),
    "fewer dimensions than weights and samples": Case(d=50, steps=30),
    "only the top layer": Case(trainable=("a", "c"), steps=10),
    "d = 1000": Case(d=1000, m=24, n=16),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_engine_follows_the_path_of_naive_autograd(name: str) -> None:
    case = CASES[name]
    net, x, y = case.problem()
    want, losses = naive_training(case, net, x, y)
    space = span_of(net, x)
    run = train_exact(case.trainer(), space.net, space.x, y, steps=case.steps)
    lifted = space.lift(run.net)
    for parameter, tensor in want.items():
        assert relative(lifted.parameters()[parameter], tensor) < 1e-12, parameter
    torch.testing.assert_close(torch.tensor(run.losses), torch.tensor(losses), rtol=1e-12, atol=1e-15)
    if "W" in case.trainable:
        assert relative(lifted.W - net.W, want["W"] - net.W) < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["relu, everything trained", "momentum and decay", "symmetric init, top frozen"]
)
def test_side_changes_and_dense_products_agree(name: str) -> None:
    case = CASES[name]
    net, x, y = case.problem()
    runs = [train_exact(case.trainer(), net, x, y, steps=30, form=form) for form in ("sides", "dense")]
    for parameter in net.parameters():
        first, second = (run.net.parameters()[parameter] for run in runs)
        assert relative(first, second) < 1e-12


@pytest.mark.slow
def test_weights_need_not_be_kept() -> None:
    case = CASES["relu, everything trained"]
    net, x, y = case.problem()
    further = torch.randn(5, case.d, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    kept = train_exact(case.trainer(), net, x, y, steps=30)
    lean = train_exact(case.trainer(), net, x, y, steps=30, weights=False, track=further)
    assert lean.losses == pytest.approx(kept.losses, rel=1e-13)
    torch.testing.assert_close(lean.final.tracked, further @ kept.net.W.T, rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(lean.final.gram.G, kept.net.W @ kept.net.W.T, rtol=1e-11, atol=1e-13)
    with pytest.raises(ValueError, match="the weights were not kept"):
        _ = lean.net


@pytest.mark.slow
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_tracked_points_and_products_follow_momentum(momentum: float) -> None:
    case = Case(momentum=momentum, decay=0.1, lr=0.05, m=20, n=12, d=60)
    net, x, y = case.problem()
    further = torch.randn(3, case.d, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    run = train_exact(case.trainer(), net, x, y, steps=20, track=further)
    torch.testing.assert_close(run.final.tracked, further @ run.net.W.T, rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(run.final.gram.G, run.net.W @ run.net.W.T, rtol=1e-11, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("activation", [Relu(), LeakyRelu(0.3), SmoothLeakyRelu(0.1, 2.0)])
def test_attacked_test_margins_equal_those_of_the_attack_in_d_dimensions(activation: Activation) -> None:
    case = Case(activation=activation, m=32, n=20)
    net, x, y = case.problem()
    space = span_of(net, x)
    trained = train_exact(case.trainer(), space.net, space.x, y, steps=20).net
    lifted = space.lift(trained)
    generator = torch.Generator().manual_seed(9)
    test_x = torch.randn(300, case.d, generator=generator, dtype=torch.float64)
    test_y = torch.randint(2, (300,), generator=generator).double() * 2 - 1
    method, ball = PGD(steps=20, step_ratio=0.2, gradient="normalised", keep="last"), Ball(2, 0.5)
    P = space.points(test_x) @ trained.W.T
    for label in (test_y, -test_y):
        have = attacked_margins(gram_net(trained), P, label, method, ball)
        delta = naive_attack(lifted, lifted.parameters(), test_x, label, 0.5)
        want = label * lifted(test_x + delta)
        torch.testing.assert_close(have, want, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
def test_float32_changes_no_prediction_that_naive_float32_keeps() -> None:
    case = Case(m=48, n=24, d=400, lr=0.1, steps=60)
    net, x, y = case.problem()
    net32, x32, y32 = case.problem(torch.float32)
    truth = net.replace(**naive_training(case, net, x, y)[0])
    naive32 = net32.replace(**naive_training(case, net32, x32, y32)[0])
    space = span_of(net32, x32)
    engine32 = space.lift(train_exact(case.trainer(), space.net, space.x, y32, steps=case.steps).net)
    test_x = torch.randn(2000, case.d, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    want = truth(test_x) > 0
    naive_changes = (naive32(test_x.float()) > 0) != want
    engine_changes = (engine32(test_x.float()) > 0) != want
    assert int(engine_changes.sum()) <= int(naive_changes.sum())


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(ACTIVATIONS) - {"relu", "leaky_relu"}))
def test_any_activation_trains_as_the_plain_trainer_does(name: str) -> None:
    arguments = {"leaky_relu": (0.1,), "smooth_leaky_relu": (0.1, 2.0)}.get(name, ())
    if name.startswith("smoothed"):
        arguments = (0.5,)
    activation = ACTIVATIONS[name](*arguments)
    case = Case(activation=activation, m=12, n=8, d=40, lr=0.02)
    net, x, y = case.problem()
    run = train_exact(case.trainer(), net, x, y, steps=10)
    plain = case.trainer().run(net, x, y, steps=10)
    for parameter, tensor in plain.net.parameters().items():
        assert relative(run.net.parameters()[parameter], tensor) < 1e-10


@pytest.mark.slow
def test_clean_training_and_sum_reduction_follow_the_plain_trainer() -> None:
    case = Case(m=12, n=8, d=40)
    net, x, y = case.problem()
    for trainer in (
        Trainer(lr=Constant(0.3), trainable=ALL),
        Trainer(lr=Constant(0.01), trainable=("W", "b"), reduction="sum", adversary=case.trainer().adversary),
    ):
        run, plain = train_exact(trainer, net, x, y, steps=25), trainer.run(net, x, y, steps=25)
        for parameter, tensor in plain.net.parameters().items():
            assert relative(run.net.parameters()[parameter], tensor) < 1e-12
