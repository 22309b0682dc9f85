"""Polar lattices of caps in three dimensions: finitely many points that come near to every other one."""

import math

import torch
from torch import Tensor

from karat.core.cap import Cap


def cap_lattice(centre: Tensor, tau: float, rings: int) -> Tensor:
    """Return the midpoints of rings around a centre, 4 points per ring for every ring.

    Args:
        centre: (3,) unit vector.
        tau: radius of the cap, as a chord.
        rings: how many.

    Returns:
        (4 rings^2, 3).
    """
    radii = Cap(tau).angle * (torch.arange(rings, dtype=torch.float64) + 0.5) / rings
    turns = 2 * math.pi * torch.arange(4 * rings, dtype=torch.float64) / (4 * rings)
    # The second and third columns of Q span the plane at right angles to the centre.
    basis = torch.linalg.qr(torch.cat([centre.unsqueeze(1), torch.eye(3, dtype=torch.float64)], dim=1)).Q
    ring = torch.cos(turns).unsqueeze(1) * basis[:, 1] + torch.sin(turns).unsqueeze(1) * basis[:, 2]
    lattice = torch.cos(radii)[:, None, None] * centre + torch.sin(radii)[:, None, None] * ring
    return lattice.reshape(-1, 3)


def lattice_spacing(tau: float, rings: int) -> float:
    """Return an angle within which every point of the cap has one of the lattice: half a ring, half a turn.

    Args:
        tau: radius of the cap, as a chord.
        rings: of the lattice.
    """
    angle = Cap(tau).angle
    widest = math.sin(min(angle, math.pi / 2))
    return angle / (2 * rings) + math.pi * widest / (4 * rings)
