"""What the command certify says: a table, a picture, files, strict JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from karat.cli.certify_inputs import Radii
from karat.cli.output import print_pairs, print_table
from karat.core.texts import number

if TYPE_CHECKING:
    from torch import Tensor

    from karat.certificates import Certificate, ErrorBracket, RadiusBracket
    from karat.certificates.certificate import Status

TITLES = ("radius", "robust", "broken", "tie", "undecided", "robust error", "95 % interval")


@dataclass(frozen=True, eq=False)
class Outcome:
    """Everything that was found out.

    Args:
        certificate: at the main radius, or at the samples' own.
        radii: that were asked for.
        statuses: one list per radius of the curve.
        least: smallest adversarial radii, if asked for.
    """

    certificate: "Certificate"
    radii: Radii
    statuses: "Sequence[Sequence[Status]]"
    least: "RadiusBracket | None"

    @property
    def curve(self) -> "list[ErrorBracket]":
        """One bracket per radius."""
        from karat.certificates import bracket_of

        return [bracket_of(line) for line in self.statuses]

    @property
    def shown_radii(self) -> tuple[float, ...]:
        """The radii the brackets belong to; the largest one stands for the samples' own."""
        return self.radii.curve or (self.radii.main,)

    def show(self, files: Sequence[Path]) -> None:
        """Print the table and what was left open."""
        rows = []
        for radius, point in zip(self.shown_radii, self.curve, strict=True):
            name = "own" if self.radii.own is not None else number(radius)
            counts = (point.trials - point.broken - point.ties - point.undecided, point.broken, point.ties)
            ends = (
                f"[{low:.3f}, {high:.3f}]"
                for low, high in ((point.low, point.high), (point.interval.low, point.interval.high))
            )
            rows.append([name, *map(str, (*counts, point.undecided)), *ends])
        print_table(TITLES, rows)
        seconds = self.certificate.seconds
        print_pairs(
            [
                ("samples", f"{len(self.certificate)}, float64, rounding charged"),
                ("undecided", self._undecided()),
                ("least radius", self._least()),
                ("time", ", ".join(f"{name} {spent:.2f} s" for name, spent in seconds.items())),
                ("files", ", ".join(str(path) for path in files)),
            ]
        )

    def _undecided(self) -> str:
        """The honest count, with the widest bracket of margins among them."""
        open_samples = self.certificate.mask("undecided")
        if not bool(open_samples.any()):
            return "none"
        width = float((self.certificate.upper - self.certificate.lower)[open_samples].max())
        share = f"{int(open_samples.sum())} of {len(self.certificate)}, counted as not robust"
        return f"{share}; widest margin bracket {number(width)}"

    def _least(self) -> str:
        if self.least is None:
            return ""
        low, high = self.least.certified.median(), self.least.broken.median()
        return f"median between {number(float(low))} (proved) and {number(float(high))} (attacked)"

    def draw(self, path: Path, p: float) -> None:
        """Save the picture of the curve."""
        from karat.yours.bracket_figure import bracket_figure, save_figure

        save_figure(bracket_figure(self.shown_radii, self.curve, p=p, minimal=self.least), path)

    def save(self, path: Path, x: "Tensor", y: "Tensor", chosen: "Tensor") -> None:
        """Save samples, perturbations, brackets and statuses.

        Args:
            path: of the .npz.
            x: (n, ...) samples.
            y: (n,) labels.
            chosen: (n,) which samples of the data these are, saved as `index`.
        """
        import numpy as np

        arrays = {"x": x, "y": y, "index": chosen, "delta": self.certificate.delta}
        arrays |= {"lower": self.certificate.lower, "upper": self.certificate.upper}
        if self.radii.own is not None:
            arrays["tau"] = self.radii.own
        plain: dict[str, Any] = {name: tensor.numpy() for name, tensor in arrays.items()}
        np.savez(path, status=np.array(self.certificate.status), **plain)

    def as_json(self) -> dict[str, Any]:
        """Plain values of everything but the perturbations."""
        from karat.certificates import STATUSES
        from karat.version import __version__

        entry: dict[str, Any] = {
            "version": __version__,
            "samples": len(self.certificate),
            "counts": {status: self.certificate.count(status) for status in STATUSES},
            "status": self.certificate.status,
            "lower": self.certificate.lower.tolist(),
            "upper": self.certificate.upper.tolist(),
            "seconds": self.certificate.seconds,
            "curve": [
                {"radius": radius} | asdict(point)
                for radius, point in zip(self.shown_radii, self.curve, strict=True)
            ],
        }
        if self.least is not None:
            entry["least_radius"] = {
                "certified": self.least.certified.tolist(),
                "broken": self.least.broken.tolist(),
            }
        return entry
