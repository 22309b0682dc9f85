"""How many neurons of an odd net wake on an input, and how often each one does."""

from torch import Tensor

from karat.nets.odd_two_layer import OddTwoLayer


def activation_rate(net: OddTwoLayer, x: Tensor) -> Tensor:
    """(m,) share of the inputs on which |<w_i, x>| passes the threshold.

    Without self-activation a neuron of one feature wakes as often as its code is non-zero, E|z|_0 / D.
    """
    return (net.projections(x).abs() > -net.b).to(x.dtype).mean(dim=0)


def near_threshold_count(net: OddTwoLayer, x: Tensor, share: float = 0.1) -> Tensor:
    """(n,) number of neurons with |<w_i, x>| >= share * b: O(k) once every neuron is nearly a singleton.

    Ref: purification, Lemma C.19
    """
    return (net.projections(x).abs() >= -share * net.b).sum(dim=1)
