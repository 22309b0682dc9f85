"""A model is certified only as what it computes: subclasses, hooks and other disguises, and odd scales."""

import functools
import math
import re
from collections import Counter
from fractions import Fraction

import pytest
import torch
from torch import nn

import karat
from karat.certificates import Certificate, UnsupportedLayer, certify
from karat.certificates.witness import inside
from karat.core import Ball
from karat.nets import TwoLayer

HONEST = "layer used twice"


def _net(*middle: nn.Module, outputs: int = 1) -> nn.Sequential:
    generator = torch.Generator().manual_seed(3)
    net = nn.Sequential(nn.Linear(3, 8), *(middle or (nn.ReLU(),)), nn.Linear(8, outputs)).double()
    for p in net.parameters():
        p.data = torch.randn(p.shape, generator=generator, dtype=torch.float64)
    return net


def _samples(net, n=20):
    x = 0.3 * torch.randn(n, 3, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    return x, torch.sign(net(x).detach().squeeze(1))


def test_no_disguised_model_is_called_robust_where_it_errs(disguises, generator):
    for name in disguises.DISGUISES:
        count = Counter()
        for _ in range(3):
            count += disguises.check_disguise(name, generator=generator)
        assert not [key for key in count if key.startswith("violations")], (name, count)
        assert (count["disguised, refused"] == 0) == (name == HONEST), name


def test_the_judge_of_disguises_notices_a_false_proof(disguises, generator, monkeypatch):
    def blind(model, x, y, ball, **knobs):
        """Call everything robust."""
        zero = torch.zeros(len(x), dtype=torch.float64)
        return Certificate(zero, zero, ["robust"] * len(x), torch.zeros_like(x))

    monkeypatch.setattr(disguises, "certify", blind)
    for name in ("subclass of Sequential", "forward hook", "forward of its own", "subclass of TwoLayer"):
        counts = [disguises.check_disguise(name, generator=generator) for _ in range(6)]
        assert sum(count["violations of disguises"] for count in counts) > 0


@pytest.mark.slow
def test_degenerate_scales_agree_with_rational_arithmetic(disguises, generator):
    count = Counter()
    for _ in range(60):
        count += disguises.check_degenerate(generator=generator)
    assert not [key for key in count if key.startswith(("violations", "crash"))], count
    assert count["degenerate, decided"] > 0.7 * count["degenerate"]


class Negated(nn.ReLU):
    def forward(self, x):
        return -super().forward(x)


class Untouched(nn.ReLU):
    pass


def _hooked(name):
    layer = nn.ReLU()
    getattr(layer, name)(lambda *given: None)
    return layer


def _with_forward():
    layer = nn.ReLU()
    layer.forward = lambda x: -x
    return layer


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (Negated(), "no certificate knows the layer `Negated` at `model.1`"),
        (Untouched(), "no certificate knows the layer `Untouched` at `model.1`"),
        (nn.GELU(), "no certificate knows the layer `GELU` at `model.1`"),
        (_hooked("register_forward_hook"), "`ReLU` at `model.1` computes: it has a forward hook."),
        (_hooked("register_forward_pre_hook"), "it has a forward pre hook."),
        (_hooked("register_full_backward_hook"), "it has a backward hook."),
        (_hooked("register_full_backward_pre_hook"), "it has a backward pre hook."),
        (_with_forward(), "it has a `forward` of its own."),
        (nn.Flatten(0), "must leave the axis of samples alone (start_dim >= 1), got start_dim = 0."),
        (nn.LeakyReLU(1.5), "must have a slope in [0, 1], got 1.5."),
        (nn.BatchNorm1d(8, track_running_stats=False), "normalises by the batch it is given"),
        (nn.AvgPool2d(1, divisor_override=-1), "must have a positive divisor, got -1."),
        (nn.Conv2d(1, 1, 1, padding_mode="reflect"), "must pad with zeros, not with 'reflect'."),
        (nn.Sequential(nn.Identity(), Negated()), "`Negated` at `model.1.1`"),
    ],
)
def test_an_unknown_layer_is_named_with_the_reason(layer, message):
    net = _net(layer)
    with pytest.raises(UnsupportedLayer, match=re.escape(message)):
        certify(net, torch.zeros(2, 3), torch.ones(2), Ball(2, 0.1))


