"""Initialisations: how the papers draw the weights of a net, on the device of the generator."""

import math

import torch
from torch import Tensor

from karat.core.activations import Activation, Relu
from karat.core.checks import require_even, require_integer, require_number
from karat.nets.deep import Deep
from karat.nets.odd_two_layer import OddTwoLayer
from karat.nets.two_layer import TwoLayer, inverse_root_width


def _randn(*shape: int, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
    return torch.randn(*shape, generator=generator, dtype=dtype, device=generator.device)


def _signs(m: int, *, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
    return torch.randint(2, (m,), generator=generator, device=generator.device).to(dtype) * 2 - 1


def gaussian(
    d: int,
    m: int,
    *,
    generator: torch.Generator,
    activation: Activation | None = None,
    dtype: torch.dtype = torch.float64,
) -> TwoLayer:
    r"""Lazy's init: rows :math:`N(0, I_d)`, output weights +-1 at random, scale :math:`1/\sqrt m`, no biases.

    Args:
        d: input dimension.
        m: number of neurons.
        generator: draws the weights.
        activation: phi, the ReLU when left out.
        dtype: of the weights.

    Ref: lazy, Def 2.1
    """
    require_integer(d, "d", "gaussian", minimum=1)
    require_integer(m, "m", "gaussian", minimum=1)
    W = _randn(m, d, generator=generator, dtype=dtype)
    a = _signs(m, generator=generator, dtype=dtype)
    return TwoLayer(W, a, activation=activation or Relu(), scale=inverse_root_width(m))


def symmetric(
    d: int,
    m: int,
    init_scale: float,
    *,
    generator: torch.Generator,
    activation: Activation | None = None,
    dtype: torch.dtype = torch.float64,
) -> TwoLayer:
    r"""Benign's zero-function init: equal rows with opposite output weights, scale :math:`1/\sqrt m`.

    .. math:: w_s = w_{s + m/2} \sim N(0, \omega_{\text{init}}^2 I), \qquad a = (+1, \dots, +1, -1, \dots, -1)

    Args:
        d: input dimension.
        m: number of neurons, even.
        init_scale: standard deviation of the weights.
        generator: draws the weights.
        activation: phi, the ReLU when left out.
        dtype: of the weights.

    Symbols: init_scale is omega_init.

    Reading: f and grad_x f are zero up to rounding, so an attack on this net follows rounding errors; the
        paper leaves the first training step unperturbed.

    Ref: benign, Sec 2.1
    """
    half = require_even(m, "m", "symmetric") // 2
    require_integer(d, "d", "symmetric", minimum=1)
    require_number(init_scale, "init_scale", "symmetric", minimum=0)
    rows = init_scale * _randn(half, d, generator=generator, dtype=dtype)
    ones = torch.ones(half, dtype=dtype, device=generator.device)
    return TwoLayer(
        rows.repeat(2, 1),
        torch.cat([ones, -ones]),
        activation=activation or Relu(),
        scale=inverse_root_width(m),
    )


def paired(
    d: int,
    m: int,
    *,
    generator: torch.Generator,
    sd_W: float,
    sd_a: float | None = None,
    sd_b: float | None = None,
    scale: float,
    activation: Activation | None = None,
    dtype: torch.dtype = torch.float64,
) -> TwoLayer:
    """Neurons in pairs with equal weights and biases and opposite output weights: f = 0 at the start.

    Args:
        d: input dimension.
        m: stored neurons, both halves counted.
        generator: draws the weights.
        sd_W: standard deviation of the hidden weights.
        sd_a: standard deviation of the output weights, or None for signs +-1.
        sd_b: standard deviation of the hidden biases, or None for a net without.
        scale: of the output.
        activation: phi, the ReLU when left out.
        dtype: of the weights.

    Reading: zero up to rounding, as in `symmetric`. Convergence has sd_W = 1, signs, scale = 1/sqrt m;
        features sd_W = 1/k, sd_b = 1/k^2, its own sd_a, scale = 1, and its m is half of m here.

    Ref: convergence, Eq 4; features, Sec 3.1
    """
    half = require_even(m, "m", "paired") // 2
    require_integer(d, "d", "paired", minimum=1)
    for name, sd in (("sd_W", sd_W), ("sd_a", sd_a), ("sd_b", sd_b)):
        if sd is not None:
            require_number(sd, name, "paired", minimum=0)
    W = sd_W * _randn(half, d, generator=generator, dtype=dtype)
    b = None if sd_b is None else sd_b * _randn(half, generator=generator, dtype=dtype)
    if sd_a is None:
        a = _signs(half, generator=generator, dtype=dtype)
    else:
        a = sd_a * _randn(half, generator=generator, dtype=dtype)
    return TwoLayer(
        W.repeat(2, 1),
        torch.cat([a, -a]),
        b=None if b is None else b.repeat(2),
        activation=activation or Relu(),
        scale=scale,
    )


def pytorch_default(
    d: int,
    m: int,
    *,
    generator: torch.Generator,
    activation: Activation | None = None,
    bias: bool = True,
    dtype: torch.dtype = torch.float64,
) -> TwoLayer:
    """torch.nn.Linear(d, m) and Linear(m, 1) as PyTorch draws them: uniform on +-1/sqrt(fan in).

    Args:
        d: input dimension.
        m: number of neurons.
        generator: draws the weights.
        activation: phi, the ReLU when left out.
        bias: whether the net has biases; they are drawn in either case.
        dtype: of the weights.

    Ref: benign, Sec 5
    """
    require_integer(d, "d", "pytorch_default", minimum=1)
    require_integer(m, "m", "pytorch_default", minimum=1)

    def uniform(fan_in: int, *shape: int) -> Tensor:
        draw = torch.rand(*shape, generator=generator, dtype=dtype, device=generator.device)
        return (2 * draw - 1) / math.sqrt(fan_in)

    W, b, a, c = uniform(d, m, d), uniform(d, m), uniform(m, m), uniform(m, 1)
    return TwoLayer(
        W, a, b if bias else None, c.squeeze(0) if bias else None, activation or Relu(), scale=1.0
    )


def small_odd(
    d: int,
    m: int,
    init_scale: float,
    bias: float,
    *,
    generator: torch.Generator,
    dtype: torch.dtype = torch.float64,
) -> OddTwoLayer:
    r"""Purification's start: :math:`w_i \sim N(0, \sigma_0^2 I)`, shared bias -bias (the paper subtracts it).

    Args:
        d: input dimension.
        m: number of pairs of neurons.
        init_scale: standard deviation of the weights.
        bias: how far a projection must go to activate a neuron.
        generator: draws the weights.
        dtype: of the weights.

    Symbols: init_scale is sigma_0, bias is the paper's b^(0) > 0.

    Ref: purification, Sec 4.1
    """
    require_integer(d, "d", "small_odd", minimum=1)
    require_integer(m, "m", "small_odd", minimum=1)
    require_number(init_scale, "init_scale", "small_odd", minimum=0)
    require_number(bias, "bias", "small_odd", minimum=0)
    W = init_scale * _randn(m, d, generator=generator, dtype=dtype)
    return OddTwoLayer(W, torch.tensor(-bias, dtype=dtype, device=generator.device))


def deep_gaussian(
    d: int,
    m: int,
    depth: int,
    *,
    generator: torch.Generator,
    activation: Activation | None = None,
    dtype: torch.dtype = torch.float64,
) -> Deep:
    r"""Convergence's init: A and :math:`W^{(h)}` have entries :math:`N(0, 2/m)`, a has :math:`N(0, 1)`.

    Args:
        d: input dimension.
        m: width.
        depth: number of square layers.
        generator: draws the weights.
        activation: phi, the ReLU when left out.
        dtype: of the weights.

    Reading: for |x| = 1 every |x^(h)| is near sqrt 2, since no activation follows A; Lemma A.2, quoted from a
        net that has one, puts it in [2/3, 4/3]. That would need A with entries N(0, 1/m): divide A by sqrt 2.

    Ref: convergence, Eq 1; convergence, Lemma A.2
    """
    require_integer(depth, "depth", "deep_gaussian", minimum=1)
    require_integer(d, "d", "deep_gaussian", minimum=1)
    require_integer(m, "m", "deep_gaussian", minimum=1)
    sd = math.sqrt(2 / m)
    A = sd * _randn(m, d, generator=generator, dtype=dtype)
    layers = tuple(sd * _randn(m, m, generator=generator, dtype=dtype) for _ in range(depth))
    return Deep(A, layers, _randn(m, generator=generator, dtype=dtype), activation or Relu())
