import itertools
import math

import pytest
import torch
from torch.nn.functional import softplus

from karat.attacks import PGD, Steepest
from karat.core import Ball, Hinge, Logistic, Quadratic, ShapeError, Squared
from karat.nets import Linear, TwoLayer, as_classifier, init, to_module
from karat.training import (
    Adversary,
    Constant,
    CubicNorms,
    SquaredNorms,
    StepDecay,
    Trainer,
    TwoInfBall,
)

LR = Constant(0.1)


def sgd(net, x, y, steps, *, lr, trainable, momentum=0.0, decay=0.0, reduce=torch.mean, attack=None):
    """The same training by torch.optim.SGD and autograd."""
    module = to_module(net)
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(name in trainable)
    moving = [p for p in module.parameters() if p.requires_grad]
    optimiser = torch.optim.SGD(moving, lr=lr(0), momentum=momentum, weight_decay=decay)
    for t in range(steps):
        optimiser.param_groups[0]["lr"] = lr(t)
        inputs = x if attack is None else attack(module, x, y)
        optimiser.zero_grad()
        reduce(softplus(-y * module(inputs))).backward()
        optimiser.step()
    return as_classifier(module).net


def assert_nets_close(ours, theirs, tolerance=1e-11):
    for name, tensor in ours.parameters().items():
        torch.testing.assert_close(tensor, theirs.parameters()[name], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("decay", [0.0, 0.05])
def test_training_equals_torch_sgd(net, data, momentum, decay):
    names = tuple(net.parameters())
    regulariser = SquaredNorms(dict.fromkeys(names, decay / 2)) if decay else None
    lr = StepDecay(0.1, 0.5, 3)
    trainer = Trainer(lr=lr, trainable=names, momentum=momentum, regulariser=regulariser)
    ours = trainer.run(net, *data, steps=7).net
    assert_nets_close(ours, sgd(net, *data, 7, lr=lr, trainable=names, momentum=momentum, decay=decay))


@pytest.mark.parametrize("trainable", [("W",), ("a",), ("W", "b"), ("a", "c")])
def test_frozen_parameters_do_not_move(two_layer, data, trainable):
    trainer = Trainer(lr=LR, trainable=trainable, momentum=0.5)
    ours = trainer.run(two_layer, *data, steps=4).net
    assert_nets_close(ours, sgd(two_layer, *data, 4, lr=LR, trainable=trainable, momentum=0.5))
    for name, tensor in ours.parameters().items():
        assert (tensor is two_layer.parameters()[name]) == (name not in trainable)


def test_a_penalty_on_a_frozen_parameter_does_not_move_it(two_layer, data, same):
    trainer = Trainer(lr=LR, trainable=("W",), regulariser=SquaredNorms({"a": 1.0}))
    assert same(trainer.run(two_layer, *data, steps=3).net, Trainer(lr=LR).run(two_layer, *data, steps=3).net)


@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Squared()])
def test_one_step_follows_the_gradient_of_the_objective(two_layer, data, loss):
    x, y = data
    regulariser = CubicNorms(0.3)
    module = to_module(two_layer)
    (loss(y * module(x)).mean() + regulariser.value(module.net())).backward()
    net = Trainer(lr=LR, loss=loss, regulariser=regulariser).run(two_layer, x, y, steps=1).net
    torch.testing.assert_close(net.W, two_layer.W - 0.1 * module.get_parameter("W").grad)


def test_a_sum_is_a_mean_with_a_larger_step(two_layer, data):
    summed = Trainer(lr=Constant(0.01), reduction="sum").run(two_layer, *data, steps=5).net
    mean = Trainer(lr=Constant(0.01 * 12), reduction="mean").run(two_layer, *data, steps=5).net
    torch.testing.assert_close(summed.W, mean.W)
    assert_nets_close(summed, sgd(two_layer, *data, 5, lr=Constant(0.01), trainable=("W",), reduce=torch.sum))


def test_forgetting_is_exact(two_layer, data):
    """Penalty decay = 1/(2 lr) erases the weights: what remains is the gradient step from zero (features)."""
    x, y = data
    net = Trainer(lr=LR, regulariser=SquaredNorms({"W": 5.0})).run(two_layer, x, y, steps=1).net
    residual = Logistic().derivative(y * two_layer(x)) * y / len(x)
    torch.testing.assert_close(net.W, -0.1 * two_layer.weight_gradient(x, residual)["W"])


