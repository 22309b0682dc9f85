import importlib
import os
import time
from dataclasses import replace

import pytest
from karat_toys import DEAR, LATE, TOY

from karat import study
from karat.cli.run import _print_groups
from karat.core.statistics import t_interval
from karat.study.check import Check
from karat.study.experiment import Experiment
from karat.study.finding import RATIO
from karat.study.hypothesis import is_so
from karat.study.judging import bound

RUN = ("run", TOY.name, "--scale", "tiny", "--workers", "0")
CLAIM = "benign.thm3.1.3"


@pytest.fixture
def toy_check(monkeypatch):
    def put(**changes):
        settings = {
            "claim_id": CLAIM,
            "experiment": TOY,
            "evaluate": lambda runs: bound([run.result.mean for run in runs], "at most", 10.0, RATIO),
            "reading": "The mean of noise.",
            "scales": ("tiny",),
        }
        monkeypatch.setattr(study, "CHECKS", {CLAIM: Check(**settings | changes)})

    put()
    return put


def test_run_prints_mean_and_interval_over_seeds_and_where_the_records_are(karat, tmp_path):
    outcome = karat(*RUN)
    assert outcome.code == 0
    rows = [line.split("\t") for line in outcome.out.splitlines()]
    assert rows[0] == ["d", "value", "mean [95 % interval]", "seeds"]
    assert [row[0] for row in rows if row[1:2] == ["mean"]] == ["1", "2", "3"]
    assert outcome.out.splitlines()[-1] == f"records  6 in {tmp_path / 'store.sqlite'}"


def test_values_that_are_all_lists_have_no_table(capsys):
    _print_groups([])
    assert capsys.readouterr().out == ""


def test_run_gives_strict_json_and_nothing_else(karat):
    first, second = karat(*RUN, "--json", "--set", "mode=odd"), karat(*RUN, "--json", "--set", "mode=odd")
    assert first.json == second.json
    one, odd, _ = first.json["cells"]
    means = [record["values"]["mean"] for record in first.json["records"][:2]]
    assert one["values"]["mean"]["interval"] == [t_interval(means).low, t_interval(means).high]
    assert odd["values"]["infinite"] == {"mean": "inf", "interval": None, "seeds": 2}
    assert second.err == ""


def test_settings_change_the_config_and_collapse_the_grid(karat):
    records = karat(*RUN, "--json", "--seeds", "1", "--set", "d=7", "--set", "tau=0.5").json["records"]
    assert [(record["config"]["d"], record["config"]["tau"]) for record in records] == [(7, 0.5)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nobody", "--scale", "tiny"], "there is no experiment `nobody`"),
        (["run", "no_module:X"], "there is no experiment at `no_module:X`"),
        ([*RUN, "--scale", "full"], f"`{TOY.name}` has no scale `full`; its scales are tiny, quick."),
        (
            [*RUN, "--scale", "huge"],
            "Invalid value for '--scale': 'huge' is not one of 'tiny', 'quick', 'full'.",
        ),
        ([*RUN, "--set", "width=3"], f"`{TOY.name}` has no setting `width`; its settings are d, tau,"),
        ([*RUN, "--set", "d"], "`--set` must be KEY=VALUE, such as d=4000, got 'd'."),
        ([*RUN, "--set", "d=wide"], f"`d` of `{TOY.name}` must be a whole number, got 'wide'."),
        ([*RUN, "--set", "d=0"], "`d` of `karat_toys:TOY` must be a whole number >= 1, got 0."),
        ([*RUN, "--set", "tau=-0.1"], "`tau` of `karat_toys:TOY` must be a finite number >= 0, got -0.1."),
        ([*RUN, "--set", "mode=x"], f"`mode` of `{TOY.name}` must be one of ok, raise, diverge"),
        ([*RUN, "--seeds", "0"], f"`seeds` of `{TOY.name}` must be a whole number >= 1, got 0."),
        ([*RUN, "--workers", "-1"], "`--workers` must be a whole number >= 0, got -1."),
        ([*RUN, "--workers", "100000"], "`--workers` must be at most "),
        ([*RUN, "--seeds", "1000000000"], f"`{TOY.name}` would have 3,000,000,000 cells (3 of `d` x"),
        ([*RUN, "--set", f"tau={'9' * 400}"], f"`tau` of `{TOY.name}` must be a number, got '999"),
        ([*RUN, "--device", "tpu"], "`--device` must be cpu or cuda, got 'tpu'."),
        ([*RUN, "--store", "file/store.sqlite"], "file/store.sqlite: the folder cannot be made"),
        ([*RUN, "--store", "file"], "file: not a karat store (not an SQLite file)."),
    ],
)
@pytest.mark.parametrize("json", [[], ["--json"]])
def test_bad_input_is_one_line_and_exit_code_2(karat, tmp_path, arguments, message, json):
    (tmp_path / "file").write_text("something else entirely" * 100)
    outcome = karat(*arguments, *json)
    assert outcome.code == 2
    assert outcome.complaint().startswith(message)


