"""Files with damaged or malicious bytes: one sentence with the file's name, and no code is run."""

import io
import pickle
import random
import warnings
import zipfile

import numpy as np
import pytest
import torch

from karat.data.loading import load_samples
from karat.nets.loading import read_state

X = torch.arange(24.0).reshape(6, 4)
Y = torch.arange(6) % 2


def bytes_of(save):
    stream = io.BytesIO()
    save(stream)
    return stream.getvalue()


def originals():
    """Small sound files of every format, by name."""
    from safetensors.torch import save

    pair, arrays = {"x": X, "y": Y}, {"x": X.numpy(), "y": Y.numpy()}
    nested = {"state_dict": pair, "epoch": 3, "names": ["a", ("b", 2.5)]}
    return {
        "stored.npz": bytes_of(lambda stream: np.savez(stream, **arrays)),
        "deflated.npz": bytes_of(lambda stream: np.savez_compressed(stream, **arrays)),
        "single.npz": bytes_of(lambda stream: np.save(stream, arrays["x"])),
        "new.pt": bytes_of(lambda stream: torch.save(pair, stream)),
        "nested.pt": bytes_of(lambda stream: torch.save(nested, stream)),
        "old.pth": bytes_of(lambda s: torch.save(pair, s, _use_new_zipfile_serialization=False)),
        "plain.safetensors": save(pair),
    }


def mutate(content, rng):
    """A copy with some bytes changed, cut, doubled, moved or zeroed."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at, length = rng.randrange(len(data) + 1), rng.choice((1, 1, 4, 30))
        change = rng.randrange(7)
        if change == 0:
            del data[at : at + length]
        elif change == 1:
            data[at:at] = data[at : at + length]
        elif change == 2:
            data[at : at + length] = bytes(len(data[at : at + length]))
        elif change == 3:
            data[at : at + length] = rng.randbytes(length)
        elif change == 4:
            data[at : at + 4] = rng.choice((b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80"))
        elif at < len(data):
            data[at] ^= 1 << rng.randrange(8)
    return bytes(data[: rng.randrange(len(data) + 1)] if rng.random() < 0.1 else data)


def mutate_member(content, rng):
    """A sound archive around a mutated member, so that no checksum hides the mutation from its reader."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        hit = rng.randrange(len(old.namelist()))
        for place, name in enumerate(old.namelist()):
            new.writestr(name, mutate(old.read(name), rng) if place == hit else old.read(name))
    return stream.getvalue()


def open_both_ways(path):
    """Read the file as samples and as weights; every complaint must be one sentence that names the file."""
    complaints = []
    for read in (load_samples, read_state):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                read(path)
        except ValueError as error:
            complaints.append(str(error))
    for complaint in complaints:
        assert path.name in complaint
        assert "\n" not in complaint
        assert len(complaint) < 500 + len(str(path))
    return len(complaints)


@pytest.mark.parametrize("turns", [100, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", originals())
def test_mutated_files_are_read_or_refused_in_one_sentence(tmp_path, name, turns):
    content, rng, path = originals()[name], random.Random(f"{name} {turns}"), tmp_path / name
    refused = 0
    for turn in range(turns):
        is_archive = content[:2] == b"PK"
        changed = mutate_member(content, rng) if is_archive and turn % 2 else mutate(content, rng)
        path.write_bytes(changed)
        refused += open_both_ways(path)
    assert refused > turns // 5


class Call:
    """Makes a pickle that calls a function when it is opened."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def attacks(mark):
    """Pickles that would make the file `mark`, by different opcodes and through functions torch allows."""
    import os
    from collections import OrderedDict

    touch = f"touch {mark}"
    by_protocol = [pickle.dumps(Call(os.system, touch), protocol) for protocol in range(6)]
    by_inner = [
        pickle.dumps({"x": Call(function, *arguments), "y": 1}, 2)
        for function, arguments in (
            (eval, (f"open({str(mark)!r}, 'w')",)),
            (exec, (f"open({str(mark)!r}, 'w')",)),
            (open, (str(mark), "w")),
            (getattr, (OrderedDict, "fromkeys")),
            (torch.hub.load, ("a", "b")),
            (torch.serialization.add_safe_globals, ([os.system],)),
        )
    ]
    text = touch.encode()
    by_hand = [
        b"(S'" + text + b"'\nios\nsystem\n.",
        b"cos\nsystem\n(S'" + text + b"'\ntR.",
        b"(cos\nsystem\nS'" + text + b"'\no.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c" + bytes([len(text)]) + text + b"\x85R.",
        b"\x80\x02cbuiltins\neval\nX\x01\x00\x00\x001\x85R.",
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(cos\nsystem\nS'" + text + b"'\ntR.",
    ]
    return [*by_protocol, *by_inner, *by_hand]


def test_no_malicious_pickle_runs_its_code(tmp_path):
    mark, rng = tmp_path / "was_executed", random.Random(0)
    template = originals()["new.pt"]
    for attack in attacks(mark):
        for change in (lambda raw: raw, *(lambda raw: mutate(raw, rng),) * 9):
            (tmp_path / "bare.pt").write_bytes(change(attack))
            with zipfile.ZipFile(io.BytesIO(template)) as old, zipfile.ZipFile(tmp_path / "a.pt", "w") as new:
                for name in old.namelist():
                    new.writestr(name, change(attack) if name.endswith("data.pkl") else old.read(name))
            open_both_ways(tmp_path / "bare.pt")
            open_both_ways(tmp_path / "a.pt")
            assert not mark.exists()