def test_a_step_leaves_the_given_net_alone(net, data):
    before = {name: tensor.clone() for name, tensor in net.parameters().items()}
    Trainer(lr=LR, trainable=tuple(before), momentum=0.9).run(net, *data, steps=3)
    assert all(torch.equal(tensor, before[name]) for name, tensor in net.parameters().items())


def test_no_steps_return_the_net_itself(two_layer, data):
    assert Trainer(lr=LR).run(two_layer, *data, steps=0).net is two_layer


def test_no_learning_rate_changes_nothing(two_layer, data, same):
    assert same(Trainer(lr=Constant(0.0), momentum=0.9).run(two_layer, *data, steps=3).net, two_layer)


def test_training_leaves_no_graph_behind(two_layer, data):
    attached = to_module(two_layer).net()
    net = Trainer(lr=LR).run(attached, *data, steps=2).net
    assert not net.W.requires_grad


def test_float32_training_stays_float32_and_close(two_layer, data):
    x, y = data
    small = two_layer.replace(**{name: tensor.float() for name, tensor in two_layer.parameters().items()})
    trainer = Trainer(lr=LR, trainable=("W", "a", "b", "c"), momentum=0.9)
    net = trainer.run(small, x.float(), y, steps=10).net
    exact = trainer.run(two_layer, x, y, steps=10).net
    for name, tensor in net.parameters().items():
        assert tensor.dtype == torch.float32
        torch.testing.assert_close(tensor.double(), exact.parameters()[name], rtol=1e-4, atol=1e-5)


def test_labels_may_be_whole_numbers(two_layer, data, same):
    x, y = data
    trainer = Trainer(lr=LR)
    assert same(trainer.run(two_layer, x, y.long(), steps=2).net, trainer.run(two_layer, x, y, steps=2).net)


METHODS = pytest.mark.parametrize(
    "method", [Steepest(), PGD(steps=3), PGD(steps=3, random_start=True, restarts=2)]
)


@METHODS
@pytest.mark.parametrize("p", [1, 2, math.inf])
def test_adversarial_training_with_zero_radius_is_clean_training(net, data, method, p, generator, same):
    names = tuple(net.parameters())
    adversary = Adversary(method, Ball(p, 0.0))
    adversarial = Trainer(lr=LR, trainable=names, adversary=adversary)
    clean = Trainer(lr=LR, trainable=names)
    assert same(
        adversarial.run(net, *data, steps=4, generator=generator).net, clean.run(net, *data, steps=4).net
    )


def test_the_first_step_may_be_unperturbed(two_layer, data, same):
    late = Trainer(lr=LR, adversary=Adversary(Steepest(), Ball(2, 0.5), first_step=1))
    clean, early = Trainer(lr=LR), Trainer(lr=LR, adversary=Adversary(Steepest(), Ball(2, 0.5)))
    one, two = (late.run(two_layer, *data, steps=t).net for t in (1, 2))
    assert same(one, clean.run(two_layer, *data, steps=1).net)
    assert same(two, early.run(one, *data, steps=1).net)
    assert not same(two, clean.run(two_layer, *data, steps=2).net)


def test_the_gradient_does_not_go_through_the_adversary(two_layer, data):
    def attack(module, x, y, *, detach):
        leaf = x.clone().requires_grad_(True)
        (g,) = torch.autograd.grad((y * module(leaf)).sum(), leaf, create_graph=not detach)
        moved = x - 0.5 * g / g.norm(dim=1, keepdim=True)
        return moved.detach() if detach else moved

    names = ("W", "a", "b", "c")
    trainer = Trainer(lr=LR, trainable=names, adversary=Adversary(Steepest(), Ball(2, 0.5)))
    ours = trainer.run(two_layer, *data, steps=3).net
    settings = {"lr": LR, "trainable": names}
    constant = sgd(two_layer, *data, 3, attack=lambda *args: attack(*args, detach=True), **settings)
    through = sgd(two_layer, *data, 3, attack=lambda *args: attack(*args, detach=False), **settings)
    assert_nets_close(ours, constant)
    assert (ours.W - through.W).abs().max() > 1e-4


