"""Tables 1 to 5: six methods (and the rescaled One Step) on parity and interval labels."""

from dataclasses import replace
from typing import Any

from karat.papers.features.experiments.methods import MethodsResult, run_methods
from karat.papers.features.experiments.settings import METHODS, LearningConfig
from karat.study.experiment import Experiment, Preset

TABLE_METHODS = METHODS[:7]
"""Those of the tables; the two fixed-feature methods without structure are in Figure 5 only."""

PAPER = LearningConfig(
    d=500, D=100, k=5, n=50_000, pairs=300, steps=600, lr_a=(10.0, 30.0), n_kernel=2000, pictures=True
)
TINY = LearningConfig(
    d=60,
    D=20,
    k=5,
    n=4000,
    pairs=24,
    steps=80,
    batch_size=400,
    n_test=500,
    n_validation=500,
    lr_a=(30.0,),
    lr_top=(30.0, 100.0),
    n_kernel=200,
    evaluations=6,
    pictures=True,
)
INTERVAL = replace(
    PAPER,
    task="interval",
    k=30,
    pairs=100,
    steps=200,
    lr_a=(100.0, 30.0),
    lr_top=(30.0, 100.0, 300.0),
    lr_ntk=(1.0,),
    lr_rf=(1.0, 10.0),
    n_kernel=0,
)
TINY_INTERVAL = replace(
    TINY, task="interval", k=9, low=6, high=9, lr_ntk=(1.0,), lr_rf=(1.0, 10.0), n_kernel=0
)

# At m = 50 the slope of the features is the same but fewer neurons share the work: larger rates.
SMALL: dict[str, Any] = {
    "n": 10_000,
    "pairs": 50,
    "lr_a": (50.0, 100.0, 20.0),
    "lr_top": (20.0, 50.0, 100.0),
    "lr_ntk": (1e-4,),
}


def _table(
    name: str,
    title: str,
    tiny: Preset[LearningConfig],
    quick: Preset[LearningConfig],
    full: Preset[LearningConfig],
) -> Experiment[LearningConfig, MethodsResult]:
    return Experiment(
        name=f"features.{name}",
        title=title,
        paper="features",
        presets={"tiny": tiny, "quick": quick, "full": full},
        run=run_methods,
    )


# The presets of Tables 3 to 5 leave out what Table 1 measures at the same settings.
_LEAN = replace(PAPER, methods=TABLE_METHODS, lr_a=(10.0,), lr_rf=(0.02, 0.1), n_kernel=0)
_LEAN_TINY = replace(TINY, methods=TABLE_METHODS, n_kernel=0)
_FULL_RATES = replace(PAPER, lr_a=(10.0, 30.0, 3.0), lr_ntk=(1e-5, 3e-5, 1e-4), n_kernel=8000)
_FULL_TABLE = replace(_FULL_RATES, methods=TABLE_METHODS)

# The paper's own setting, and beside it what we add: class weights in the feature steps of Table 2, with
# balanced batches after them in Table 4.
_WEIGHTED = {"weighted": (False, True)}
_IMBALANCED: tuple[dict[str, Any], ...] = ({}, {"weighted": True, "sampling": "balanced"})

TAB1 = _table(
    "tab1",
    "Do networks beat fixed features on parity labels, and do their neurons find the relevant patterns?",
    Preset(config=TINY, seeds=2, cell_seconds=1),
    Preset(config=PAPER, seeds=3, cell_seconds=10),
    Preset(config=_FULL_RATES, seeds=5, cell_seconds=60),
)

TAB2 = _table(
    "tab2",
    "Do interval labels, which a linear function can read, need feature learning or input structure?",
    Preset(config=TINY_INTERVAL, grid=_WEIGHTED, seeds=2, cell_seconds=1),
    Preset(config=INTERVAL, grid=_WEIGHTED, seeds=3, cell_seconds=1.7),
    Preset(config=replace(INTERVAL, lr_ntk=(0.1, 1.0, 10.0)), grid=_WEIGHTED, seeds=5, cell_seconds=10),
)

TAB3 = _table(
    "tab3",
    "Does anything but the cosines at the start depend on the input dimension?",
    Preset(config=_LEAN_TINY, grid={"d": (20, 200)}, seeds=2, cell_seconds=1),
    Preset(config=_LEAN, grid={"d": (100, 2000)}, seeds=3, cell_seconds=7),
    Preset(config=_FULL_TABLE, grid={"d": (100, 500, 2000)}, seeds=5, cell_seconds=60),
)

TAB4 = _table(
    "tab4",
    "Do imbalanced classes change the ranking?",
    Preset(config=_LEAN_TINY, points=_IMBALANCED, grid={"negative_rate": (0.8,)}, seeds=2, cell_seconds=1),
    Preset(config=_LEAN, points=_IMBALANCED, grid={"negative_rate": (0.8, 0.9)}, seeds=3, cell_seconds=7),
    Preset(
        config=_FULL_TABLE, points=_IMBALANCED, grid={"negative_rate": (0.8, 0.9)}, seeds=5, cell_seconds=60
    ),
)

