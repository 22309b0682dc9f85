"""A toy experiment with checks, a store to fill, and pages to read."""

import importlib
from dataclasses import dataclass
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from karat.lab.store import Store
from karat.papers.benign.experiments.evaluation import CurvesResult
from karat.papers.benign.figures.training_curves import draw_training_curves
from karat.study.check import Check
from karat.study.drawing.picture import Drawing
from karat.study.experiment import Experiment, Preset, cells
from karat.study.finding import ERROR
from karat.study.judging import bound
from karat.study.record import Record
from karat.version import __version__


@dataclass(frozen=True, kw_only=True)
class Config:
    d: int = 10
    mu: float = 5.0
    ratio: float = 0.1
    flip_rate: float = 0.1
    label: str = "plain"


def refuse(config, generator) -> CurvesResult:
    raise AssertionError("a report must not run an experiment")


EXPERIMENT = Experiment(
    name="benign.sec5",
    title="A toy of the paper's experiment",
    paper="benign",
    presets={
        "tiny": Preset(config=Config(), seeds=3),
        "quick": Preset(config=Config(d=20), grid={"mu": (5.0, 8.0)}, seeds=3),
        "full": Preset(config=Config(d=40), seeds=3),
    },
    run=refuse,
)
DRAWING = Drawing(EXPERIMENT, draw_training_curves)


def training_values(seed, **changes):
    values = {
        "iterations": [0, 10, 20],
        "train_loss": [0.7, 0.1 + 0.01 * seed, 0.01],
        "train_error": [0.5, 0.1, 0.0],
        "clean_error": [0.5, 0.12, 0.11],
        "robust_error": [0.6, 0.2 + 0.01 * seed, 0.15],
        "final_train_loss": 0.01,
        "final_train_error": 0.0,
        "final_clean_error": 0.11,
        "final_robust_error": 0.15 + 0.001 * seed,
    }
    return values | changes


def make_record(cell, status="done", error=None, values=None, version=__version__):
    return Record(
        experiment=cell.experiment,
        config=cell.config_json,
        seed=cell.seed,
        status=status,
        values=(training_values(cell.seed) if values is None else values) if status == "done" else {},
        error=error,
        cpu_seconds=2.0,
        version=version,
        environment={},
    )


def judge_small(runs):
    return bound([run.result.final.robust_error for run in runs], "at most", 0.2, ERROR)


def make_check(**changes):
    settings = {
        "claim_id": "benign.sec5",
        "experiment": EXPERIMENT,
        "evaluate": lambda runs: bound(
            [run.result.final.robust_error for run in runs], "at most", 0.2, ERROR
        ),
        "reported": 0.1,
    }
    return Check(**settings | changes)


@pytest.fixture
def toy():
    """The toy experiment, makers of its records and checks, and the export lists of a report about it."""
    return SimpleNamespace(
        experiment=EXPERIMENT,
        record=make_record,
        check=make_check,
        draw=DRAWING,
        values=training_values,
        lists={"checks": {"benign.sec5": make_check()}, "experiments": {EXPERIMENT.name: EXPERIMENT}},
    )


@pytest.fixture(autouse=True)
def figures(monkeypatch):
    """Reports draw the toy's curves, not those of the paper's experiment of the same name."""
    module = importlib.import_module("karat.report.build")  # the package also exports a function of this name
    monkeypatch.setattr(module, "FIGURES", {EXPERIMENT.name: DRAWING})


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


@pytest.fixture
def fill(store):
    def put(scale, keep=lambda cell: True, **outcome):
        for cell in cells(EXPERIMENT, scale):
            if keep(cell):
                store.put(make_record(cell, **outcome))

    return put


class Page(HTMLParser):
    """Tags, attributes and text of a page; closing tags must match."""

    VOID = ("meta", "img", "br")

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open, self.words = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attributes]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture
def read_page():
    return lambda path: Page(path.read_text(encoding="utf-8"))
