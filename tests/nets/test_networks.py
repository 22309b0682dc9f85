"""Image networks: published sizes, forward passes, names, and the order of their layers."""

import pytest
import torch
from torch import nn

from karat.nets.alexnet import AlexNet
from karat.nets.image_net import conv_layers, filters, layer_filters, modules_before, normalise
from karat.nets.networks import NETWORKS, build_network, network_size
from karat.nets.residual import PreActivationBlock, ResidualNet, wide_resnet

SMALL = {
    "alexnet": "alexnet:0.1",
    "resnet": "resnet:2",
    "resnet16": "resnet16",
    "resnet34": "resnet34",
    "preact34": "preact34",
    "wrn": "wrn:10:1",
}


def _generator(seed=0):
    return torch.Generator().manual_seed(seed)


def _count(net):
    return sum(p.numel() for p in net.parameters())


@pytest.mark.parametrize("kind", NETWORKS)
def test_every_network_gives_one_logit_per_class_and_draws_from_its_generator_only(kind):
    torch.manual_seed(1)
    net = build_network(SMALL[kind], 3, generator=_generator(5))
    torch.manual_seed(2)
    twin = build_network(SMALL[kind], 3, generator=_generator(5))
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), twin.parameters(), strict=True))
    x = torch.rand(2, 3, 32, 32, generator=_generator())
    with torch.no_grad():
        assert net.eval()(x).shape == (2, 3)


@pytest.mark.parametrize("kind", NETWORKS)
def test_the_size_of_a_network_is_that_of_the_drawn_one(kind):
    net = build_network(SMALL[kind], 3, generator=_generator(), channels=1)
    assert network_size(SMALL[kind], 3, 1) == (_count(net), len(conv_layers(net)))


@pytest.mark.parametrize("kind", ["alexnet", "resnet", "wrn"])
def test_grey_images_are_taken_too(kind):
    net = build_network(SMALL[kind], 10, generator=_generator(), channels=1)
    assert net(torch.rand(2, 1, 32, 32, generator=_generator())).shape == (2, 10)


def test_alexnet_of_width_one_has_the_published_layers():
    """2.47 million parameters: the five convolutions with biases, and a 256 x 10 head."""
    net = AlexNet(1, 10, generator=_generator())
    assert [tuple(f.shape) for f in layer_filters(net).values()] == [
        (64, 363),
        (192, 1600),
        (384, 1728),
        (256, 3456),
        (256, 2304),
    ]
    assert _count(net) == 2_472_266


@pytest.mark.parametrize(("depth", "k", "million"), [(28, 10, 36.5), (16, 4, 2.7), (40, 4, 8.9)])
def test_wide_residual_nets_have_the_published_sizes(depth, k, million):
    """Zagoruyko and Komodakis, Table 4 and 5: 36.5, 2.7 and 8.9 million parameters."""
    with torch.device("meta"):
        net = ResidualNet(
            width=16,
            widths=(16 * k, 32 * k, 64 * k),
            blocks=((depth - 4) // 6,) * 3,
            classes=10,
            generator=None,  # type: ignore[arg-type]
        )
    assert _count(net) / 1e6 == pytest.approx(million, abs=0.06)


def test_the_papers_resnet34_has_31_convolutions():
    assert len(conv_layers(wide_resnet(34, 1, 10, generator=_generator()))) == 31


def test_four_stage_resnet34_has_33_convolutions_without_its_shortcuts():
    for name in ("resnet34", "preact34"):
        assert len(conv_layers(build_network(name, 10, generator=_generator()))) == 33


def test_a_preactivation_block_whose_branch_is_zero_is_the_identity():
    block = PreActivationBlock(3, 3, 1)
    nn.init.zeros_(block.second.weight)
    x = torch.randn(2, 3, 5, 5, generator=_generator())
    assert torch.equal(block(x), x)


def test_pixels_are_normalised_inside():
    assert normalise(torch.tensor([0.0, 0.5, 1.0])).tolist() == [-2.0, 0.0, 2.0]
    net = AlexNet(0.1, 2, generator=_generator())
    grey = torch.full((1, 3, 32, 32), 0.5)
    inside: list[torch.Tensor] = []
    net.conv1.register_forward_hook(lambda layer, given, out: inside.append(given[0]))
    net(grey)
    assert not bool(inside[0].any())


def test_filters_are_copies_and_shortcuts_are_left_out():
    net = build_network("resnet:2", 2, generator=_generator())
    layers = conv_layers(net)
    assert len(layers) == 17
    assert all(layer.kernel_size == (3, 3) for layer in layers.values())
    rows = filters(net.stem)
    rows.zero_()
    assert bool(net.stem.weight.any())


def test_modules_before_a_layer_end_just_below_it():
    alexnet = AlexNet(0.1, 2, generator=_generator())
    assert modules_before(alexnet, "conv3") == ["conv1", "conv2"]
    net = build_network("resnet:2", 2, generator=_generator())
    below = modules_before(net, "stages.0.1.first")
    assert below == [
        "stem",
        "stages.0.0.norm1",
        "stages.0.0.first",
        "stages.0.0.norm2",
        "stages.0.0.second",
        "stages.0.1.norm1",
    ]
    with pytest.raises(ValueError, match="no convolution 'conv9'; the convolutions are conv1, conv2"):
        modules_before(alexnet, "conv9")


@pytest.mark.parametrize("name", ["vgg", "alexnet", "alexnet:wide", "resnet:2.5", "wrn:28", "resnet34:2"])
def test_wrong_names_are_refused_with_the_list(name):
    with pytest.raises(ValueError, match=r"must be one of alexnet:width, resnet:m, .*wrn:depth:k; got"):
        build_network(name, 2, generator=_generator())


def test_depths_that_are_no_wide_net_are_refused():
    with pytest.raises(ValueError, match=r"`depth` of `wide_resnet` must be 6 n \+ 4"):
        wide_resnet(20, 1, 2, generator=_generator())
