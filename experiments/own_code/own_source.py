"""What code of the user is: every file of the folders that a command is given, by content.

A class outside this repository may depend on any file beside it, found by any idiom. So its key has a digest of all
files of the folders that were given with --config-dir or named in `own_dirs`, but for the YAML files of config groups,
whose values are in the key anyway, hidden files, and what commands write: the folders of their keys `..._dir`, which
get the file `MARK`. Whatever else a class reads is refused by `experiments.simulate.second_play`.
"""

import atexit
import hashlib
import importlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import bandits
from experiments.errors import UserError

GROUPS = {item.name for item in (Path(bandits.__file__).parents[1] / "conf").iterdir()}  # and files beside them
MARK = ".written_by_commands"
INSTALLED = ("site-packages", "dist-packages")
DIGITS = 16  # of a digest, in base 16
SETTLED = 2.0  # seconds after its last change from which a file is not read again while its times stay


class Folders(NamedTuple):
    """The user's folders of a command: where they are, what is written in them, and a digest of the rest."""

    given: tuple[Path, ...] = ()
    written: tuple[Path, ...] = ()
    digest: str = ""


@dataclass
class _State:
    """What this process has been given: the folders of now, all ever, and with which digest modules were imported."""

    now: Folders = field(default_factory=Folders)
    trusted: set[Path] = field(default_factory=set)
    imported: dict[tuple[Path, ...], str] = field(default_factory=dict)
    read: dict[Path, tuple[tuple[int, ...], str]] = field(default_factory=dict)  # digests of files, with their times


_STATE = _State()


class _Loader(SourceFileLoader):
    """Imports the present source of a file, never its compiled cache, whose times are in whole seconds."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _Finder(MetaPathFinder):
    """Finds modules as Python does, and lets `_Loader` import those in a folder of the user."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader or spec.origin is None:
            return None
        if not any(Path(spec.origin).resolve().is_relative_to(folder) for folder in _STATE.trusted):
            return None
        spec.loader, spec.cached = _Loader(fullname, spec.origin), None
        return spec


def use(given: Iterable[Path], written: Iterable[Path] = ()) -> Folders:
    """From now on these folders are the user's: configs may name modules in them, and classes depend on their files.

    They are searched for modules in this order, after the rest of `sys.path`. Modules that were imported from other
    content are unloaded, so that a long-lived process, such as a notebook, has today's code. Commands write into the
    folders `written`, also later. Raises `UserError` if one of these is a whole folder of the user.
    """
    folders = tuple(dict.fromkeys(given))
    inside = {folder for folder in written if any(folder.is_relative_to(above) for above in folders)}
    if inside & set(folders):
        whole = min(inside & set(folders))
        raise UserError(f"{whole}: results and figures must not be beside your code; take a folder in it, as results")
    _STATE.trusted |= set(folders)
    sys.path[:] = [*others(), *map(str, folders)]
    if folders and not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    written = tuple(sorted({*_STATE.now.written, *inside}))
    mark(written)
    if inside - set(_STATE.now.written):
        atexit.register(mark, inside)  # those that this command makes
    digest = _digest_of(folders, written)
    importlib.invalidate_caches()
    edited = _STATE.imported.get(folders, digest) != digest
    _unload(lambda file, name: (edited and any(map(file.is_relative_to, folders))) or _is_elsewhere(file, name))
    if folders:
        _STATE.imported[folders] = digest
    _STATE.now = Folders(folders, written, digest)
    return _STATE.now


def others() -> list[str]:
    """The entries of `sys.path` that are no folders of the user."""
    return [place for place in sys.path if Path(place) not in _STATE.trusted]


def now() -> Folders:
    """The folders of the last `use`, with the digest of then."""
    return _STATE.now


def require_unchanged(before: Folders) -> None:
    """Raise `UserError` unless the files of some folders are what they were."""
    if _digest_of(before.given, before.written) != before.digest:
        names = ", ".join(map(str, before.given))
        raise UserError(f"{names}: edited while the command runs; run it again")


def mark(written: Iterable[Path]) -> None:
    """Note in folders that exist that commands write them, for commands that do not name them."""
    for folder in written:
        if folder.is_dir() and not (folder / MARK).exists() and os.access(folder, os.W_OK):
            (folder / MARK).write_text("Commands write this folder: no class depends on it, see docs/reference.md.\n")


