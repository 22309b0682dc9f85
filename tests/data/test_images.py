"""Image sets: shapes, ranges, and one clear line when a set is missing."""

import numpy as np
import pytest
import torch

from karat.core.tensor_files import FileError
from karat.data.images import FILES, SETS, available, load_images


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A folder with one tiny set of each colour kind."""
    generator = np.random.default_rng(0)
    for name, path in FILES.items():
        side = 64 if name == "tiny_imagenet" else 32
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        parts = {}
        for part, n in (("train", 6), ("test", 3)):
            parts[f"x_{part}"] = generator.integers(0, 256, (n, side, side, 3), dtype=np.uint8)
            parts[f"y_{part}"] = np.arange(n) % 3
        np.savez_compressed(file, **parts)
    monkeypatch.setenv("KARAT_DATA", str(tmp_path))
    from karat.data import images

    images._stored.cache_clear()
    yield tmp_path
    images._stored.cache_clear()


@pytest.mark.parametrize("name", list(FILES))
def test_colour_sets_are_channels_first_in_the_unit_cube(stored, name):
    x, y = load_images(name, train=True)
    assert available(name)
    assert x.shape == (6, 3, 32, 32)
    assert y.tolist() == [0, 1, 2, 0, 1, 2]
    assert x.is_contiguous()
    assert float(x.min()) >= 0
    assert float(x.max()) <= 1
    raw = np.load(stored / FILES[name])["x_train"]
    want = raw[0, :2, :2, 1].mean() if name == "tiny_imagenet" else raw[0, 0, 0, 1]
    assert float(x[0, 1, 0, 0]) == pytest.approx(want / 255, abs=1e-6)


def test_classes_select_labels(stored):
    x, y = load_images("svhn", train=False, classes=2)
    assert y.tolist() == [0, 1]
    assert len(x) == 2


def test_embedded_digits_are_always_there():
    x, y = load_images("digits", train=True)
    assert available("digits")
    assert x.shape == (3000, 1, 28, 28)
    assert torch.bincount(y).tolist() == [300] * 10


def test_a_missing_set_is_named_in_one_line(monkeypatch, tmp_path):
    from karat.data import images

    images._stored.cache_clear()
    monkeypatch.setenv("KARAT_DATA", str(tmp_path))
    assert [name for name in SETS if available(name)] == ["digits"]
    with pytest.raises(FileNotFoundError, match=r"`svhn` are not here: set KARAT_DATA .*svhn/svhn_10class"):
        load_images("svhn", train=True)
    with pytest.raises(ValueError, match="must be one of"):
        load_images("imagenet", train=True)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x_train": np.zeros((2, 32, 32, 3), np.uint8)}, "must hold `y_train`; it holds x_train"),
        ({"x_train": np.zeros((2, 32, 32, 3)), "y_train": np.zeros(2, int)}, "must hold bytes"),
        ({"x_train": np.zeros((2, 3072), np.uint8), "y_train": np.zeros(2, int)}, r"got \(2, 3072\)"),
        (
            {"x_train": np.zeros((2, 32, 32, 3), np.uint8), "y_train": np.zeros(3, int)},
            "for each of 2 images",
        ),
        ({"x_train": np.zeros((2, 32, 32, 3), np.uint8), "y_train": np.full(2, -1)}, "a class index"),
    ],
)
def test_a_wrong_file_is_named_in_one_line(stored, arrays, message):
    np.savez(stored / FILES["svhn"], **arrays)
    with pytest.raises(FileError, match=message) as caught:
        load_images("svhn", train=True)
    assert FILES["svhn"] in str(caught.value)
