"""The exact engine: what it refuses, what it reports, and what happens at the edges."""

import dataclasses
import math
from typing import Any

import numba
import pytest
import torch
from torch import Tensor

from karat.attacks.inner_products.attack import attack_of, attacked_margins, perturb
from karat.attacks.inner_products.dense import Perturbed
from karat.attacks.inner_products.gram import gram_net
from karat.attacks.pgd import PGD
from karat.attacks.steepest import Steepest
from karat.core import Ball, Diverged, LeakyRelu, Relu, ShapeError, Softplus, Squared
from karat.core.compiled import compiled
from karat.nets import as_classifier
from karat.nets.init import pytorch_default, small_odd, symmetric
from karat.nets.two_layer import TwoLayer
from karat.reductions.span import ExactEngine, exactness_obstacle, train_exact
from karat.reductions.span.descent import add_symmetric
from karat.training import Adversary, Constant, CubicNorms, Ramp, Trainer, TwoInfBall

METHOD = PGD(steps=20, step_ratio=0.2, gradient="normalised", keep="last")
ALL = ("W", "a", "b", "c")


def trainer(**changes: Any) -> Trainer:
    parts = {"method": METHOD, "ball": Ball(2, 0.5), "first_step": 0, "radius": None}
    for name in list(changes):
        if name in parts:
            parts[name] = changes.pop(name)
    return Trainer(**{"lr": Constant(0.2), "trainable": ALL, "adversary": Adversary(**parts), **changes})


def problem(d: int = 40, m: int = 12, n: int = 8, **options: Any) -> tuple[TwoLayer, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    net = pytorch_default(d, m, generator=generator, **options)
    y = torch.randint(2, (n,), generator=generator).to(net.W.dtype) * 2 - 1
    x = torch.randn(n, d, generator=generator, dtype=net.W.dtype)
    x[:, 0] += 2 * y
    return net, x, y


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"ball": Ball(math.inf, 0.1)}, "an l_inf attack moves single coordinates"),
        ({"ball": Ball(1, 0.1)}, "an l_1 attack moves single coordinates"),
        ({"ball": Ball(2, 0.1, box=(-9, 9))}, "clipping to a box leaves the span"),
        ({"method": dataclasses.replace(METHOD, random_start=True)}, "a random start leaves the span"),
        ({"method": dataclasses.replace(METHOD, restarts=2)}, "a random start leaves the span"),
        ({"method": dataclasses.replace(METHOD, start=METHOD)}, "starts from another attack"),
        ({"method": dataclasses.replace(METHOD, gradient="sign")}, "uses the sign gradient"),
        ({"method": dataclasses.replace(METHOD, gradient="raw")}, "uses the raw gradient"),
        ({"method": Steepest()}, "the attack Steepest is not plain projected gradient descent"),
        ({"batch_size": 4}, "full-batch training only"),
        ({"regulariser": CubicNorms(0.1)}, "the regulariser CubicNorms is not expressed"),
        ({"projection": TwoInfBall(torch.zeros(12, 40), 1.0)}, "the projection TwoInfBall is not expressed"),
    ],
)
def test_what_leaves_the_span_is_refused_with_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    net, x, y = problem()
    rule = trainer(**changes)
    obstacle = exactness_obstacle(rule, net)
    assert obstacle is not None
    assert sentence in obstacle
    with pytest.raises(ValueError, match="cannot run this training") as caught:
        train_exact(rule, net, x, y, steps=1)
    assert str(caught.value) == f"`train_exact` cannot run this training: {obstacle}."


def test_other_nets_are_refused() -> None:
    net = small_odd(20, 5, 0.1, 0.0, generator=torch.Generator().manual_seed(0))
    assert exactness_obstacle(trainer(), net) == "the net OddTwoLayer is not a TwoLayer net"


def test_what_stays_in_the_span_is_accepted() -> None:
    net, _, _ = problem()
    for rule in (
        trainer(),
        trainer(adversary=None),
        trainer(momentum=0.9, reduction="sum", loss=Squared()),
        trainer(method=PGD(keep="last")),
        trainer(method=PGD(until_broken=True)),
    ):
        assert exactness_obstacle(rule, net) is None


