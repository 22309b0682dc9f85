"""Samples from files and sets, in the form that models take."""

import numpy as np
import pytest
import torch

from karat.core.checks import ShapeError
from karat.core.tensor_files import FileError
from karat.data.loading import evenly, load_samples


def test_every_format_gives_the_same_samples(tmp_path):
    from safetensors.torch import save_file

    x, y = torch.rand(6, 3, 4, 4, generator=torch.Generator().manual_seed(0)), torch.arange(6) % 3
    np.savez(tmp_path / "a.npz", x=x.numpy(), y=y.numpy())
    np.savez(tmp_path / "b.npz", x_test=x.numpy(), y_test=y.numpy(), x_train=x.numpy())
    torch.save({"x": x, "y": y}, tmp_path / "a.pt")
    torch.save((x, y), tmp_path / "b.pt")
    save_file({"x": x, "y": y}, tmp_path / "a.safetensors")
    for name in ("a.npz", "b.npz", "a.pt", "b.pt", "a.safetensors"):
        found = load_samples(tmp_path / name)
        assert torch.equal(found[0], x)
        assert torch.equal(found[1], y)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (np.array([0, 2, 1], np.uint8), [0, 2, 1]),
        (np.array([-1, 1, -1]), [-1.0, 1.0, -1.0]),
        (np.array([[1.0], [-1.0], [1.0]]), [1.0, -1.0, 1.0]),
        (np.array([0.0, 2.0, 1.0]), [0, 2, 1]),
    ],
)
def test_labels_are_indices_or_signs(tmp_path, given, wanted):
    np.savez(tmp_path / "a.npz", x=np.ones((3, 2)), y=given)
    y = load_samples(tmp_path / "a.npz")[1]
    assert y.tolist() == wanted
    assert y.is_floating_point() == isinstance(wanted[0], float)


def test_bytes_become_shares_and_doubles_stay(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.full((2, 3), 255, np.uint8), y=np.zeros(2, int))
    np.savez(tmp_path / "b.npz", x=np.ones((2, 3)), y=np.zeros(2, int))
    assert load_samples(tmp_path / "a.npz")[0].tolist() == [[1.0] * 3] * 2
    assert load_samples(tmp_path / "b.npz")[0].dtype == torch.float64


@pytest.mark.parametrize(
    ("arrays", "error", "message"),
    [
        ({"x": np.ones((3, 2))}, FileError, "`y` is missing, it holds x"),
        ({"images": np.ones((3, 2)), "y": np.ones(3)}, FileError, "`x` is missing, it holds images, y"),
        ({"x": np.ones(3), "y": np.ones(3)}, ShapeError, r"must have shape \(n, ...\)"),
        ({"x": np.ones((3, 2)), "y": np.eye(3)}, ShapeError, "instead of one column per class"),
        ({"x": np.ones((3, 2)), "y": np.ones(2)}, ShapeError, "must be as many"),
        ({"x": np.ones((3, 2)), "y": np.full(3, 0.5)}, FileError, "labels \\+-1 or class indices, got 0.5"),
        ({"x": np.full((3, 2), np.nan), "y": np.ones(3)}, FileError, "finite numbers"),
        ({"x": np.ones((3, 8, 8, 3)), "y": np.ones(3)}, ShapeError, "transpose them"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence(tmp_path, arrays, error, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(error, match=message):
        load_samples(tmp_path / "a.npz")


def test_unknown_sources_list_the_sets():
    with pytest.raises(FileError, match="one of digits, mnist, cifar10"):
        load_samples("faces")


def test_sets_are_spread_over_their_classes():
    x, y = load_samples("digits", 50)
    assert x.shape == (50, 1, 28, 28)
    assert y.unique().tolist() == list(range(10))


def test_evenly_spaced_samples_keep_both_ends():
    x = torch.arange(100)
    chosen, _ = evenly(x, x, 7)
    assert len(chosen) == 7
    assert (chosen[0], chosen[-1]) == (0, 99)
    assert evenly(x, x, 1000)[0] is x
