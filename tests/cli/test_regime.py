"""The command regime as a user types it, and karat.regime."""

import pytest

import karat as library
from karat.study.hypothesis import Condition

FIXED = [part for word in ("R=1", "tol=0.1", "attack=worst", "n=6", "d=6", "K=6") for part in ("--set", word)]


def test_hypotheses_the_size_asked_for_and_the_command_are_printed(karat):
    done = karat("regime", "convergence.thm4.1", *FIXED, "--budget", "1s")
    assert done.code == 0
    assert "m >= 10,000,000" in done.out
    assert "inside" in done.out
    assert "none below 1 s a seed was found" in done.out  # ten million neurons


def test_a_budget_that_suffices_gives_the_command(karat):
    done = karat("regime", "convergence.thm4.1", *FIXED, "--budget", "2h")
    command = next(line for line in done.out.splitlines() if line.startswith("to run it"))
    assert "karat check convergence.thm4.1 --scale quick --set R=1.0 --set tol=0.1" in command
    assert "--set m=10" in command
    assert "budget" not in done.out


def test_a_preset_inside_is_run_as_it_is(karat):
    done = karat("regime", "convergence.cor5.1", "--json").json
    assert done["command"] == "karat check convergence.cor5.1 --scale quick"
    assert (done["cheapest"]["set"], done["affordable"], done["asked"], done["nearest"]) == (
        {},
        True,
        [],
        None,
    )


def test_only_the_settings_of_a_preset_that_are_inside_are_run(karat):
    done = karat("regime", "convergence.vs-lazy.none", "--json").json
    assert [point["inside"] for point in done["here"]].count(True) == 6
    # Every axis of the preset is set, so that nothing outside runs along.
    assert set(done["cheapest"]["set"]) >= {"side", "C0", "start"}


def test_a_map_is_drawn(karat, tmp_path):
    done = karat("regime", "lazy.thm3.1", "--plot", "d,m", "--out", tmp_path / "map.png")
    assert done.code == 0
    assert (tmp_path / "map.png").stat().st_size > 5000


def test_python_gives_the_same_answer():
    answer = library.regime("lazy.lemB.9", points=8)
    assert answer.cheapest is not None
    assert answer.cheapest.config.points == 8
    assert all(isinstance(condition, Condition) for condition in answer.cheapest.conditions)
    planned = answer.planned()
    assert planned
    assert all(one.status != "unmet" for cell in planned for one in answer.check.conditions(cell.config))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lazy.thm9"], "lazy.thm9"),
        (["benign.def2.1"], "`benign.def2.1` is stated but has no check"),
        (["lazy.thm3.1", "--set", "width=3"], "`lazy.thm3.1` has no setting `width`; its settings are"),
        (["lazy.thm3.1", "--set", "m=0"], "`m` of `lazy.thm3.1` must be"),
        (["lazy.thm3.1", "--set", "m"], "`--set` must be KEY=VALUE"),
        (["lazy.thm3.1", "--budget", "soon"], "`--budget` must be a time such as 90s, 10m or 2h"),
        (["lazy.thm3.1", "--plot", "d"], "`--plot` must name two settings"),
        (["lazy.thm3.1", "--plot", "d,d"], "`--plot` must name two settings"),
        (["lazy.thm3.1", "--plot", "d,width"], "`lazy.thm3.1` has no setting `width`"),
        (["convergence.thm4.1", "--plot", "attack,m"], "it cannot be an axis"),
        (["lazy.thm3.1", "--plot", "d,m", "--out", "nowhere/map.png"], "nowhere/map.png"),
        (["lazy.thm3.1", "--plot", "d,m", "--out", "map.txt"], "txt"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(karat, arguments, words):
    done = karat("regime", *arguments)
    assert done.code == 2
    assert words in done.complaint()
