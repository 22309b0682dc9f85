"""Made-up runs of the lemmas' experiments: what a check must call holding, and what failing."""

from karat.papers.benign.experiments.lemma_trace import ActiveShares, FirstStep, LemmaResult
from karat.papers.benign.experiments.traces import LemmaConfig


def example(
    config: LemmaConfig,
    *,
    distance: float = 0.1,
    loss_ratio: float = 1.0,
    drop: float = -0.1,
    gain: float = 0.05,
    slack: float = 0.01,
    margin: float = 0.5,
    robust_error: float = 0.1,
    margin_bound: float = 0.2,
    first_error: float = 0.0,
    movement: float = 100.0,
    active: float = 0.2,
) -> LemmaResult:
    """Return a result with these numbers, and nothing else worth a remark.

    Args:
        config: of the run.
        distance: over its bound of 1.
        loss_ratio: of two loss derivatives.
        drop: largest loss of margin, as a share.
        gain: its certified counterpart.
        slack: of Lemma 4.3.
        margin: normalised.
        robust_error: by PGD and by certificate.
        margin_bound: what Lemma 4.2 allows.
        first_error: training error after one step.
        movement: of the first step.
        active: both shares of Lemma 4.5.
    """
    return LemmaResult(
        distance=distance,
        distance_bound=1.0,
        loss_ratio=loss_ratio,
        margin_drop=max(drop, 0.0),
        gradient_constant=1.0,
        drop_share=drop,
        perturbation=1.0,
        increment_slack=slack,
        correlation_low=1.01 * config.slope**2,
        certified_gain=gain,
        steps=[1],
        normalised_margin=[margin],
        margin_bound=[margin_bound],
        robust_error=[robust_error],
        certified_error=[robust_error],
        first_step=FirstStep(error=first_error, certified_error=first_error, movement=movement),
        active=ActiveShares(samples=active, neurons=active),
        final_train_loss=0.6,
    )