def test_adversarial_training_raises_the_attacked_margins(data):
    x, y = data
    ball, net = Ball(2, 0.5), Linear(torch.zeros(5, dtype=torch.float64))
    trained = [
        Trainer(lr=Constant(0.5), trainable=("w",), adversary=adversary).run(net, x, y, steps=300).net
        for adversary in (Adversary(Steepest(), ball), None)
    ]
    robust, clean = (t.worst_margin(x, y, 2, 0.5).min() / t.w.norm() for t in trained)
    assert robust > clean


def test_the_loss_falls_at_every_step_on_separable_data(data):
    """The mean logistic loss of a linear net is L-smooth with L <= max |x|^2 / 4: steps of 1/L descend."""
    x, y = data
    lr = Constant(4 / x.square().sum(dim=1).max().item())
    trajectory = Trainer(lr=lr, trainable=("w",)).run(
        Linear(torch.zeros(5, dtype=torch.float64)),
        x,
        y,
        steps=400,
        observe=lambda _, net: {"loss": Logistic()(y * net(x)).mean().item()},
    )
    steps, losses = trajectory.curve("loss")
    assert steps == list(range(401))
    assert losses[0] == pytest.approx(math.log(2))
    assert all(after < before for before, after in itertools.pairwise(losses))
    assert losses[-1] < 0.05


def test_every_kind_of_net_fits_separable_data(net, data):
    x, y = data
    trainer = Trainer(lr=Constant(0.05), trainable=tuple(net.parameters()))
    trained = trainer.run(net, x, y, steps=500).net
    assert bool((y * trained(x) > 0).all())


def test_projected_training_never_leaves_the_ball(data, generator):
    net = init.gaussian(5, 8, generator=generator)
    ball = TwoInfBall(net.W, 0.05)
    trainer = Trainer(lr=Constant(0.5), projection=ball, momentum=0.9)
    free = Trainer(lr=Constant(0.5), momentum=0.9).run(net, *data, steps=20).net
    assert (free.W - net.W).norm(dim=1).max() > 0.05
    nets = []
    trainer.run(net, *data, steps=20, observe=lambda _, current: nets.append(current) or {})
    assert max((current.W - net.W).norm(dim=1).max() for current in nets) <= 0.05 * (1 + 1e-12)


def explosive():
    """A net and a loss whose gradient grows with the margin: large steps explode."""
    generator = torch.Generator().manual_seed(2)
    net = init.gaussian(5, 8, generator=generator, activation=Quadratic())
    return net, Trainer(lr=Constant(1e3), loss=Squared(), trainable=("W", "a"))


@pytest.mark.parametrize("method", [None, Steepest(), PGD(steps=3, random_start=True)])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_divergence_is_recorded_with_its_step_and_raised_only_on_demand(data, generator, method, momentum):
    net, trainer = explosive()
    trainer = Trainer(
        lr=trainer.lr,
        loss=trainer.loss,
        trainable=trainer.trainable,
        momentum=momentum,
        adversary=None if method is None else Adversary(method, Ball(2, 0.1)),
    )
    trajectory = trainer.run(net, *data, steps=100, generator=generator)
    stopped = trajectory.divergence
    assert stopped is not None
    assert 0 < stopped.step < 100
    assert stopped.step == trajectory.final.step
    assert str(stopped) == f"training diverged at step {stopped.step}: the training margins are not finite."
    with pytest.raises(type(stopped)) as caught:
        _ = trajectory.net
    assert caught.value is stopped


def test_the_last_finite_net_of_a_diverged_run_can_be_replayed(data):
    net, trainer = explosive()
    trajectory = trainer.run(net, *data, steps=100)
    before = trajectory.replay(trajectory.divergence.step - 1)
    assert bool(torch.isfinite(before(data[0])).all())


def test_observers_see_finite_nets_only(data):
    x, y = data[0].float(), data[1].float()
    seen = []
    trajectory = Trainer(lr=Constant(1e300), trainable=("w",)).run(
        Linear(torch.zeros(5)), x, y, steps=3, observe=lambda t, net: seen.append(t) or {}
    )
    assert seen == [0]
    assert str(trajectory.divergence) == "training diverged at step 1: the parameter w is not finite."


def test_weights_that_leave_the_finite_numbers_in_the_last_step_are_noticed(data):
    x, y = data[0].float(), data[1].float()
    trajectory = Trainer(lr=Constant(1e300), trainable=("w",)).run(Linear(torch.zeros(5)), x, y, steps=1)
    assert str(trajectory.divergence) == "training diverged at step 1: the parameter w is not finite."


