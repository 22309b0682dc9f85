"""Statuses at many radii from few certificates: what is decided at one radius is carried to the others."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from karat.certificates.certificate import Certificate, Status
from karat.certificates.ladder import Listener, certify
from karat.core.ball import Ball
from karat.core.norms import norm, per_sample

Table = list[list[Status | None]]


def status_curve(
    model: Any,
    x: Tensor,
    y: Tensor,
    ball: Ball,
    radii: Sequence[float],
    seconds_per_sample: float = 3.0,
    *,
    known: Mapping[float, Certificate] | None = None,
    generator: torch.Generator | None = None,
    listener: Listener | None = None,
) -> list[list[Status]]:
    """The status of every sample at every radius, by bisection over the radii.

    A sample proven robust at one radius is robust at all smaller ones, and a witness breaks it at every
    radius its length allows; only a tie or an undecided sample says nothing about its neighbours. So each
    sample is certified about log2 of the number of radii times, its witness being tried first each time.

    Args:
        model: karat net or torch.nn.Module.
        x: (n, ...) samples.
        y: (n,) labels +-1, or class indices for logits.
        ball: norm and box (its own tau is not used).
        radii: increasing.
        seconds_per_sample: for the search at one radius.
        known: certificates that are there already, by their radius.
        generator: of the attack's restarts, seeded with 0 when left out.
        listener: called with (stage, samples done, samples).

    Returns:
        one list of n statuses per radius.
    """
    if list(radii) != sorted(radii) or len(radii) == 0:
        raise ValueError(f"`radii` of `status_curve` must increase, got {list(radii)}.")
    grid = torch.tensor(list(radii), dtype=torch.float64)
    table: Table = [[None] * len(x) for _ in radii]
    witness = torch.zeros(x.shape, dtype=torch.float64)
    everyone = torch.arange(len(x))
    for tau, certificate in (known or {}).items():
        _fill(table, grid, everyone, torch.full((len(x),), tau).double(), certificate, witness, ball.p)
    while rows := [i for i in range(len(x)) if any(line[i] is None for line in table)]:
        index = torch.tensor(rows)
        radius = grid[[_middle(table, i) for i in rows]]
        length = norm(witness[index], ball.p).clamp_min(1e-300)
        start = witness[index] * per_sample((radius / length).clamp_max(1), witness[index])
        latest = certify(
            model,
            x[index],
            y[index],
            ball.with_tau(radius),
            seconds_per_sample,
            start=start,
            generator=generator,
            listener=listener,
        )
        _fill(table, grid, index, radius, latest, witness, ball.p)
    return [[status for status in line if status is not None] for line in table]


def _middle(table: Table, sample: int) -> int:
    """The middle one of the radii at which a sample has no status yet."""
    left = [k for k, line in enumerate(table) if line[sample] is None]
    return left[len(left) // 2]


def _fill(
    table: Table,
    grid: Tensor,
    rows: Tensor,
    radius: Tensor,
    certificate: Certificate,
    witness: Tensor,
    p: float,
) -> None:
    """Enter statuses and what they imply: robust downwards, broken wherever the witness fits."""
    length = norm(certificate.delta, p)
    for k, i in enumerate(rows.tolist()):
        status = certificate.status[k]
        here = grid == radius[k]
        if status == "robust":
            here = grid <= radius[k]
        elif status == "broken":
            here = grid >= torch.minimum(length[k], radius[k])
            witness[i] = certificate.delta[k].double()
        for row in here.nonzero().squeeze(1).tolist():
            if table[row][i] is None:
                table[row][i] = status
