"""Which figures are up to date, so that only those are drawn whose inputs changed.

The inputs of a figure are the `figure` of its experiment, its stored cells, the code and colours that draw it, the
user's files that its classes and bounds depend on, and the versions of the libraries. The file `.drawn.json` beside the
figures is a cache: a hash of the inputs of each figure, and for each command a hash of everything that the command
could depend on, so that a second call of the command need not even plan.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from omegaconf import OmegaConf

from experiments.config.compose import CONF, REPOSITORY
from experiments.own_source import files_of, files_of_modules
from experiments.whole_files import put

if TYPE_CHECKING:
    from experiments.cells import Cell
    from experiments.store.place import Place

NOTE = ".drawn.json"
FORMATS = ("pdf", "png")
LIBRARIES = ("matplotlib", "numpy", "scipy", "pandas", "pyarrow")
DRAWING = (  # code that decides how a figure looks; its stored numbers have hashes of their own
    "scripts/drawing",
    "scripts/figures.py",
    "experiments/cells",
    "experiments/intervals.py",
    "experiments/stored.py",
    "experiments/theorems.py",
    "bandits/bounds",
    "bandits/mechanisms",
    "conf/papers",
)


class Inputs(NamedTuple):
    """The figures of a command, the folders of their results, and the user's files that they depend on."""

    figures: list[str]
    results: list[str]
    files: list[str]


@dataclass
class Drawn:
    """The cache of a folder of figures: a hash of the inputs of each figure, and of those of each command."""

    folder: Path
    figures: dict[str, str] = field(default_factory=dict)
    commands: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "Drawn":
        """The cache in `folder`; empty if there is none, or if it cannot be read."""
        try:
            note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
            return cls(folder, dict(note["figures"]), dict(note["commands"]))
        except (OSError, ValueError, KeyError, TypeError):
            return cls(folder)

    def write(self) -> None:
        """Write the cache file, in one step."""
        note = json.dumps({"figures": self.figures, "commands": self.commands})
        put(self.folder / NOTE, note.encode(), lasting=False)

    def has(self, name: str, digest: str) -> bool:
        """Whether the files of the figure exist and were drawn from inputs with this hash."""
        return self.figures.get(name) == digest and self._exists(name)

    def nothing_changed(self, command: str, config_dirs: Iterable[Path]) -> list[str] | None:
        """The figures of `command` if all are up to date, else None."""
        try:
            known = self.commands[command]
            inputs = Inputs(*(list(known[name]) for name in Inputs._fields))
            state = known["state"]
        except (KeyError, TypeError):
            return None
        fresh = all(map(self._exists, inputs.figures)) and state == _state(inputs, config_dirs)
        return inputs.figures if fresh else None

    def remember(self, command: str, inputs: Inputs, config_dirs: Iterable[Path]) -> None:
        """Record that all figures of `command` are up to date with the inputs as they are now."""
        self.commands[command] = {**inputs._asdict(), "state": _state(inputs, config_dirs)}

    def _exists(self, name: str) -> bool:
        return all((self.folder / f"{name}.{ending}").exists() for ending in FORMATS)


def own_files(figure: Mapping[str, Any], cells: Iterable["Cell"], config_dirs: Iterable[Path]) -> list[Path]:
    """The user's files that a figure depends on: of its classes and bounds, what these import and name, and papers."""
    classes = {cls for cell in cells for cls in cell.own}
    modules = {bound.rpartition(".")[0] for bound in _bounds(figure)}
    papers = [file for folder in config_dirs for file in _files(folder / "papers", (".yaml",))]
    return sorted({*files_of(classes), *files_of_modules(modules), *papers})


def _bounds(node: Any) -> Iterator[str]:
    """Every text under a key `bound` in nested lists and mappings, as in overlays."""
    if isinstance(node, Mapping):
        if isinstance(node.get("bound"), str):
            yield node["bound"]
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from _bounds(item)


def digest_of_figure(
    figure: Mapping[str, Any], keys: Sequence[str], places: Iterable["Place"], command: str, files: Iterable[Path]
) -> str:
    """A hash of all inputs of one figure.

    These are its config, its cells as they are stored, the drawing code, the command and the user's `files`.
    """
    digest = hashlib.sha256(json.dumps([figure, list(keys), command], sort_keys=True, default=str).encode())
    for place in places:
        digest.update(place.digest())
    for file in files:
        digest.update(_content(file))
    digest.update(_code(REPOSITORY).encode())
    return digest.hexdigest()


def _state(inputs: Inputs, config_dirs: Iterable[Path]) -> str:
    """A hash of everything that a command could depend on: sources, configs, results by their size and time."""
    digest = hashlib.sha256(_libraries().encode())
    for folder in (REPOSITORY / "bandits", REPOSITORY / "experiments", REPOSITORY / "scripts", CONF, *config_dirs):
        for file in _files(folder, (".py", ".yaml")):
            digest.update(_content(file))
    for name in inputs.files:
        digest.update(_content(Path(name)))
    for name in inputs.results:
        for file in _files(Path(name), (".parquet",)):
            about = file.stat()
            digest.update(f"{file} {about.st_size} {about.st_mtime_ns}".encode())
    return digest.hexdigest()


def _content(file: Path) -> bytes:
    """The name and the hash of the content of a file; a missing file has the content "gone"."""
    content = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "gone"
    return f"{file} {content}".encode()


def overrides_as_text(overrides: Iterable[Sequence[str]]) -> str:
    """The overrides of a command as one text, its key in the cache."""
    return json.dumps([list(job) for job in overrides])


def resolved(node: Any) -> dict[str, Any]:
    """A node of a config as plain values."""
    found: dict[str, Any] = OmegaConf.to_container(node, resolve=True)  # type: ignore[assignment]
    return found


@cache
def _code(repository: Path) -> str:
    """A hash of the code that draws, as it was when this process first asked."""
    digest = hashlib.sha256(_libraries().encode())
    for place in DRAWING:
        path = repository / place
        for file in [path] if path.is_file() else _files(path, (".py", ".yaml")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _libraries() -> str:
    return " ".join(f"{name} {version(name)}" for name in LIBRARIES)


def _files(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """Files with these endings, in the order of names, except in hidden folders and bytecode caches."""
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        found += [Path(place) / name for name in sorted(names) if name.endswith(endings)]
    return found
