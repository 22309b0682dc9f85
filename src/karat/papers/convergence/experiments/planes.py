"""Nets that interpolate with planes through the positive points, d points to a plane."""

import torch
from torch import Tensor

from karat.nets import TwoLayer


def planes_net(x: Tensor, y: Tensor, generator: torch.Generator) -> TwoLayer:
    r"""Return a net with a hat of three neurons on a plane through every d points of label +1.

    .. math:: f(x) = -\frac12 + \sum_j \frac{[z_j + h_j]_+ - 2 [z_j]_+ + [z_j - h_j]_+}{h_j}, \qquad
        z_j = \langle v_j, x \rangle - t_j

    with h the distance of the nearest point of label -1 from the plane. In general position no such point
    lies on one, and the net gives every label with width :math:`3 \lceil n_+/d \rceil`.

    Args:
        x: (n, d) points.
        y: (n,) labels.
        generator: of the points that fill up the last plane.

    Reading: Baum's planes, each as a hat instead of two steps.

    Ref: convergence, Def 6.1
    """
    d = x.shape[1]
    positive, negative = x[y > 0], x[y < 0]
    missing = -len(positive) % d
    more = torch.randn(missing, d, generator=generator, dtype=x.dtype)
    groups = torch.cat([positive, positive.mean(dim=0) + more]).reshape(-1, d, d)
    differences = groups[:, 1:] - groups[:, :1]
    v = torch.linalg.svd(differences, full_matrices=True).Vh[:, -1]
    t = (v * groups.mean(dim=1)).sum(dim=1)
    h = (negative @ v.T - t).abs().amin(dim=0).clamp_min(1e-300)
    return TwoLayer(
        v.repeat(3, 1),
        torch.cat([1 / h, -2 / h, 1 / h]),
        torch.cat([h - t, -t, -h - t]),
        x.new_tensor(-0.5),
    )
