"""The command probe: checkpoints in, a page and strict JSON out, every mistake one line."""

import json
import os
import re
import sys

import numpy as np
import pytest
import torch

NET = """
import torch
def make():
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.AvgPool2d(4), torch.nn.Flatten(),
        torch.nn.Linear(16, 2),
    )
def other():
    return torch.nn.Linear(64, 2)
"""


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.fixture
def files(tmp_path, monkeypatch):
    (tmp_path / "probed_nets.py").write_text(NET)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("probed_nets", None)
    import probed_nets

    generator = torch.Generator().manual_seed(0)
    net = probed_nets.make()
    for name, size in (("init", 1.0), ("clean", 0.5), ("robust", 0.1)):
        with torch.no_grad():
            for p in net.parameters():
                p += size * 0.2 * torch.randn(p.shape, generator=generator)
        torch.save({"state_dict": net.state_dict(), "epoch": 1}, tmp_path / f"{name}.pt")
    x = torch.rand(24, 1, 8, 8, generator=generator)
    np.savez(tmp_path / "data.npz", x=x.numpy(), y=(x.mean(dim=(1, 2, 3)) > 0.5).long().numpy())
    yield [
        "--before",
        "clean.pt",
        "--after",
        "robust.pt",
        "--model",
        "probed_nets:make",
        "--data",
        "data.npz",
    ]
    sys.modules.pop("probed_nets", None)


@pytest.mark.slow
def test_a_page_and_a_json_file_are_written(karat, files, tmp_path):
    options = ["--init", "init.pt", "--tau", "0.3", "--box", "0,1", "--quick", "--out", "found"]
    outcome = karat("probe", *files, *options)
    assert outcome.code == 0, outcome.err
    assert "left the lazy regime?" in outcome.out
    page = (tmp_path / "found" / "probe.html").read_text()
    stored = json.loads((tmp_path / "found" / "probe.json").read_text())
    assert stored["names"] == {
        "before": "clean.pt",
        "after": "robust.pt",
        "start": "init.pt",
        "model": "probed_nets:make",
        "data": "data.npz",
    }
    assert len(stored["layers"]) == 2
    assert stored["setting"]["box"] == [0, 1]
    # Self-contained: every picture is inside, nothing is fetched.
    assert page.count("data:image/png;base64,") >= 8
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)
    for sentence in stored["summary"]:
        assert sentence["evidence"]


@pytest.mark.slow
def test_json_on_standard_output_is_that_of_the_file(karat, files, tmp_path):
    found = karat("probe", *files, "--quick", "--p", "inf", "--tau", "0.05", "--json").json
    stored = json.loads((tmp_path / "probe" / "probe.json").read_text())
    assert found.pop("page") == str(tmp_path.joinpath("probe", "probe.html").relative_to(tmp_path))
    assert found == stored
    assert stored["setting"]["p"] == "inf"


def test_a_pickle_that_runs_code_is_refused(karat, files, tmp_path):
    torch.save({"state_dict": {"0.weight": Evil(tmp_path / "was_executed")}}, tmp_path / "clean.pt")
    outcome = karat("probe", *files, "--quick")
    assert outcome.code == 2
    assert "--trust-pickle" in outcome.complaint()
    assert not (tmp_path / "was_executed").exists()
    assert not (tmp_path / "probe").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--before", "nowhere.pt"], "`nowhere.pt`: No such file"),
        (["--model", "probed_nets:other"], "do not fit the model: 2 missing (weight, bias), 4 unknown"),
        (["--model", "nowhere_at_all:make"], "cannot be imported"),
        (["--data", "faces"], "one of digits"),
        (["--p", "3"], "'3' is not one of '1', '2', 'inf'"),
        (["--tau", "-1"], "must be a finite number >= 0"),
        (["--box", "0"], "`--box` must be LOW,HIGH"),
        (["--image", "1,8"], "`--image` must be C,H,W"),
        (["--samples", "0"], "must be a whole number >= 1"),
        (["--out", "data.npz"], "`--out` data.npz"),
    ],
)
def test_bad_input_is_one_line(karat, files, change, message):
    outcome = karat("probe", *files, *change)
    assert outcome.code == 2
    assert message in outcome.complaint()


def test_the_bar_goes_to_standard_error(monkeypatch, capsys):
    from karat.cli.inputs import stage_bar

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with stage_bar("probe") as listener:
        listener("attacks", 1, 2)
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    with stage_bar("probe") as listener:
        assert listener is None


def test_a_bug_of_karats_own_is_not_called_bad_input(karat, files, monkeypatch):
    def fail(*arguments, **settings):
        raise ValueError("no such luck")

    monkeypatch.setattr("karat.yours.probe.measure.strongest_deltas", fail)
    outcome = karat("probe", *files, "--quick")
    assert outcome.code == 1
    assert outcome.complaint() == "ValueError: no such luck (KARAT_DEBUG=1 shows where.)"
