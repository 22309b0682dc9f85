"""The adapter both ways: karat nets as torch modules, any model as a Classifier."""

import copy

import pytest
import torch

from karat.core import Classifier, ShapeError
from karat.nets import Linear, ModuleClassifier, NetClassifier, as_classifier, init, to_module


@pytest.fixture
def net(generator):
    return init.pytorch_default(4, 6, generator=generator)


def test_a_module_computes_what_its_net_computes(make_net, x):
    net = make_net()
    module = to_module(net)
    assert torch.equal(module(x), net(x))
    assert {name: p.shape for name, p in module.named_parameters()} == {
        name: p.shape for name, p in net.parameters().items()
    }


def test_a_module_copies_the_tensors(make_net, x):
    net = make_net()
    before, module = net(x), to_module(net)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(1.0)
    assert torch.equal(net(x), before)
    assert torch.equal(module.net()(x), module(x))


def test_a_state_dict_restores_a_module(make_net, x):
    net = make_net()
    module = to_module(net)
    other = to_module(net.replace(**{name: p + 1 for name, p in net.parameters().items()}))
    other.load_state_dict(module.state_dict())
    assert torch.equal(other(x), net(x))


def test_a_module_follows_its_dtype_and_survives_a_deep_copy(make_net, x):
    module = to_module(make_net())
    twin = copy.deepcopy(module).float()
    assert twin(x.float()).dtype == torch.float32
    assert module(x).dtype == torch.float64
    torch.testing.assert_close(twin(x.float()).double(), module(x), rtol=1e-4, atol=1e-4)


def test_margins_and_gradients_of_a_net_equal_those_of_its_module(make_net, x, y):
    net = make_net()
    closed, auto = as_classifier(net), ModuleClassifier(to_module(net))
    assert isinstance(closed, NetClassifier)
    torch.testing.assert_close(closed.margin(x, y), auto.margin(x, y))
    for ours, theirs in zip(closed.margin_and_gradient(x, y), auto.margin_and_gradient(x, y), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


def test_a_net_module_gets_the_closed_form_of_its_present_weights(net, x, y):
    module = to_module(net)
    with torch.no_grad():
        module.get_parameter("W").mul_(2)
    classifier = as_classifier(module)
    assert isinstance(classifier, NetClassifier)
    margin, gradient = classifier.margin_and_gradient(x, y)
    assert not margin.requires_grad
    assert not gradient.requires_grad
    assert torch.equal(margin, (y * module(x)).detach())


def test_a_classifier_is_its_own_classifier(net):
    classifier = as_classifier(net)
    assert as_classifier(classifier) is classifier
    assert isinstance(classifier, Classifier)


@pytest.mark.parametrize("squeeze", [True, False], ids=["(n,)", "(n, 1)"])
def test_a_scalar_module_has_the_margin_y_f(x, y, squeeze):
    linear = torch.nn.Linear(4, 1, dtype=torch.float64)
    model = torch.nn.Sequential(linear, torch.nn.Flatten(0)) if squeeze else linear
    margin, gradient = as_classifier(model).margin_and_gradient(x, y)
    torch.testing.assert_close(margin, y * linear(x).squeeze(1).detach())
    torch.testing.assert_close(gradient, y.unsqueeze(1) * linear.weight.detach())
    assert torch.equal(as_classifier(model).margin(x, y), margin)
    assert margin.shape == (len(x),)
    # Neither the caller's tensors nor the model's gradients are touched.
    assert not x.requires_grad
    assert linear.weight.grad is None


def test_logits_have_the_margin_of_the_true_class_over_the_best_other():
    logits = torch.tensor([[3.0, 1.0, 2.5], [0.0, 4.0, 4.0]])
    classifier = as_classifier(lambda x: logits + 0 * x.sum())
    assert classifier.margin(torch.ones(2, 3), torch.tensor([0, 1])).tolist() == [0.5, 0.0]
    assert classifier.margin(torch.ones(2, 3), torch.tensor([1, 0])).tolist() == [-2.0, -4.0]


def test_the_gradient_of_a_logit_margin_is_a_difference_of_two_rows():
    linear = torch.nn.Linear(3, 3, bias=False)
    linear.weight.data = torch.diag(torch.tensor([1.0, 2.0, 3.0]))
    margin, gradient = as_classifier(linear).margin_and_gradient(
        torch.tensor([[1.0, 1.0, 1.0]]), torch.tensor([0])
    )
    assert margin.tolist() == [-2.0]
    assert gradient.tolist() == [[1.0, 0.0, -3.0]]


def test_two_logits_of_a_scalar_net_double_its_margin(net, x, y):
    scalar = as_classifier(net).margin(x, y)
    logits = as_classifier(lambda u: torch.stack([-net(u), net(u)], dim=1))
    torch.testing.assert_close(logits.margin(x, ((y + 1) / 2).long()), 2 * scalar)


def test_any_callable_on_tensors_is_a_model(x, y):
    margin, gradient = as_classifier(lambda u: (u**2).sum(dim=1)).margin_and_gradient(x, y)
    torch.testing.assert_close(margin, y * x.square().sum(dim=1))
    torch.testing.assert_close(gradient, 2 * y.unsqueeze(1) * x)


def test_images_in_float32_keep_their_shape():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Conv2d(1, 2, 3), torch.nn.Tanh(), torch.nn.Flatten(), torch.nn.Linear(2 * 4 * 4, 10)
        ).eval()
        x = torch.rand(5, 1, 6, 6)
    y = torch.arange(5)
    margin, gradient = as_classifier(model).margin_and_gradient(x, y)
    assert gradient.shape == x.shape
    assert margin.dtype == gradient.dtype == torch.float32
    exact, x, step = as_classifier(copy.deepcopy(model).double()), x.double(), 1e-6
    v = torch.ones_like(x) / 6
    slope = (exact.margin(x + step * v, y) - exact.margin(x - step * v, y)) / (2 * step)
    torch.testing.assert_close((gradient * v).flatten(1).sum(dim=1), slope, rtol=1e-4, atol=1e-5)