def test_a_start_that_is_not_finite_diverges_at_step_zero(two_layer, data):
    broken = two_layer.replace(a=torch.full((16,), math.nan, dtype=torch.float64))
    assert Trainer(lr=LR).run(broken, *data, steps=3).divergence.step == 0


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (
            {"lr": 0.1},
            TypeError,
            r"^`lr` of `Trainer` must be a schedule such as Constant\(0.1\), got 0.1\.$",
        ),
        (
            {"reduction": "max"},
            ValueError,
            r"^`reduction` of `Trainer` must be one of 'mean', 'sum'; got 'max'\.$",
        ),
        (
            {"momentum": -0.1},
            ValueError,
            r"^`momentum` of `Trainer` must be a finite number >= 0 and <= 1, got",
        ),
        ({"batch_size": 0}, ValueError, r"^`batch_size` of `Trainer` must be a whole number >= 1, got 0\.$"),
    ],
)
def test_wrong_settings_are_named(settings, error, message):
    with pytest.raises(error, match=message):
        Trainer(**({"lr": LR} | settings))


@pytest.mark.parametrize(
    ("trainable", "options", "error", "message"),
    [
        (("V",), {}, ValueError, r"^`trainable` names the parameter 'V', but the net has W, a, b, c\.$"),
        (("W",), {"steps": -1}, ValueError, r"^`steps` of `Trainer` must be a whole number >= 0, got -1\.$"),
        (
            ("W",),
            {"y": torch.zeros(12)},
            ValueError,
            r"^`y` must hold the labels \+1 and -1 only, got \[0.0\]\.$",
        ),
        (("W",), {"y": torch.ones(3)}, ShapeError, r"^`y` must have shape \(12,\), got \(3,\)\.$"),
        (("W",), {"x": torch.ones(12, 4)}, ShapeError, r"^`x` must have shape \(\*, 5\), got \(12, 4\)\.$"),
    ],
)
def test_wrong_inputs_are_named(two_layer, data, trainable, options, error, message):
    settings = {"x": data[0], "y": data[1], "steps": 1} | options
    x, y = settings.pop("x"), settings.pop("y")
    with pytest.raises(error, match=message):
        Trainer(lr=LR, trainable=trainable).run(two_layer, x, y, **settings)


def test_stochastic_training_needs_a_generator(two_layer, data):
    with pytest.raises(ValueError, match=r"^stochastic training \(`batch_size`\) needs a `generator`\.$"):
        Trainer(lr=LR, batch_size=4).run(two_layer, *data, steps=1)


def test_a_random_attack_needs_a_generator(two_layer, data):
    trainer = Trainer(lr=LR, adversary=Adversary(PGD(random_start=True), Ball(2, 0.1)))
    with pytest.raises(ValueError, match=r"^`PGD` draws random numbers: pass a `generator`\.$"):
        trainer.run(two_layer, *data, steps=1)


def test_the_first_step_from_the_zero_function_follows_the_mean_of_the_active_samples(data, generator):
    """At f = 0 every residual is -y/2: w_s moves by lr a_s/(2 sqrt m) mean_i y_i x_i 1[<w_s, x_i> > 0]."""
    x, y = data
    net = init.symmetric(5, 8, 1e-9, generator=generator)
    moved = Trainer(lr=LR).run(net, x, y, steps=1).net.W - net.W
    active = (net.preactivations(x) > 0).double()
    mean = (active * y.unsqueeze(1)).T @ x / len(x)
    torch.testing.assert_close(moved, 0.1 * net.scale * net.a.unsqueeze(1) * mean / 2)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_step_allocates_the_new_weights_and_little_else(momentum):
    """Counted in copies of the weights: the gradient becomes the new weights; momentum keeps one more."""
    m, d = 400, 300
    net = TwoLayer(torch.randn(m, d, generator=torch.Generator().manual_seed(0)), torch.ones(m), scale=0.05)
    x, y = torch.eye(d)[:2], torch.tensor([1.0, -1.0])
    trainer = Trainer(lr=LR, momentum=momentum)
    state = trainer.run(net, x, y, steps=1).final
    with torch.profiler.profile(profile_memory=True) as profile:
        trainer.step(state, x, y)
    allocated = sum(max(event.self_cpu_memory_usage, 0) for event in profile.events())
    assert allocated / (4 * m * d) < 1.3 + bool(momentum)