def test_bad_shapes_types_and_labels_are_refused() -> None:
    net, x, y = problem()
    with pytest.raises(ShapeError, match=r"`x` must have shape \(\*, 40\)"):
        train_exact(trainer(), net, x[:, :-1], y, steps=1)
    with pytest.raises(TypeError, match="must have one dtype, got"):
        train_exact(trainer(), net, x.float(), y, steps=1)
    half = net.replace(**{name: tensor.half() for name, tensor in net.parameters().items()})
    with pytest.raises(TypeError, match="runs in float32 or float64, got"):
        train_exact(trainer(), half, x.half(), y, steps=1)
    with pytest.raises(ValueError, match="labels"):
        train_exact(trainer(), net, x, 0 * y, steps=1)
    with pytest.raises(ValueError, match="`steps` of `train_exact`"):
        train_exact(trainer(), net, x, y, steps=-1)
    with pytest.raises(ValueError, match="needs kept weights and no momentum"):
        train_exact(trainer(), net, x, y, steps=1, weights=False, refresh_every=5)
    with pytest.raises(ValueError, match="the form of side changes needs a ReLU or leaky ReLU"):
        train_exact(trainer(), net.replace(activation=Softplus()), x, y, steps=1, form="sides")
    with pytest.raises(ValueError, match="`attacked_margins` cannot run this attack: an l_inf attack"):
        attacked_margins(gram_net(net), x @ net.W.T, y, METHOD, Ball(math.inf, 0.1))


@pytest.mark.parametrize("form", ["sides", "dense"])
def test_zero_radius_is_clean_training(form: Any) -> None:
    net, x, y = problem()
    attacked = train_exact(trainer(ball=Ball(2, 0.0)), net, x, y, steps=10, form=form)
    clean = trainer(adversary=None).run(net, x, y, steps=10)
    torch.testing.assert_close(attacked.net.W, clean.net.W, rtol=1e-12, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["sides", "dense"])
def test_every_sample_may_have_its_own_radius(form: Any) -> None:
    net, x, y = problem()
    rule = trainer(ball=Ball(2, torch.linspace(0, 1, len(x), dtype=torch.float64)))
    run, plain = train_exact(rule, net, x, y, steps=10, form=form), rule.run(net, x, y, steps=10)
    torch.testing.assert_close(run.net.W, plain.net.W, rtol=1e-12, atol=1e-14)


@pytest.mark.slow
def test_radius_schedules_and_absolute_steps_are_followed() -> None:
    net, x, y = problem()
    rule = trainer(radius=Ramp(0.6, 5), method=PGD(steps=7, step=0.07, keep="last"))
    run, plain = train_exact(rule, net, x, y, steps=10), rule.run(net, x, y, steps=10)
    torch.testing.assert_close(run.net.W, plain.net.W, rtol=1e-12, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["sides", "dense"])
