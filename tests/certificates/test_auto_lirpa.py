"""Agreement with auto_LiRPA's CROWN, where that library is installed."""

import pytest
import torch

auto_lirpa = pytest.importorskip("auto_LiRPA", reason="auto_LiRPA is not installed")


@pytest.mark.parametrize("p", [2.0, float("inf")])
def test_relaxation_equals_crown_of_auto_lirpa(make_problem, p):
    from karat.certificates.relaxation import linear_relaxation

    problem = make_problem("relu", p, n=1, m=20, d=8, tau=0.5)
    hidden, out = torch.nn.Linear(8, 20).double(), torch.nn.Linear(20, 1).double()
    hidden.weight.data, hidden.bias.data = problem.W, problem.b
    out.weight.data, out.bias.data = problem.c, problem.offset
    model = torch.nn.Sequential(hidden, torch.nn.ReLU(), out)
    bounded = auto_lirpa.BoundedModule(model, problem.x)
    region = auto_lirpa.PerturbationLpNorm(norm=p, eps=float(problem.tau[0]))
    x = auto_lirpa.BoundedTensor(problem.x, region)
    lower, _ = bounded.compute_bounds(x=(x,), method="CROWN")
    assert torch.allclose(lower.flatten(), linear_relaxation(problem), atol=1e-10)
