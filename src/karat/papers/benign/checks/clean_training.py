"""A remark of purification on the mixture of benign: clean training already gives a robust classifier."""

from collections.abc import Sequence

from karat.papers.benign.experiments.clean_training import CLEAN_TRAINING, CleanTrainingResult
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.study.claim import Check, Finding
from karat.study.curves import with_caveat
from karat.study.evaluate import upper_bound_finding, worst_finding
from karat.study.run import Run, grouped


def _no_more_errors(runs: Sequence[Run[MixtureConfig, CleanTrainingResult]]) -> Finding:
    """Robust error after clean training less that after adversarial training, per setting, seed by seed."""
    settings = grouped(runs, lambda run: (run.config.n, run.config.d))
    findings = []
    for setting in sorted(settings):
        group = settings[setting]
        adversarial = {run.seed: run.result.robust_error for run in group if run.config.ratio > 0}
        clean = [run for run in group if run.config.ratio == 0 and run.seed in adversarial]
        extra = [run.result.robust_error - adversarial[run.seed] for run in clean]
        note = (
            "Predicted: no more than one percentage point above adversarial training. "
            f"Best possible robust error: {group[0].result.best_robust_error:.3f}."
        )
        findings.append(with_caveat(upper_bound_finding(extra, 0.01), note))
    return worst_finding(findings)


CHECKS = (
    Check(
        claim_id="purification.sec7.mixture",
        experiment=CLEAN_TRAINING,
        evaluate=_no_more_errors,
        reading="As robust as adversarial training up to one percentage point, seed by seed.",
    ),
)
