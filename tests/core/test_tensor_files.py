"""Files of others are read without running their code."""

import io
import os
import pickle
import zipfile

import numpy as np
import pytest
import torch
from torch.torch_version import TorchVersion

from karat.core.file_errors import GROWTH, SMALL
from karat.core.tensor_files import FileError, UnsafeFile, plain_tensor, read_tensor_file, tensors_of


class Evil:
    """Runs a command when unpickled."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.fixture
def mark(tmp_path):
    return tmp_path / "was_executed"


def test_tensors_come_back_from_every_format(tmp_path):
    from safetensors.torch import save_file

    tensors = {"w": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2, dtype=torch.float64)}
    torch.save(tensors, tmp_path / "a.pt")
    torch.save(tensors, tmp_path / "old.pth", _use_new_zipfile_serialization=False)
    save_file(tensors, tmp_path / "a.safetensors")
    np.savez(tmp_path / "a.npz", **{name: tensor.numpy() for name, tensor in tensors.items()})
    for name in ("a.pt", "old.pth", "a.safetensors", "a.npz"):
        found = tensors_of(read_tensor_file(tmp_path / name), name)
        assert found.keys() == tensors.keys()
        for key, tensor in tensors.items():
            assert torch.equal(found[key], tensor)
            assert found[key].dtype == tensor.dtype


@pytest.mark.parametrize("plain", [False, True], ids=["torch.save", "pickle.dump"])
def test_a_pickle_that_runs_code_is_refused_and_not_executed(tmp_path, mark, plain):
    content, path = {"weights": Evil(f"touch {mark}")}, tmp_path / "evil.pt"
    if plain:
        path.write_bytes(pickle.dumps(content))
    else:
        torch.save(content, path)
    with pytest.raises(UnsafeFile, match=r"can run any code when opened, and was not opened.*--trust-pickle"):
        read_tensor_file(path)
    assert not mark.exists()


def test_the_reason_names_what_the_pickle_asks_for(tmp_path):
    torch.save(torch.nn.Linear(2, 2), tmp_path / "whole.pt")
    with pytest.raises(UnsafeFile, match=r"asks for `torch.nn.modules.linear.Linear`"):
        read_tensor_file(tmp_path / "whole.pt")


def test_a_trusted_pickle_is_opened(tmp_path, mark):
    torch.save({"weights": Evil(f"touch {mark}")}, tmp_path / "evil.pt")
    read_tensor_file(tmp_path / "evil.pt", trust_pickle=True)
    assert mark.exists()


def test_an_npz_of_objects_is_refused_and_not_executed(tmp_path, mark):
    np.savez(tmp_path / "evil.npz", x=np.array([Evil(f"touch {mark}")], dtype=object))
    with pytest.raises(UnsafeFile, match="holds Python objects"):
        tensors_of(read_tensor_file(tmp_path / "evil.npz"), "evil.npz")
    assert not mark.exists()


@pytest.mark.parametrize("suffix", [".pt", ".npz", ".safetensors"])
@pytest.mark.parametrize("content", [b"", b"no file of any kind", b"PK\x03\x04 cut short"])
def test_damaged_files_are_named_in_one_sentence(tmp_path, suffix, content):
    path = tmp_path / f"broken{suffix}"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"broken.*(damaged|not opened|any code when opened)") as caught:
        read_tensor_file(path)
    assert "\n" not in str(caught.value)


def test_a_torchscript_archive_is_named(tmp_path):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(1, 2)), tmp_path / "script.pt")
    with pytest.raises(FileError, match="TorchScript archive"):
        read_tensor_file(tmp_path / "script.pt")


def test_other_endings_and_missing_files_are_refused(tmp_path):
    with pytest.raises(FileError, match=r"must end in \.pt"):
        read_tensor_file(tmp_path / "a.txt")
    with pytest.raises(FileError, match="No such file"):
        read_tensor_file(tmp_path / "a.pt")


@pytest.mark.parametrize("content", [[1.0], {"a": 1}, {}, {1: torch.ones(1)}])
def test_tensors_of_wants_tensors_by_name(content):
    with pytest.raises(FileError, match=r"`f\.pt` must hold tensors by name"):
        tensors_of(content, "f.pt")


def test_text_arrays_are_refused(tmp_path):
    np.savez(tmp_path / "words.npz", x=np.array(["a", "b"]))
    with pytest.raises(FileError, match=r"`x` of `.*words\.npz` must hold numbers"):
        tensors_of(read_tensor_file(tmp_path / "words.npz"), "words.npz")


def npy(shape, descr="<f8", data=b""):
    """The bytes of an .npy file whose header may say what is not so."""
    stream = io.BytesIO()
    fields = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, fields)
    return stream.getvalue() + data


def archive(path, **members):
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name.replace("_npy", ".npy"), content)
    return path


@pytest.mark.parametrize("old", ["2.4.0", "2.9.1+cpu"])
def test_a_torch_that_may_run_code_opens_no_pt_file(tmp_path, monkeypatch, old):
    torch.save({"w": torch.ones(2)}, tmp_path / "a.pt")
    np.savez(tmp_path / "a.npz", w=np.ones(2))
    monkeypatch.setattr(torch, "__version__", TorchVersion(old))
    with pytest.raises(UnsafeFile, match=r"a\.pt` was not opened: with torch 2\..*\.safetensors or \.npz"):
        read_tensor_file(tmp_path / "a.pt")
    assert read_tensor_file(tmp_path / "a.npz")["w"].tolist() == [1, 1]
    assert read_tensor_file(tmp_path / "a.pt", trust_pickle=True)["w"].tolist() == [1, 1]


def test_arrays_that_nobody_asks_for_are_not_read(tmp_path):
    path = archive(tmp_path / "a.npz", x_npy=npy((2,), data=bytes(16)), y_npy=b"damaged", z="text")
    found = read_tensor_file(path)
    assert list(found) == ["x", "y", "z"]
    assert found["x"].tolist() == [0, 0]
    with pytest.raises(FileError, match=r"a\.npz` is not an \.npz file, or it is damaged"):
        found["y"]
    with pytest.raises(FileError, match=r"`z` of `.*a\.npz` is no array"):
        found["z"]


def test_an_array_keeps_its_shape_order_and_values(tmp_path):
    arrays = {
        "scalar": np.array(3.5),
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "big_endian": np.arange(3, dtype=">i4"),
        "empty": np.zeros((0, 4)),
    }
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    found = read_tensor_file(tmp_path / "a.npz")
    for name, array in arrays.items():
        assert found[name].shape == array.shape
        assert found[name].tolist() == array.tolist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy((3 * 10**12,)), "`x` of .* is shorter than its header says"),
        (npy((10**30, 10**30)), "`x` of .* is shorter than its header says"),
        (npy((-1, -8)), "`x` of .* has a negative shape"),
        (npy((2,), "<U9", bytes(72)), "`x` of .* must hold numbers, got <U9"),
        (npy((2,), "<f16", bytes(32)), "`x` of .* must hold numbers, got float128"),
        (npy((2,), [("a", "<f8")], bytes(16)), "`x` of .* must hold numbers"),
        (npy((2,), "|O", bytes(16)), "holds Python objects"),
        (b"\x93NUMPY\x01\x00\x10\x00(((((((((((((((\n", "damaged"),
    ],
)
def test_what_a_header_says_is_checked_before_anything_is_read(tmp_path, content, message):
    path = archive(tmp_path / "a.npz", x_npy=content)
    with pytest.raises(FileError, match=message) as caught:
        read_tensor_file(path)["x"]
    assert "a.npz" in str(caught.value)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressions_that_numpy_never_writes_are_refused(tmp_path, method):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as file:
        file.writestr("x.npy", npy((2,), data=bytes(16)))
    with pytest.raises(FileError, match=r"`x` of `.*a\.npz` is compressed in a way that NumPy never writes"):
        read_tensor_file(tmp_path / "a.npz")["x"]


def test_a_small_file_cannot_take_much_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("karat.core.file_errors.SMALL", 10_000)
    np.savez_compressed(tmp_path / "one.npz", x=np.zeros(2000))
    np.savez_compressed(tmp_path / "many.npz", **{f"x{k}": np.zeros(200) for k in range(10)})
    with zipfile.ZipFile(tmp_path / "deflated.pt", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("archive/data.pkl", bytes(20_000))
    torch.save({"x": torch.zeros(1).expand(4000)}, tmp_path / "expanded.pt")
    for name in ("one.npz", "many.npz", "deflated.pt", "expanded.pt"):
        with pytest.raises(FileError, match=rf"{name}` would take 0\.0 GB of memory, more than"):
            tensors_of(read_tensor_file(tmp_path / name), tmp_path / name)


def test_a_file_may_take_memory_by_its_length(tmp_path, monkeypatch):
    monkeypatch.setattr("karat.core.file_errors.SMALL", 10)
    np.savez(tmp_path / "plain.npz", x=np.zeros(2000))
    torch.save({"x": torch.zeros(4000)}, tmp_path / "plain.pt")
    for name in ("plain.npz", "plain.pt"):
        assert len(tensors_of(read_tensor_file(tmp_path / name), tmp_path / name)) == 1


def test_a_stored_number_that_stands_for_a_billion_is_refused(tmp_path):
    x = torch.zeros(1, 3).expand(300_000_000, 3)
    torch.save({"x": x}, tmp_path / "a.pt")
    assert x.nbytes > SMALL > GROWTH * (tmp_path / "a.pt").stat().st_size
    with pytest.raises(
        FileError, match=r"`x` of `.*a\.pt` would take 3\.6 GB of memory, more than the 0\.5 GB"
    ):
        tensors_of(read_tensor_file(tmp_path / "a.pt"), tmp_path / "a.pt")


@pytest.mark.filterwarnings("ignore")  # torch announces the end of these kinds
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: torch.eye(3).to_sparse(), "sparse"),
        (lambda: torch.eye(3).to_sparse_csr(), "sparse"),
        (lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8), "quantised"),
        (lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "nested"),
        (lambda: torch.ones(3, device="meta"), "on the device `meta`"),
        (lambda: torch.empty(3, dtype=torch.bits8), "of torch.bits8"),
    ],
)
def test_tensors_that_are_no_plain_table_are_named(make, kind):
    with pytest.raises(
        FileError, match=rf"`w` of `a\.pt` must be a plain tensor of numbers, but it is {kind}"
    ):
        plain_tensor(make(), "w", "a.pt")


def test_a_file_without_permission_says_so(tmp_path, monkeypatch):
    (tmp_path / "a.pt").write_bytes(b"")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(FileError, match=r"a\.pt`: Permission denied\."):
        read_tensor_file(tmp_path / "a.pt")
