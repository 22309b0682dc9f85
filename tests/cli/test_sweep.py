import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from karat_toys import TOY

SWEEP = ("sweep", TOY.name, "--scale", "tiny", "--workers", "0")
GRID = ("--grid", "d=1:4:4", "--grid", "tau=0.1,0.2", "--seeds", "3")


def test_a_sweep_says_what_it_costs_and_how_it_ended(karat, tmp_path):
    outcome = karat(*SWEEP, *GRID)
    assert outcome.code == 0
    pairs = dict(line.split(maxsplit=1) for line in outcome.out.splitlines())
    assert pairs["grid"] == "d (4) x tau (2), 3 seeds"
    assert pairs["cells"] == "24 done of 24; 24 computed now"
    assert pairs["records"] == str(tmp_path / "store.sqlite")
    assert "20 cells to go: about 0:00:00 of CPU time (90 %: " in outcome.err
    assert "0 computed now" in karat(*SWEEP, *GRID).out


def test_a_sweep_gives_strict_json(karat):
    found = karat(*SWEEP, *GRID, "--json").json
    assert found["axes"] == {"d": [1, 2, 3, 4], "tau": [0.1, 0.2]}
    assert (found["planned"], found["statuses"], found["adaptive"]) == (24, {"done": 24}, None)
    assert found["estimate"]["low"] <= found["estimate"]["seconds"] <= found["estimate"]["high"]


def test_the_grid_of_the_preset_is_the_default(karat):
    assert karat(*SWEEP, "--json").json["axes"] == {"d": [1, 2, 3]}


def test_adaptive_seeds_name_their_method_and_what_they_saved(karat):
    arguments = (*SWEEP, "--grid", "d=1:4:4", "--seeds", "9", "--adaptive", "mean=0.5")
    outcome = karat(*arguments)
    pairs = dict(line.split(maxsplit=1) for line in outcome.out.splitlines())
    assert pairs["adaptive"] == "mean against 0.5: 0 above, 4 below, 0 open"
    assert int(pairs["saved"].split()[0]) > 10
    assert "anytime-valid t interval" in pairs["method"]
    assert karat(*arguments, "--json").json["adaptive"]["level"] == 0.5


def test_an_estimate_stops_after_the_calibration(karat):
    assert karat(*SWEEP, *GRID, "--estimate", "--json").json["computed"] == 4


def test_failed_cells_are_exit_code_1(karat):
    outcome = karat(*SWEEP, *GRID, "--set", "mode=raise")
    assert outcome.code == 1
    assert "6 of 24 cells failed" in outcome.err.splitlines()[-1]


def test_ctrl_c_in_a_sweep_is_exit_code_130(karat, monkeypatch):
    from karat.lab import Store

    put, kept = Store.put, []

    def interrupt(store, record):
        if len(kept) == 5:
            raise KeyboardInterrupt
        kept.append(record)
        put(store, record)

    monkeypatch.setattr(Store, "put", interrupt)
    outcome = karat(*SWEEP, *GRID)
    assert outcome.code == 130
    assert "interrupted; 5 of 24 cells are finished and kept in" in outcome.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--grid", "d"], "`--grid` must be KEY=VALUES, such as d=1000,2000, got 'd'."),
        (["--grid", "width=1,2"], f"`{TOY.name}` has no setting `width`"),
        (["--grid", "d=1:2"], f"the axis `d` of `{TOY.name}` must be a list or start:stop:count"),
        (["--grid", "d=1,2", "--set", "d=1"], "`d` of `karat_toys:TOY` cannot be set and be an axis"),
        (["--grid", "tau=1/0:2:3"], f"the axis `tau` of `{TOY.name}` must be a list or start:stop:count"),
        (["--grid", "tau=1e1000000000:2:3"], f"the axis `tau` of `{TOY.name}` must be a list or"),
        (["--grid", "tau=1:10:1000000000"], f"the axis `tau` of `{TOY.name}` must be a list or"),
        (["--grid", f"tau={'9' * 400}:2:3"], f"the axis `tau` of `{TOY.name}` must be a list or"),
        (["--seeds", "1000000000"], f"`{TOY.name}` would have 3,000,000,000 cells"),
        (["--adaptive", "mean"], "`--adaptive` must be VALUE=LEVEL"),
        (["--adaptive", "mean=x"], "`--adaptive` must be VALUE=LEVEL"),
        (["--adaptive", "mean=1", "--assume", "luck"], "Invalid value for '--assume': 'luck' is not one of"),
        (["--engine", "cloud"], "Invalid value for '--engine': 'cloud' is not one of 'local', 'dask'."),
        (["--scheduler", "tcp://x:1"], "`--scheduler` needs --engine dask."),
        (["--engine", "dask", "--scheduler", "tcp://x:1"], "`--workers` cannot be chosen for an existing"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(karat, arguments, message):
    outcome = karat(*SWEEP, *arguments)
    assert outcome.code == 2
    assert outcome.complaint().startswith(message)


def test_an_unknown_target_is_exit_code_2_and_names_what_there_is(karat):
    outcome = karat(*SWEEP, *GRID, "--adaptive", "loss=0.5")
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1].endswith("they have mean, positive, trace, threads.")


