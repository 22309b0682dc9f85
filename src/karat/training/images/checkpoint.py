"""The state of an interrupted training in one file: weights, momentum, generator, curve."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from karat.core.tensor_files import FileError, read_tensor_file


@dataclass(frozen=True)
class Checkpoint:
    """A file that always holds one whole epoch's end, and nothing that needs code to be read.

    Weights stand under "state_dict", so that the file serves as a checkpoint of the model as well.

    Args:
        path: ends in .pt; its folder is made when needed.
        plan: what is trained and how, as text: a file of another plan is refused.
    """

    path: Path
    plan: str

    def save(
        self,
        module: nn.Module,
        optimiser: torch.optim.Optimizer,
        generator: torch.Generator,
        epoch: int,
        curve: list[dict[str, Any]],
    ) -> None:
        """Write everything that the next epoch depends on; a reader sees the old file or the new one.

        Args:
            module: its weights.
            optimiser: its velocities.
            generator: where it stands.
            epoch: epochs done.
            curve: what was measured so far.
        """
        state = {
            "state_dict": module.state_dict(),
            "optimiser": optimiser.state_dict(),
            "generator": generator.get_state(),
            "epoch": epoch,
            "curve": curve,
            "plan": self.plan,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=self.path.name, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def restore(
        self, module: nn.Module, optimiser: torch.optim.Optimizer, generator: torch.Generator
    ) -> tuple[int, list[dict[str, Any]]]:
        """Put everything back as it was.

        Args:
            module: is given the stored weights.
            optimiser: is given the stored velocities.
            generator: is put where the stored one stood.

        Returns:
            epochs done and the curve so far, (0, []) without a file.
        """
        if not self.path.is_file():
            return 0, []
        state = read_tensor_file(self.path)
        needed = {"state_dict", "optimiser", "generator", "epoch", "curve", "plan"}
        if not isinstance(state, Mapping) or not needed <= set(state):
            raise FileError(f"`{self.path}` is no checkpoint of a training: delete it or name another file.")
        if state["plan"] != self.plan:
            raise FileError(
                f"`{self.path}` belongs to another training ({state['plan']}), not to {self.plan}: delete it "
                "or name another file."
            )
        module.load_state_dict(state["state_dict"])
        optimiser.load_state_dict(state["optimiser"])
        generator.set_state(state["generator"])
        return int(state["epoch"]), list(state["curve"])
