"""A user's own model with the weights of a checkpoint: factories by name, state dicts checked as a whole."""

import importlib
import importlib.util
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from karat.core.tensor_files import FileError, read_tensor_file, tensors_of
from karat.errors import reason

WRAPPERS = ("state_dict", "model", "model_state_dict", "net", "weights")
"""Names under which training scripts keep a state dict inside a checkpoint, in the order they are tried."""

_PREFIXES = ("module.", "_orig_mod.", "model.")  # of DataParallel, torch.compile and Lightning
_NAMED = 3


class ModelError(ValueError):
    """A model cannot be built or filled; the message is one sentence."""


def build_model(name: str) -> nn.Module:
    """Call a user's function of no arguments that returns a torch.nn.Module.

    This imports the module and so runs its code, like any import.

    Args:
        name: "package.module:FUNCTION" or "folder/file.py:FUNCTION"; a class works as well. The module must
            be importable: the command line adds the working folder to the path, a program does so itself.

    >>> build_model("torch.nn:Identity")
    Identity()
    """
    home, colon, function = name.rpartition(":")
    if not colon or not home or not function:
        raise ModelError(f"a model is named package.module:FUNCTION or file.py:FUNCTION, got {name!r}.")
    module = _imported(home)
    factory = getattr(module, function, None)
    if factory is None:
        raise ModelError(f"`{home}` has no `{function}`; it was read from {_origin(module)}.")
    if not callable(factory):
        raise ModelError(f"`{name}` must be a function that returns a model, got {type(factory).__name__}.")
    if isinstance(factory, nn.Module):
        return factory
    _require_no_arguments(factory, name)
    try:
        model = factory()
    except Exception as error:
        raise ModelError(f"`{name}` failed: {type(error).__name__}: {reason(error)}.") from error
    if not isinstance(model, nn.Module):
        raise ModelError(f"`{name}` must return a torch.nn.Module, got {type(model).__name__}.")
    return model


def read_state(path: str | Path, *, trust_pickle: bool = False) -> dict[str, Tensor]:
    """The state dict of a checkpoint file, taken out of the wrappers that training scripts put around it.

    A mapping with one of `WRAPPERS` gives that entry; a whole model (only with `trust_pickle`) its own state
    dict.

    Raises:
        FileError: from `karat.core.tensor_files`; every message names the file.
    """
    content = read_tensor_file(path, trust_pickle=trust_pickle)
    if isinstance(content, Mapping):
        wrapped = [content[name] for name in WRAPPERS if isinstance(content.get(name), Mapping | nn.Module)]
        content = wrapped[0] if wrapped else content
    if isinstance(content, nn.Module):
        content = content.state_dict()
    return tensors_of(content, path)


def load_model(name: str, checkpoint: str | Path | None, *, trust_pickle: bool = False) -> nn.Module:
    """The factory's model, filled from a checkpoint, in eval mode.

    Args:
        name: of the factory, as `build_model` takes it.
        checkpoint: the file with its weights; None leaves the model as the factory made it.
        trust_pickle: open files that may run code.
    """
    model = build_model(name)
    if checkpoint is not None:
        fill_model(model, read_state(checkpoint, trust_pickle=trust_pickle), checkpoint)
    require_finite(model, checkpoint or name)
    return model.eval()


def fill_model(model: nn.Module, state: Mapping[str, Tensor], source: str | Path) -> None:
    """Copy a state dict into a model; all that does not fit is said in one sentence, and nothing is copied.

    A prefix that DataParallel, torch.compile or Lightning put before every name is taken off where the model
    does not know it. The model keeps its own number type: float64 weights are rounded into a float32 model.

    Args:
        model: filled in place.
        state: its tensors by name.
        source: where they come from, for the message.
    """
    try:
        present = model.state_dict()
    except RuntimeError as error:
        raise ModelError(f"the model's weights cannot be listed: {reason(error)}.") from error
    for prefix in _PREFIXES:
        if all(name.startswith(prefix) and name not in present for name in state):
            state = {name.removeprefix(prefix): tensor for name, tensor in state.items()}
    missing = [name for name in present if name not in state]
    unknown = [name for name in state if name not in present]
    reshaped = [
        f"{name} {tuple(state[name].shape)} for {tuple(present[name].shape)}"
        for name in present
        if name in state and state[name].shape != present[name].shape
    ]
    unreal = [
        name
        for name in present
        if name in state and state[name].is_complex() and not present[name].is_complex()
    ]
    wrong = [
        f"{len(names)} {what} ({_some(names)})"
        for what, names in (
            ("missing", missing),
            ("unknown to the model", unknown),
            ("of another shape", reshaped),
            ("with complex numbers", unreal),
        )
        if names
    ]
    if wrong:
        raise ModelError(f"the weights of `{source}` do not fit the model: {', '.join(wrong)}.")
    try:
        model.load_state_dict(dict(state))
    except RuntimeError as error:
        raise ModelError(
            f"the weights of `{source}` cannot be copied into the model: {reason(error)}."
        ) from error


def require_finite(model: nn.Module, source: str | Path) -> None:
    """Refuse weights that are NaN or infinite, naming the first."""
    for name, tensor in model.state_dict().items():
        if (tensor.is_floating_point() or tensor.is_complex()) and not bool(torch.isfinite(tensor).all()):
            count = int((~torch.isfinite(tensor)).sum())
            raise ModelError(f"`{name}` of `{source}` holds {count} numbers that are NaN or infinite.")


def _imported(home: str) -> ModuleType:
    try:
        if home.endswith(".py"):
            if not Path(home).is_file():
                raise ModelError(f"`{home}`: No such file.")
            spec = importlib.util.spec_from_file_location(Path(home).stem, home)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
        return importlib.import_module(home)
    except ModelError:
        raise
    except ModuleNotFoundError as error:
        raise ModelError(f"the model's code `{home}` cannot be imported: {error}.") from error
    except Exception as error:
        raise ModelError(f"importing `{home}` failed: {type(error).__name__}: {reason(error)}.") from error


def _origin(module: ModuleType) -> str:
    """Where a module comes from: an installed package of the same name goes before the user's own."""
    return getattr(module, "__file__", None) or "no file"


def _require_no_arguments(factory: Any, name: str) -> None:
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return
    needed = [
        p.name
        for p in parameters
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    if needed:
        raise ModelError(f"`{name}` must need no arguments, but needs {', '.join(needed)}: write a function.")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")


__all__ = ["WRAPPERS", "FileError", "ModelError", "build_model", "fill_model", "load_model", "read_state"]
