import torch
from torch import Tensor

from karat.core import Classifier


class Halfspace:
    def margin(self, x: Tensor, y: Tensor) -> Tensor:
        return y * x.sum(1)

    def margin_and_gradient(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return self.margin(x, y), y.unsqueeze(1).expand_as(x)


class MarginOnly:
    def margin(self, x: Tensor, y: Tensor) -> Tensor:
        return y * x.sum(1)


def test_anything_with_a_margin_and_its_gradient_is_a_classifier():
    classifier: Classifier = Halfspace()
    assert isinstance(classifier, Classifier)
    margin, gradient = classifier.margin_and_gradient(torch.ones(2, 3), torch.tensor([1.0, -1.0]))
    assert margin.tolist() == [3.0, -3.0]
    assert gradient.shape == (2, 3)


def test_a_margin_without_its_gradient_is_not_enough():
    assert not isinstance(MarginOnly(), Classifier)
