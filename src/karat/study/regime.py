r"""Where the hypotheses of a statement hold, and the cheapest setting at which all of them do."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from karat.study.axes import as_text
from karat.study.check import Check
from karat.study.config import hints
from karat.study.experiment import Cell, cells
from karat.study.hypothesis import Entry, collected, conditions_at
from karat.study.plan import plan_claim
from karat.study.point import Point, order
from karat.study.search import Search, cost_of
from karat.study.sizes import Size, size_asked


@dataclass(frozen=True, kw_only=True)
class Regime:
    """The answer to: which hypotheses hold here, and where do all of them?

    Args:
        check: of the statement.
        scale: preset that was asked about.
        fixed: settings that the user has fixed.
        here: the settings of the preset, with what the user has fixed.
        best: the cheapest setting inside that was found, or the one nearest to the hypotheses.
        tried: how many settings were looked at.
    """

    check: Check
    scale: str
    fixed: Mapping[str, Any]
    here: tuple[Point, ...]
    best: Point
    tried: int

    @property
    def claim_id(self) -> str:
        """Of the statement."""
        return self.check.claim_id

    @property
    def cheapest(self) -> Point | None:
        """The cheapest setting inside, None if none was found."""
        return self.best if self.best.inside else None

    @property
    def inside(self) -> tuple[Point, ...]:
        """The settings of the preset at which every hypothesis is met."""
        return tuple(point for point in self.here if point.inside)

    @property
    def ledger(self) -> tuple[Entry, ...]:
        """The hypotheses over all settings of the preset."""
        return collected(condition for point in self.here for condition in point.conditions)

    @cached_property
    def sizes(self) -> tuple[Size, ...]:
        """What each hypothesis that is unmet at the nearest setting of the preset asks for."""
        point = min(self.here, key=order)
        asked = [size_asked(self.check, point.config, one, self.fixed) for one in point.unmet]
        return tuple(size for size in asked if size is not None)

    @cached_property
    def changes(self) -> Mapping[str, Any]:
        """What must be set, beside what the user has fixed, to get from the preset to the best setting alone.

        It is empty where the whole preset is inside: then it runs as it is.
        """
        configs = [point.config for point in self.here]
        if len(self.inside) == len(configs):
            return {}
        config = self.best.config
        return {
            name: getattr(config, name)
            for name in hints(config)
            if any(getattr(one, name) != getattr(config, name) for one in configs)
        }

    @property
    def texts(self) -> list[str]:
        """The settings of the best setting as `--set` takes them."""
        return [f"{name}={as_text(value)}" for name, value in {**self.fixed, **self.changes}.items()]

    @property
    def command(self) -> str:
        """What runs the best setting and judges it."""
        sets = "".join(f" --set {text}" for text in self.texts)
        return f"karat check {self.claim_id} --scale {self.scale}{sets}"

    def planned(self) -> list[Cell]:
        """Return the cells that the command runs for the statement, a seed of each.

        A ValueError says why the statement or its controls cannot run.
        """
        return plan_claim(self.check, self.scale, 1, dict(text.split("=", 1) for text in self.texts)).cells


def find_regime(
    check: Check,
    scale: str = "quick",
    settings: Mapping[str, Any] | None = None,
    *,
    budget: float = 600.0,
    seed: int = 0,
) -> Regime:
    """Evaluate the hypotheses of a check at the settings of a preset and search for the cheapest one inside.

    Reading: the search moves only settings on which some hypothesis depends, and gains nothing by making an
    experiment smaller than its preset, unless the budget asks for it: a net of one neuron may be inside, and
    says nothing. Nor does it make the statement promise next to nothing (`karat.study.axes.PROMISES`).

    Args:
        check: of the claim.
        scale: preset around which the search begins.
        settings: what is fixed, as text or typed values; the search leaves it alone.
        budget: CPU seconds that one seed may take.
        seed: of the random starts.
    """
    if scale not in check.scales:
        raise ValueError(
            f"`{check.claim_id}` has no scale `{scale}`; its scales are {', '.join(check.scales)}."
        )
    experiment = check.experiment
    given = dict(settings or {})
    configs = list({cell.config_hash: cell.config for cell in cells(experiment, scale, 1, given)}.values())
    seconds = experiment.preset(scale).cell_seconds
    preset = [cell.config for cell in cells(experiment, scale, 1)]
    law = cost_of(experiment, preset, seconds)
    here = tuple(
        Point(config=config, conditions=tuple(conditions_at(check, config)), seconds=time, weight=time)
        for config, time in zip(configs, map(law, configs), strict=True)
    )
    search = Search(check, here, law, given, np.random.default_rng(seed))
    best = search.cheapest(here)
    if best.inside and best.seconds > budget:
        best = search.smaller(best)
    fixed = {name: getattr(configs[0], name) for name in given}
    return Regime(check=check, scale=scale, fixed=fixed, here=here, best=best, tried=search.tried)
