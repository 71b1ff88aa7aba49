"""The API: a page for each module of `bandits`, and one for what `experiments` offers, from docstrings by autodoc."""

import inspect
import pkgutil
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from importlib import import_module
from types import ModuleType

import bandits
import experiments
from experiments.config.command_line import CommandLine
from scripts.exhibits.collect import Collected
from scripts.site.page import Page

INTERNAL = ("bandits.loops", "bandits.compiled", "bandits.trials")  # packages and modules that have no page
INDEX = """# API

The names that `bandits` and `experiments` export, to be imported from there; the page of the module that defines a name
has all about it. The [reference](../reference/commands.md) has the commands, and [start](../start.md#use-the-parts)
examples.

## `bandits`

{bandits}

## `experiments`

{experiments}

## Modules of `bandits`

{modules}
"""


def pages(command: CommandLine, collected: Collected) -> Iterator[Page]:
    """The index, and a page for each module that has public names."""
    listed = []
    for name in modules():
        module = import_module(name)
        names = public(module)
        if names:
            listed.append(name)
            yield Page(f"api/{name}", module_page(module, names))
    offered = [getattr(experiments, name) for name in experiments.__all__]
    yield Page("api/experiments", module_page(experiments, [value.__name__ for value in offered]))
    yield Page(
        "api/index",
        INDEX.format(
            bandits=_table(f"{getattr(bandits, name).__module__}.{name}" for name in bandits.__all__),
            experiments=_table(f"experiments.{name}" for name in experiments.__all__),
            modules=_table(listed) + "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n",
        ),
    )


def modules() -> list[str]:
    """The modules of `bandits` that have a page, if they have public names."""
    names = [module.name for module in pkgutil.walk_packages(bandits.__path__, "bandits.")]
    inner = tuple(f"{name}." for name in INTERNAL)
    return [name for name in names if "._" not in name and not f"{name}.".startswith(inner)]


def public(module: ModuleType) -> list[str]:
    """The functions and classes that a module defines, in its order; those without a docstring are left out."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and callable(value)
        and getattr(value, "__module__", None) == module.__name__
        and value.__doc__
        and getattr(value, "__name__", None) == name
    ]


def module_page(module: ModuleType, names: Sequence[str]) -> str:
    """What a module is, and each of its names with the whole docstring."""
    lines = [f".. automodule:: {module.__name__}", ""]
    for name in names:
        value = getattr(module, name)
        if not inspect.isclass(value):
            lines += [f".. autofunction:: {module.__name__}.{name}", ""]
            continue
        lines += [f".. autoclass:: {module.__name__}.{name}", "   :members:", "   :show-inheritance:"]
        lines += ["   :undoc-members:"] * issubclass(value, Enum) + [""]
    return f"# {module.__name__}\n\n" + rst_block(lines)


def rst_block(lines: Iterable[str]) -> str:
    """Lines of reStructuredText, which autodoc writes, in a page of MyST."""
    return "\n".join(["```{eval-rst}", *lines, "```", ""])


def _table(names: Iterable[str]) -> str:
    return rst_block([".. autosummary::", "   :nosignatures:", "", *(f"   {name}" for name in names)])
