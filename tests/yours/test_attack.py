"""The public functions on a user's own model."""

import math

import pytest
import torch
from torch import nn

import karat


def _data(n: int = 40) -> karat.data.Samples:
    model = karat.data.NoisyMixture(d=6, signal_norm=2.0, flip_rate=0.0)
    return model.sample(n, generator=torch.Generator().manual_seed(0))


def test_attack_on_a_linear_net_reaches_the_dual_norm():
    w = torch.tensor([3.0, -4.0], dtype=torch.float64)
    x, y = torch.ones(1, 2, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    for p, dual in ((1, 4.0), (2, 5.0), (float("inf"), 7.0)):
        found = karat.attack(karat.nets.Linear(w), x, y, karat.Ball(p, 0.5))
        assert float(found.margin) == pytest.approx(-1 - 0.5 * dual)
        assert bool(found.success)


def test_attack_takes_modules_names_and_objects():
    samples = _data()
    module = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)).double()
    ball = karat.Ball(2, 0.3)
    named = karat.attack(module, samples.x, samples.y, ball, "pgd", steps=5)
    given = karat.attack(module, samples.x, samples.y, ball, karat.attacks.PGD(steps=5))
    assert torch.equal(named.delta, given.delta)


def test_attack_takes_logits_and_class_indices():
    samples = _data()
    module = torch.nn.Linear(6, 3).double()
    labels = torch.arange(len(samples)) % 3
    found = karat.attack(module, samples.x, labels, karat.Ball("inf", 0.1))
    assert found.margin.shape == (len(samples),)


def test_same_call_gives_the_same_perturbation():
    samples = _data()
    net = karat.nets.init.pytorch_default(6, 10, generator=torch.Generator().manual_seed(1))
    first, second = (karat.attack(net, samples.x, samples.y, karat.Ball(2, 0.5)) for _ in range(2))
    assert torch.equal(first.delta, second.delta)


def test_unknown_method_and_stray_settings_are_refused():
    samples = _data()
    net = karat.nets.Linear(torch.ones(6, dtype=torch.float64))
    with pytest.raises(ValueError, match="`method` of `attack` must be one of"):
        karat.attack(net, samples.x, samples.y, karat.Ball(2, 0.1), "magic")
    with pytest.raises(TypeError, match="takes no further settings"):
        karat.attack(net, samples.x, samples.y, karat.Ball(2, 0.1), karat.attacks.PGD(), steps=3)


def test_certificates_never_exceed_attacks():
    samples = _data()
    net = karat.nets.init.pytorch_default(6, 10, generator=torch.Generator().manual_seed(2))
    ball = karat.Ball(2, 0.2)
    found = karat.attack(net, samples.x, samples.y, ball)
    proved = karat.certify(net, samples.x, samples.y, ball, seconds_per_sample=0.2)
    assert bool((proved.lower <= found.margin + 1e-12).all())


def test_public_names_are_listed():
    assert {"Ball", "attack", "certify", "probe", "run", "check"} <= set(dir(karat))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = karat.nothing


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("knobs", [{"keep": "last"}, {}, {"until_broken": True}], ids=str)
def test_l2_pgd_on_inner_products_is_the_attack_itself(dtype, knobs, monkeypatch):
    g = torch.Generator().manual_seed(3)
    net = karat.nets.TwoLayer(
        torch.randn(30, 50, generator=g, dtype=dtype) / 7,
        torch.randn(30, generator=g, dtype=dtype),
        torch.randn(30, generator=g, dtype=dtype) / 5,
    )
    x = torch.randn(500, 50, generator=g, dtype=dtype)
    y = torch.where(net(x) > 0, 1.0, -1.0).to(dtype)
    ball = karat.Ball(2, torch.linspace(0.0, 2.0, 500, dtype=dtype))
    method = karat.attacks.PGD(steps=15, **knobs)
    plain = karat.attacks.run_attack(method, karat.nets.as_classifier(net), x, y, ball)
    monkeypatch.setattr(karat.attacks.PGD, "__call__", None)  # the fast way does not need it
    fast = karat.attack(net, x, y, ball, method)
    near = 1e-9 if dtype == torch.float64 else 2e-3
    assert (fast.delta - plain.delta).abs().max() < near
    assert torch.equal(fast.success, plain.success)


def test_attacks_that_leave_the_span_take_the_usual_way():
    g = torch.Generator().manual_seed(4)
    net = karat.nets.init.pytorch_default(10, 12, generator=g)
    x, y = torch.randn(20, 10, generator=g).to(net.W.dtype), torch.ones(20)
    for ball in (karat.Ball("inf", 0.1), karat.Ball(2, 0.3, box=(-9.0, 9.0))):
        found = karat.attack(net, x, y, ball, "pgd", steps=5, keep="last")
        assert bool((found.margin <= net(x) + 1e-6).all())


