"""Scores are found in a model's answer, labels brought into their form, layers listed in their order."""

import pytest
import torch
from torch import nn

from karat.core.checks import ShapeError
from karat.nets.chain import as_sequential
from karat.nets.outputs import OneOutput, count_outputs, first_tensor, fit_labels
from karat.nets.weight_layers import layer_calls, layers_in_order, weight_layers


def test_the_first_tensor_is_taken():
    scores = torch.ones(2, 3)
    for answer in (
        scores,
        (scores, 1),
        [None, scores],
        {"loss": torch.zeros(1), "logits": scores},
        {"a": scores},
    ):
        assert first_tensor(answer) is scores
    with pytest.raises(TypeError, match="must return scores as a tensor"):
        first_tensor({"a": 1})


@pytest.mark.parametrize(("shape", "outputs"), [((), 1), ((1,), 1), ((4,), 4)])
def test_outputs_are_counted(shape, outputs):
    class Fixed(nn.Module):
        def forward(self, x):
            return torch.zeros(len(x), *shape), x

    assert count_outputs(OneOutput(Fixed()), torch.ones(5, 3)) == outputs


def test_maps_of_scores_are_refused():
    with pytest.raises(
        ShapeError, match=r"must return \(n,\), \(n, 1\) or \(n, classes\), got \(2, 3, 4, 4\)"
    ):
        count_outputs(nn.Identity(), torch.ones(2, 3, 4, 4))


def test_labels_follow_the_scores():
    assert fit_labels(torch.tensor([0, 1, 1]), 1).tolist() == [-1, 1, 1]
    assert fit_labels(torch.tensor([-1.0, 1.0]), 1).tolist() == [-1, 1]
    assert fit_labels(torch.tensor([-1.0, 1.0]), 2).tolist() == [0, 1]
    assert fit_labels(torch.tensor([2.0, 0.0]), 3).tolist() == [2, 0]
    for y, outputs in (([0, 2], 1), ([-1, 1], 3), ([0, 3], 3), ([0.5, 1.0], 3)):
        with pytest.raises(ValueError, match="needs"):
            fit_labels(torch.tensor(y), outputs)


class Crossed(nn.Module):
    """Registered in another order than called."""

    def __init__(self):
        super().__init__()
        self.last, self.first = nn.Linear(4, 2), nn.Linear(3, 4)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))


def test_layers_come_in_the_order_of_the_forward_pass():
    net = Crossed()
    assert [layer.name for layer in weight_layers(net)] == ["last", "first"]
    assert [layer.name for layer in layers_in_order(net, torch.ones(1, 3))] == ["first", "last"]
    (name, given), _ = layer_calls(net, torch.ones(5, 3))
    assert (name, given.shape) == ("first", (1, 3))


def test_attention_projections_are_layers_and_embeddings_are_not():
    net = nn.ModuleDict({"token": nn.Embedding(5, 8), "attention": nn.MultiheadAttention(8, 2)})
    found = {layer.name: tuple(layer.rows.shape) for layer in weight_layers(net)}
    assert found == {"attention.in_proj": (24, 8), "attention.out_proj": (8, 8)}


def test_transposed_convolutions_have_a_row_per_output():
    (layer,) = weight_layers(nn.ConvTranspose2d(3, 5, 2))
    assert layer.rows.shape == (5, 12)


def test_a_chain_of_calls_becomes_a_sequence_with_the_same_function():
    net, x = Crossed().eval(), torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    chain = as_sequential(net, x)
    assert [type(layer) for layer in chain] == [nn.Linear, nn.ReLU, nn.Linear]
    assert chain[0] is net.first
    assert torch.equal(chain(x), net(x))


class Skip(Crossed):
    def forward(self, x):
        return super().forward(x) + x[:, :2]


class Branch(Crossed):
    def forward(self, x):
        return self.last(self.first(x)) if x.sum() > 0 else self.last(self.first(-x))


class Twice(Crossed):
    def forward(self, x):
        return 2 * super().forward(x)


@pytest.mark.parametrize("kind", [Skip, Branch, Twice])
def test_other_forward_passes_are_no_sequence(kind):
    assert as_sequential(kind().eval(), torch.ones(2, 3)) is None
