"""The source that classes outside this repository depend on, as it was imported, and a digest of it.

A class depends on its module, on the user's modules that this imports, wherever in the module the import statement is,
on what these import in turn, and on files in the same folders that they name. Modules of Python, of installed packages
and of this repository do not count. The digest is that of the bytes, comments included. An import by a computed name
cannot be found in the source: `experiments.simulate.second_play` refuses cells that make one.
"""

import ast
import hashlib
import importlib
import importlib.util
import pkgutil
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

OURS = ("bandits", "experiments", "scripts")
LIBRARIES = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib"))
DIGITS = 16  # of a digest, in base 16
LONGEST = 200  # characters; longer texts in a module are not taken for the name of a file

_folders: list[Path] = []  # modules that are imported from these are followed
_sources: dict[str, bytes] = {}  # source of modules, by name, as it was when first read or imported


class EditedError(ImportError):
    """A file was edited after its digest was taken."""


class _Loader(SourceFileLoader):
    """Imports the present source of a file, never its compiled cache, and keeps the source."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        source = self.get_data(path)
        if _sources.setdefault(fullname, source) != source:
            raise EditedError(f"{path} was edited while the command runs; run it again")
        return self.source_to_code(source, path)


class _Finder(MetaPathFinder):
    """Finds modules as Python does, and lets `_Loader` import those in a folder of the user."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        found = PathFinder.find_spec(fullname, path, target)
        if found is None or type(found.loader) is not SourceFileLoader or found.origin is None:
            return None
        if not any(Path(found.origin).resolve().is_relative_to(folder) for folder in _folders):
            return None
        found.loader, found.cached = _Loader(fullname, found.origin), None
        return found


def follow(folder: Path) -> None:
    """From now on modules in `folder` can be imported and are followed; it is searched before folders followed earlier.

    The rest of `sys.path`, such as the modules of Python and installed packages, is searched before all of these.
    """
    places = [str(known) for known in _folders if known != folder]
    others = [place for place in sys.path if place not in places and place != str(folder)]
    sys.path[:] = [*others, str(folder), *(place for place in sys.path if place in places)]
    if folder not in _folders:
        _folders.append(folder)
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def places() -> tuple[Path, ...]:
    """The folders that are followed and can be imported from, in the order in which they are searched."""
    return tuple(folder for place in sys.path if (folder := Path(place)) in _folders)


def followed() -> dict[str, str]:
    """The modules that were imported from followed folders, and a digest of each."""
    known = {name: sys.modules.get(name) for name in list(_sources)}  # another thread may import meanwhile
    return {name: _digest(_sources[name]) for name, module in known.items() if _is_followed(name, module)}


def forget(expected: Mapping[str, str] | None = None) -> None:
    """Unload followed modules whose source has changed or moved, and all followed modules that import them.

    They are imported again when they are needed, so that a long-lived process, such as a notebook, has today's code.

    Parameters
    ----------
    expected: digests by name of module; a module in it has changed if its digest differs from this one, whatever its
        file contains now.
    """
    importlib.invalidate_caches()
    ours = {name for name in list(_sources) if _is_followed(name, sys.modules.get(name))}
    changed = {name for name in ours if _is_changed(name, expected)}
    for name in {name for name in ours if changed and changed & _names([name])}:
        del sys.modules[name]
        parent, _, last = name.rpartition(".")
        if parent in sys.modules:
            vars(sys.modules[parent]).pop(last, None)
    for name in [name for name in _sources if name not in sys.modules]:
        del _sources[name]


def _is_changed(name: str, expected: Mapping[str, str] | None) -> bool:
    if expected is not None and name in expected:
        return expected[name] != _digest(_sources[name])
    file = Path(str(sys.modules[name].__file__))
    try:
        if "." not in name:  # a submodule moves with its package
            found = PathFinder.find_spec(name)
            if found is None or found.origin != str(file):
                return True
        return file.read_bytes() != _sources[name]
    except OSError:
        return True


def _is_followed(name: str, module: Any) -> bool:
    return name in _sources and isinstance(getattr(getattr(module, "__spec__", None), "loader", None), _Loader)


def digest_of(classes: Iterable[type[Any]]) -> str | None:
    """A digest of the source that some classes depend on, and of their names; None if no source is found."""
    found = sorted({(f"{cls.__module__}.{cls.__qualname__}", cls.__module__) for cls in classes})
    digests = [f"{name} {digest}" for name, digest in sorted(_closure([module for _, module in found]))]
    if not digests:
        return None
    return _digest("\n".join([*(name for name, _ in found), *digests]).encode())[:DIGITS]


def files_of(classes: Iterable[type[Any]]) -> list[Path]:
    """The files that some classes depend on."""
    return files_of_modules(cls.__module__ for cls in classes)


def files_of_modules(modules: Iterable[str]) -> list[Path]:
    """The files that some modules depend on, without those of this repository."""
    return sorted({file for name in _names(modules) for file in (_file_of(name), *_named_files(name)) if file})


def files_of_ours(modules: Iterable[str]) -> list[Path]:
    """The files of `modules` of this repository and of all that they import, directly or not, wherever they do so.

    A package that looks for its modules (`iter_modules`) depends on all of them. The package that a module is in does
    not count unless it is imported itself, nor do imports for types alone.
    """
    waiting, found = list(modules), dict[str, Path]()
    while waiting:
        name = waiting.pop()
        file = _file_of(name)
        if name not in found and file is not None and name.partition(".")[0] in OURS:
            found[name] = file
            waiting += _used(name)
    return sorted(set(found.values()))


