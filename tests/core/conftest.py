import pytest
import torch
from hypothesis import settings

# The same examples on every machine, and no time limit per example: CI machines are slow and shared.
settings.register_profile("karat", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("karat")


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)