def test_gradients_are_found_where_autograd_is_switched_off(net, x, y):
    with torch.no_grad():
        _, gradient = ModuleClassifier(to_module(net)).margin_and_gradient(x, y)
    torch.testing.assert_close(gradient, as_classifier(net).margin_and_gradient(x, y)[1])


def test_an_output_that_ignores_some_inputs_has_gradient_zero(y):
    weight = torch.nn.Parameter(torch.ones(()))
    _, gradient = as_classifier(lambda u: weight.expand(len(u))).margin_and_gradient(torch.ones(7, 2), y)
    assert not gradient.any()


def test_whole_number_labels_serve_a_scalar_net(net, x, y):
    classifier = as_classifier(net)
    assert torch.equal(classifier.margin(x, y.long()), classifier.margin(x, y))


def test_an_empty_batch_has_empty_margins(net):
    x, y = torch.zeros(0, 4, dtype=torch.float64), torch.zeros(0)
    assert as_classifier(net).margin(x, y).shape == (0,)
    assert as_classifier(lambda u: u[:, :3]).margin(x, torch.zeros(0, dtype=torch.long)).shape == (0,)


@pytest.mark.parametrize(
    ("model", "labels", "error", "message"),
    [
        (
            lambda u: (u, u),
            "signs",
            TypeError,
            "the model must return one tensor, got tuple; wrap it to select one.",
        ),
        (
            lambda u: u.sum(),
            "signs",
            ShapeError,
            "the model must return (n,), (n, 1) or (n, classes), got ().",
        ),
        (
            lambda u: u.unsqueeze(1),
            "signs",
            ShapeError,
            "the model must return (n,), (n, 1) or (n, classes), got (7, 1, 4).",
        ),
        (
            lambda u: u,
            "signs",
            ValueError,
            "a model with 4 logits needs class indices `y` as whole numbers (n,).",
        ),
        (lambda u: u, "classes", ValueError, "class indices `y` must lie in 0..3, got 0..6."),
        (
            lambda u: u[:, 0],
            "classes",
            ValueError,
            "`y` must hold the labels +1 and -1 only, got [0, 1, 2, 3, 4, 5].",
        ),
        (lambda u: u[:, 0], "short", ShapeError, "`y` must have shape (7,), got (3,)."),
        (
            lambda u: u.detach()[:, 0],
            "signs",
            ValueError,
            "the model's output carries no gradient: it must be computed from x by torch, "
            "outside of torch.inference_mode().",
        ),
    ],
    ids=[
        "tuple",
        "one number",
        "three axes",
        "signs for logits",
        "class 6 of 4",
        "classes for f",
        "short",
        "detached",
    ],
)
def test_what_does_not_fit_is_named(x, y, model, labels, error, message):
    labels = {"signs": y, "classes": torch.arange(7), "short": y[:3]}[labels]
    with pytest.raises(error) as caught:
        as_classifier(model).margin_and_gradient(x, labels)
    assert str(caught.value) == message


def test_labels_that_do_not_fit_a_net_are_named(net, x):
    with pytest.raises(ValueError, match=r"^`y` must hold the labels \+1 and -1 only, got \[0, 1\]\.$"):
        as_classifier(net).margin(x, torch.tensor([0, 1, 1, 0, 1, 0, 1]))
    with pytest.raises(ShapeError, match=r"^`y` must have shape \(7,\), got \(3,\)\.$"):
        as_classifier(net).margin_and_gradient(x, torch.ones(3))


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError) as caught:
        as_classifier(3.0)
    assert str(caught.value) == "`model` must be a karat net, a torch.nn.Module or a callable, got float."


def test_a_linear_net_and_a_linear_module_agree(x, y):
    module = torch.nn.Linear(4, 1, dtype=torch.float64)
    net = Linear(module.weight.detach()[0], module.bias.detach()[0])
    torch.testing.assert_close(as_classifier(net).margin(x, y), as_classifier(module).margin(x, y))