def mark_if_inside(folder: Path) -> None:
    """The same of one folder, if it lies in a folder of the user."""
    place = folder.resolve()
    mark([place] if any(place != given and place.is_relative_to(given) for given in _STATE.now.given) else [])


def is_trusted(places: Iterable[Path]) -> bool:
    """Whether all places are in folders that this process was given."""
    return all(any(place.is_relative_to(folder) for folder in _STATE.trusted) for place in places)


def code_of(classes: Iterable[type[Any]]) -> str | None:
    """A digest of all files that some classes may depend on, and of their names; None if they are in no file."""
    classes = list(classes)
    files = files_of(classes)
    if not files:
        return None
    names = sorted(f"{cls.__module__}.{cls.__qualname__}" for cls in classes)
    folders = _STATE.now.digest if any(map(_in_folders, files)) else ""
    others = [f"{file.name} {_content(file)}" for file in files if not _in_folders(file)]
    return _hash("\n".join([*names, folders, *others]))[:DIGITS]


def files_of(classes: Iterable[type[Any]]) -> list[Path]:
    """The files that some classes may depend on: of the folders; of an installed package; else their own."""
    modules = {cls.__module__ for cls in classes}
    own = {Path(file).resolve() for name in modules if (file := getattr(sys.modules.get(name), "__file__", None))}
    files = set(all_files(*_STATE.now[:2])) if any(map(_in_folders, own)) else set()
    for file in own - files:
        place = next((place for place in file.parents if place.parent.name in INSTALLED), None)
        files |= {file} if place is None else {inner for _, inner in _walked(place, ())}
    return sorted(files)


def all_files(given: Iterable[Path], written: Iterable[Path]) -> list[Path]:
    """Every file of some folders that counts."""
    return [file for folder in given for _, file in _walked(folder, written)]


def _walked(folder: Path, written: Iterable[Path]) -> list[tuple[str, Path]]:
    """The files of a folder that count, by their names in it."""
    files, skipped = [], {str(place) for place in written}
    for place, folders, names in os.walk(folder, followlinks=True):
        inner = Path(place)
        if MARK in names and inner != folder:
            folders.clear()
            continue
        folders[:] = [
            name
            for name in sorted(folders)
            if not name.startswith((".", "__pycache__"))
            and str(inner / name) not in skipped
            and not inner.is_relative_to((inner / name).resolve())  # a link to a folder above
        ]
        for file in (inner / name for name in names if not name.startswith(".")):
            below = file.relative_to(folder)
            if file.is_file() and not (below.parts[0] in GROUPS and file.suffix == ".yaml"):
                files.append((below.as_posix(), file))
    return sorted(files)


def _digest_of(given: Iterable[Path], written: Iterable[Path]) -> str:
    """A digest of the files of some folders, wherever these are."""
    lines = [
        f"{number} {name} {_content(file)}"
        for number, folder in enumerate(given)
        for name, file in _walked(folder, written)
    ]
    return _hash("\n".join(lines))


def _content(file: Path) -> str:
    """A digest of the content of a file; it is read again if its times changed, or if it changed just now."""
    try:
        about = file.stat()
        times = about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns
        if _STATE.read.get(file, ((), ""))[0] != times:
            with file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            if time.time() - about.st_ctime < SETTLED:
                return digest
            _STATE.read[file] = times, digest
        return _STATE.read[file][1]
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _in_folders(file: Path) -> bool:
    return any(file.is_relative_to(folder) for folder in _STATE.now.given)


def _is_elsewhere(file: Path, name: str) -> bool:
    """Whether the name of a module now stands for another file; submodules move with their package."""
    top = name.partition(".")[0]
    spec = PathFinder.find_spec(top)
    if spec is None or spec.origin is None:
        return spec is None
    return not file.is_relative_to(Path(spec.origin).resolve().parent if name != top else Path(spec.origin).resolve())


def _unload(is_old: Callable[[Path, str], bool]) -> None:
    """Unload the user's modules that are old."""
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if isinstance(getattr(spec, "loader", None), _Loader) and is_old(Path(str(spec.origin)).resolve(), name):  # type: ignore[union-attr]
            sys.modules.pop(name, None)
            parent, _, last = name.rpartition(".")
            if parent in sys.modules:
                vars(sys.modules[parent]).pop(last, None)
