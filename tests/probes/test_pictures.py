"""Feature pictures, roughness, hidden activity and leftover starts on modules whose answers are known."""

import copy
import math

import pytest
import torch
from torch import nn

from karat.probes.activity import activation_patterns, active_shares
from karat.probes.leftover import leftover
from karat.probes.pictures import InputAscent
from karat.probes.roughness import centred, low_frequency_share, roughness


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class Functional(nn.Module):
    """Batch norm, a shared module and activations called as functions, one of them in place."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 2)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu_(self.norm(self.conv(x)))
        x = self.dropout(x).mean(dim=(2, 3))
        return self.head(nn.functional.gelu(x - 0.2))


def test_ascent_on_a_linear_neuron_finds_its_weights():
    layer = nn.Linear(12, 3, bias=False)
    rows = InputAscent(steps=200, noise=0.0, clip=False).run(
        layer_net(layer), "0", [0, 2], (12,), generator=generator()
    )
    want = torch.nn.functional.normalize(layer.weight.detach()[[0, 2]], dim=1)
    shift = torch.nn.functional.normalize(rows - 0.5, dim=1)
    assert torch.allclose(shift, want, atol=1e-5)
    # Fixed point of step g = decay (u - grey): the length tends to step/decay.
    assert (rows - 0.5).norm(dim=1).tolist() == pytest.approx([10 * (1 - 0.99**200)] * 2, rel=1e-4)


def layer_net(layer: nn.Module) -> nn.Module:
    return nn.Sequential(layer, nn.ReLU(inplace=True))


@pytest.mark.slow
def test_ascent_excites_the_middle_neuron_and_leaves_the_module_alone():
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 5, 3, 2, 1), nn.BatchNorm2d(5), nn.ReLU(inplace=True), nn.Conv2d(5, 4, 3)
    )
    net.train()
    net[0].weight.requires_grad_(False)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    channels = [0, 3]
    start = InputAscent(steps=1, step=1e-9).run(net, "3", channels, (3, 12, 12), generator=generator())
    end = InputAscent(steps=40).run(net, "3", channels, (3, 12, 12), generator=generator())
    with torch.no_grad():
        low, high = (copy.deepcopy(net).eval()(pictures) for pictures in (start, end))
    assert all(high[i, c, 2, 2] > low[i, c, 2, 2] for i, c in enumerate(channels))
    assert bool(((end >= 0) & (end <= 1)).all())
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert net.training
    assert not net[0].weight.requires_grad
    assert net[3].weight.requires_grad


def test_footnote_settings_are_a_named_option():
    assert (InputAscent.paper().steps, InputAscent.paper(grey=0.0).grey) == (2000, 0.0)
    assert InputAscent.paper().grey == pytest.approx(128 / 255)
    assert not InputAscent.paper().normalised


def test_unknown_layers_and_channels_are_named():
    net = layer_net(nn.Linear(4, 3))
    with pytest.raises(ValueError, match="there is no layer `conv9`; the layers are 0, 1"):
        InputAscent().run(net, "conv9", [0], (4,), generator=generator())
    with pytest.raises(ValueError, match=r"channels of `0` must lie in 0\.\.2, got \[3\]"):
        InputAscent().run(net, "0", [3], (4,), generator=generator())


def test_roughness_of_noise_is_four_minus_its_border_and_of_a_constant_zero():
    """2000 noise images: the mean is within 4 standard errors, false alarm below 1e-4."""
    found = roughness(torch.randn(2000, 3, 11, 11, generator=generator()))
    assert abs(float(found.mean()) - (4 - 4 / 11)) < 4 * float(found.std()) / math.sqrt(2000)
    assert float(roughness(torch.ones(1, 3, 8, 8))) == 0
    assert float(roughness(torch.zeros(1, 3, 8, 8))) == 0


def test_roughness_of_a_wave_is_its_eigenvalue():
    """Cosine waves are eigenvectors of the difference operator: 2 - 2 cos(pi f / n) per axis."""
    t = (2 * torch.arange(16) + 1) * math.pi / 32
    wave = torch.outer(torch.cos(3 * t), torch.cos(5 * t)).expand(1, 1, 16, 16)
    want = sum(2 - 2 * math.cos(math.pi * f / 16) for f in (3, 5))
    assert float(roughness(5 * wave)) == pytest.approx(want)


def test_low_frequency_share_of_noise_is_its_share_of_the_grid():
    found = low_frequency_share(torch.randn(4000, 1, 11, 11, generator=generator()))
    assert float(found.mean()) == pytest.approx(13 / 121, abs=4 * float(found.std()) / math.sqrt(4000))
    board = torch.tensor([[1.0, -1.0], [-1.0, 1.0]]).repeat(4, 4).expand(1, 1, 8, 8)
    assert float(low_frequency_share(board)) == pytest.approx(0.0)
    assert float(low_frequency_share(centred(board + 3))) == pytest.approx(0.0)


def test_activity_is_seen_in_modules_and_in_function_calls():
    net = Functional().train()
    x = torch.randn(7, 1, 6, 6, generator=generator())
    patterns = activation_patterns(net, x, batch_size=3)
    net.eval()
    with torch.no_grad():
        first = net.norm(net.conv(x))
        second = torch.relu(first).mean(dim=(2, 3)) - 0.2
    assert list(patterns) == ["forward", "forward:2"]
    assert torch.equal(patterns["forward"], (first > 0).flatten(1))
    assert torch.equal(patterns["forward:2"], second > 0)
    assert active_shares(net, x)["forward:2"] == pytest.approx(float((second > 0).double().mean()))
    assert list(activation_patterns(nn.Sequential(nn.Linear(3, 2), nn.ReLU()), torch.ones(1, 3))) == ["1"]


def test_a_transformer_layer_is_seen_although_torch_has_a_fused_path_for_it():
    net = nn.Sequential(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)).eval()
    assert {name: s.shape for name, s in activation_patterns(net, torch.randn(5, 4, 8)).items()} == {
        "0": (5, 64)
    }


def test_a_net_without_rectifiers_is_refused():
    with pytest.raises(ValueError, match="calls no rectifier"):
        active_shares(nn.Linear(2, 2), torch.ones(1, 2))


def test_forgetting_the_start_alone_is_recognised():
    """w = s + w0 with s smooth: taking away all of w0 explains the whole fall in roughness."""
    start = torch.randn(20, 3, 11, 11, generator=generator())
    ramp = torch.linspace(-1, 1, 11).expand(20, 3, 11, 11)
    found = leftover(start, 3 * ramp + start, 3 * ramp)
    assert found.cosine == pytest.approx(-1.0)
    assert found.energy_after < 0.02 < found.energy_before
    assert found.forgotten > 0.9
    assert found.cosine_others == pytest.approx(found.chance, abs=0.01)


def test_removing_noise_that_is_not_the_start_is_not_forgetting():
    start, noise = (torch.randn(20, 3, 11, 11, generator=generator(seed)) for seed in (0, 1))
    ramp = torch.linspace(-1, 1, 11).expand(20, 3, 11, 11)
    found = leftover(start, 3 * ramp + noise, 3 * ramp)
    assert abs(found.cosine) < 0.1
    assert abs(found.forgotten) < 0.1


def test_dead_filters_are_left_out_and_vectors_have_no_roughness():
    start, w = torch.randn(5, 9, generator=generator()), torch.randn(5, 9, generator=generator(1))
    dead = torch.cat([w[:4], 1e-6 * start[4:]])
    assert leftover(start, dead, dead + 0.1 * w).energy_before == pytest.approx(
        leftover(start[:4], w[:4], w[:4] * 1.1).energy_before
    )
    assert math.isnan(leftover(start, w, 0.9 * w).rough_before)
    with pytest.raises(ValueError, match="needs a filter that is not zero"):
        leftover(start, 0 * start, start)
