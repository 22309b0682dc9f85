"""How far a trained module is from its linearisation in the weights: the lazy regime by its definition."""

import copy
import math

import torch
from torch import Tensor, nn

from karat.core.checks import require_number


@torch.no_grad()
def linearisation_error(start: nn.Module, end: nn.Module, x: Tensor, *, step: float = 1e-3) -> float:
    r"""The distance of a net from its expansion around the start, as a share of what training changed.

    .. math:: \frac{\|f(w) - f_{lin}(w)\|}{\|f(w) - f(w_0)\|}, \qquad
              f_{lin}(x; w) = f(x; w_0) + \langle \nabla_w f(x; w_0), w - w_0 \rangle

    Near 0 the training was lazy: its outcome is the linear model's. Of order 1 or more, it was not. NaN if
    the two nets agree on all inputs.

    Args:
        start: the net before training, returning tensors, in the mode it is to be compared in.
        end: the net after training, of the same architecture and in the same mode.
        x: (n, ...) inputs.
        step: of the central difference along :math:`w - w_0`, in units of that vector.

    Reading: everything is evaluated in float64, where a step of 1e-3 costs no digits; a module that cannot is
        taken in its own number type with a step of 1e-2. Running means and variances of norms count as
        weights: they are part of the trained function. A step that makes a variance negative is shortened.
    """
    require_number(step, "step", "linearisation_error", positive=True, maximum=1)
    try:
        return _error(copy.deepcopy(start).double(), copy.deepcopy(end).double(), x.double(), step)
    except RuntimeError:  # a constant of another number type inside the forward pass
        return _error(copy.deepcopy(start), copy.deepcopy(end), x, max(step, 1e-2))


def _error(first: nn.Module, last: nn.Module, x: Tensor, step: float) -> float:
    new = {name: tensor.clone() for name, tensor in last.state_dict().items()}
    old = {name: tensor.clone() for name, tensor in first.state_dict().items()}
    base, trained = first(x), last(x)

    def along(t: float) -> Tensor:
        state = {
            name: tensor + t * (new[name] - tensor) if tensor.is_floating_point() else tensor
            for name, tensor in old.items()
        }
        first.load_state_dict(state)
        outputs: Tensor = first(x)
        return outputs

    # A step back may leave the domain, such as a running variance below zero: shorten it until it does not.
    ahead, behind = along(step), along(-step)
    while not bool(torch.isfinite(behind).all()) and step > 1e-6:
        step /= 10
        ahead, behind = along(step), along(-step)
    linear = base + (ahead - behind) / (2 * step)
    moved = float(torch.linalg.vector_norm(trained - base))
    return float(torch.linalg.vector_norm(trained - linear)) / moved if moved > 0 else math.nan
