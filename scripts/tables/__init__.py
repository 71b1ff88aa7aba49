"""Tables of stored results: python -m scripts.tables NAME.

They are found by being here: every public function that returns a `Table`, those about one paper in a module with the
paper's name. A function of `general` is about any experiment and takes its `Plan`; the others take nothing. The first
line of its docstring says what a table shows.
"""

import importlib
import inspect
import pkgutil
import typing
from collections.abc import Callable

from scripts.tables.table import Table

GENERAL = "general"  # the module whose tables are called by their names alone


def tables() -> dict[str, Callable[..., Table]]:
    """Every table by its name, as in sajed2019/ratios."""
    found = {}
    for item in pkgutil.iter_modules(__path__):
        if item.name.startswith("_"):
            continue
        module = importlib.import_module(f"{__name__}.{item.name}")
        for name, function in vars(module).items():
            if not name.startswith("_") and _makes_a_table(function, module.__name__):
                found[name if item.name == GENERAL else f"{item.name}/{name}"] = function
    return found


def _makes_a_table(value: object, module: str) -> bool:
    made_here = inspect.isfunction(value) and value.__module__ == module
    return made_here and typing.get_type_hints(value).get("return") is Table


def about_any_experiment(table: Callable[..., Table]) -> bool:
    """Whether it takes the `Plan` of an experiment."""
    return bool(inspect.signature(table).parameters)


def title(table: Callable[..., Table]) -> str:
    """What it shows."""
    return (inspect.getdoc(table) or table.__name__).partition("\n")[0]