def test_more_processes_than_a_machine_can_hold_are_refused_from_python():
    from karat.lab.runner import make_local, most_workers

    with pytest.raises(ValueError, match=f"`workers` must be at most {most_workers()} on this machine"):
        make_local(most_workers() + 1)


def test_cuda_is_asked_for_in_vain(karat, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    outcome = karat(*RUN, "--device", "cuda")
    assert (outcome.code, outcome.complaint()) == (
        2,
        "CUDA is not available on this machine; use --device cpu.",
    )
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert "runs on the cpu only" in karat(*RUN, "--device", "cuda").complaint()


def test_a_failed_cell_is_exit_code_1_and_the_others_are_shown(karat):
    outcome = karat(*RUN, "--set", "mode=raise")
    assert outcome.code == 1
    assert outcome.err.splitlines()[-1] == (
        f"karat: 2 of 6 cells failed, the first ({TOY.name}, seed 0): RuntimeError: no luck with this one"
    )
    assert "2\tfailed\t\t2" in outcome.out


def test_a_diverged_cell_is_a_result(karat):
    outcome = karat(*RUN, "--set", "mode=diverge")
    assert outcome.code == 0
    assert "2\tdiverged\t\t2" in outcome.out


def test_an_unexpected_error_is_one_line_unless_debugging(karat, monkeypatch):
    def break_down(*_):
        raise RuntimeError("out of\nluck")

    monkeypatch.setattr(Experiment, "preset", break_down)
    outcome = karat(*RUN)
    assert outcome.code == 1
    assert outcome.complaint() == "RuntimeError: out of luck (KARAT_DEBUG=1 shows where.)"
    monkeypatch.setenv("KARAT_DEBUG", "1")
    with pytest.raises(RuntimeError, match="out of"):
        karat(*RUN)


def test_a_full_disk_in_the_middle_is_exit_code_1(karat, monkeypatch):
    from karat.lab import Store, StoreError

    def put(store, record):
        raise StoreError(f"{store.path}: the disk is full.")

    monkeypatch.setattr(Store, "put", put)
    outcome = karat(*RUN)
    assert outcome.code == 1
    assert outcome.err.splitlines()[-1].endswith("the disk is full.")


def test_an_experiment_in_the_working_folder_can_be_run(karat, tmp_path):
    (tmp_path / "mine.py").write_text("from karat_toys import TOY as OWN\n")
    records = karat("run", "mine:OWN", "--scale", "tiny", "--workers", "0", "--json").json["records"]
    assert {record["experiment"] for record in records} == {"mine:OWN"}


def test_check_prints_predicted_measured_and_verdict(karat, toy_check):
    outcome = karat("check", CLAIM, "--scale", "tiny", "--workers", "0", "--seeds", "6")
    assert outcome.code == 0
    pairs = dict(line.split(maxsplit=1) for line in outcome.out.splitlines())
    assert (pairs["predicted"], pairs["verdict"], pairs["scale"]) == (
        "10 (ratio)",
        "holds",
        "tiny, 6 seeds",
    )
    assert pairs["measured"].endswith("]")


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        (
            {"evaluate": lambda runs: bound([run.result.mean for run in runs], "at most", -10.0, RATIO)},
            "fails",
        ),
        ({"conditions": lambda config: [is_so("d is large", False)]}, "out of regime"),
    ],
)
def test_the_exit_code_of_a_check_does_not_depend_on_the_verdict(karat, toy_check, changes, verdict):
    toy_check(**changes)
    outcome = karat("check", CLAIM, "--scale", "tiny", "--workers", "0", "--seeds", "6", "--json")
    assert outcome.code == 0
    assert outcome.json["verdict"] == verdict
    assert outcome.json["measured"] is not None


def test_a_claim_that_is_only_stated_cannot_be_checked(karat, monkeypatch):
    monkeypatch.setattr(study, "CHECKS", {})
    outcome = karat("check", CLAIM)
    assert outcome.code == 2
    assert outcome.complaint().startswith(f"`{CLAIM}` is stated but cannot be run yet")


def test_a_check_refuses_a_scale_it_makes_no_sense_on(karat, toy_check):
    outcome = karat("check", CLAIM, "--scale", "quick")
    assert outcome.code == 2
    assert outcome.complaint() == f"`{CLAIM}` has no scale `quick`; its scales are tiny."


