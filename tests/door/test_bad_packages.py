"""A broken package of somebody else is named in one line and stops nothing."""

import pytest

from karat.study.registry import coverage

GOOD = "from karat.study.paper import Paper\nfrom karat.study.statement import tabulate\n"


def paper(key, table="thm1 | Thm 1 | 0 | upper\\n  A thing is small."):
    facts = 'title="T", authors=("A",), venue="V", year=2026, package=__name__'
    return f'{GOOD}PAPER = Paper(key="{key}", statements=tabulate("{key}", "{table}"), {facts})\n'


TWICE = "thm1 | Thm 1 | 0 | upper\\n  A thing.\\nthm1 | Thm 1 | 0 | upper\\n  A thing."
BAD = {
    "no_module": ("import nothing_of_this_name\n", "it cannot be imported (ModuleNotFoundError: "),
    "no_exit": ("raise SystemExit('bye')\n", "it cannot be imported (SystemExit: bye)."),
    "no_paper": ("X = 1\n", "it has no `PAPER`."),
    "no_kind": ("PAPER = 'text'\n", "its `PAPER` is a str, not a Paper."),
    "slash": (paper("a/b"), "the key 'a/b' must be lower-case letters, "),
    "page": (paper("index"), "the key `index` names a page of the report; choose another."),
    "built_in": (paper("benign"), "the key `benign` belongs to the paper in `karat.papers.benign`; "),
    "second": (paper("mine"), "the key `mine` belongs to the paper in `mine`; choose another."),
    "twice": (paper("twice", TWICE), "the statement id `twice.thm1` occurs 2 times."),
    "no_list": (
        paper("no_list").replace('statements=tabulate("no_list", ', "statements=(lambda *_: None)(0, "),
        "its statements must be a tuple of Statement, got 'None'.",
    ),
    "no_comma": (
        paper("no_comma").replace('("A",)', '("A")'),
        "its authors must be a tuple of str, got 'A'.",
    ),
    "no_title": (
        paper("no_title").replace('title="T"', "title=None"),
        "its title must be of type str, got None.",
    ),
    "odd_id": (
        paper("odd", "a/b | Thm 1 | 0 | upper\\n  A thing."),
        "the statement 'odd.a/b' must have an id",
    ),
    "no_header": (
        paper("no_header", "thm1\\n  A thing."),
        "it cannot be imported (ValueError: a statement of `no_header` begins with an unindented `item | ",
    ),
    "no_line": (
        paper("no_line", "thm1 | Thm 1 | p. 3 | upper\\n  A thing."),
        "it cannot be imported (ValueError: a statement of `no_line` begins with an unindented `item | ",
    ),
    "indented": (
        paper("indented", "  thm1 | Thm 1 | 0 | upper\\n  A thing."),
        "it cannot be imported (ValueError: a statement of `indented` begins with an unindented `item | ",
    ),
}
ROOMS = {
    "unstated": (
        "checks",
        lambda text: text.replace(".thm1", ".thm9"),
        "its check of `unstated.thm9` judges no statement of its own; ",
    ),
    "foreign": (
        "checks",
        lambda text: text.replace("foreign.thm1", "benign.eq1"),
        "its check of `benign.eq1` judges no statement of its own; ",
    ),
    "unrun": (
        "checks",
        lambda text: (
            "from dataclasses import replace\n"
            + text.replace("experiment=NOISE", 'experiment=replace(NOISE, name="unrun.none")')
        ),
        "its check of `unrun.thm1` needs the experiment `unrun.none`, ",
    ),
    "syntax": ("checks", lambda text: text + "(", "its checks cannot be "),
    "late": (
        "experiments",
        lambda text: "import nothing_of_this_name\n" + text,
        "its experiments cannot be loaded (ModuleNotFoundError: ",
    ),
    "double": (
        "experiments",
        lambda text: (
            text + 'OTHER = Experiment(name="double.noise", title="T", paper="double", presets={}, run=run)'
        ),
        "its experiments cannot be loaded (ValueError: two experiments of the paper `double` are named ",
    ),
    "alien": (
        "experiments",
        lambda text: text.replace("alien.noise", "benign.fig1"),
        "the experiment `benign.fig1` must have a name `alien.ITEM`.",
    ),
    "borrowed": (
        "checks",
        lambda text: (
            "from dataclasses import replace\n"
            + text.replace("experiment=NOISE", 'experiment=replace(NOISE, name="benign.fig1")')
        ),
        "its check of `borrowed.thm1` needs an experiment `benign.fig1`, whose name belongs to another one.",
    ),
}


