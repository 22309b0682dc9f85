"""What checks of image experiments share: the paper's nets, rates and images, sizes of effects, controls."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from karat.papers.purification.experiments.image_setting import ImageResult, ImageSetting
from karat.papers.purification.printed_table1 import PRINTED
from karat.study.control import Control
from karat.study.experiment import Experiment
from karat.study.finding import Finding, Unit
from karat.study.hypothesis import Condition, at_least, is_so
from karat.study.judging import Undecided, all_of
from karat.study.run import Run, by_setting

C = TypeVar("C", bound=ImageSetting)
R = TypeVar("R", bound=ImageResult)

ALEXNET_WHOLE, RESNET34, WIDE = "alexnet:1", "wrn:34:1", "wrn:28:10"
"""The paper's nets: its ResNet-34 has 31 convolutions (Section 8.2), other nets of that name have not."""

LESS = 0.9
"""'Smoother', 'sparser', 'fewer' is read as a tenth less: a smaller change could not be seen in a picture."""

HALF_GAIN = (
    min(cell.robust for mode in ("from_random", "from_clean") for cell in PRINTED[mode].values()) / 200
)
"""'Robustness is gained': half-way between none and the smallest robust accuracy of Table 1."""

ZERO = 0.005
"""What rounds to the text's 0%."""

GAIN = Unit("gain in accuracy", -1.0, 1.0)
ONE_NET = Unit("share of test images of one net", 0.0, 1.0)


def paper_settings(config: ImageSetting, network: str) -> list[Condition]:
    """Ask for the images, the net, and its rates.

    Args:
        config: of a run.
        network: the paper's.
    """
    rate, decay = _printed_rates(network)
    return [
        is_so("Sec 8: CIFAR-10", config.source == "cifar10", f"here {config.source}"),
        is_so(f"Sec 8: {_LABELS[network]}", config.network == network, f"here {config.network}"),
        is_so(
            f"Sec 8: rate {rate:g} and weight decay {decay:g}",
            _at_printed_rates(config, network),
            f"here {config.lr:g} and {config.weight_decay:g}",
        ),
    ]


def smoothed_attacker(attacker: str) -> Condition:
    """Ask for the attacker that the paper mostly uses.

    Args:
        attacker: of a run.
    """
    return is_so("Sec 8: attacker l2(1, 0.25)", attacker == "l2:1:0.25", f"here {attacker}")


def all_images(run: Run[Any, R]) -> list[Condition]:
    """Ask for the whole training set.

    Args:
        run: whose result says on how many images it was trained.
    """
    return [at_least("Sec 8: all training images of CIFAR-10", run.result.trained_on, 50_000)]


def paper_runs(runs: Iterable[Run[C, R]], network: str) -> list[Run[C, R]]:
    """Return the runs of the paper's net at its rates; without them those at its rates, or else all.

    A claim answers for the hypotheses of all runs whose results it reads, so that others are left out here.

    Args:
        runs: of an experiment.
        network: the paper's.
    """
    given = list(runs)
    if not given:
        raise Undecided("there is no finished run.")
    at_rates = [run for run in given if _at_printed_rates(run.config, network)]
    return [run for run in at_rates if run.config.network == network] or at_rates or given


def every_setting(runs: Sequence[Run[C, R]], judge: Callable[[Sequence[Run[C, R]]], Finding]) -> Finding:
    """Judge the seeds of each setting together; all settings must hold.

    Args:
        runs: those that count.
        judge: runs of one setting -> finding.
    """
    return all_of(*map(judge, by_setting(runs)))


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


_LABELS = {
    ALEXNET_WHOLE: "AlexNet of width 1",
    RESNET34: "ResNet-34 with 31 convolutions",
    WIDE: "WRN-28-10",
}


def _printed_rates(network: str) -> tuple[float, float]:
    return (0.02, 5e-4) if network.startswith("alexnet") else (0.1, 1e-4)


def _at_printed_rates(config: ImageSetting, network: str) -> bool:
    return (config.lr, config.weight_decay) == _printed_rates(network)