@pytest.mark.slow
def test_reproduce_runs_the_checks_and_writes_the_report(karat, toy_check, tmp_path):
    arguments = ("reproduce", "--paper", "benign", "--scale", "tiny", "--workers", "0", "--out", "pages")
    arguments = (*arguments, "--seeds", "6")
    outcome = karat(*arguments)
    assert outcome.code == 0
    assert [line.split("\t")[:2] for line in outcome.out.splitlines()[:2]] == [
        ["claim", "verdict"],
        [CLAIM, "holds"],
    ]
    assert (tmp_path / "pages" / "index.html").exists()
    again = karat(*arguments, "--json")
    assert [claim["id"] for claim in again.json["claims"]] == [CLAIM]
    assert again.json["report"] == os.path.join("pages", "index.html")
    assert again.err == ""


def test_reproduce_starts_with_the_cheap_experiment_and_builds_the_report_after_each(
    karat, toy_check, monkeypatch
):
    seen = []
    module = importlib.import_module("karat.report.build")
    monkeypatch.setattr(module, "build", lambda store, out, scale, drawn: seen.append(contents(store)) or out)
    cheap = study.CHECKS[CLAIM]
    dear = replace(cheap, claim_id="benign.thm3.1.2", experiment=DEAR)
    monkeypatch.setattr(study, "CHECKS", {dear.claim_id: dear, cheap.claim_id: cheap})

    def contents(store):
        return {row.experiment: row.done for row in store.summary()}

    command = ("reproduce", "--scale", "tiny", "--workers", "0")
    assert [claim["id"] for claim in karat(*command, "--json").json["claims"]] == [dear.claim_id, CLAIM]
    assert seen == [{TOY.name: 6}, {TOY.name: 6, DEAR.name: 1}]
    karat(*command)
    assert len(seen) == 3


def test_reproduce_spends_little_of_its_time_on_the_report(karat, toy_check, monkeypatch):
    seen = []

    def build(store, out, scale, drawn):
        seen.append([row.experiment for row in store.summary()])
        time.sleep(0.5)
        return out

    monkeypatch.setattr(importlib.import_module("karat.report.build"), "build", build)
    cheap = study.CHECKS[CLAIM]
    dear = replace(cheap, claim_id="benign.thm3.1.2", experiment=DEAR)
    late = replace(cheap, claim_id="benign.thm3.1.1", experiment=LATE)
    monkeypatch.setattr(study, "CHECKS", {check.claim_id: check for check in (late, dear, cheap)})
    assert karat("reproduce", "--scale", "tiny", "--workers", "0").code == 0
    assert seen == [[TOY.name], sorted([TOY.name, DEAR.name, LATE.name])]  # none for the second of three


def test_reproduce_asks_only_for_the_part_wanted(karat, toy_check):
    command = ("reproduce", "--paper", "benign", "--scale", "tiny", "--workers", "0")
    outcome = karat(*command, "--part", "images")
    assert outcome.code == 1
    assert outcome.complaint() == "no claim of part `images` of benign can be run at scale `tiny`."
    assert [claim["id"] for claim in karat(*command, "--part", "all", "--json").json["claims"]] == [CLAIM]
    outcome = karat(*command, "--part", "everything")
    assert outcome.code == 2
    assert outcome.complaint() == (
        "Invalid value for '--part': 'everything' is not one of 'theory', 'images', 'all'."
    )


def test_reproduce_refuses_papers_and_folders_before_it_computes(karat, toy_check, tmp_path):
    (tmp_path / "file").touch()
    for arguments, message in [
        (["--paper", "bible"], "there is no paper `bible`"),
        (["--out", "file/below"], "`--out` file/below: cannot be written to"),
        (["--out", "/proc/nothing"], "`--out` /proc/nothing: cannot be written to"),
    ]:
        outcome = karat("reproduce", "--scale", "tiny", *arguments)
        assert outcome.code == 2
        assert outcome.complaint().startswith(message)
    assert not (tmp_path / "store.sqlite").exists()


def test_reproduce_without_an_executable_claim_says_so(karat, toy_check):
    outcome = karat("reproduce", "--paper", "lazy", "--scale", "tiny")
    assert outcome.code == 1
    assert outcome.complaint() == "no claim of part `theory` of lazy can be run at scale `tiny`."


def test_ctrl_c_is_exit_code_130_and_says_how_to_go_on(karat, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("karat.lab.run_cells", interrupt)
    outcome = karat(*RUN)
    assert outcome.code == 130
    assert "0 of 6 cells are finished and kept in" in outcome.complaint()
    assert outcome.complaint().endswith("the same command resumes.")