def test_records_of_other_source_code_are_mentioned_and_computed_again_when_asked(
    karat, tmp_path, monkeypatch
):
    run = ("run", TOY.name, "--scale", "tiny", "--workers", "0")
    assert "other source code" not in karat(*run).err
    monkeypatch.setattr("karat.lab.runner.source_hash", lambda experiment: "changed")
    assert "karat: 6 records were computed by other source code; `--fresh` recomputes." in karat(*run).err
    outcome = karat(*run, "--fresh")
    assert outcome.code == 0
    assert "6/6 cells" in outcome.err


@pytest.mark.slow
def test_the_report_shows_a_sweep_before_it_is_finished(karat, tmp_path):
    karat(*SWEEP, *GRID, "--estimate")
    assert karat("report", "--out", "pages").code == 0
    page = (tmp_path / "pages" / "index.html").read_text(encoding="utf-8")
    assert "4 of 24 cells done" in page
    assert "20 cells are still to come." in page
    assert 'alt="Maps of karat_toys:TOY' in page


def test_the_report_takes_a_scale(karat):
    karat(*SWEEP)
    assert karat("report", "--scale", "tiny", "--out", "pages").code == 0
    outcome = karat("report", "--scale", "huge")
    assert (outcome.code, outcome.complaint()) == (
        2,
        "Invalid value for '--scale': 'huge' is not one of 'tiny', 'quick', 'full'.",
    )


words = st.one_of(
    st.integers(),
    st.floats(),
    st.sampled_from(
        ["", "d", "1e999999999", "1/0", "9" * 400, "nan", "-0", "0x1", "1_000", "none", "--json"]
    ),
    st.text(max_size=8),
).map(str)
pairs = st.builds("{}={}".format, st.sampled_from(["d", "tau", "mode", "mean", "width", ""]), words)
axes = st.builds(
    "{}={}".format, st.sampled_from(["d", "tau"]), st.lists(words, min_size=1, max_size=4).map(":".join)
)
options = st.one_of(
    st.tuples(st.sampled_from(["--seeds", "--workers", "--least", "--confidence", "--engine"]), words),
    st.tuples(st.sampled_from(["--scale", "--device", "--assume", "--scheduler"]), words),
    st.tuples(st.just("--grid"), st.one_of(axes, pairs, words)),
    st.tuples(st.sampled_from(["--set", "--adaptive"]), st.one_of(pairs, words)),
)


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(options, max_size=4))
def test_any_command_line_is_planned_or_refused_in_one_line(karat, monkeypatch, chosen):
    monkeypatch.setattr("karat.lab.run_sweep", lambda *_, **__: 1 / 0)
    outcome = karat("sweep", TOY.name, "--scale", "tiny", *(word for option in chosen for word in option))
    assert outcome.out == ""
    is_planned = "ZeroDivisionError" in outcome.err and outcome.code == 1
    assert is_planned or outcome.code == 2
    assert is_planned or len(outcome.err.splitlines()) == 1
