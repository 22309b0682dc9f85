"""Checks on purification itself: mixtures go, perturbations become sparse, weights hardly move."""

from collections.abc import Callable, Sequence

from karat.papers.purification.checks.controls import NO_ADVERSARIAL_TRAINING
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import (
    FACTOR,
    PURER,
    data_conditions,
    each,
    largest_standard,
    mean,
    mixture_fall,
)
from karat.papers.purification.experiments.ablation import AblatedNet
from karat.papers.purification.experiments.l2 import L2, TwoTrainingsResult
from karat.papers.purification.experiments.net_measures import HUB
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import ACCURACY, RATIO, SHARE, Finding
from karat.study.judging import all_of, bound, noted
from karat.study.run import Run, examples

TwoTrainings = Sequence[Run[OddNetConfig, TwoTrainingsResult]]


def _purify(every: TwoTrainings) -> Finding:
    """A mixture that is there and goes, fragility that comes with it, and the mixture as its cause.

    The cause is found by surgery on the clean net: without the mixtures of its ordinary neurons it must win
    at least half of what adversarial training wins, and no more must come from deleting its few hubs.
    """
    runs = largest_standard(every)
    return noted(
        all_of(
            bound(
                each(runs, lambda r: mixture_fall(r.clean.ratio, r.robust.ratio)), "at least", PURER, RATIO
            ),
            bound(each(runs, lambda r: r.clean.ratio / r.support_ratio), "at least", 1 / FACTOR, RATIO),
            bound(each(runs, lambda r: r.clean.pgd / r.clean.accuracy), "at most", 0.5, ACCURACY),
            bound(
                each(runs, lambda r: r.robust.pgd - (r.clean.pgd + r.pure.pgd) / 2), "at least", 0.0, RATIO
            ),
            bound(
                each(runs, lambda r: r.without_mixture.pgd - (r.clean.pgd + r.robust.pgd) / 2),
                "at least",
                0.0,
                RATIO,
            ),
            bound(each(runs, lambda r: r.without_hubs.pgd - r.without_mixture.pgd), "at most", 0.0, RATIO),
        ),
        f"beta/alpha {mean(runs, lambda r: r.clean.ratio):.4f} -> "
        f"{mean(runs, lambda r: r.robust.ratio):.4f}, accuracy under attack "
        f"{mean(runs, lambda r: r.clean.pgd):.3f} -> {mean(runs, lambda r: r.robust.pgd):.3f} (pure features "
        f"{mean(runs, lambda r: r.pure.pgd):.3f}).",
        f"The clean net after surgery, as accuracy / along M w* / under attack: {_surgery(runs)}.",
    )


def _hubs_carry_it(every: TwoTrainings) -> Finding:
    """Where k exceeds the assumption: a fragile net, what its hubs carry, and what all other mixtures do."""
    beyond = [run for run in every if run.config.k > run.config.d**0.499 and run.config.start == "random"]
    runs = largest_standard(beyond or every)
    return noted(
        all_of(
            bound(each(runs, lambda r: r.clean.pgd / r.clean.accuracy), "at most", 0.5, ACCURACY),
            bound(
                each(runs, lambda r: r.without_hubs.pgd - (r.clean.pgd + r.robust.pgd) / 2),
                "at least",
                0.0,
                RATIO,
            ),
            bound(
                each(runs, lambda r: r.without_mixture.pgd - (r.clean.pgd + r.robust.pgd) / 2),
                "at most",
                0.0,
                RATIO,
            ),
            bound(each(runs, lambda r: r.hubs / (r.hubs + r.ordinary)), "at most", 0.1, SHARE),
        ),
        f"d = {runs[0].config.d}, k = {runs[0].config.k}: accuracy under attack "
        f"{mean(runs, lambda r: r.clean.pgd):.2f}, after adversarial training "
        f"{mean(runs, lambda r: r.robust.pgd):.2f}.",
        f"The clean net after surgery, as accuracy / along M w* / under attack: {_surgery(runs)}.",
    )


def _surgery(runs: TwoTrainings) -> str:
    """Means over seeds of the accuracies of the clean net without some of its parts."""
    hubs, ordinary = (mean(runs, value) for value in (lambda r: r.hubs, lambda r: r.ordinary))

    def line(name: str, net: Callable[[TwoTrainingsResult], AblatedNet]) -> str:
        three = (
            mean(runs, lambda r: net(r).accuracy),
            mean(runs, lambda r: net(r).universal),
            mean(runs, lambda r: net(r).pgd),
        )
        return f"{name} {'/'.join(f'{value:.2f}' for value in three)}"

    return "; ".join(
        (
            line("whole", lambda r: r.whole),
            line(f"{hubs:.0f} hubs deleted", lambda r: r.without_hubs),
            line(f"mixture of {ordinary:.0f} other neurons removed", lambda r: r.without_mixture),
            line("both", lambda r: r.without_both),
        )
    )


