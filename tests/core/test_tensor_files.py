"""Files of others are read without running their code."""

import os
import pickle

import numpy as np
import pytest
import torch

from karat.core.tensor_files import FileError, UnsafeFile, read_tensor_file, tensors_of


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
        read_tensor_file(tmp_path / "evil.npz")
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
        read_tensor_file(tmp_path / "words.npz")
