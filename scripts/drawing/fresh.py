"""Which figures are up to date, so that only those are described whose inputs changed, and drawn that look different.

The inputs of a figure are the `figure` of its experiment, its stored cells, the weighted runs on which their means
rest, the colours of policies, the user's files that its classes and bounds depend on, the code that describes it, and
the versions of the libraries. That code is found by its imports, from the kinds of figures and the classes of the cells
on; its comments are no inputs. What is drawn is the `Drawing` that follows from the inputs, and the code that renders
it, found in the same way.
The file `.drawn.json` beside the figures is a cache: hashes of both for each figure, with what pages say of it, and for
each command a hash of everything that it could depend on, so that a second call of the command need not even plan.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments.config.compose import CONF
from experiments.errors import UserError
from experiments.own_code import own_source
from experiments.store.whole_files import put
from scripts.drawing.citation import CITATION
from scripts.drawing.contents import code, content_of, meaning_of, name_and_meaning
from scripts.drawing.figure import draw, drawing_command, figure_name, figure_of, output_of
from scripts.drawing.imports import OURS, files_of_ours
from scripts.drawing.output import FORMATS, Output

if TYPE_CHECKING:
    from experiments.cells import Cell
    from experiments.config.plan import Plan
    from experiments.store.place import Place
    from scripts.drawing.drawing import Drawing

NOTE = ".drawn.json"
COMMAND = "scripts.figures"
KINDS, RENDERER = "scripts.drawing.kinds", "scripts.drawing.render"  # what describes and what renders


class CommandInputs(NamedTuple):
    """What a command depends on, beside configs, the user's and ours.

    Attributes
    ----------
    figures: their names.
    results: the folders of their results.
    files: the user's files that they depend on, all code of this repository that plans, describes and draws them, and
        the citation in their files.
    """

    figures: list[str]
    results: list[str]
    files: list[str]


class Drawn(NamedTuple):
    """A figure that was drawn.

    Attributes
    ----------
    inputs: the hash of its inputs, see `digest_of_inputs`.
    drawing: the hash of what is drawn, see `digest_of_drawing`.
    formats: the endings of its files.
    words, shown, notes: what pages say of it, as in `Drawing`.
    """

    inputs: str
    drawing: str
    formats: list[str]
    words: str
    shown: str
    notes: Mapping[str, list[str]]


@dataclass
class FigureCache:
    """The cache of a folder of figures: what was drawn for each, and a hash of the inputs of each command."""

    folder: Path
    figures: dict[str, Drawn] = field(default_factory=dict)
    commands: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "FigureCache":
        """The cache in `folder`; empty if there is none, or if it cannot be read."""
        try:
            note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
            figures = {name: Drawn(**drawn) for name, drawn in note["figures"].items()}
            return cls(folder, figures, dict(note["commands"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls(folder)

    def keep(self) -> None:
        """Write the cache; if that fails, figures are only drawn again next time, so the error is ignored."""
        try:
            if self.figures:
                self.write()
        except OSError:
            pass

    def write(self) -> None:
        """Write the cache file, in one step."""
        figures = {name: drawn._asdict() for name, drawn in self.figures.items()}
        note = json.dumps({"figures": figures, "commands": self.commands})
        put(self.folder / NOTE, note.encode(), lasting=False)

    def made_from(self, name: str, inputs: str) -> Drawn | None:
        """The figure if its files exist and show what inputs with this hash describe, else None."""
        drawn = self.figures.get(name)
        return drawn if drawn is not None and drawn.inputs == inputs and self._exists(name) else None

    def shows(self, name: str, drawing: str) -> bool:
        """Whether the files of the figure exist and show the drawing with this hash."""
        return name in self.figures and self.figures[name].drawing == drawing and self._exists(name)

    def figures_if_unchanged(self, command: str, config_dirs: Iterable[Path]) -> list[str] | None:
        """The figures of `command` if all are up to date, else None."""
        try:
            drawn = self.commands[command]
            inputs = CommandInputs(*(list(drawn[name]) for name in CommandInputs._fields))
            drawings, state, contents = drawn["drawings"], drawn["state"], dict(drawn["files"])
        except (KeyError, TypeError, ValueError):
            return None
        shown = all(map(self._exists, inputs.figures)) and drawings == self._drawings(inputs)
        same = shown and state == _state(inputs, config_dirs) and all(map(_says, contents, contents.values()))
        return inputs.figures if same else None

    def remember(self, command: str, inputs: CommandInputs, config_dirs: Iterable[Path]) -> None:
        """Record that all figures of `command` are up to date with the inputs as they are now."""
        files = {name: [content_of(Path(name)), meaning_of(Path(name))] for name in inputs.files}
        drawings, state = self._drawings(inputs), _state(inputs, config_dirs)
        self.commands[command] = {**inputs._asdict(), "files": files, "drawings": drawings, "state": state}

    def _drawings(self, inputs: CommandInputs) -> list[str | None]:
        """What the figures of a command show: another command may have drawn the same figures otherwise."""
        return [self.figures[name].drawing if name in self.figures else None for name in inputs.figures]

    def _exists(self, name: str) -> bool:
        formats = self.figures[name].formats if name in self.figures else FORMATS
        return all((self.folder / f"{name}.{ending}").exists() for ending in formats)


def own_files_of(plan: "Plan") -> list[Path]:
    """The user's files that a planned figure may depend on: all in their folders, if a class or bound is theirs."""
    bounds = {name for name in _modules_of_bounds(_figure(plan)) if name.partition(".")[0] not in OURS}
    folders = own_source.now()
    is_own = bounds or any(request.cell.own for request in plan.requests)
    return list(own_source.all_files(folders.given, folders.written).values()) if is_own else []


