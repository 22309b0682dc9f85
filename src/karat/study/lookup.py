"""Experiments by their names: karat's own, and those of the user's code."""

import importlib
import sys
from dataclasses import replace
from difflib import get_close_matches

from karat.study.experiment import Experiment
from karat.study.registry import EXPERIMENTS
from karat.study.source import remember


def find_experiment(name: str) -> Experiment:
    """Return karat's experiment of that name, or the one at "package.module:ATTRIBUTE" of the user's code.

    An experiment found at an address carries the address as its name, so that worker processes find it too.
    """
    if ":" in name:
        return replace(_imported(name), name=name)
    if name not in EXPERIMENTS:
        close = get_close_matches(name, EXPERIMENTS, n=1)
        meant = f" (did you mean `{close[0]}`?)" if close else ""
        listed = ", ".join(EXPERIMENTS) or "not there yet"
        raise ValueError(f"there is no experiment `{name}`{meant}; the experiments are {listed}.")
    return EXPERIMENTS[name]


def _imported(name: str) -> Experiment:
    module, _, attribute = name.partition(":")
    if module not in sys.modules:
        remember(module)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"there is no experiment at `{name}`: {error}.") from error
    if not isinstance(found, Experiment):
        raise ValueError(f"`{name}` is a {type(found).__name__}, not an Experiment.")
    return found
