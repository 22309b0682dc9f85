"""What every net of NETS must do, with every activation."""

import pytest
import torch

from karat.core import ShapeError
from karat.nets import NETS, Net, to_module

STEP = 1e-6  # central differences: error about STEP^2 + rounding / STEP, far below the tolerance used


def test_every_net_has_a_row_in_the_contract_suite(cases):
    assert {case.net for case in cases.values()} == set(NETS)


def test_a_net_meets_the_protocol_and_returns_its_shapes(make_net, x):
    net = make_net()
    assert isinstance(net, Net)
    for n in (0, 1, len(x)):
        assert net(x[:n]).shape == (n,)
        assert net.input_gradient(x[:n]).shape == (n, net.d)
        gradient = net.weight_gradient(x[:n], torch.ones(n, dtype=x.dtype))
        assert {name: g.shape for name, g in gradient.items()} == {
            name: p.shape for name, p in net.parameters().items()
        }


def test_samples_do_not_influence_each_other(make_net, x):
    net = make_net()
    torch.testing.assert_close(net(x)[2:3], net(x[2:3]))
    torch.testing.assert_close(net.input_gradient(x)[2:3], net.input_gradient(x[2:3]))


def test_one_pass_gives_the_same_as_two(make_net, x):
    net = make_net()
    value, gradient = net.value_and_input_gradient(x)
    assert torch.equal(value, net(x))
    assert torch.equal(gradient, net.input_gradient(x))
    value, pullback = net.value_and_pullback(x)
    assert torch.equal(value, net(x))
    for name, term in net.weight_gradient(x, x[:, 0]).items():
        assert torch.equal(pullback(x[:, 0])[name], term)


def test_input_gradient_equals_autograd(make_net, x):
    net = make_net()
    leaf = x.clone().requires_grad_(True)
    (expected,) = torch.autograd.grad(to_module(net)(leaf).sum(), leaf)
    torch.testing.assert_close(net.input_gradient(x), expected, rtol=1e-9, atol=1e-9)


def test_input_gradient_equals_central_differences(make_net, x):
    net = make_net()
    columns = [(net(x + STEP * e) - net(x - STEP * e)) / (2 * STEP) for e in torch.eye(net.d, dtype=x.dtype)]
    torch.testing.assert_close(net.input_gradient(x), torch.stack(columns, dim=1), rtol=1e-6, atol=1e-7)


def test_weight_gradient_equals_autograd(make_net, x):
    net = make_net()
    residual = x[:, 0]
    module = to_module(net)
    (residual * module(x)).sum().backward()
    gradient = net.weight_gradient(x, residual)
    for name, leaf in module.named_parameters():
        torch.testing.assert_close(gradient[name], leaf.grad, rtol=1e-9, atol=1e-9)


def test_weight_gradient_equals_central_differences(make_net, x, generator):
    net = make_net()
    residual = x[:, 0]
    for name, gradient in net.weight_gradient(x, residual).items():
        here = net.parameters()[name]
        v = torch.randn(here.shape, generator=generator, dtype=here.dtype)
        ahead, behind = (net.replace(**{name: here + s * STEP * v})(x) @ residual for s in (1, -1))
        torch.testing.assert_close((gradient * v).sum(), (ahead - behind) / (2 * STEP), rtol=1e-6, atol=1e-6)


def test_float32_stays_float32_and_agrees_with_float64(make_net, x):
    net, exact = make_net(torch.float32), make_net()
    x32 = x.float()
    value, gradient = net.value_and_input_gradient(x32)
    assert value.dtype == gradient.dtype == torch.float32
    torch.testing.assert_close(value.double(), exact(x), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(gradient.double(), exact.input_gradient(x), rtol=1e-4, atol=1e-4)
    terms = net.weight_gradient(x32, x32[:, 0])
    assert all(term.dtype == torch.float32 for term in terms.values())
    for name, term in exact.weight_gradient(x, x[:, 0]).items():
        torch.testing.assert_close(terms[name].double(), term, rtol=1e-4, atol=1e-4)


def test_replace_by_its_own_parameters_changes_nothing(make_net, x):
    net = make_net()
    again = net.replace(**net.parameters())
    assert type(again) is type(net)
    assert torch.equal(again(x), net(x))
    assert all(again.parameters()[name] is tensor for name, tensor in net.parameters().items())


def test_replace_exchanges_one_tensor_and_leaves_the_old_net_alone(make_net, x):
    net = make_net()
    before = net(x)
    for name, tensor in net.parameters().items():
        other = net.replace(**{name: tensor + 1})
        assert torch.equal(other.parameters()[name], tensor + 1)
        rest = set(net.parameters()) - {name}
        assert all(other.parameters()[key] is net.parameters()[key] for key in rest)
    assert torch.equal(net(x), before)


def test_a_tensor_of_the_wrong_shape_is_refused_by_name(make_net):
    net = make_net()
    for name, tensor in net.parameters().items():
        with pytest.raises(ShapeError, match=rf"^`{name}` must have shape"):
            net.replace(**{name: tensor.unsqueeze(0)})


def test_an_unknown_tensor_is_refused(make_net):
    with pytest.raises((TypeError, ValueError), match="nonsense"):
        make_net().replace(nonsense=torch.zeros(()))


def test_an_input_of_the_wrong_shape_is_refused(make_net, x):
    net = make_net()
    owner = type(net).__name__
    for wrong in (x[0], x[:, :-1], x.unsqueeze(0)):
        for method in (net, net.input_gradient, net.value_and_pullback):
            with pytest.raises(ShapeError) as caught:
                method(wrong)
            assert (
                str(caught.value)
                == f"`x` of `{owner}` must have shape (n, {net.d}), got {tuple(wrong.shape)}."
            )


def test_an_input_of_another_dtype_is_refused(make_net, x):
    net = make_net()
    with pytest.raises(TypeError) as caught:
        net(x.float())
    owner = type(net).__name__
    assert str(caught.value) == f"`x` of `{owner}` must be torch.float64 like the weights, got torch.float32."


def test_nets_compare_by_identity(make_net):
    net = make_net()
    assert net == net
    assert net != make_net()
    assert len({net, net}) == 1
