"""Which figures are as they would be drawn now, so that only those are drawn whose inputs changed.

A figure depends on what its experiment says of it, its stored cells, the code and colours that describe and draw it,
files of the user's that its classes and bounds depend on, wherever they are, and the libraries. A note beside the
figures, `.drawn.json`, keeps a digest of these for each, and one of everything that a command could depend on, so that
a second call need not even plan.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
DRAWING = (  # code that decides what a figure shows, beside that of its stored numbers
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
    """The figures that a command is about, the folders of their results, and the user's files beside these."""

    figures: list[str]
    results: list[str]
    files: list[str]


@dataclass
class Drawn:
    """What is known of the figures in a folder: a digest of the inputs of each, and of the inputs of whole commands."""

    folder: Path
    figures: dict[str, str] = field(default_factory=dict)
    commands: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "Drawn":
        """The note in `folder`; nothing where there is none, or none that can be read."""
        try:
            note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
            return cls(folder, dict(note["figures"]), dict(note["commands"]))
        except (OSError, ValueError, KeyError, TypeError):
            return cls(folder)

    def write(self) -> None:
        """Leave the note, in one step."""
        note = json.dumps({"figures": self.figures, "commands": self.commands})
        put(self.folder / NOTE, note.encode(), lasting=False)

    def has(self, name: str, digest: str) -> bool:
        """Whether the figure of that name was drawn from these inputs and is still there."""
        return self.figures.get(name) == digest and self._exists(name)

    def nothing_changed(self, command: str, config_dirs: Iterable[Path]) -> list[str] | None:
        """The figures that `command` is about if all are as they would be drawn now, else None."""
        try:
            known = self.commands[command]
            inputs = Inputs(*(list(known[name]) for name in Inputs._fields))
            state = known["state"]
        except (KeyError, TypeError):
            return None
        fresh = all(map(self._exists, inputs.figures)) and state == _state(inputs, config_dirs)
        return inputs.figures if fresh else None

    def remember(self, command: str, inputs: Inputs, config_dirs: Iterable[Path]) -> None:
        """That `command` ended with all its figures drawn, or found fresh, as things are now."""
        self.commands[command] = {**inputs._asdict(), "state": _state(inputs, config_dirs)}

    def _exists(self, name: str) -> bool:
        return all((self.folder / f"{name}.{ending}").exists() for ending in FORMATS)


def own_files(figure: Mapping[str, Any], cells: Iterable["Cell"], config_dirs: Iterable[Path]) -> list[Path]:
    """The user's files that a figure depends on: those of classes and bounds, what they import and name, and papers."""
    classes = {cls for cell in cells for cls in cell.own}
    modules = {bound.rpartition(".")[0] for bound in _bounds(figure)}
    papers = [file for folder in config_dirs for file in _files(folder / "papers", (".yaml",))]
    return sorted({*files_of(classes), *files_of_modules(modules), *papers})


def _bounds(node: Any) -> Iterator[str]:
    """What stands under a key `bound`, as in overlays."""
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
    """Of all that one figure depends on.

    That is what it says, its cells as they are stored, the drawing code, the command and the user's `files`.
    """
    digest = hashlib.sha256(json.dumps([figure, list(keys), command], sort_keys=True, default=str).encode())
    for place in places:
        digest.update(place.digest())
    for file in files:
        digest.update(_content(file))
    digest.update(_code().encode())
    return digest.hexdigest()


def _state(inputs: Inputs, config_dirs: Iterable[Path]) -> str:
    """A digest of everything that a command on figures could depend on: sources, configs, results by size and time."""
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
    """A file by name and content; one that is gone is another."""
    content = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "gone"
    return f"{file} {content}".encode()


def overrides_as_text(overrides: Iterable[Sequence[str]]) -> str:
    """What tells one command from another."""
    return json.dumps([list(job) for job in overrides])


def resolved(node: Any) -> dict[str, Any]:
    """A node of a config as plain values."""
    found: dict[str, Any] = OmegaConf.to_container(node, resolve=True)  # type: ignore[assignment]
    return found


def _code() -> str:
    digest = hashlib.sha256(_libraries().encode())
    for place in DRAWING:
        path = REPOSITORY / place
        for file in [path] if path.is_file() else _files(path, (".py", ".yaml")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _libraries() -> str:
    return " ".join(f"{name} {version(name)}" for name in LIBRARIES)


def _files(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """Files with these endings, in the order of names; nothing below hidden folders or caches."""
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        found += [Path(place) / name for name in sorted(names) if name.endswith(endings)]
    return found
