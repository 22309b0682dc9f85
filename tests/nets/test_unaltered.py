"""A module that something was hung on is not taken for its class, wherever modules are read by class."""

import pytest
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook

import karat
from karat.certificates import UnsupportedLayer
from karat.nets import TwoLayer, init, to_module
from karat.nets.chain import as_sequential
from karat.nets.module import ModuleClassifier, NetClassifier, NetModule, as_classifier
from karat.nets.neurons import hinges_of, line_of
from karat.nets.outputs import OneOutput
from karat.nets.unaltered import alteration
from karat.yours.attack_task import prepared
from karat.yours.probe.comparison import Comparison, ProbedNet
from karat.yours.probe.first_layer import find_first_layer

PLAIN = (
    nn.Linear(2, 2),
    nn.Conv2d(1, 1, 1),
    nn.AvgPool2d(2),
    nn.BatchNorm1d(2),
    nn.BatchNorm2d(2),
    nn.Flatten(),
    nn.Identity(),
    nn.Dropout(),
    nn.ReLU(),
    nn.LeakyReLU(),
    nn.Sequential(),
)


@pytest.mark.parametrize("layer", PLAIN, ids=lambda layer: type(layer).__name__)
def test_plain_layers_are_unaltered_and_a_hook_on_all_modules_alters_them(layer):
    assert alteration(layer) is None
    handle = register_module_forward_hook(lambda module, inputs, output: None)
    try:
        assert alteration(layer) == "runs under a forward hook that is registered for all modules"
    finally:
        handle.remove()
    assert alteration(layer) is None


def _two_layer_module():
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))


def _twin(model, x):
    with prepared(model, x, torch.ones(len(x)), karat.Ball(2, 0.1)) as task:
        return task.twin


class Scaled(nn.Linear):
    def forward(self, x):
        return 3 * super().forward(x)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_fast_attacks_read_a_module_only_if_every_layer_is_plain(place):
    x = torch.zeros(2, 3)
    assert _twin(_two_layer_module(), x) is not None
    hooked = _two_layer_module()
    hooked[place].register_forward_hook(lambda module, inputs, output: 2 * output)
    assert _twin(hooked, x) is None
    odd = _two_layer_module()
    odd[place] = Scaled(5, 1) if place == 2 else Scaled(3, 5) if place == 0 else nn.ReLU6()
    assert _twin(odd, x) is None


@pytest.mark.parametrize("slope", [1.5, -0.2])
def test_any_leaky_slope_can_be_attacked(slope):
    net = nn.Sequential(nn.Linear(3, 5), nn.LeakyReLU(slope), nn.Linear(5, 1))
    x, y = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)), torch.ones(4)
    result = karat.attack(net, x, y, karat.Ball(2, 0.1), "pgd")
    torch.testing.assert_close(result.margin, net(x + result.delta).detach().squeeze(1))


def test_an_attack_on_a_subclass_attacks_its_own_function():
    net = nn.Sequential(Scaled(3, 5), nn.ReLU(), nn.Linear(5, 1))
    x, y = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)), torch.ones(4)
    result = karat.attack(net, x, y, karat.Ball(2, 0.1), "pgd")
    torch.testing.assert_close(result.margin, net(x + result.delta).detach().squeeze(1))


def test_a_net_module_with_a_hook_or_a_subclass_is_called_not_read():
    net = init.pytorch_default(3, 5, generator=torch.Generator().manual_seed(0))

    class Doubled(NetModule):
        def forward(self, x):
            return 2 * super().forward(x)

    hooked = to_module(net)
    hooked.register_forward_hook(lambda module, inputs, output: 2 * output)
    x, y = torch.randn(4, 3, generator=torch.Generator().manual_seed(1)), torch.ones(4)
    x = x.to(net.W.dtype)
    assert isinstance(as_classifier(to_module(net)), NetClassifier)
    for model in (hooked, Doubled(net)):
        torch.testing.assert_close(as_classifier(model).margin(x, y), 2 * net(x))


def test_a_subclass_of_a_net_has_no_closed_form():
    class Doubled(TwoLayer):
        def __call__(self, x):
            return 2 * super().__call__(x)

    net = init.pytorch_default(3, 5, generator=torch.Generator().manual_seed(0))
    odd = Doubled(net.W, net.a, net.b, net.c, net.activation)
    x, sign = net.W.new_zeros(2, 3), net.W.new_ones(2)
    assert hinges_of(net, sign) is not None
    assert line_of(net, x, x, sign) is not None
    assert hinges_of(odd, sign) is None
    assert line_of(odd, x, x, sign) is None


def test_a_chain_is_read_only_if_nothing_hangs_around_it():
    class Mine(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(3, 5), nn.Linear(5, 1)

        def forward(self, x):
            return self.last(torch.relu(self.first(x)))

    x, net = torch.zeros(2, 3), Mine().eval()
    assert as_sequential(net, x) is not None
    # Invisible at x and everything else that is tried: only the hook itself gives it away.
    net.register_forward_hook(lambda module, inputs, output: output - torch.relu(inputs[0][:, :1] - 1e3))
    assert as_sequential(net, x) is None
    net = Mine().eval()
    net.forward = lambda x: torch.zeros(len(x), 1)
    assert as_sequential(net, x) is None


class OnTensorsOnly(nn.Module):
    """Does something that symbolic tracing does not see, and that has no effect on inputs in [-1, 1]."""

    def __init__(self, scale=1.0):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))
        self.net[2].weight.data *= scale
        self.net[2].bias.data *= scale

    def forward(self, x):
        if isinstance(x, torch.Tensor):
            x = torch.where(x.abs() > 1, -5 * x, x)
        return self.net(x)


def test_classes_without_a_file_and_inherited_forwards_are_no_alteration():
    space = {"nn": nn, "torch": torch, "__name__": "typed_at_a_prompt"}
    text = "class Mine(nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"
    exec(text, space)  # as in a notebook: there is no such module, and no file
    mine, heir = space["Mine"](), type("Heir", (Scaled,), {})(3, 5)
    assert alteration(mine) is None
    assert alteration(heir) is None
    net = nn.Sequential(nn.Linear(3, 5), mine, nn.Linear(5, 1))
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    result = karat.attack(net, x, torch.ones(4), karat.Ball(2, 0.1), "pgd")
    torch.testing.assert_close(result.margin, net(x + result.delta).detach().squeeze(1))
    with pytest.raises(UnsupportedLayer, match=r"`Mine` at `model.1`"):
        karat.certify(net, x, torch.ones(4), karat.Ball(2, 0.1))


@pytest.mark.parametrize("scale", [1.0, 1e-8])
def test_a_chain_is_not_taken_for_a_module_that_calls_more_operations(scale):
    assert as_sequential(OnTensorsOnly(scale).eval(), torch.zeros(2, 3)) is None


@pytest.mark.parametrize("kind", [nn.Linear, Scaled])
def test_features_live_in_input_space_only_for_a_plain_first_layer(kind):
    net = nn.Sequential(kind(3, 5), nn.ReLU(), nn.Linear(5, 1)).eval()
    subject = ProbedNet("before", net, OneOutput(net), ModuleClassifier(net))
    comparison = Comparison(subject, subject, None, torch.zeros(4, 3), torch.ones(4), 1, None)
    assert (find_first_layer(comparison) is None) == (kind is Scaled)
