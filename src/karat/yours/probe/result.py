"""The result of a probe: plain numbers that go to JSON, and pictures that go to the page."""

from collections.abc import Mapping
from dataclasses import asdict as plain
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from karat.probes.activity import Gate
from karat.probes.kernel_drift import KernelDrift
from karat.probes.layer_change import LayerChange
from karat.probes.leftover import Leftover
from karat.study.config import encode
from karat.yours.probe.page import write_page
from karat.yours.probe.perturbations import Basis, TransferRates
from karat.yours.probe.pictures import Pictures
from karat.yours.probe.rebuilding import Rebuilding
from karat.yours.probe.robustness import Paired, Robustness
from karat.yours.probe.sentences.sentence import Evidence, Sentence


@dataclass(frozen=True, kw_only=True)
class Kernels:
    """Tangent kernels on the same inputs, sorted by label.

    Args:
        samples: inputs.
        directions: output directions summed.
        drifts: "before -> after" and, with a start, "start -> before" and "start -> after".
        linearised: error of the net linearised around the first of each pair, as a share of what changed.
        tables: net -> kernel over its mean diagonal entry.
        labels: of the rows.
    """

    samples: int
    directions: int
    drifts: dict[str, KernelDrift]
    linearised: dict[str, float]
    tables: dict[str, list[list[float]]]
    labels: list[float]


@dataclass(frozen=True, kw_only=True, eq=False)
class Probe:
    """What training changed between two checkpoints.

    Args:
        setting: data, ball, sizes, version.
        summary: sentences with their evidence.
        layers: weights.
        gates: activity.
        kernels: tangent kernels.
        robustness: accuracies of both nets.
        versus: the nets input by input.
        transfer: rates.
        densities: perturbations basis by basis.
        rebuilding: sparse reconstruction.
        leftover: first-layer filters decomposed along the start, None without one.
        pictures: arrays, not in the JSON.
        notes: what could not be measured, and why.
        seconds: by stage.
    """

    setting: dict[str, Any]
    summary: tuple[Sentence, ...]
    layers: tuple[LayerChange, ...]
    gates: tuple[Gate, ...]
    kernels: Kernels
    robustness: tuple[Robustness, Robustness]
    versus: Paired
    transfer: TransferRates
    densities: tuple[Basis, ...]
    rebuilding: tuple[Rebuilding, ...]
    leftover: Leftover | None
    pictures: Pictures
    notes: tuple[str, ...]
    seconds: dict[str, float]

    def write(self, out: str | Path, names: Mapping[str, str] | None = None) -> Path:
        """Write probe.html, one self-contained page, and probe.json into a folder; return the page's path.

        Args:
            out: folder, made if missing.
            names: what was probed, such as {"before": "clean.pt"}.
        """
        return write_page(self.to_json(), self.pictures, out, names or {})

    def to_json(self) -> dict[str, Any]:
        """Everything but the pictures as strict JSON values; NaN and infinities as words."""
        values = {part.name: getattr(self, part.name) for part in fields(self) if part.name != "pictures"}
        values["pictures"] = self.pictures.numbers
        if self.leftover is not None:
            values["leftover"] = plain(self.leftover) | {"forgotten": self.leftover.forgotten}
        strict: dict[str, Any] = encode({name: _plain(value) for name, value in values.items()})
        return strict


def _plain(value: Any) -> Any:
    if isinstance(value, Evidence):
        return plain(value) | {"holds": value.holds if value.relation else None}
    if isinstance(value, Sentence):
        return plain(value) | {"evidence": [_plain(item) for item in value.evidence]}
    if hasattr(value, "__dataclass_fields__"):
        return _plain(plain(value))
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