def test_a_tensor_subclass_is_refused():
    class Odd(torch.Tensor):
        pass

    net = _net()
    net[0].weight = nn.Parameter(torch.randn(8, 3).as_subclass(Odd))
    with pytest.raises(UnsupportedLayer, match="holds a `Odd`, which may redefine arithmetic"):
        certify(net, torch.zeros(2, 3), torch.ones(2), Ball(2, 0.1))


def test_a_layer_used_twice_is_two_layers():
    relu = nn.ReLU()
    shared = _net(relu, nn.Linear(8, 8).double(), relu)
    apart = nn.Sequential(shared[0], nn.ReLU(), shared[2], nn.ReLU(), shared[4])
    x, y = _samples(shared)
    found, wanted = (certify(net, x, y, Ball(2, 0.1)) for net in (shared, apart))
    assert torch.equal(found.lower, wanted.lower)
    assert found.status == wanted.status
    assert {"robust", "broken"} & set(found.status)


def test_a_removed_hook_leaves_a_plain_layer():
    net = _net()
    net[1].register_forward_hook(lambda *given: None).remove()
    x, y = _samples(net)
    assert certify(net, x, y, Ball(2, 0.05)).count("robust") > 0


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_logits_equal_up_to_rounding_end_no_certification(p):
    net = _net(outputs=2)
    net[2].weight.data[1] = net[2].weight.data[0] * (1 + 1e-13)
    net[2].bias.data[1] = net[2].bias.data[0]
    x = 1e3 * _samples(net[:1])[0]
    found = certify(net, x, net(x).argmax(dim=1), Ball(p, 1.0), domains_per_sample=20)
    assert set(found.status) <= {"robust", "broken", "tie", "undecided"}


@pytest.mark.parametrize("tau", [1.0, 2e8, 1e30])
def test_a_constant_net_is_decided_at_any_radius(tau):
    zero = torch.zeros(3, dtype=torch.float64)
    for constant, status in ((0.0, "tie"), (2.0, "robust"), (-2.0, "broken")):
        net = TwoLayer(torch.zeros(3, 2).double(), zero + 1, zero, torch.tensor(constant).double())
        assert certify(net, torch.ones(1, 2), torch.ones(1), Ball(2, tau)).status == [status]


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_a_witness_is_inside_ball_and_box_in_rational_arithmetic(p, disguises, generator):
    x = 0.9 * torch.rand(400, 3, generator=generator, dtype=torch.float64)
    ball = Ball(p, 0.7, box=(0.0, 0.9))
    delta = inside(torch.randn(400, 3, generator=generator, dtype=torch.float64), x, ball)
    assert all(disguises.exactly_inside(move, own, ball) for move, own in zip(delta, x, strict=True))
    # Plain projection is not: that is why the walls are taken back.
    rounded = ball.project(torch.ones_like(x), x)
    moved = [
        Fraction(a) + Fraction(b)
        for a, b in zip(x.flatten().tolist(), rounded.flatten().tolist(), strict=True)
    ]
    assert p != math.inf or any(value > Fraction(0.9) for value in moved)


def _dense(weight, bias=None):
    layer = nn.Linear(1, 1, bias=bias is not None, dtype=torch.float64)
    layer.weight.data.fill_(weight)
    if bias is not None:
        layer.bias.data.fill_(bias)
    return layer


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_products_that_vanish_on_the_way_are_charged(p):
    """f(x) = 0.5e-60 - 1e-60 x for x >= 0, written with weights whose products underflow in the middle."""
    down = [layer for _ in range(30) for layer in (_dense(1e-12), nn.ReLU())]
    net = nn.Sequential(*down, *(_dense(1e12) for _ in range(24)), _dense(-1e12, 0.5e-60))
    found = certify(net, torch.full((1, 1), 0.5).double(), torch.ones(1), Ball(p, 0.5))
    assert found.status != ["robust"]
    assert float(found.lower) <= -0.5e-60


