"""Tables of stored results: python -m scripts.tables NAME.

Every public function in this package that returns a `Table` is a table. Tables about one paper are in the module with
the paper's name. A function of `general` works for any experiment and takes its `Plan`; the others take no argument.
The first line of the docstring is the title of the table.
"""

import importlib
import inspect
import pkgutil
import typing
from collections.abc import Callable

from scripts.tables.table import Table

GENERAL = "general"  # the module whose tables have no prefix in their names


def tables() -> dict[str, Callable[..., Table]]:
    """Every table by its name, such as sajed2019/ratios."""
    made = {}
    for item in pkgutil.iter_modules(__path__):
        if item.name.startswith("_"):
            continue
        module = importlib.import_module(f"{__name__}.{item.name}")
        for name, function in vars(module).items():
            if not name.startswith("_") and _makes_a_table(function, module.__name__):
                made[name if item.name == GENERAL else f"{item.name}/{name}"] = function
    return made


def _makes_a_table(value: object, module: str) -> bool:
    made_here = inspect.isfunction(value) and value.__module__ == module
    return made_here and typing.get_type_hints(value).get("return") is Table


def about_any_experiment(table: Callable[..., Table]) -> bool:
    """Whether a table takes the `Plan` of an experiment."""
    return bool(inspect.signature(table).parameters)


def title(table: Callable[..., Table]) -> str:
    """The title of a table."""
    return (inspect.getdoc(table) or table.__name__).partition("\n")[0]
