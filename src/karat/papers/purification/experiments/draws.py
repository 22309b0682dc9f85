"""Independent random numbers for the purposes of one run."""

import torch


def split(generator: torch.Generator, count: int) -> list[torch.Generator]:
    """Independent generators, so that what one purpose draws does not shift the draws of another.

    Args:
        generator: of the run.
        count: how many purposes there are.
    """
    seeds = torch.randint(2**62, (count,), generator=generator).tolist()
    return [torch.Generator().manual_seed(seed) for seed in seeds]