@cache
def _used(name: str) -> list[str]:
    """The modules that a module of this repository uses: that its import statements name, or all in its folder."""
    tree, used = _tree(name), []
    for base, names in _statements(name, tree, typed=False):
        if base.partition(".")[0] in OURS:
            used += [base, *(names if _is_package(base) else [])]
    if any(isinstance(node, ast.Attribute) and node.attr == "iter_modules" for node in _nodes(tree, typed=False)):
        used += [f"{name}.{item.name}" for item in pkgutil.iter_modules(_spec_places(name))]
    return used


def unseen(classes: Iterable[type[Any]], before: Collection[str]) -> list[str]:
    """The user's modules that were imported since `before`, but that the source of `classes` does not name.

    They were imported by a computed name, so an edit of them would not change the digest.

    Parameters
    ----------
    before: the modules that were imported then.
    """
    seen = _names(cls.__module__ for cls in classes)
    others = set(sys.modules) - {*before, *seen, "__main__"}
    return sorted(name for name in others if name.partition(".")[0] not in OURS and _is_users_module(name))


def _closure(modules: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The names of `modules` and of all modules and files that they depend on, with a digest of each."""
    for name in _names(modules):
        source = _source(name)
        if source is not None:
            yield name, _digest(source)
        for file in _named_files(name):
            yield f"{name}:{file.name}", _digest(file.read_bytes())


def _names(modules: Iterable[str]) -> set[str]:
    """`modules`, the packages that they are in, and the user's modules that any of these import, directly or not."""
    waiting, found = list(modules), set[str]()
    packages = {name.partition(".")[0] for name in waiting}
    waiting += [above for name in waiting for above in _with_parents(name.rpartition(".")[0])]
    while waiting:
        name = waiting.pop()
        file = _file_of(name)
        package = name.partition(".")[0]
        if name in found or package in OURS or not (file is None or package in packages or _is_users(file)):
            continue
        found.add(name)
        waiting += _imported(name)
    return found


def _is_users(file: Path) -> bool:
    """Whether a file belongs neither to Python nor to an installed package."""
    if any(file.is_relative_to(folder) for folder in _folders):
        return True
    installed = {"site-packages", "dist-packages"} & set(file.parts)
    return not installed and not any(file.is_relative_to(folder) for folder in LIBRARIES)


def _is_users_module(name: str) -> bool:
    file = _file_of(name)
    return file is not None and _is_users(file)


def _imported(name: str) -> Iterator[str]:
    """The existing modules that the import statements of a module may refer to, with their parent packages."""
    for base, names in _statements(name, _tree(name)):
        yield from _with_parents(base)
        yield from (inside for inside in names if _exists(inside))


def _statements(name: str, tree: ast.AST, typed: bool = True) -> Iterator[tuple[str, list[str]]]:
    """What each import of a module is from, and the names in it, which may be modules; `typed`: those for types too."""
    package = name if _is_package(name) else name.rpartition(".")[0]
    for node in _nodes(tree, typed):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base, [f"{base}.{alias.name}" for alias in node.names]


def _nodes(tree: ast.AST, typed: bool) -> Iterator[ast.AST]:
    """Every node of a tree; if not `typed`, without those in `if TYPE_CHECKING`."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for below in ast.iter_child_nodes(node):
            if typed or not (isinstance(below, ast.If) and ast.unparse(below.test) == "TYPE_CHECKING"):
                waiting.append(below)


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        if _exists(".".join(parts[:end])):
            yield ".".join(parts[:end])


def _exists(name: str) -> bool:
    return _spec(name) is not None


def _spec(name: str) -> ModuleSpec | None:
    """The spec of a module, without importing it; None if it is not found."""
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__spec__", None) is not None:
        return known.__spec__
    parent, _, _ = name.rpartition(".")
    try:
        if not parent:
            return importlib.util.find_spec(name)
        above = _spec(parent)
        places = above.submodule_search_locations if above else None
        return PathFinder.find_spec(name, list(places)) if places else None
    except (ImportError, ValueError, AttributeError):
        return None


def _is_package(name: str) -> bool:
    spec = _spec(name)
    return spec is not None and spec.submodule_search_locations is not None


def _spec_places(name: str) -> list[str]:
    """The folders of a package; none for a module."""
    spec = _spec(name)
    return list(spec.submodule_search_locations or []) if spec else []


def _file_of(name: str) -> Path | None:
    """The file of a module; None for a namespace package, a built-in module, or one typed at a prompt."""
    known = sys.modules.get(name)
    file = getattr(known, "__file__", None) or getattr(_spec(name), "origin", None)
    found = None if file is None else Path(file).resolve()
    return found if found is not None and found.is_file() else None


def _source(name: str) -> bytes | None:
    """The source with which a module was imported, or would be."""
    file = _file_of(name)
    if name not in _sources and file is not None:
        _sources[name] = file.read_bytes()
    return _sources.get(name)


def _tree(name: str) -> ast.AST:
    file, source = _file_of(name), _source(name)
    if source is None or file is None or file.suffix != ".py":
        return ast.Module([], [])
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):  # the import of the module raises it again
        return ast.Module([], [])


def _named_files(name: str) -> list[Path]:
    """Files in the folder of a module that a string in it names, such as a table that it reads."""
    file = _file_of(name)
    if file is None:
        return []
    texts = {node.value for node in ast.walk(_tree(name)) if isinstance(node, ast.Constant)}
    names = [text for text in texts if isinstance(text, str) and 0 < len(text) < LONGEST and text.isprintable()]
    return sorted(beside for text in names if (beside := file.parent / text).is_file() and beside != file)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