def lines(done):
    """What is said of broken packages: package -> reasons."""
    said = {}
    for line in done.stderr.splitlines():
        assert line.startswith("karat: the paper package `"), line
        package, _, reason = line.removeprefix("karat: the paper package `").partition("` is broken: ")
        said.setdefault(package, []).append(reason)
    return said


@pytest.mark.slow
def test_packages_that_cannot_be_admitted_are_named_once_and_the_others_work(site):
    site.package("mine")
    for name, (text, _) in BAD.items():
        site.package(name, __init__=text)
    site.register("nowhere", "nowhere_at_all")
    for command in (["papers"], ["claims"], ["show", "mine.thm1"]):
        done = site.karat(*command)
        assert done.returncode == 0, done.stderr
        said = lines(done)
        assert set(said) == {*BAD, "nowhere_at_all"}
        for name, (_, reason) in BAD.items():
            (line,) = said[name]
            assert line.startswith(reason)
    assert "mine\tT\tA\tV 2026\t1 of 1" in site.karat("papers").stdout


@pytest.mark.slow
def test_packages_with_broken_rooms_are_named_and_the_others_are_judged(site):
    site.package("mine")
    for name, (file, change, _) in ROOMS.items():
        home = site.package(name)
        (home / f"{file}.py").write_text(change((home / f"{file}.py").read_text()))
    done = site.karat("check", "mine.thm1", "--scale", "tiny", "--workers", "0")
    assert done.returncode == 0
    assert "verdict    holds" in done.stdout
    done = site.karat("experiments")
    assert done.returncode == 0, done.stderr
    said = lines(done)
    for name, (_, _, reason) in ROOMS.items():
        (line,) = said[name]
        assert line.startswith(reason)
    assert "mine" not in said
    papers = site.karat("papers")
    assert {"unstated", "foreign", "syntax"} <= set(lines(papers))  # seen without importing anything
    own = coverage()["benign"]  # which the check of somebody else does not change
    (row,) = [line for line in papers.stdout.splitlines() if line.startswith("benign\t")]
    assert row.endswith(f"\t{own.executable} of {own.total}")
    assert site.karat("contract", "foreign").returncode == 1
    assert site.karat("report", "--out", "page").returncode == 0
    contract = site.karat("contract", "unstated")
    assert contract.returncode == 1
    assert "unstated.thm9\tviolation\tmissing statement" in contract.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["alien", "borrowed", "late"])
def test_a_check_whose_experiment_is_broken_is_not_run(site, name):
    file, change, reason = ROOMS[name]
    home = site.package(name)
    (home / f"{file}.py").write_text(change((home / f"{file}.py").read_text()))
    done = site.karat("check", f"{name}.thm1", "--scale", "tiny", "--workers", "0")
    assert done.returncode == 2
    broken, refused = done.stderr.splitlines()
    assert reason in broken
    assert refused == f"karat: `{name}.thm1` cannot be run: the paper package `{name}` is broken."
    assert "check      cannot be loaded: its package is broken" in site.karat("show", f"{name}.thm1").stdout
    contract = site.karat("contract", name)
    assert contract.returncode == 1
    assert reason.removeprefix(f"its check of `{name}.thm1` ") in contract.stdout


def test_without_other_packages_nothing_is_said(site):
    done = site.karat("papers")
    assert (done.returncode, done.stderr) == (0, "")
