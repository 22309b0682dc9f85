"""The checks of image experiments by their items, and how tests judge made-up runs with them."""

from dataclasses import replace

from karat.papers.purification.checks import (
    angles,
    filters,
    four_attackers,
    frozen_layers,
    images,
    pictures,
    resnet_span,
)
from karat.study.hypothesis import ledger_of
from karat.study.run import Runs, examples

MODULES = (angles, filters, four_attackers, frozen_layers, images, pictures, resnet_span)
CHECKS = {check.claim_id.partition(".")[2]: check for module in MODULES for check in module.CHECKS}


def judged(item, *cells, seeds=12):
    return CHECKS[item].evaluate(Runs(examples(*cells, seeds=seeds)))


def changed(item, **values):
    """The satisfying example with other values."""
    run = CHECKS[item].satisfied[0]
    return run.config, replace(run.result, **values)


def unmet(item, *cells):
    ledger = ledger_of(CHECKS[item], examples(*cells))
    return {entry.condition.name for entry in ledger if entry.status == "unmet"}
