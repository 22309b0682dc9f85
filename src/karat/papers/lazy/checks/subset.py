"""Check of the printed bound on switched neurons against the subset that an adversary chooses."""

from collections.abc import Sequence

from karat.papers.lazy.bounds import subset_union_bound
from karat.papers.lazy.experiments.subset import SUBSET, SubsetConfig, SubsetResult
from karat.study.claim import Check, Finding
from karat.study.curves import with_caveat
from karat.study.evaluate import upper_bound_finding
from karat.study.run import Run, grouped


def _subset(runs: Sequence[Run[SubsetConfig, SubsetResult]]) -> Finding:
    """The printed bound on switched neurons against the worst subset, at every width."""
    # Widths can be compared within one dimension, and the first is as good as any.
    config = runs[0].config
    of_dimension = [run for run in runs if run.config.d == config.d]
    by_width = dict(sorted(grouped(of_dimension, lambda run: run.config.m).items()))
    widest = max(by_width)
    subsets = {m: [run.result.subset for run in of_width] for m, of_width in by_width.items()}
    bounds = {m: of_width[0].result.bound for m, of_width in by_width.items()}
    # The claim is one on wide nets, and the bound falls with m while the subset does not.
    finding = upper_bound_finding(subsets[widest], bounds[widest])
    listed = ", ".join(
        f"{sum(values) / len(values):.2f} of {bounds[m]:.2f} at m = {m:.0e}" for m, values in subsets.items()
    )
    return with_caveat(
        finding,
        f"Worst subset against the bound at d = {config.d}, C0 = {config.C0:g}: {listed}.",
        f"As m grows the bound tends to 0 and the subset to C0/pi = {runs[0].result.limit:.2f}:",
        "an O(C0) term is missing, which leaves Omega(sqrt d) gradients intact.",
        f"The proof's union bound allows {subset_union_bound(widest, config.C0, config.p_fail):.3g}.",
    )


CHECKS = (
    Check(
        claim_id="lazy.eq7.subset",
        experiment=SUBSET,
        evaluate=_subset,
        reading="Alternating maximisation over subsets: a lower bound on the maximum, so a "
        "violation is certain.",
        headline=True,
    ),
)
