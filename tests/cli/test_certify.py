import math

import numpy as np
import pytest
import torch
from torch import nn

from karat.certificates import bracket_of, certify
from karat.core import Ball
from karat.nets import TwoLayer, to_module


def net_and_samples(n=8):
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    net, x = TwoLayer(normal(6, 3), normal(6), normal(6), normal(())), normal(n, 3)
    return net, x, torch.sign(net(x))


@pytest.fixture
def files(tmp_path):
    """A karat net saved as tensors, with data; options of the command."""
    net, x, y = net_and_samples()
    torch.save(to_module(net).state_dict(), tmp_path / "net.pt")
    np.savez(tmp_path / "data.npz", x=x.numpy(), y=y.numpy())
    return ["--model", "two_layer", "--checkpoint", tmp_path / "net.pt", "--data", tmp_path / "data.npz"]


@pytest.fixture
def write_model(tmp_path):
    """Write the file of a user's model and return its name for --model."""

    def write(body, name="model"):
        path = tmp_path / f"{name}.py"
        path.write_text("import torch\nfrom torch import nn\n\n\ndef build():\n    " + body + "\n")
        return f"{path}:build"

    return write


def test_a_net_is_certified_with_a_curve_and_honest_counts(karat, files):
    outcome = karat("certify", *files, "--tau", "0.2", "--seconds", "1")
    assert outcome.code == 0
    lines = [line.split("\t") for line in outcome.out.splitlines()]
    assert lines[0][:5] == ["radius", "robust", "broken", "tie", "undecided"]
    assert [line[0] for line in lines[1:5]] == ["0.05", "0.1", "0.15", "0.2"]
    net, x, y = net_and_samples()
    for line in lines[1:5]:
        status = certify(net, x, y, Ball(2, float(line[0])), 1.0).status
        assert line[1:5] == [str(status.count(name)) for name in ("robust", "broken", "tie", "undecided")]
        found = bracket_of(status)
        assert line[5] == f"[{found.low:.3f}, {found.high:.3f}]"
        assert line[6] == f"[{found.interval.low:.3f}, {found.interval.high:.3f}]"
    assert "undecided  none" in outcome.out


def test_without_time_open_samples_are_counted_against_the_net(karat, write_model, tmp_path):
    torch.manual_seed(0)
    x = torch.randn(30, 20)
    body = "torch.manual_seed(0); return nn.Sequential(nn.Linear(20, 200), nn.ReLU(), nn.Linear(200, 1))"
    model = write_model(body)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(20, 200), nn.ReLU(), nn.Linear(200, 1))
    with torch.no_grad():
        y = net(x).squeeze(1).sign()
    torch.save({"x": x, "y": y}, tmp_path / "data.pt")
    asked = ["--model", model, "--data", tmp_path / "data.pt", "--p", "inf", "--tau", "0.1", "--seconds", "0"]
    found = karat("certify", *asked, "--json").json
    left = found["counts"]["undecided"]
    assert left > 0
    assert found["curve"][-1]["undecided"] == left
    assert found["curve"][-1]["high"] == pytest.approx((30 - found["counts"]["robust"]) / 30)
    assert f"{left} of 30, counted as not robust" in karat("certify", *asked).out


def test_json_holds_every_sample_and_the_radii_asked_for(karat, files):
    asked = ["--p", "inf", "--seconds", "1", "--json"]
    found = karat("certify", *files, "--tau", "0.2", "--taus", "0.4,0.1", *asked).json
    assert len(found["status"]) == len(found["lower"]) == 8
    assert sum(found["counts"].values()) == 8
    assert [point["radius"] for point in found["curve"]] == [0.1, 0.2, 0.4]
    # The brackets of single samples belong to --tau, not to the largest radius.
    assert found["curve"][1]["broken"] == found["counts"]["broken"]
    only = karat("certify", *files, "--taus", "0.1,0.4", *asked).json
    assert [point["radius"] for point in only["curve"]] == [0.1, 0.4]
    assert only["counts"]["broken"] == only["curve"][1]["broken"]


def test_every_way_to_give_the_same_net_gives_the_same_brackets(karat, files, write_model, tmp_path):
    net, _, _ = net_and_samples()
    asked = ["--data", files[-1], "--tau", "0.3", "--seconds", "1", "--json"]
    plain = karat("certify", *files[:4], *asked).json
    code = (
        "from karat.nets import TwoLayer, to_module\n"
        "    z = lambda *s: torch.zeros(*s, dtype=torch.float64)\n"
        "    return to_module(TwoLayer(z(6, 3), z(6), z(6), z(())))"
    )
    adapted = karat("certify", "--model", write_model(code), "--checkpoint", files[3], *asked).json
    layers = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 1)).double()
    layers.load_state_dict(
        {"0.weight": net.W, "0.bias": net.b, "2.weight": net.a[None], "2.bias": net.c[None]}
    )
    torch.save(layers.state_dict(), tmp_path / "layers.pt")
    code = "return nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 1)).double()"
    given = ["--model", write_model(code, "second"), "--checkpoint", tmp_path / "layers.pt"]
    module = karat("certify", *given, *asked).json
    for other in (adapted, module):
        assert other["status"] == plain["status"]
        assert other["lower"] == pytest.approx(plain["lower"], abs=1e-9)


def test_a_factory_may_return_a_trained_model_and_labels_may_be_classes(karat, write_model, tmp_path):
    layers = "nn.Flatten(), nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)"
    body = f"torch.manual_seed(0); return nn.Sequential({layers})"
    x = np.random.default_rng(0).normal(size=(6, 1, 2, 2)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=x, y=np.array([0, 1, 2, 0, 1, 2]))
    asked = ["--model", write_model(body), "--data", tmp_path / "data.npz", "--tau", "0.05", "--json"]
    found = karat("certify", *asked, "--box", "-5,5").json
    assert set(found["status"]) <= {"robust", "broken", "undecided", "tie"}


