"""Digits 0 and 1: sources, resolutions, and what happens when they are missing."""

import gzip

import numpy as np
import pytest
import torch

from karat.data import digits
from karat.data.digits import default_source, load_digits, resize


@pytest.fixture
def mnist(tmp_path, monkeypatch):
    """A folder laid out like full MNIST, with six tiny images a part."""
    folder = tmp_path / "mnist"
    folder.mkdir()
    for part in ("train", "t10k"):
        images = np.arange(6 * 784, dtype=np.uint8).reshape(6, 28, 28)
        labels = np.array([0, 1, 2, 1, 0, 9], dtype=np.uint8)
        with gzip.open(folder / f"{part}-images-idx3-ubyte.gz", "wb") as file:
            file.write(bytes(16) + images.tobytes())
        with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(bytes(8) + labels.tobytes())
    monkeypatch.setenv("KARAT_DATA", str(tmp_path))
    digits._mnist.cache_clear()
    yield
    digits._mnist.cache_clear()


def test_embedded_digits_are_split_without_overlap():
    train, test = (load_digits("embedded", train=part) for part in (True, False))
    assert len(train) == 600
    assert len(test) == 400
    assert not set(map(tuple, train.x.tolist())) & set(map(tuple, test.x.tolist()))
    assert set(train.y.tolist()) == {-1.0, 1.0}


def test_mnist_is_read_from_the_data_folder(mnist):
    assert default_source() == "mnist"
    samples = load_digits("mnist", train=True)
    assert samples.y.tolist() == [-1.0, 1.0, 1.0, -1.0]
    assert float(samples.x[0, 5]) == pytest.approx(5 / 255)


def test_missing_mnist_is_one_sentence(monkeypatch):
    monkeypatch.delenv("KARAT_DATA", raising=False)
    digits._mnist.cache_clear()
    with pytest.raises(FileNotFoundError, match="MNIST is not here: set KARAT_DATA"):
        load_digits("mnist", train=True)


def test_equal_classes_are_refused():
    with pytest.raises(ValueError, match="must be two different digits"):
        load_digits("embedded", train=True, classes=(3, 3))


@pytest.mark.parametrize("side", [1, 5, 14, 17, 28])
def test_averaging_keeps_the_mean_of_every_image(side):
    x = torch.rand(3, 784, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(resize(x, side).mean(dim=1), x.mean(dim=1))


def test_averaging_by_a_divisor_is_block_averaging():
    x = torch.rand(2, 784, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    blocks = x.reshape(2, 14, 2, 14, 2).mean(dim=(2, 4)).flatten(1)
    assert torch.allclose(resize(x, 14), blocks)


def test_padding_changes_neither_norms_nor_inner_products():
    x = torch.rand(4, 784, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    padded = resize(x, 32)
    assert padded.shape == (4, 1024)
    assert torch.allclose(padded @ padded.T, x @ x.T)


def test_full_side_changes_nothing():
    x = torch.rand(2, 784, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    assert torch.allclose(resize(x, 28), x)
