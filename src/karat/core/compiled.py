"""Compilation of the few loops that tensors cannot express, with a cache where one can be written."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[np.floating]
"""What compiled code works on: float32 or float64."""

Indices = NDArray[np.int64]
"""Positions in an array."""

Number = float | np.floating
"""One number, in compiled code of the type of its array."""

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(*, reorder: bool = False) -> Callable[[Function], Function]:
    """Compile a function with Numba, keeping the machine code on disk when some cache folder is writable.

    Args:
        reorder: let sums be added in any order, which is what puts a reduction on vector registers. Products
            and sums may be fused in either case; NaN and infinity keep their meaning.
    """
    flags = {"contract", "reassoc", "nsz"} if reorder else {"contract"}

    def decorate(function: Function) -> Function:
        options: dict[str, Any] = {"fastmath": flags, "error_model": "numpy", "nogil": True}
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:  # Numba found no folder to cache in: compile once per process instead
            return numba.njit(**options)(function)

    return decorate


def scalar_like(value: float, tensor: Tensor) -> Any:
    """A number of the tensor's own type, for compiled code: a Python float would widen float32 arithmetic."""
    return tensor.new_tensor(value).numpy()[()]