def _density(every: TwoTrainings) -> Finding:
    """The density of perturbations: at least one half before, less than half of that after."""
    runs = largest_standard(every)
    return noted(
        all_of(
            bound(each(runs, lambda r: r.robust.density / r.clean.density), "at most", 0.5, RATIO),
            bound(each(runs, lambda r: r.clean.density), "at least", 0.5, RATIO),
        ),
        f"|c|_1^2/(d |c|_2^2) of PGD's perturbations: {mean(runs, lambda r: r.clean.density):.2f} -> "
        f"{mean(runs, lambda r: r.robust.density):.2f}; cosine with M w*: "
        f"{mean(runs, lambda r: r.clean.cosine):.2f} -> {mean(runs, lambda r: r.robust.cosine):.2f}.",
    )


def _purified(
    factor: float, robust: float, mixture_share: float = 0.8
) -> tuple[OddNetConfig, TwoTrainingsResult]:
    """Mixtures that fall by a factor and carry a share of the robustness that is won."""
    result = made_up(
        TwoTrainingsResult,
        movement_curve=[0.1],
        clean={"ratio": 0.02, "pgd": 0.2, "universal": 0.2, "accuracy": 0.9, "density": 0.6},
        robust={"ratio": 0.02 / factor, "pgd": robust, "universal": robust, "density": 0.6 / factor},
        pure={"pgd": 0.8},
        support_ratio=0.02,
        without_hubs={"pgd": 0.2 + 0.1 * (robust - 0.2)},
        without_mixture={"pgd": 0.2 + mixture_share * (robust - 0.2)},
    )
    return OddNetConfig(d=200, k=14), result


def _fragile(without_hubs: float, without_mixture: float) -> tuple[OddNetConfig, TwoTrainingsResult]:
    result = made_up(
        TwoTrainingsResult,
        clean={"accuracy": 0.9, "pgd": 0.2},
        robust={"pgd": 0.7},
        hubs=10,
        ordinary=200,
        without_hubs={"pgd": without_hubs},
        without_mixture={"pgd": without_mixture},
    )
    return OddNetConfig(d=100, k=20), result


CHECKS = (
    Check(
        claim_id="purification.sec5.purify",
        experiment=L2,
        evaluate=_purify,
        conditions=data_conditions,
        satisfied=examples(_purified(5.0, 0.7)),
        violated=examples(_purified(1.1, 0.25)),
        controls=(NO_ADVERSARIAL_TRAINING,),
        reading="beta/alpha over live neurons, N_i read off the trained weights (at least 0.3 of the "
        f"largest). Removed: lower by a factor {PURER:g}, from at least half of E|z|_0/d. Fragile: attacks "
        "take half of the accuracy. Returns: nearer to the pure net than to the clean one. By the mixture: "
        "taken by hand out of every live neuron with at most "
        f"{HUB} own features it wins at least half of that, and deleting the others, the hubs, wins no more.",
        headline=True,
    ),
    Check(
        claim_id="purification.sec5.purify.hubs",
        experiment=L2,
        evaluate=_hubs_carry_it,
        satisfied=examples(_fragile(0.6, 0.3)),
        violated=examples(_fragile(0.3, 0.6)),
        controls=(
            Control(
                name="pure features at the start",
                removes="structure",
                settings={"start": "pure", "decay": 0.05, "d": 100, "k": 20},
                cheap={"n_attack": 100},
                why="From w = M no neuron becomes a hub, so that there is none to delete.",
            ),
        ),
        reading=f"A hub has more than {HUB} own features, and at most every tenth live neuron is one. "
        "Carries: deleted by hand the net wins at least half of what adversarial training wins under attack; "
        "cut down to their own features, all other live neurons together win less than half.",
    ),
    Check(
        claim_id="purification.sec5.density",
        experiment=L2,
        evaluate=_density,
        conditions=data_conditions,
        satisfied=examples(_purified(5.0, 0.7)),
        violated=examples(_purified(1.1, 0.25)),
        controls=(NO_ADVERSARIAL_TRAINING,),
        reading="Density |c|_1^2/(d |c|_2^2) in the dictionary; dense: at least one half, where all "
        "features alike have 1 and a Gaussian direction 2/pi; sparse: less than half of what it was.",
    ),
)
