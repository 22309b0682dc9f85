import pytest

from karat.cli.catalogue import check_facts
from karat.cli.show import _check_lines
from karat.study.registry import CHECKS, PAPERS, STATEMENTS
from karat.version import __version__


def test_version_and_help(karat):
    assert karat("--version").out == f"karat {__version__}\n"
    for arguments in ([], ["--help"]):
        outcome = karat(*arguments)
        assert outcome.code == 0
        assert "reproduce" in outcome.out


@pytest.mark.parametrize("command", ["papers", "claims", "show", "run", "check", "reproduce", "report"])
def test_every_command_explains_itself(karat, command):
    outcome = karat(command, "--help")
    assert outcome.code == 0
    assert "--json" in outcome.out


def test_papers_are_listed(karat):
    lines = karat("papers").out.splitlines()
    assert [line.split("\t")[0] for line in lines[1:]] == list(PAPERS)
    assert [row["key"] for row in karat("papers", "--json").json] == list(PAPERS)


def test_claims_are_listed_with_their_status(karat):
    rows = karat("claims", "--json").json
    assert [row["id"] for row in rows] == [statement.id for statement in STATEMENTS]
    assert all((row["status"] == "executable") == (row["id"] in CHECKS) for row in rows)
    lines = karat("claims", "--paper", "lazy").out.splitlines()
    assert len(lines) == 1 + sum(statement.paper == "lazy" for statement in STATEMENTS)


def test_experiments_are_listed(karat):
    lines = karat("experiments", "--paper", "benign").out.splitlines()
    assert lines[1].startswith("benign.")
    listed = karat("experiments", "--json").json
    assert {"name", "paper", "title", "part", "claims"} == set(listed[0])
    assert sum(found["claims"] for found in listed) == len(CHECKS)


@pytest.mark.slow
def test_verdicts_are_read_from_the_store(karat, tmp_path):
    assert "there is no store here yet" in karat("claims", "--verdicts").complaint()
    assert karat("check", "features.lem24", "--scale", "tiny", "--workers", "0", "--seeds", "3").code == 0
    rows = {line.split("\t")[0]: line for line in karat("claims", "--verdicts").out.splitlines()}
    assert "\tholds\t" in rows["features.lem24"]
    assert "\tnot run\t" in rows["benign.def2.1"]


def test_a_claim_is_shown(karat):
    assert "benign, Thm 3.1(3)" in karat("show", "benign.thm3.1.3").out
    assert "karat/papers/benign/experiments/" in karat("show", "benign.thm3.1.3").out
    shown = karat("show", "benign.thm3.1.3", "--json").json
    assert (shown["id"], shown["ref"]) == ("benign.thm3.1.3", "benign, Thm 3.1(3)")
    assert shown["claim"] is None


def test_a_claim_is_shown_with_its_relations_hypotheses_and_controls(karat):
    lines = [tuple(line.split(maxsplit=1)) for line in karat("show", "features.thm4").out.splitlines()]
    assert ("superseded", "by  features.thm4.repaired") in lines
    assert any(name == "control" and "removes learner by learner=told" in text for name, text in lines)
    out = karat("show", "benign.thm3.1.3").out
    assert "used" not in out
    assert "uses" in out
    (unmet,) = [line for line in out.splitlines() if "Asm 1(4)" in line]
    assert unmet.startswith("unmet")
    assert " against " in unmet
    assert karat("show", "features.thm4.repaired", "--json").json["origin"] == "karat"


def test_a_claim_that_ran_is_shown_with_its_verdict(karat):
    assert karat("show", "purification.claimG.7", "--json").json["claim"] is None
    assert karat("check", "purification.claimG.7", "--scale", "tiny", "--workers", "0").code == 0
    claim = karat("show", "purification.claimG.7", "--json").json["claim"]
    assert (claim["verdict"], claim["survives_holm"], claim["settling"]) == ("holds", True, None)
    assert "stands at 95 % when all are taken together (Holm)" in karat("show", "purification.claimG.7").out


def test_margins_are_those_of_the_run_once_there_is_one():
    facts = check_facts("purification.lemC.18")
    steps = [
        "equal: mean within 0.5 of 0 (why)",
        "curve: at all 2 points at once, within 1 (why) the prediction",
    ]
    shown = [text for name, text in _check_lines(facts, {"trace": steps}) if name == "rule"]
    assert shown == [steps[0], "curve: at all points at once, within 1 (why) the prediction"]
    assert [text for name, text in _check_lines(facts, None) if name == "rule"] == facts["margins"]


def test_an_open_verdict_names_the_command_that_would_settle_it(karat):
    out = karat("check", "features.lem6", "--scale", "tiny", "--workers", "0").out
    assert "`karat regime features.lem6 --scale tiny`" in out
    assert "karat regime features.lem6" in karat("show", "features.lem6").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "benign.thm9"], "there is no claim `benign.thm9`"),
        (["check", "nobody.thm1"], "there is no claim `nobody.thm1`"),
        (["claims", "--paper", "bible"], "there is no paper `bible`; the papers are purification, lazy"),
        (["dance"], "No such command 'dance'."),
        (["papers", "--loud"], "No such option"),
        (["show"], "Missing argument"),
        (["run", "x", "--seeds", "many"], "Invalid value for '--seeds'"),
        (["store"], "Missing command."),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(karat, arguments, message):
    outcome = karat(*arguments)
    assert outcome.code == 2
    assert outcome.complaint().startswith(message)