def torch_net(outputs, bias=True):
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(40, 60, bias=bias), torch.nn.ReLU(), torch.nn.Linear(60, outputs, bias=bias)
    )


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("p", [2, "inf"])
def test_a_two_layer_module_is_attacked_as_the_net_it_is(outputs, bias, p):
    module, x = torch_net(outputs, bias), torch.randn(300, 40, generator=torch.Generator().manual_seed(1))
    scores = module(x).detach()
    y = (scores.squeeze(1) > 0).long() if outputs == 1 else scores.argmax(dim=1)
    method, ball = karat.attacks.PGD(steps=20), karat.Ball(p, 0.3 if p == 2 else 0.03)
    fast = karat.attack(module, x, y, ball, method)
    labels = 2.0 * y - 1 if outputs == 1 else y
    plain = karat.attacks.run_attack(method, karat.nets.as_classifier(module), x, labels, ball)
    assert 0 < int(fast.success.sum()) < 300
    assert abs(int(fast.success.sum()) - int(plain.success.sum())) <= 1
    assert float((fast.margin - plain.margin).abs().median()) < 1e-6


def test_a_module_is_attacked_in_eval_mode_and_left_as_it_was():
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU())
    module.append(torch.nn.Dropout()).append(torch.nn.Linear(8, 1))
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    x, y = torch.randn(6, 4, generator=torch.Generator().manual_seed(0)), torch.ones(6)
    first, second = (karat.attack(module, x, y, karat.Ball(2, 0.3)).margin for _ in range(2))
    assert torch.equal(first, second)
    assert module.training
    assert all(p.requires_grad for p in module.parameters())
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())


@pytest.mark.slow
def test_inputs_are_taken_as_they_come():
    """Double inputs for a float net, numpy arrays, labels 0 and 1 or booleans."""
    module, ball = torch_net(1), karat.Ball(2, 0.1)
    x = torch.randn(5, 40, generator=torch.Generator().manual_seed(0))
    y = torch.tensor([1.0, -1.0, 1.0, 1.0, -1.0])
    want = karat.attack(module, x, y, ball).margin
    for given_x, given_y in [(x.double(), y), (x.numpy(), y.numpy()), (x, (y > 0).long()), (x, y > 0)]:
        assert torch.equal(karat.attack(module, given_x, given_y, ball).margin, want)
        certified = karat.certify(module, given_x, given_y, ball)
        assert len(certified.status) == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": torch.ones(2, 40, dtype=torch.uint8)}, "`x` of `attack` must hold floating-point numbers"),
        ({"x": torch.ones(0, 40), "y": torch.ones(0)}, "with n >= 1"),
        ({"x": torch.full((2, 40), math.nan)}, "must hold finite numbers"),
        ({"y": torch.ones(3)}, r"`y` of `attack` must have shape \(2,\)"),
        ({"y": torch.tensor([0.0, 3.0])}, "labels"),
        ({"ball": (2, 0.3)}, "must be a `Ball`"),
        ({"model": lambda x: x.sum(dim=1) * math.nan}, "is NaN before any attack"),
    ],
)
def test_what_cannot_be_attacked_is_said_in_one_sentence(change, message):
    given = {"model": torch_net(1), "x": torch.ones(2, 40), "y": torch.ones(2), "ball": karat.Ball(2, 0.1)}
    with pytest.raises((ValueError, TypeError, ArithmeticError), match=message):
        karat.attack(**(given | change))


@pytest.mark.parametrize("scale", [1e-11, 1.0, 1e9])
def test_fast_and_plain_attacks_agree_at_every_scale_of_the_weights(scale):
    generator = torch.Generator().manual_seed(0)
    net = nn.Sequential(nn.Linear(100, 200, bias=False), nn.ReLU(), nn.Linear(200, 1, bias=False))
    for p in net.parameters():
        p.data = scale * torch.randn(p.shape, generator=generator)
    x = torch.randn(300, 100, generator=generator)
    y = torch.where(net(x)[:, 0] > 0, 1.0, -1.0).detach()
    single = karat.attack(net, x, y, karat.Ball(2, 0.5), "pgd", steps=40)
    double = karat.attack(net.double(), x, y, karat.Ball(2, 0.5), "pgd", steps=40)
    assert 0.05 < double.error < 1
    assert abs(single.error - double.error) <= 0.01


@pytest.mark.parametrize("method", ["pgd", "strongest"])
def test_a_radius_at_which_the_model_overflows_is_refused(method):
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1)).half()
    x, y = torch.randn(8, 16, generator=torch.Generator().manual_seed(0)).half(), torch.ones(8)
    with pytest.raises(OverflowError, match=r"not finite numbers at perturbations of radius 1e\+08 in torch"):
        karat.attack(net, x, y, karat.Ball(2, 1e8), method)