def test_filters_whose_squares_vanish_keep_their_length():
    """A convolution with one large filter and one tiny one, which the next layer brings back to size."""
    conv = nn.Conv2d(1, 2, 1, bias=False).double()
    conv.weight.data = torch.tensor([1.0, 1e-165], dtype=torch.float64).reshape(2, 1, 1, 1)
    last = nn.Linear(2, 1).double()
    last.weight.data = torch.tensor([[0.0, -1e165]], dtype=torch.float64)
    last.bias.data.fill_(0.5)
    net = nn.Sequential(conv, nn.ReLU(), nn.Flatten(), last)
    found = certify(net, torch.full((1, 1, 1, 1), 0.4).double(), torch.ones(1), Ball(2, 0.5))
    assert float(found.lower) <= -0.4
    assert found.status == ["broken"]


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_a_first_layer_that_works_in_place_changes_no_sample_and_no_verdict(slope):
    net = nn.Sequential(nn.LeakyReLU(slope, inplace=True), _dense(-1.0, -0.05 if slope else 0.5))
    x = torch.full((3, 1), -1.0, dtype=torch.float64)
    given = x.clone()
    found = certify(net, x, torch.ones(3), Ball(2, 1e-6))
    assert torch.equal(x, given)
    assert found.status == ["robust"] * 3
    assert net[0].inplace
    result = karat.attack(net, x, torch.ones(3), Ball(2, 1e-6), "pgd")
    assert torch.equal(x, given)
    assert result.error == 0


def _compiled_in_place(net):
    net._compiled_call_impl = lambda x: -nn.Sequential.forward(net, x)


def _copied_as_another(net):
    net.__dict__["__deepcopy__"] = lambda memo: _net()


@pytest.mark.parametrize("change", [_compiled_in_place, _copied_as_another])
def test_what_replaces_the_call_or_the_copy_of_a_model_is_refused(change):
    net = _net()
    change(net)
    with pytest.raises(
        UnsupportedLayer, match=r"`Sequential` at `model` computes: it (was compiled|has a `__)"
    ):
        certify(net, torch.zeros(2, 3), torch.ones(2), Ball(2, 0.1))


@pytest.mark.parametrize("name", ["forward", "__call__"])
def test_an_exchanged_method_of_a_class_is_noticed_behind_functools_wraps(name, monkeypatch):
    plain = getattr(nn.Sequential, name)

    @functools.wraps(plain)
    def changed(self, x):
        return -plain(self, x)

    monkeypatch.setattr(nn.Sequential, name, changed)
    with pytest.raises(UnsupportedLayer, match="a class whose `forward` or `__call__` was exchanged"):
        certify(_net(), torch.zeros(2, 3), torch.ones(2), Ball(2, 0.1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda net: setattr(net[0], "weight", nn.Parameter(net[0].weight.to(torch.complex128))),
            "complex128",
        ),
        (lambda net: net[0].register_buffer("extra", torch.ones(2).to_sparse()), "sparse"),
        (lambda net: net.register_module("1", None), "the layer `NoneType` at `model.1`"),
    ],
)
def test_layers_without_plain_real_numbers_are_named(change, message):
    net = _net()
    change(net)
    with pytest.raises(UnsupportedLayer, match=message):
        certify(net, torch.zeros(2, 3), torch.ones(2), Ball(2, 0.1))


def test_a_variance_that_is_not_positive_is_refused():
    net = _net(nn.BatchNorm1d(8))
    net[1].running_var[0] = -1.0
    with pytest.raises(
        UnsupportedLayer, match=r"`BatchNorm1d` at `model.1` .* variance that is not positive"
    ):
        certify(net, torch.zeros(2, 3), torch.ones(2), Ball(2, 0.1))


def test_flatten_between_layers_is_not_dropped():
    net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(6, 1)).double()
    x = torch.randn(5, 2, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = torch.sign(net(x).detach().squeeze(1))
    found = certify(net, x, y, Ball(2, 1e-4))
    assert found.count("robust") == 5
    torch.testing.assert_close(found.upper, net(x).detach().squeeze(1) * y, rtol=1e-2, atol=1e-3)
