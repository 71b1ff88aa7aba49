"""The files of this repository that its modules depend on, found by their imports."""

import ast
import itertools
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from experiments.config.compose import REPOSITORY

BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")  # where a statement has others
OURS = ("bandits", "experiments", "scripts")


def files_of_ours(modules: Iterable[str]) -> list[Path]:
    """The files of `modules` of this repository and of all that they import, directly or not, wherever they do so.

    A package that looks for its modules (`iter_modules`) depends on all of them. The package that a module is in does
    not count unless it is imported itself, nor do imports for types alone.
    """
    waiting, files = list(modules), dict[str, Path]()
    while waiting:
        name = waiting.pop()
        file = _file_of(name)
        if name not in files and file is not None:
            files[name] = file
            waiting += _used(name)
    return sorted(set(files.values()))


@cache
def _file_of(name: str) -> Path | None:
    """The file of a module of this repository; None for anything else, as a name in a module."""
    if name.partition(".")[0] not in OURS:
        return None
    place = REPOSITORY.joinpath(*name.split("."))
    files = (place / "__init__.py", place.parent / f"{place.name}.py")
    return next((file for file in files if file.is_file()), None)


@cache
def _used(name: str) -> list[str]:
    """What the import statements of a module name, as modules or as names in them, or all modules in its folder."""
    file = _file_of(name)
    assert file is not None
    is_package, text = file.name == "__init__.py", file.read_text(encoding="utf-8")
    package, used = name if is_package else name.rpartition(".")[0], list[str]()
    for node in _statements(ast.parse(text)):
        if isinstance(node, ast.Import):
            used += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            used += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    if is_package and "iter_modules(" in text:
        used += [f"{name}.{inner.stem}" for inner in file.parent.iterdir()]
    return used


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Every statement of a module, however deep, without those in `if TYPE_CHECKING`."""
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        for below in itertools.chain(*(getattr(node, block, ()) for block in BLOCKS)):
            if isinstance(below, ast.If) and ast.unparse(below.test) == "TYPE_CHECKING":
                continue
            waiting.append(below)
            if isinstance(below, ast.stmt):
                yield below
