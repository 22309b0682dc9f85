"""The public functions on a user's own model."""

import pytest
import torch

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
    monkeypatch.setattr("karat.models.attacking.run_attack", None)  # the fast way does not need it
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
