"""What checks of image experiments share: the paper's images and runs, sizes of effects, controls."""

from collections.abc import Iterable
from typing import Any, TypeVar

from karat.papers.purification.checks.paper_nets import PaperNet
from karat.papers.purification.experiments.image_setting import ImageResult, ImageSetting
from karat.papers.purification.printed_table1 import PRINTED
from karat.study.control import Control
from karat.study.experiment import Experiment
from karat.study.finding import Unit
from karat.study.hypothesis import Condition, at_least, is_so
from karat.study.judging import Undecided
from karat.study.run import Run

C = TypeVar("C", bound=ImageSetting)
R = TypeVar("R", bound=ImageResult)

LESS = 0.9
"""'Smoother', 'sparser', 'fewer' is read as a tenth less: a smaller change could not be seen in a picture."""

HALF_GAIN = (
    min(cell.robust for mode in ("from_random", "from_clean") for cell in PRINTED[mode].values()) / 200
)
"""'Robustness is gained': half-way between none and the smallest robust accuracy of Table 1."""

SMOOTHED = "l2:1:0.25"
"""The attacker that the paper mostly uses."""

ZERO = 0.005
"""What rounds to the text's 0%."""

GAIN = Unit("gain in accuracy", -1.0, 1.0)
ONE_NET = Unit("share of test images of one net", 0.0, 1.0)


def paper_settings(config: ImageSetting, net: PaperNet) -> list[Condition]:
    """Ask for the images, the net, and its rates.

    Args:
        config: of a run.
        net: the paper's.
    """
    images = is_so("Sec 8: CIFAR-10", config.source == "cifar10", f"here {config.source}")
    return [images, *net.conditions(config)]


def smoothed_attacker(attacker: str) -> Condition:
    """Ask for the attacker that the paper mostly uses.

    Args:
        attacker: of a run.
    """
    return is_so("Sec 8: attacker l2(1, 0.25)", attacker == SMOOTHED, f"here {attacker}")


def all_images(run: Run[Any, R]) -> list[Condition]:
    """Ask for the whole training set.

    Args:
        run: whose result says on how many images it was trained.
    """
    return [at_least("Sec 8: all training images of CIFAR-10", run.result.trained_on, 50_000)]


def paper_runs(runs: Iterable[Run[C, R]], net: PaperNet) -> list[Run[C, R]]:
    """Return the runs of the paper's net at its rates; without them those at its rates, or else all.

    A claim answers for the hypotheses of all runs whose results it reads, so that others are left out here.

    Args:
        runs: of an experiment.
        net: the paper's.
    """
    given = list(runs)
    if not given:
        raise Undecided("there is no finished run.")
    at_rates = [run for run in given if net.has_rates_of(run.config)]
    return [run for run in at_rates if net.is_net_of(run.config)] or at_rates or given


def without_training(experiment: Experiment[C, R], why: str, **sizes: Any) -> Control:
    """The control whose rates are next to nothing, at the tiny size: the net stays what it was drawn as.

    Args:
        experiment: whose smallest setting is changed.
        why: the statement should not hold there.
        sizes: other settings that the check needs, such as attackers.
    """
    return Control(
        name="no training",
        removes="training",
        settings={"lr": 1e-9, "robust_lr": 1e-9},
        cheap=vars(experiment.preset("tiny").config) | sizes,
        why=why,
    )


def without_attack(experiment: Experiment[C, R], why: str, **attack: Any) -> Control:
    """The control whose attackers have no room, at the tiny size: adversarial training is clean training.

    Args:
        experiment: whose smallest setting is changed.
        why: the statement should not hold there.
        attack: the setting that names the attackers.
    """
    return Control(
        name="no attack",
        removes="attack",
        settings=attack,
        cheap=vars(experiment.preset("tiny").config),
        why=why,
    )