def digest_of_plan(plan: "Plan", places: Sequence["Place"]) -> str:
    """The hash of the inputs of a planned figure, see `digest_of_inputs`."""
    from experiments.config.papers import colours
    from experiments.store import Store

    figure, cells, store = _figure(plan), [request.cell for request in plan.requests], Store.of(plan)
    keys = [f"{request.cell.key} {request.replications}" for request in plan.requests]
    weighted = [copy.footer.get("rows") for cell in cells if (copy := store.weighted_copy(cell))]  # their checksums
    how = [drawing_command(plan), _written(plan), renderer(), weighted]
    more = [*how, colours(plan.composer.config_dirs), code(describing_files(figure, cells))]
    return digest_of_inputs(figure, keys, places, more, own_files_of(plan))


def draw_if_changed(
    plan: "Plan", inputs: str, drawing: "Drawing", output: Output, cache: FigureCache, again: bool = False
) -> tuple[Drawn, list[str]]:
    """Draw a planned figure if it looks different from when it was drawn, or `again`; with the files written.

    `inputs` is the hash of its inputs. Raises `UserError`.
    """
    digest = digest_of_drawing(drawing, f"{drawing_command(plan)} {output}")
    drawn = Drawn(inputs, digest, list(output.formats), drawing.words, drawing.shown, drawing.notes)
    changed = again or not cache.shows(figure_name(plan), digest)
    return drawn, draw(plan, drawing, output) if changed else []


def _figure(plan: "Plan") -> dict[str, Any]:
    """The `figure` of a config, for its hash; its plain text if it is not valid."""
    try:
        return figure_of(plan.composed) or {}
    except UserError:  # drawing it will raise the error
        return {"figure": str(plan.composed.keys["figure"])}


def _written(plan: "Plan") -> str:
    """How a figure is written, for its hash; the error if its keys are not valid."""
    try:
        return str(output_of(plan))
    except UserError as error:  # drawing it will raise the error
        return str(error)


def code_of_plans(plans: Iterable["Plan"]) -> list[Path]:
    """The files of this repository that plan, describe and draw the figures of some plans, and its citation."""
    bounds, classes = set[str](), set[str]()
    for plan in plans:
        bounds |= _modules_of_bounds(_figure(plan))
        classes |= _classes(request.cell for request in plan.requests)
    return [*files_of_ours({COMMAND, KINDS, RENDERER, *classes, *bounds}), CITATION]


