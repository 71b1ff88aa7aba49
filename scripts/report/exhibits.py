"""An experiment as the report shows it: figure, caption, commands and tables, or the gap where these are missing."""

import base64
import io
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from PIL import Image

from experiments.config.compose import Composed, Composer
from experiments.errors import UserError
from experiments.frames import stored_cells
from experiments.store import Store
from scripts.figures import KINDS, read_figure
from scripts.report import captions as report_captions
from scripts.report import tables as report_tables
from scripts.report.tables import Fact, Table
from scripts.report.text import about, slug, without_places

DOTS_PER_INCH = 160
COLOURS = 64  # enough for smooth letters and bands, and a third of the size


@dataclass(frozen=True)
class Picture:
    """A figure inside the page: a data address, its size in the page in pixels, and its words."""

    source: str
    width: int
    height: int
    words: str


@dataclass(frozen=True)
class Gap:
    """Something that the report should hold and does not, why, and the command that mends it."""

    what: str
    why: str
    command: str


@dataclass(frozen=True)
class Exhibit:
    """All that the page shows of an experiment."""

    name: str
    title: str
    about: str
    commands: list[tuple[str, str]]
    caption: list[tuple[str, list[str]]] = field(default_factory=list)
    picture: Picture | None = None
    document: str | None = None
    tables: list[Table] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    gap: Gap | None = None

    @property
    def identifier(self) -> str:
        return slug(self.name)

    @property
    def paper(self) -> str:
        return self.name.partition("/")[0]


def exhibit_of(overrides: Sequence[str], config_dirs: Sequence[Path]) -> Exhibit:
    """The experiment that `overrides` name. Raises `UserError` where they are wrong, not where results are missing."""
    composer = Composer(config_dirs)
    composed = composer.compose(overrides)
    name = composed.choices["experiment"]
    figure = composed.config.figure
    title = str(figure.get("title") or name) if figure is not None else name
    described = about(composer.file_of("experiment", name))
    run, draw = (_command(module, overrides, config_dirs) for module in ("experiments.run", "scripts.figures"))
    commands = [("simulate", run)] if composed.config.cells else []
    commands += [("draw", draw)] if figure is not None else []
    exhibit = Exhibit(name, title, described, commands)
    try:
        cells = stored_cells(overrides, Store(Path(composed.config.results_dir)), composer)
        return _filled(exhibit, composed, cells)
    except UserError as error:
        why = without_places(str(error).partition("; run: ")[0])
        return Exhibit(name, title, described, commands, gap=Gap(f"experiment {name}", why, run))


def _filled(exhibit: Exhibit, composed: Composed, cells: report_captions.Cells) -> Exhibit:
    kind, config = read_figure(composed) if composed.config.figure is not None else (None, {})
    picture = None
    if kind is not None:
        picture = picture_of(KINDS[kind](config, cells), report_captions.in_words(kind, config, cells))
    return Exhibit(
        exhibit.name,
        exhibit.title,
        exhibit.about,
        exhibit.commands,
        report_captions.caption(kind, config, cells),
        picture,
        _document(composed, exhibit.name) if picture else None,
        report_tables.of_cells(exhibit.identifier, cells),
        [report_tables.fact_of(*pair) for pair in cells],
    )


def picture_of(figure: Figure, words: str) -> Picture:
    """A drawn figure as a picture of few colours."""
    drawn, packed = io.BytesIO(), io.BytesIO()
    try:
        figure.savefig(drawn, format="png", dpi=DOTS_PER_INCH)
    finally:
        plt.close(figure)
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(packed, "png", optimize=True)
    width, height = (round(inches * 96) for inches in figure.get_size_inches())
    return Picture(f"data:image/png;base64,{base64.b64encode(packed.getvalue()).decode()}", width, height, words)


def _document(composed: Composed, name: str) -> str | None:
    """Where the PDF of the figure is, seen from the report, if it is there and near."""
    file = Path(composed.config.figures_dir) / f"{name}.pdf"
    path = os.path.relpath(file, composed.config.report_dir)
    return Path(path).as_posix() if file.exists() and path.count("..") <= 1 else None


def _command(module: str, overrides: Sequence[str], config_dirs: Sequence[Path]) -> str:
    """What to type; folders as seen from where the report was made."""
    places = [word for folder in config_dirs for word in ("--config-dir", os.path.relpath(folder))]
    kept = [text for text in overrides if text.partition("=")[0] not in ("report_dir", "strict")]
    return shlex.join(["python", "-m", module, *places, *kept])
