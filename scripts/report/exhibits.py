"""An experiment in the report: figure, caption, commands and tables, or a gap if these are missing."""

import base64
import io
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import matplotlib.pyplot as plt
from omegaconf.errors import OmegaConfBaseException
from PIL import Image

from experiments.config.command_line import named_experiment
from experiments.config.compose import Composed, Composer
from experiments.config.plan import Plan, plan
from experiments.errors import UserError
from experiments.store import NotStoredError, stored_cells
from scripts.drawing.drawing import Drawing, without_mathtext
from scripts.drawing.render import render
from scripts.figures import describe, figure_of, why
from scripts.report.captions import caption
from scripts.report.cell_tables import of_cells
from scripts.report.run_time import Fact, fact_of
from scripts.report.tables import PageTable
from scripts.report.text import about, slug, without_places

DENSITY = 160  # dots per inch
COLOURS = 64  # enough for smooth letters and bands; files have a third of the size


@dataclass(frozen=True)
class PagePicture:
    """A figure inside the page: a data URL, its size in CSS pixels, and its alternative text."""

    source: str
    width: int
    height: int
    words: str


@dataclass(frozen=True)
class Gap:
    """Something that is missing in the report, why, and the command that adds it."""

    what: str
    why: str
    command: str


@dataclass(frozen=True)
class Exhibit:
    """All that the page shows of an experiment.

    Attributes
    ----------
    about: the comment at the beginning of its file.
    commands: what each command does, and its text.
    caption: terms, each with its lines.
    document: the path of its PDF relative to the page.
    """

    name: str
    title: str
    about: str = ""
    commands: list[tuple[str, str]] = field(default_factory=list)
    caption: list[tuple[str, list[str]]] = field(default_factory=list)
    picture: PagePicture | None = None
    document: str | None = None
    tables: list[PageTable] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    gap: Gap | None = None

    @property
    def identifier(self) -> str:
        return slug(self.name)

    @property
    def paper(self) -> str:
        return self.name.partition("/")[0]


def exhibit_of(overrides: Sequence[str], config_dirs: Sequence[Path]) -> Exhibit:
    """The experiment that `overrides` name; with a gap if results are missing or it has an error.

    An error of one experiment becomes a gap, so that the others are still shown.
    """
    composer = Composer(config_dirs)
    name = named_experiment(overrides) or ""
    run, draw = (_command(module, overrides, config_dirs) for module in ("experiments.run", "scripts.figures"))
    exhibit = Exhibit(name, name, about(composer.file_of("experiment", name)))
    try:
        composed = composer.compose(overrides)
    except UserError as error:
        return _gap(exhibit, str(error), run)
    has_figure = composed.config.figure is not None
    commands = [*([("simulate", run)] if composed.config.cells else []), *([("draw", draw)] if has_figure else [])]
    exhibit = replace(exhibit, title=_title(composed) or name, commands=commands)
    try:
        return _filled(exhibit, plan(overrides, composer))
    except NotStoredError as error:
        return _gap(exhibit, str(error).partition("; run: ")[0], run)
    except Exception as error:  # any error of a user's policy or bound
        return _gap(exhibit, why(error, composed, composer), draw if has_figure else run)


def _gap(exhibit: Exhibit, reason: str, command: str) -> Exhibit:
    return replace(exhibit, gap=Gap(f"experiment {exhibit.name}", without_places(reason), command))


def _title(composed: Composed) -> str:
    """The title of the figure, empty if there is none."""
    try:
        return without_mathtext(str((figure_of(composed) or {}).get("title", "")))
    except (UserError, OmegaConfBaseException):
        return ""


def _filled(exhibit: Exhibit, asked: Plan) -> Exhibit:
    """The exhibit with caption, figure and tables from stored results. Raises `UserError`."""
    cells = stored_cells(asked)
    drawing = describe(asked, cells)
    return replace(
        exhibit,
        caption=[*caption(drawing, cells), *([("Left out", asked.left_out)] if asked.left_out else [])],
        picture=None if drawing is None else _picture(drawing),
        document=None if drawing is None else _document(asked.composed, exhibit.name),
        tables=of_cells(exhibit.identifier, cells),
        facts=[fact_of(stored) for stored in cells],
    )


def _picture(drawing: Drawing) -> PagePicture:
    """The figure as a PNG with few colours."""
    drawn, packed = io.BytesIO(), io.BytesIO()
    figure = render(drawing)
    try:
        figure.savefig(drawn, format="png", dpi=DENSITY)
        width, height = (round(inches * 96) for inches in figure.get_size_inches())
    finally:
        plt.close(figure)
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(packed, "png", optimize=True)
    source = f"data:image/png;base64,{base64.b64encode(packed.getvalue()).decode()}"
    return PagePicture(source, width, height, drawing.words)


def _document(composed: Composed, name: str) -> str | None:
    """The path of the PDF of the figure relative to the report; None if it does not exist or is in a distant folder."""
    file = Path(composed.config.figures_dir) / f"{name}.pdf"
    path = os.path.relpath(file, composed.config.report_dir)
    return Path(path).as_posix() if file.exists() and path.count("..") <= 1 else None


def _command(module: str, overrides: Sequence[str], config_dirs: Sequence[Path]) -> str:
    """The command as text, with folders relative to the working folder."""
    places = [word for folder in config_dirs for word in ("--config-dir", os.path.relpath(folder))]
    kept = [text for text in overrides if text.partition("=")[0] not in ("report_dir", "strict")]
    return shlex.join(["python", "-m", module, *places, *kept])
