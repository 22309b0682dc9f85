import numpy as np
import pytest
import torch


@pytest.fixture
def files(tmp_path):
    generator = torch.Generator().manual_seed(0)
    W = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    a = torch.randn(6, generator=generator, dtype=torch.float64)
    x = torch.randn(5, 3, generator=generator, dtype=torch.float64)
    y = torch.sign(torch.relu(x @ W.T) @ a)
    torch.save({"W": W, "a": a}, tmp_path / "net.pt")
    np.savez(tmp_path / "data.npz", x=x.numpy(), y=y.numpy())
    return ["--model", "two_layer", "--checkpoint", tmp_path / "net.pt", "--data", tmp_path / "data.npz"]


def test_a_net_is_certified_with_a_curve_and_honest_counts(karat, files):
    outcome = karat("certify", *files, "--tau", "0.2", "--radii", "2", "--seconds", "1")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0].split("\t")[:4] == ["radius", "broken", "tie", "undecided"]
    assert [line.split("\t")[0] for line in lines[1:3]] == ["0.1", "0.2"]
    assert "undecided" in lines[3]


def test_json_holds_every_sample(karat, files):
    found = karat("certify", *files, "--tau", "0.2", "--p", "inf", "--seconds", "1", "--json").json
    assert len(found["status"]) == len(found["lower"]) == 5
    assert sum(found["counts"].values()) == 5
    assert [point["radius"] for point in found["curve"]] == pytest.approx([0.05, 0.1, 0.15, 0.2])


def test_a_module_of_the_users_own_is_certified(karat, files, tmp_path):
    code = "import torch\ndef build():\n    torch.manual_seed(0)\n"
    (tmp_path / "mine_certify.py").write_text(code + "    return torch.nn.Linear(3, 1)\n")
    own = ["--model", "mine_certify:build", "--data", files[-1], "--tau", "0.1"]
    assert karat("certify", *own, "--radii", "1", "--json").code == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--p", "3"], "must be one of 1, 2, inf"),
        (["--tau", "-1"], "must be a finite number >= 0"),
        (["--model", "forest"], "`--model` must be one of linear, two_layer"),
        (["--model", "nowhere_at_all:build"], "No module named"),
        (["--data", "nowhere.npz"], "No such file"),
        (["--checkpoint", "nowhere.pt"], "No such file"),
        (["--activation", "leaky_relu"], "has settings"),
        (["--activation", "sine"], "`--activation` must be one of relu"),
        (["--box", "zero"], "`--box` must be LOW,HIGH"),
        (["--samples", "0"], "must be whole numbers >= 1"),
    ],
)
def test_bad_input_is_one_line(karat, files, change, message):
    outcome = karat("certify", *files, "--tau", "0.2", *change)
    assert outcome.code == 2
    assert message in outcome.complaint()
