"""A user's factory and checkpoint become a filled model, or one sentence."""

import sys

import pytest
import torch
from torch import nn

from karat.core.tensor_files import UnsafeFile
from karat.nets.loading import ModelError, build_model, fill_model, load_model, read_state

CODE = """
import torch
def make():
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
def needs(width):
    return torch.nn.Linear(3, width)
def fails():
    raise RuntimeError("no luck today")
def wrong():
    return 3
Class = torch.nn.Identity
ready = torch.nn.Linear(2, 2)
number = 5
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    (tmp_path / "users_nets.py").write_text(CODE)
    (tmp_path / "broken_nets.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in ("users_nets", "broken_nets"):
        sys.modules.pop(name, None)


def test_factories_are_found_by_module_and_by_file(home):
    assert len(build_model("users_nets:make")) == 3
    assert len(build_model(f"{home / 'users_nets.py'}:make")) == 3
    assert isinstance(build_model("users_nets:Class"), nn.Identity)
    assert isinstance(build_model("users_nets:ready"), nn.Linear)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("make", "named package.module:FUNCTION"),
        ("users_nets:", "named package.module:FUNCTION"),
        ("users_nets:nothing", "`users_nets` has no `nothing`"),
        ("users_nets:number", "must be a function that returns a model, got int"),
        ("users_nets:needs", "must need no arguments, but needs width"),
        ("users_nets:fails", "`users_nets:fails` failed: RuntimeError: no luck today."),
        ("users_nets:wrong", "must return a torch.nn.Module, got int"),
        ("nowhere_at_all:make", "cannot be imported: No module named 'nowhere_at_all'"),
        ("nowhere.py:make", "No such file"),
        ("broken_nets:make", "importing `broken_nets` failed: ZeroDivisionError"),
    ],
)
def test_what_is_wrong_with_a_factory_is_one_sentence(home, name, message):
    with pytest.raises(ModelError, match=message):
        build_model(name)


@pytest.mark.parametrize("wrapper", [None, "state_dict", "model", "model_state_dict", "net"])
@pytest.mark.parametrize("prefix", ["", "module.", "_orig_mod.", "module._orig_mod.", "model."])
def test_state_dicts_are_taken_out_of_their_wrappers(home, wrapper, prefix):
    source = build_model("users_nets:make")
    state = {prefix + name: tensor for name, tensor in source.state_dict().items()}
    torch.save({wrapper: state, "epoch": 3} if wrapper else state, home / "a.pt")
    model = load_model("users_nets:make", home / "a.pt")
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    assert torch.equal(model(x), source(x))
    assert not model.training


def test_a_prefix_that_the_model_knows_is_kept():
    model = nn.ModuleDict({"model": nn.Linear(2, 2)})
    state = {name: tensor + 1 for name, tensor in model.state_dict().items()}
    fill_model(model, state, "a.pt")
    assert torch.equal(model["model"].weight, state["model.weight"])


def test_a_whole_model_needs_trust(home):
    torch.save(build_model("users_nets:make"), home / "whole.pt")
    with pytest.raises(UnsafeFile, match="--trust-pickle"):
        read_state(home / "whole.pt")
    assert len(read_state(home / "whole.pt", trust_pickle=True)) == 4


def test_missing_unknown_and_misshapen_weights_are_told_together():
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2), nn.Linear(2, 2), nn.Linear(2, 2))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state = {"0.weight": torch.ones(4, 3), "0.bias": torch.ones(7), "extra": torch.ones(1)}
    with pytest.raises(ModelError) as caught:
        fill_model(model, state, "a.pt")
    assert str(caught.value) == (
        "the weights of `a.pt` do not fit the model: 6 missing (1.weight, 1.bias, 2.weight, ...), "
        "1 unknown to the model (extra), 1 of another shape (0.bias (7,) for (4,))."
    )
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_weights_that_are_not_finite_are_refused(home):
    state = build_model("users_nets:make").state_dict()
    state["2.weight"][0, 1] = torch.nan
    torch.save(state, home / "nan.pt")
    with pytest.raises(ModelError, match=r"`2.weight` of `.*nan.pt` holds 1 numbers that are NaN"):
        load_model("users_nets:make", home / "nan.pt")