def test_own_radii_per_sample_come_from_a_file(karat, files, tmp_path):
    net, x, y = net_and_samples()
    tau = np.linspace(0.05, 0.4, 8)
    np.savez(tmp_path / "tau.npz", tau=tau)
    found = karat("certify", *files, "--tau", tmp_path / "tau.npz", "--seconds", "1", "--json").json
    assert found["status"] == certify(net, x, y, Ball(2, torch.tensor(tau)), 1.0).status
    # A part of the samples keeps its own radii.
    part = karat(
        "certify", *files, "--tau", tmp_path / "tau.npz", "--samples", "2", "--seconds", "1", "--json"
    ).json
    assert part["status"] == [found["status"][0], found["status"][7]]
    np.savez(tmp_path / "short.npz", tau=tau[:3])
    outcome = karat("certify", *files, "--tau", tmp_path / "short.npz")
    assert (outcome.code, "must hold 8 radii, got shape (3,)" in outcome.complaint()) == (2, True)


def test_witnesses_are_saved_and_do_what_they_say(karat, files, tmp_path):
    outcome = karat("certify", *files, "--tau", "0.5", "--witnesses", "found.npz", "--seconds", "1")
    assert outcome.code == 0
    net, _, _ = net_and_samples()
    with np.load(tmp_path / "found.npz") as saved:
        x, y, delta, upper = (torch.from_numpy(saved[name]) for name in ("x", "y", "delta", "upper"))
        status = saved["status"].tolist()
    assert "broken" in status
    assert float(torch.linalg.vector_norm(delta, dim=1).max()) <= 0.5
    margin = y * net(x + delta)
    assert margin.tolist() == pytest.approx(upper.tolist(), abs=1e-12)
    assert all(float(value) < 0 for value, name in zip(margin, status, strict=True) if name == "broken")


def test_the_curve_is_drawn_with_smallest_radii(karat, files, tmp_path):
    for name in ("curve.png", "curve.svg"):
        asked = [*files, "--taus", "0.1,0.3", "--figure", name, "--minimal", "--seconds", "0.5"]
        outcome = karat("certify", *asked)
        assert outcome.code == 0
        assert (tmp_path / name).stat().st_size > 5000
    assert "median between" in outcome.out
    least = karat("certify", *files, "--tau", "0.3", "--minimal", "--json").json["least_radius"]
    assert all(
        low <= (math.inf if isinstance(high, str) else high)
        for low, high in zip(least["certified"], least["broken"], strict=True)
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--p", "3"], "'3' is not one of '1', '2', 'inf'"),
        (["--tau", "-1"], "`--tau` must be a finite number >= 0 or a file, got '-1'."),
        (["--tau", "wide"], "`--tau` must be a finite number >= 0 or a file, got 'wide'."),
        (["--taus", "0.1,nan"], "`--taus` must be finite numbers >= 0"),
        (["--model", "forest"], "`--model` must be one of linear, two_layer"),
        (["--model", "nowhere_at_all:build"], "cannot be imported"),
        (["--data", "nowhere.npz"], "No such file"),
        (["--data", "forest"], "data are a file"),
        (["--checkpoint", "nowhere.pt"], "No such file"),
        (["--model", "odd_two_layer"], "does not fit `odd_two_layer`"),
        (["--box", "zero"], "`--box` must be LOW,HIGH"),
        (["--box", "5,6"], "`x` leaves the box (5.0, 6.0) of `Ball`."),
        (["--samples", "0"], "`--samples` must be a whole number >= 1, got 0."),
        (["--seconds", "-1"], "must be a finite number >= 0"),
        (["--figure", "curve.txt"], "`--figure` must end in .png, .svg, .pdf"),
        (["--witnesses", "nowhere/found.npz"], "there is no folder nowhere"),
    ],
)
def test_bad_input_is_one_line(karat, files, change, message):
    outcome = karat("certify", *files, "--tau", "0.2", *change)
    assert outcome.code == 2
    assert message in outcome.complaint()


def test_a_radius_is_needed(karat, files):
    assert "pass `--tau` or `--taus`" in karat("certify", *files).complaint()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 1))", "layer `GELU` at `model.1`"),
        (
            "return nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 1))",
            "cannot take inputs of shape (3,)",
        ),
        ("m = nn.Linear(3, 1); m.weight.data[0, 0] = float('nan'); return m", "NaN or infinite"),
        ("return 7", "must return a torch.nn.Module, got int"),
        ("raise RuntimeError('no luck')", "no luck"),
    ],
)
def test_a_model_that_cannot_be_certified_is_one_line(karat, files, write_model, body, message):
    outcome = karat("certify", "--model", write_model(body), "--data", files[-1], "--tau", "0.1")
    assert outcome.code == 2
    assert message in outcome.complaint()


def test_labels_that_are_neither_signs_nor_classes_are_explained(karat, files, tmp_path):
    np.savez(tmp_path / "labels.npz", x=np.zeros((3, 3)), y=np.array([1, 2, 3]))
    outcome = karat("certify", *files[:-1], tmp_path / "labels.npz", "--tau", "0.1")
    assert outcome.code == 2
    assert "labels" in outcome.complaint()


def test_a_bug_of_karats_own_is_not_called_bad_input(karat, files, monkeypatch):
    def fail(*arguments, **settings):
        raise ValueError("no such luck")

    monkeypatch.setattr("karat.certificates.certify", fail)
    outcome = karat("certify", *files, "--tau", "0.2")
    assert (outcome.code, "no such luck" in outcome.complaint()) == (1, True)