def describing_files(figure: Mapping[str, Any], cells: Iterable["Cell"]) -> list[Path]:
    """The files of this repository that describe a figure: kinds of figures, classes of its cells, and its bounds."""
    return files_of_ours({KINDS, *_classes(cells), *_modules_of_bounds(figure)})


def _classes(cells: Iterable["Cell"]) -> set[str]:
    """The modules of the classes of some cells."""
    return {type(part).__module__ for cell in cells for part in (cell, cell.instance, cell.policy)}


def _modules_of_bounds(figure: Mapping[str, Any]) -> set[str]:
    return {bound.rpartition(".")[0] for bound in _bounds(figure)}


def _bounds(node: Any) -> Iterator[str]:
    """Every text under a key `bound` in nested lists and mappings, as in overlays."""
    if isinstance(node, Mapping):
        if isinstance(node.get("bound"), str):
            yield node["bound"]
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from _bounds(item)


def digest_of_inputs(
    figure: Mapping[str, Any], keys: Sequence[str], places: Iterable["Place"], more: object, files: Iterable[Path]
) -> str:
    """A hash of all inputs of one figure: its config, its cells as they are stored, `more`, and the content of `files`.

    `more` is what else it depends on: its command, the colours of policies, and the code that describes it.
    """
    digest = hashlib.sha256(json.dumps([figure, list(keys), more], sort_keys=True, default=str).encode())
    for place in places:
        digest.update(place.digest())
    for file in files:
        digest.update(name_and_meaning(file))
    digest.update(_libraries().encode())
    return digest.hexdigest()


def digest_of_drawing(drawing: "Drawing", command: str) -> str:
    """A hash of all that the files of a figure depend on: the drawing, the command in it, and the code that renders."""
    digest = hashlib.sha256(f"{command} {renderer()} {_libraries()}".encode())
    for part in _parts(drawing):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def renderer() -> str:
    """A hash of the code that renders figures, and of the citation in their files."""
    return code([*files_of_ours([RENDERER]), CITATION])


def _parts(value: Any) -> Iterator[bytes]:
    """The content of nested dataclasses, lists, mappings and arrays, in order."""
    if is_dataclass(value):
        yield type(value).__name__.encode()
        value = [(item.name, getattr(value, item.name)) for item in fields(value)]
    if isinstance(value, np.ndarray):
        yield f"array {value.dtype} {value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, Mapping):
        yield from _parts(list(value.items()))
    elif isinstance(value, list | tuple):
        yield f"{len(value)} items".encode()
        for item in value:
            yield from _parts(item)
    else:
        yield repr(value).encode()


def _says(file: str, before: Sequence[str]) -> bool:
    """Whether a file says what it said `before`, when it had this content and this meaning."""
    return content_of(Path(file)) in before or meaning_of(Path(file)) in before


def _state(inputs: CommandInputs, config_dirs: Iterable[Path]) -> str:
    """A hash of what a command could depend on beside `files`: libraries, configs, results by their size and time.

    A file of code that is new counts from when one that counts imports it, and so has changed.
    """
    digest = hashlib.sha256(_libraries().encode())
    for folder in (CONF, *config_dirs):
        for file in _files(folder, (".py", ".yaml")):
            digest.update(name_and_meaning(file))
    for name in inputs.results:
        for file in _files(Path(name), (".parquet",)):
            about = file.stat()
            digest.update(f"{file} {about.st_size} {about.st_mtime_ns}".encode())
    return digest.hexdigest()


def overrides_as_text(overrides: Iterable[Sequence[str]]) -> str:
    """The overrides of a command as one text, its key in the cache."""
    return json.dumps([list(job) for job in overrides])


@cache
def _libraries() -> str:
    """The names of all installed packages with their versions, from the folders that say so."""
    names = {item.name for place in sys.path for item in Path(place or ".").glob("*.dist-info")}
    return " ".join(sorted(names))


def _files(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """Files with these endings, in the order of names, except in hidden folders and bytecode caches."""
    files = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        files += [Path(place) / name for name in sorted(names) if name.endswith(endings)]
    return files
