"""Digits 0 and 1: sources, resolutions, and what happens when they are missing."""

import gzip
import struct

import numpy as np
import pytest
import torch

from karat.core.tensor_files import FileError
from karat.data import digits
from karat.data.digits import default_source, load_digits, resize


def idx(array, *, magic=None, shape=None):
    """An array in the format of MNIST; its header may say what is not so."""
    start = bytes([0, 0, 8, array.ndim]) if magic is None else magic
    return start + struct.pack(f">{array.ndim}I", *(shape or array.shape)) + array.tobytes()


IMAGES = np.arange(6 * 784, dtype=np.uint8).reshape(6, 28, 28)
LABELS = np.array([0, 1, 2, 1, 0, 9], dtype=np.uint8)


@pytest.fixture
def mnist(tmp_path, monkeypatch):
    """A folder laid out like full MNIST, with six tiny images a part."""
    folder = tmp_path / "mnist"
    folder.mkdir()
    for part in ("train", "t10k"):
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(IMAGES)))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(LABELS)))
    monkeypatch.setenv("KARAT_DATA", str(tmp_path))
    digits._mnist.cache_clear()
    yield folder
    digits._mnist.cache_clear()


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (b"", "its header is empty"),
        (idx(LABELS), "its header is 00 00 08 01"),
        (idx(IMAGES, magic=bytes([0, 0, 13, 3])), "its header is 00 00 0d 03"),
        (idx(np.zeros((49, 32, 32), np.uint8)), "must hold n x 28 x 28 bytes.*says 49 x 32 x 32"),
        (idx(IMAGES[:0]), "says 0 x 28 x 28"),
        (idx(IMAGES, shape=(7, 28, 28)), "must hold the 5488 bytes that its header says, it holds 4704"),
        (idx(IMAGES, shape=(5, 28, 28)), "must hold the 3920 bytes that its header says, it holds more"),
        (idx(IMAGES, shape=(2**32 - 1, 28, 28)), r"would take 3,367\.3 GB of memory"),
        (idx(IMAGES)[:9], "is not a gzipped IDX file, or it is damaged"),
    ],
)
def test_images_are_what_their_header_says_or_refused(mnist, images, message):
    (mnist / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(images))
    with pytest.raises(FileError, match=rf"train-images-idx3-ubyte\.gz` .*{message}"):
        load_digits("mnist", train=True)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (idx(np.zeros(15, np.uint8)), "must hold a label for each of 6 images, got 15"),
        (idx(LABELS + 190), r"must hold labels 0\.\.9, got 199"),
        (idx(IMAGES), "must hold bytes in 1 dimensions"),
        (idx(LABELS[:0]), "must hold n bytes with n >= 1, its header says 0"),
    ],
)
def test_labels_fit_the_images_or_are_refused(mnist, labels, message):
    (mnist / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))
    with pytest.raises(FileError, match=rf"train-labels-idx1-ubyte\.gz` {message}"):
        load_digits("mnist", train=True)


def test_damaged_and_missing_files_are_named(mnist):
    path = mnist / "train-images-idx3-ubyte.gz"
    whole = path.read_bytes()
    for content in (b"no gzip", whole[: len(whole) // 2], whole[:40] + bytes(40) + whole[80:]):
        path.write_bytes(content)
        with pytest.raises(FileError, match="is not a gzipped IDX file, or it is damaged"):
            load_digits("mnist", train=True)
    path.write_bytes(whole)
    (mnist / "train-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(FileError, match=r"train-labels-idx1-ubyte\.gz`: No such file"):
        load_digits("mnist", train=True)


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
