"""Which cells a claim needs: those of its experiments, and those of its controls."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from karat.study.check import Check
from karat.study.config import hints
from karat.study.control import Control
from karat.study.experiment import Cell, cells
from karat.study.record import Record


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The cells behind one claim.

    Args:
        cells: of its experiments.
        controls: name of a control -> its cells.
        added: whether there are more or fewer seeds than the preset plans: somebody stopped, or went on,
            perhaps after a look, and intervals must allow for that.
    """

    cells: list[Cell]
    controls: dict[str, list[Cell]]
    added: bool = False

    @property
    def every(self) -> list[Cell]:
        """All cells, each once."""
        groups = [self.cells, *self.controls.values()]
        return list({cell.key: cell for group in groups for cell in group}.values())

    def select(self, records: Iterable[Record]) -> tuple[list[Record], dict[str, list[Record]]]:
        """Return the records of the claim and those of each control: the planned seeds and no others.

        Args:
            records: of any cells.
        """
        given = list(records)
        controls = {name: _of(cells, given) for name, cells in self.controls.items()}
        return _of(self.cells, given), controls


def _of(cells: Iterable[Cell], records: Iterable[Record]) -> list[Record]:
    keys = {cell.key for cell in cells}
    return [record for record in records if record.key in keys]


def plan_claim(
    check: Check,
    scale: str,
    seeds: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    controls: bool = True,
) -> Plan:
    """Return the cells of a claim and of its controls.

    Args:
        check: of the claim.
        scale: name of a preset.
        seeds: instead of the preset's; controls keep their own.
        overrides: settings, such as `d=4000`.
        controls: whether they are to run, too.
    """
    return Plan(
        cells=check_cells(check, scale, seeds, overrides),
        controls={
            control.name: control_cells(check, control, scale, overrides)
            for control in (check.controls if controls else ())
        },
        added=seeds is not None
        and any(seeds != one.preset(scale).seeds for one in (check.experiment, *check.beside)),
    )


def check_cells(
    check: Check, scale: str, seeds: int | None = None, overrides: Mapping[str, Any] | None = None
) -> list[Cell]:
    """Return the cells a check needs; a scale on which it makes no sense is a ValueError.

    Args:
        check: of the claim.
        scale: name of a preset.
        seeds: instead of the preset's.
        overrides: settings; one that only some of the experiments know is theirs alone.
    """
    if scale not in check.scales:
        listed = ", ".join(check.scales)
        raise ValueError(f"`{check.claim_id}` has no scale `{scale}`; its scales are {listed}.")
    given = dict(overrides or {})
    experiments = [check.experiment, *check.beside]
    known = [hints(experiment.preset(scale).config) for experiment in experiments]
    shared = [{name: given[name] for name in given if name in settings} for settings in known]
    # A setting that none of them knows goes to the first, whose complaint names it.
    shared[0] |= {name: given[name] for name in given if not any(name in settings for settings in known)}
    planned = [cells(one, scale, seeds, own) for one, own in zip(experiments, shared, strict=True)]
    return [cell for group in planned for cell in group]


def control_cells(
    check: Check, control: Control, scale: str, overrides: Mapping[str, Any] | None = None
) -> list[Cell]:
    """Return the cells of a control: the check's own, with what the control changes.

    Args:
        check: of the claim.
        control: one of its controls.
        scale: name of a preset.
        overrides: settings of the claim itself, which the control keeps where it does not change them.
    """
    changed = {**(overrides or {}), **control.cheap, **control.settings}
    return check_cells(check, scale, control.seeds, changed)