TAB5 = _table(
    "tab5",
    "How few samples are enough?",
    Preset(config=_LEAN_TINY, grid={"n": (2000, 4000)}, seeds=2, cell_seconds=1),
    Preset(config=_LEAN, points=({"n": 25_000}, SMALL), seeds=3, cell_seconds=3.7),
    Preset(config=_FULL_TABLE, points=({"n": 25_000}, SMALL), seeds=5, cell_seconds=40),
)

HIDDEN = _table(
    "hidden",
    "Do the neurons cluster when the label is a code book over the relevant patterns?",
    Preset(
        config=replace(TINY, task="hidden", D=40, k=10, codes_per_label=4, methods=("network",), n_kernel=0),
        seeds=2,
        cell_seconds=1,
    ),
    Preset(
        config=replace(
            PAPER, task="hidden", D=250, k=50, n=20_000, pairs=150, steps=3, methods=(), n_kernel=0
        ),
        seeds=3,
        cell_seconds=0.23,
    ),
    Preset(
        config=replace(PAPER, task="hidden", D=250, k=50, methods=("network", "two_step"), n_kernel=0),
        seeds=5,
        cell_seconds=20,
    ),
)

# Asm of App F: incoherent patterns, input noise, imbalanced classes, class weights in the feature steps.
_GENERAL = replace(
    _LEAN,
    d=1000,
    D=30,
    n=10_000,
    pairs=50,
    dictionary="incoherent",
    sigma_zeta=0.02,
    negative_rate=0.7,
    weighted=True,
    lr_a=(50.0, 100.0),
    lr_top=(20.0, 50.0, 100.0),
    sd_W=0.02,
    methods=("network", "two_step"),
    pictures=False,
)

GENERAL = _table(
    "appF",
    "Do incoherent patterns, input noise and imbalanced classes still allow feature learning?",
    Preset(
        config=replace(
            _GENERAL, d=60, D=20, n=4000, pairs=24, steps=80, batch_size=400, n_test=500, n_validation=500
        ),
        seeds=2,
        cell_seconds=1,
    ),
    Preset(config=_GENERAL, seeds=3, cell_seconds=2.5),
    Preset(
        config=replace(_GENERAL, n=50_000, pairs=300, lr_a=(10.0, 30.0)),
        grid={"sigma_zeta": (0.0, 0.02, 0.05), "negative_rate": (0.5, 0.7, 0.9)},
        seeds=5,
        cell_seconds=60,
    ),
)

# Sizes at which the floor of Theorem 2 lies above zero with its own constant; no k above D/16 is allowed.
_FLOORS = replace(
    PAPER,
    n=20_000,
    pairs=100,
    steps=300,
    methods=("rf", "rf_unstructured"),
    lr_rf=(0.02, 0.1),
    n_kernel=0,
    pictures=False,
)

FLOORS = _table(
    "floors",
    "Where does the hinge loss of random features stop when the number of relevant patterns grows?",
    Preset(
        config=replace(_FLOORS, n=2000, pairs=24, steps=80, n_test=500, n_validation=500),
        points=({"k": 5, "D": 80, "d": 80},),
        seeds=2,
        cell_seconds=0.3,
    ),
    Preset(
        config=_FLOORS,
        points=tuple({"k": k, "D": 16 * k, "d": 16 * k} for k in (7, 9, 11)),
        seeds=3,
        cell_seconds=0.38,
    ),
    Preset(
        config=replace(_FLOORS, n=50_000),
        points=tuple({"k": k, "D": 16 * k, "d": 16 * k} for k in (7, 9, 11, 13)),
        seeds=5,
        cell_seconds=6,
    ),
)

# Lemma 24 asks for one rate below 1 and no momentum; a small one, so that its bound stays below the weights.
_ONE_RATE = replace(
    PAPER,
    n=10_000,
    pairs=50,
    methods=("network",),
    lr_a=(1e-3,),
    lr_hidden=1e-3,
    momentum=0.0,
    n_kernel=0,
    pictures=False,
)

LEM24 = _table(
    "lem24",
    "How far does classifier learning with one small rate move the neurons?",
    Preset(config=replace(_ONE_RATE, d=60, D=20, n=2000, pairs=24, steps=80), seeds=2, cell_seconds=0.2),
    Preset(config=_ONE_RATE, seeds=3, cell_seconds=0.46),
    Preset(config=replace(_ONE_RATE, n=50_000, pairs=300), seeds=5, cell_seconds=10),
)

METHOD_TABLES = (TAB1, TAB2, TAB3, TAB4, TAB5, HIDDEN, GENERAL)