@pytest.mark.parametrize("keep", ["best", "last"])
@pytest.mark.parametrize("until_broken", [False, True])
def test_best_points_and_broken_ones_are_followed(form: Any, keep: Any, until_broken: bool) -> None:
    """Steps so long that the last point is often not the best one, and radii that break some samples."""
    net, x, y = problem(n=30)
    net, ball = net.replace(c=torch.tensor(0.3, dtype=x.dtype)), Ball(2, 0.9)
    method = PGD(steps=7, step_ratio=1.3, keep=keep, until_broken=until_broken)
    margins = attacked_margins(gram_net(net), x @ net.W.T, y, method, ball, form=form)
    want = as_classifier(net).margin(x + method(as_classifier(net), x, y, ball), y)
    torch.testing.assert_close(margins, want, rtol=1e-11, atol=1e-13)
    assert 0 < int((want <= 0).sum()) < 30
    rule = trainer(method=method, ball=ball)
    run, plain = train_exact(rule, net, x, y, steps=10, form=form), rule.run(net, x, y, steps=10)
    torch.testing.assert_close(run.net.W, plain.net.W, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("form", ["sides", "dense"])
def test_a_single_sample_and_a_single_neuron_train(form: Any) -> None:
    for m, n in ((12, 1), (1, 5), (1, 1)):
        net, x, y = problem(m=m, n=n)
        run = train_exact(trainer(), net, x, y, steps=10, form=form)
        plain = trainer().run(net, x, y, steps=10)
        torch.testing.assert_close(run.net.W, plain.net.W, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("form", ["sides", "dense"])
def test_dead_neurons_leave_every_point_and_weight_where_it_is(form: Any) -> None:
    net, x, y = problem()
    dead = net.replace(b=torch.full_like(net.a, -1e3))
    run = train_exact(trainer(trainable=("W", "a", "b")), dead, x, y, steps=5, form=form)
    assert torch.equal(run.net.W, dead.W)
    assert torch.equal(run.net.a, dead.a)
    assert run.losses == pytest.approx([run.losses[0]] * 5, rel=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["sides", "dense"])
def test_neurons_at_exactly_zero_are_inactive(form: Any) -> None:
    net, x, y = problem()
    W = net.W.clone()
    W[:3] = 0
    still = net.replace(W=W, b=torch.zeros_like(net.a))
    run = train_exact(trainer(trainable=("W", "a")), still, x, y, steps=10, form=form)
    plain = trainer(trainable=("W", "a")).run(still, x, y, steps=10)
    torch.testing.assert_close(run.net.W, plain.net.W, rtol=1e-12, atol=1e-14)
    assert float(run.net.W[:3].abs().max()) == 0


@pytest.mark.parametrize("form", ["sides", "dense"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_gradient_that_vanishes_up_to_rounding_moves_no_point(form: Any, dtype: torch.dtype) -> None:
    """At a symmetric init f is zero everywhere; its gradient is rounding, and has no direction to follow."""
    net = symmetric(60, 200, 0.5, generator=torch.Generator().manual_seed(0), dtype=dtype)
    x = torch.randn(9, 60, generator=torch.Generator().manual_seed(1), dtype=dtype)
    out = Perturbed(9, 200, dtype)
    P = x @ net.W.T
    perturb(
        gram_net(net),
        P,
        torch.ones(9, dtype=dtype),
        attack_of(METHOD, Ball(2, 0.5), 9, dtype),
        out,
        form=form,
    )
    assert float(out.U.abs().max()) == 0
    assert torch.equal(out.H, P)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("slope", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("m", [3, 63, 64, 130])
def test_both_kernels_describe_the_same_perturbation(m: int, slope: float, dtype: torch.dtype) -> None:
    activation = LeakyRelu(slope) if slope else Relu()
    net, x, y = problem(d=50, m=m, n=11, activation=activation, dtype=dtype)
    net, P, attack = gram_net(net), x @ net.W.T, attack_of(METHOD, Ball(2, 0.7), 11, dtype)
    sides, dense = Perturbed(11, m, dtype), Perturbed(11, m, dtype)
    perturb(net, P, y, attack, sides, form="sides")
    perturb(net, P, y, attack, dense, form="dense")
    tolerance = {"rtol": 1e-11, "atol": 1e-13} if dtype == torch.float64 else {"rtol": 1e-3, "atol": 1e-5}
    for name in ("H", "U", "Z", "F", "f"):
        torch.testing.assert_close(getattr(sides, name), getattr(dense, name), **tolerance)


def test_the_perturbation_lies_in_the_ball_and_lowers_the_margin() -> None:
    net, x, y = problem(d=50, m=30, n=11)
    out = Perturbed(11, 30, torch.float64)
    perturb(gram_net(net), x @ net.W.T, y, attack_of(METHOD, Ball(2, 0.7), 11, torch.float64), out)
    delta = out.U @ net.W
    torch.testing.assert_close(out.H, (x + delta) @ net.W.T)
    assert bool((delta.norm(dim=1) <= 0.7 * (1 + 1e-12)).all())
    assert bool((y * net(x + delta) < y * net(x)).all())


@pytest.mark.parametrize("m", [1, 3, 4, 5, 8, 67])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_symmetric_update_is_that_of_plain_tensors(m: int, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(m)
    T = torch.randn(m, m, generator=generator, dtype=dtype)
    G = T + T.T
    want = 0.5 * G + T + T.T
    add_symmetric(G, T.clone(), 0.5)
    torch.testing.assert_close(G, want)
    assert torch.equal(G, G.T)


@pytest.mark.slow
def test_observers_see_the_state_before_each_chosen_update() -> None:
    net, x, y = problem()
    seen = {}

    def observe(step: int, state: Any) -> dict[str, float]:
        seen[step] = state.net.W.clone()
        return {"clean": float((y * state.gram.output(state.P)).mean())}

    run = train_exact(trainer(), net, x, y, steps=6, observe=observe, observe_at=(0, 3, 6, 99))
    steps, values = run.curve("clean")
    assert steps == [0, 3, 6]
    assert values[0] == pytest.approx(float((y * net(x)).mean()))
    assert len(run.losses) == 6
    plain = trainer().run(net, x, y, steps=6)
    for step in steps:
        torch.testing.assert_close(seen[step], plain.replay(step).W, rtol=1e-12, atol=1e-14)
    assert torch.equal(seen[6], run.net.W)


def test_the_inputs_are_not_changed() -> None:
    net, x, y = problem()
    before = [tensor.clone() for tensor in (*net.parameters().values(), x, y)]
    train_exact(trainer(momentum=0.5), net, x, y, steps=5)
    train_exact(trainer(), net, x, y, steps=5)
    for tensor, copy in zip((*net.parameters().values(), x, y), before, strict=True):
        assert torch.equal(tensor, copy)


def test_no_steps_return_the_first_net() -> None:
    net, x, y = problem()
    run = train_exact(trainer(), net, x, y, steps=0)
    assert torch.equal(run.net.W, net.W)
    assert run.losses == ()


def test_divergence_is_recorded_and_not_raised_before_the_net_is_asked_for() -> None:
    net, x, y = problem()
    run = train_exact(trainer(lr=Constant(1e6), loss=Squared()), net, x, y, steps=200)
    assert isinstance(run.divergence, Diverged)
    assert 0 < run.divergence.step <= 200
    with pytest.raises(Diverged, match="training diverged at step"):
        _ = run.net


@pytest.mark.slow
def test_products_drift_only_by_rounding_and_can_be_refreshed() -> None:
    net, x, y = problem(d=100, m=40, n=20, dtype=torch.float32)
    engine = ExactEngine(trainer(), net, x, y)
    for _ in range(100):
        engine.advance()
    assert engine.products.drift() < 1e-4
    engine.products.refresh()
    assert engine.products.drift() < 1e-6
    refreshed = train_exact(trainer(), net, x, y, steps=60, refresh_every=20)
    assert refreshed.losses == pytest.approx(train_exact(trainer(), net, x, y, steps=60).losses, rel=1e-3)
    with pytest.raises(ValueError, match="only when the weights are kept"):
        ExactEngine(trainer(), net, x, y, weights=False).products.drift()


def test_evaluation_in_pieces_is_evaluation_at_once() -> None:
    net, x, y = problem(n=700)
    P, gram = x @ net.W.T, gram_net(net)
    ball = Ball(2, torch.linspace(0, 1, 700, dtype=torch.float64))
    whole = attacked_margins(gram, P, y, METHOD, ball)
    for i in (0, 255, 256, 511, 699):
        alone = attacked_margins(gram, P[i : i + 1], y[i : i + 1], METHOD, Ball(2, float(ball.tau[i])))
        assert float(alone) == pytest.approx(float(whole[i]), rel=1e-12)
    assert attacked_margins(gram, P[:0], y[:0], METHOD, Ball(2, 0.1)).shape == (0,)


def test_compilation_needs_no_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    real = numba.njit

    def without_cache(*arguments: Any, **options: Any) -> Any:
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return real(*arguments, **options)

    monkeypatch.setattr(numba, "njit", without_cache)

    @compiled()
    def double(value: float) -> float:
        return 2 * value

    assert double(1.5) == 3.0
