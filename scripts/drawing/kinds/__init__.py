"""Kinds of figures: a file for each, found by being in this package; the name of the file is the `kind` of a config.

A kind has a function `describe(config, cells, colours)`: from what an experiment's `figure` says, its stored cells and
the colours of policies to a `Drawing`. It raises `UserError` for what it does not know.
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any

from experiments.errors import UserError, nearest
from experiments.stored_cells import Cells
from scripts.drawing.drawing import Drawing

Describe = Callable[[Mapping[str, Any], Cells, Mapping[str, str]], Drawing]
NAMES = sorted(item.name for item in pkgutil.iter_modules(__path__))


def kind(name: str) -> Describe:
    """How figures of a kind are described. Raises `UserError`."""
    if name not in NAMES:
        raise UserError(f"figure.kind: {name} is unknown; {nearest(str(name), NAMES)}")
    describe: Describe = importlib.import_module(f"{__name__}.{name}").describe
    return describe
