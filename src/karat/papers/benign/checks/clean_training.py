"""A remark of purification on the mixture of benign: clean training already gives a robust classifier."""

from collections.abc import Sequence
from functools import partial

from karat.papers.benign.checks.ordering import DIFFERENCE
from karat.papers.benign.checks.settings import made_up
from karat.papers.benign.experiments.clean_training import CLEAN_TRAINING, CleanTrainingResult
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import ERROR, Finding
from karat.study.judging import Undecided, all_of, bound, noted
from karat.study.run import Run, grouped

CleanRuns = Sequence[Run[MixtureConfig, CleanTrainingResult]]
POINT = 0.01
"""One percentage point, the precision of the tables that such errors are printed in."""


def _as_robust(runs: CleanRuns) -> Finding:
    """Every setting by itself: what clean training loses, and whether it learns at all."""
    settings = grouped(runs, lambda run: (run.config.n, run.config.d))
    return all_of(*(_no_more_errors(settings[setting]) for setting in sorted(settings)))


def _no_more_errors(group: CleanRuns) -> Finding:
    """Robust error after clean training less that after adversarial training, seed by seed.

    Two nets that learn nothing lose nothing to each other, so clean training must also come nearer to the
    best classifier than to chance.
    """
    adversarial = {run.seed: run.result.robust_error for run in group if run.config.ratio > 0}
    clean = {run.seed: run.result for run in group if run.config.ratio == 0 and run.seed in adversarial}
    if not clean:
        raise Undecided("no seed has both a clean and an adversarial run.")
    best = group[0].result.best_robust_error
    extra = bound(
        [result.robust_error - adversarial[seed] for seed, result in clean.items()],
        "at most",
        POINT,
        DIFFERENCE,
    )
    learned = bound([result.robust_error for result in clean.values()], "at most", (best + 0.5) / 2, ERROR)
    note = f"Robust error after clean training: {learned}; the best there is: {best:.3f}."
    return noted(all_of(extra, learned), note)


def _result(config: MixtureConfig, *, clean: float) -> CleanTrainingResult:
    error = clean if config.ratio == 0 else 0.1
    return CleanTrainingResult(
        train_loss=0.01, train_error=0.0, clean_error=0.03, robust_error=error, best_robust_error=0.067
    )


CHECKS = (
    Check(
        claim_id="purification.sec7.mixture",
        experiment=CLEAN_TRAINING,
        evaluate=_as_robust,
        satisfied=made_up(CLEAN_TRAINING, partial(_result, clean=0.102)),
        violated=made_up(CLEAN_TRAINING, partial(_result, clean=0.2)),
        controls=(
            Control(
                name="no training",
                removes="training",
                settings={"lr": 1e-9, "steps": 1},
                cheap={"m": 50},
                why="Nets that learn nothing are equally bad, which is not what the remark means.",
            ),
        ),
        reading="As robust as adversarial training up to one percentage point, seed by seed, and nearer to "
        "the best classifier than to chance.",
    ),
)
