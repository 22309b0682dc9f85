"""Every attack that can be chosen by name keeps the promises of the protocol."""

import math

import pytest
import torch

from karat.attacks import METHODS, FixedDirection, judge, run_attack
from karat.core import Ball, norm

NORMS = [1.0, 2.0, math.inf]
DTYPES = [torch.float32, torch.float64]
RANDOM = {"pgd_restarts", "smoothed_pgd", "strongest"}
DETERMINISTIC = sorted(set(METHODS) - RANDOM)
FIXED = {"fixed_direction": lambda: FixedDirection(torch.arange(1.0, 7.0) - 3.2)}
ALL = {**METHODS, **FIXED}


def seeded():
    return torch.Generator().manual_seed(7)


def radii(kind, n, dtype):
    if kind == "scalar":
        return 0.4
    tau = torch.linspace(0.0, 1.5, n, dtype=dtype)
    return tau if kind == "per-sample" else torch.zeros(n, dtype=dtype)


@pytest.mark.parametrize("kind", ["scalar", "per-sample"])
@pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("name", ALL)
def test_perturbation_stays_in_the_ball_and_is_reproducible(lab, name, p, dtype, kind):
    net = lab.random_two_layer(dtype=dtype)
    x, y = lab.points(10, 6, dtype=dtype)
    kept = x.clone()
    ball = Ball(p, radii(kind, 10, dtype))
    state = torch.random.get_rng_state()
    result = run_attack(ALL[name](), net, x, y, ball, generator=seeded())
    again = run_attack(ALL[name](), net, x, y, ball, generator=seeded())
    assert result.delta.shape == x.shape
    assert result.delta.dtype == dtype
    assert torch.equal(result.delta, again.delta)
    assert torch.equal(x, kept)
    assert torch.equal(torch.random.get_rng_state(), state)
    if kind == "per-sample":
        assert bool((result.delta[0] == 0).all())


@pytest.mark.parametrize("kind", ["scalar zero", "zeros"])
@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("name", ALL)
def test_zero_radius_gives_zero_perturbation(lab, name, p, kind):
    net, (x, y) = lab.random_two_layer(), lab.points(5, 6)
    tau = 0.0 if kind == "scalar zero" else torch.zeros(5)
    delta = ALL[name]()(net, x, y, Ball(p, tau), generator=seeded())
    assert bool((delta == 0).all())


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("name", [*DETERMINISTIC, *FIXED])
def test_a_sample_is_attacked_alike_alone_and_in_a_batch(lab, name, p):
    net, (x, y) = lab.random_two_layer(), lab.points(8, 6)
    tau = torch.linspace(0.1, 1.0, 8, dtype=x.dtype)
    batch = ALL[name]()(net, x, y, Ball(p, tau))
    alone = [ALL[name]()(net, x[i : i + 1], y[i : i + 1], Ball(p, tau[i : i + 1])) for i in range(8)]
    torch.testing.assert_close(torch.cat(alone), batch, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("name", [*DETERMINISTIC, *FIXED])
def test_permuting_samples_permutes_perturbations(lab, name, p):
    net, (x, y) = lab.random_two_layer(), lab.points(8, 6)
    tau = torch.linspace(0.1, 1.0, 8, dtype=x.dtype)
    order = torch.tensor([3, 1, 4, 0, 5, 7, 2, 6])
    batch = ALL[name]()(net, x, y, Ball(p, tau))
    permuted = ALL[name]()(net, x[order], y[order], Ball(p, tau[order]))
    torch.testing.assert_close(permuted, batch[order], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("name", METHODS)
def test_images_and_vectors_are_attacked_alike(lab, name, p):
    net, (x, y) = lab.random_two_layer(d=12), lab.points(5, 12)
    flat = METHODS[name]()(net, x, y, Ball(p, 0.5), generator=seeded())
    image = METHODS[name]()(net, x.reshape(5, 3, 2, 2), y, Ball(p, 0.5), generator=seeded())
    assert image.shape == (5, 3, 2, 2)
    torch.testing.assert_close(image.flatten(1), flat)


@pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("name", ALL)
def test_box_is_honoured(lab, name, p, dtype):
    net, (x, y) = lab.random_two_layer(dtype=dtype), lab.points(8, 6, dtype=dtype)
    x = x.clamp(-1, 1)  # many coordinates sit on a wall
    ball = Ball(p, 0.8, box=(-1.0, 1.0))
    result = run_attack(ALL[name](), net, x, y, ball, generator=seeded())
    assert bool(((x + result.delta).abs() <= 1 + 1e-6).all())


@pytest.mark.parametrize("name", METHODS)
def test_vanishing_gradient_is_no_error(lab, name):
    x, y = lab.points(4, 3)
    for value in (1.0, -1.0):
        delta = METHODS[name]()(lab.Constant(value), x, y, Ball(2, 0.5), generator=seeded())
        judge(lab.Constant(value), x, y, delta, Ball(2, 0.5))
        if name not in RANDOM:
            assert bool((delta == 0).all())


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("name", ["steepest", "pgd", "gradient_step"])
def test_tiny_gradients_are_followed(lab, name, p):
    """Gradients of size 1e-30 in float32: their squares underflow."""
    linear = lab.Linear(torch.tensor([3e-30, -4e-30, 1e-30]))
    x, y = lab.points(4, 3, dtype=torch.float32)
    delta = METHODS[name]()(linear, x, y, Ball(p, 0.5))
    assert bool(torch.isfinite(delta).all())
    unflipped = linear.margin(x + delta, y) > 0
    torch.testing.assert_close(norm(delta, p)[unflipped], torch.full_like(norm(delta, p)[unflipped], 0.5))


@pytest.mark.parametrize("name", METHODS)
def test_class_indices_work_as_labels(name):
    class ThreeClasses:
        W = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], dtype=torch.float64)

        def margin_and_gradient(self, x, y):
            logits = x @ self.W.T
            others = logits.scatter(1, y.unsqueeze(1), -math.inf)
            rival = others.argmax(dim=1)
            gap = self.W[y] - self.W[rival]
            return (x * gap).sum(dim=1), gap

        def margin(self, x, y):
            return self.margin_and_gradient(x, y)[0]

    x = torch.randn(9, 2, generator=seeded(), dtype=torch.float64)
    y = (x @ ThreeClasses.W.T).argmax(dim=1)
    result = run_attack(METHODS[name](), ThreeClasses(), x, y, Ball(2, 1.0), generator=seeded())
    assert bool(result.success.any())


@pytest.mark.parametrize("name", sorted(RANDOM))
def test_random_attacks_ask_for_a_generator(lab, name):
    net, (x, y) = lab.random_two_layer(), lab.points(3, 6)
    with pytest.raises(ValueError, match="draws random numbers: pass a `generator`"):
        METHODS[name]()(net, x, y, Ball(2, 0.5))


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"smoothed_pgd"}))
def test_empty_batch_is_fine(lab, name):
    net, (x, y) = lab.random_two_layer(), lab.points(0, 6)
    assert METHODS[name]()(net, x, y, Ball(2, 0.5), generator=seeded()).shape == (0, 6)
