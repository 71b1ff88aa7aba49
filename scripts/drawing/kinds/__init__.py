"""Kinds of figures: every module of this package is one, and its name is the `kind` in a config.

Each has a function `describe(config, cells, colours)` that makes a `Drawing` from the `figure` of an experiment, its
stored cells and the colours of policies. It raises `UserError` for unknown keys and values.
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any

from experiments.errors import UserError, nearest
from experiments.store.stored import Cells
from scripts.drawing.drawing import Drawing

Describe = Callable[[Mapping[str, Any], Cells, Mapping[str, str]], Drawing]
NAMES = sorted(item.name for item in pkgutil.iter_modules(__path__))


def describe(figure: Mapping[str, Any], cells: Cells, colours: Mapping[str, str]) -> Drawing:
    """The drawing of the `figure` of an experiment. Raises `UserError`."""
    rest = dict(figure)
    return kind(rest.pop("kind", "curves"))(rest, cells, colours)


def kind(name: str) -> Describe:
    """The function `describe` of a kind. Raises `UserError` for an unknown kind."""
    if name not in NAMES:
        raise UserError(f"figure.kind: {name} is unknown; {nearest(str(name), NAMES)}")
    describe: Describe = importlib.import_module(f"{__name__}.{name}").describe
    return describe
