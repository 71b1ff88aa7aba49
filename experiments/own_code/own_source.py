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
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from itertools import takewhile
from pathlib import Path
from types import CodeType
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


_STATE = _State()


class _Loader(SourceFileLoader):
    """Imports the present source of a file, never its compiled cache, whose times are in whole seconds."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _finder(place: str) -> FileFinder:
    """Finds modules in a folder of the user, for `_Loader` to import. Raises `ImportError` for another folder."""
    if not is_trusted([Path(place).resolve()]):
        raise ImportError(place)
    return FileFinder(place, (ExtensionFileLoader, EXTENSION_SUFFIXES), (_Loader, SOURCE_SUFFIXES))


def use(given: Iterable[Path], written: Iterable[Path] = ()) -> Folders:
    """From now on these folders are the user's: configs may name modules in them, and classes depend on their files.

    They are searched for modules in this order, after the rest of `sys.path`. Modules that were imported from other
    content are unloaded, so that a long-lived process, such as a notebook, has today's code. Commands write into the
    folders `written`, also later. Raises `UserError` if one of these is a whole folder of the user.
    """
    folders, before = tuple(dict.fromkeys(given)), _STATE.now
    inside = {folder for folder in written if any(folder.is_relative_to(above) for above in folders)}
    if inside & set(folders):
        whole = min(inside & set(folders))
        raise UserError(f"{whole}: results and figures must not be beside your code; take a folder in it, as results")
    if folders:
        _STATE.trusted |= set(folders)
        sys.path_hooks[:] = [_finder, *(hook for hook in sys.path_hooks if hook is not _finder)]
        sys.path_importer_cache.clear()
    sys.path[:] = [*others(), *map(str, folders)]
    every = tuple(sorted({*before.written, *inside}))
    _STATE.now = Folders(folders, every, _digest_of(folders, every))
    mark(every)
    importlib.invalidate_caches()
    edited = _STATE.imported.get(folders, _STATE.now.digest) != _STATE.now.digest
    same = takewhile(lambda two: two[0] == two[1], zip(folders, before.given, strict=False))
    _unload_but([] if edited else [folder for folder, _ in same])
    _STATE.imported[folders] = _STATE.now.digest
    return _STATE.now


def others() -> list[str]:
    """The entries of `sys.path` that are no folders of the user."""
    return [place for place in sys.path if Path(place) not in _STATE.trusted]


def now() -> Folders:
    """The folders of the last `use`, with the digest of then."""
    return _STATE.now


atexit.register(lambda: mark(now().written))  # those that this command has made


def require_unchanged(before: Folders) -> None:
    """Raise `UserError` unless the files of some folders are what they were."""
    if _digest_of(before.given, before.written) != before.digest:
        names = ", ".join(map(str, before.given))
        raise UserError(f"{names}: edited while the command runs; run it again")


def mark(written: Iterable[Path]) -> None:
    """Put the file `MARK` into each written folder that lies in a folder of the user.

    Later commands that do not name such a folder then know that commands write there.
    """
    for folder in {place.resolve() for place in written} - _STATE.trusted:
        if is_trusted([folder]) and folder.is_dir() and not (folder / MARK).exists() and os.access(folder, os.W_OK):
            (folder / MARK).write_text("Commands write this folder: no class depends on it, see docs/your_own.md.\n")


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
    files = set(all_files(*_STATE.now[:2]).values()) if any(map(_in_folders, own)) else set()
    for file in own - files:
        place = next((place for place in file.parents if place.parent.name in INSTALLED), None)
        files |= {file} if place is None else set(all_files([place]).values())
    return sorted(files)


def all_files(given: Iterable[Path], written: Iterable[Path] = ()) -> dict[tuple[int, str], Path]:
    """Every file of some folders that counts, by the number of its folder and its name in it."""
    files, skipped = dict[tuple[int, str], Path](), set(written)
    walks = ((number, top, *step) for number, top in enumerate(given) for step in os.walk(top, followlinks=True))
    for number, top, place, folders, names in walks:
        inner = Path(place)
        if MARK in names and inner != top:
            folders.clear()
            continue
        folders[:] = [
            name
            for name in folders
            if not name.startswith((".", "__pycache__"))
            and inner / name not in skipped
            and not inner.is_relative_to((inner / name).resolve())  # a link to a folder above
        ]
        for file in (inner / name for name in names if not name.startswith(".")):
            below = file.relative_to(top)
            if file.is_file() and not (below.parts[0] in GROUPS and file.suffix == ".yaml"):
                files[number, below.as_posix()] = file
    return dict(sorted(files.items()))


def _digest_of(given: Iterable[Path], written: Iterable[Path]) -> str:
    """A digest of the files of some folders, wherever these are."""
    files = all_files(given, written)
    return _hash("\n".join(f"{number} {name} {_content(file)}" for (number, name), file in files.items()))


def _content(file: Path) -> str:
    """A digest of the content of a file; it is read again if its times changed, or if it changed just now."""
    try:
        about = file.stat()
        just_now = time.time_ns() if time.time() - about.st_ctime < SETTLED else 0
        return _read(file, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns, just_now)
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from None


@cache
def _read(file: Path, *_: int) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _in_folders(file: Path) -> bool:
    return any(file.is_relative_to(folder) for folder in _STATE.now.given)


def _unload_but(kept: Iterable[Path]) -> None:
    """Unload the user's modules, but for those in some folders."""
    for name, module in sys.modules.copy().items():  # in one step: another thread may import meanwhile
        loader = getattr(getattr(module, "__spec__", None), "loader", None)
        if isinstance(loader, _Loader) and not any(map(Path(loader.path).resolve().is_relative_to, kept)):
            del sys.modules[name]
            parent, _, last = name.rpartition(".")
            if parent in sys.modules:
                vars(sys.modules[parent]).pop(last, None)
