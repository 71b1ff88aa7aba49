"""An experiment on a page of papers: figure, what the paper prints, caption and commands, or a gap if these lack."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from omegaconf.errors import OmegaConfBaseException

from experiments.claims import Results
from experiments.config.compose import Composed, Composer
from experiments.config.overrides import named_experiment, without
from experiments.config.plan import Plan, plan
from experiments.errors import UserError
from experiments.store import NotStoredError, places_of_plan, planned_cells, read_cells
from experiments.store.place import Place
from experiments.store.stored import Cells
from scripts.drawing.drawing import without_mathtext
from scripts.drawing.figure import drawing_of_plan, figure_name, figure_of, output_of, why
from scripts.drawing.fresh import Drawn, FigureCache, digest_of_plan, draw_if_changed
from scripts.drawing.output import FORMATS
from scripts.exhibits.captions import Printed, caption, drawn_cells, printed_of
from scripts.pages.text import comment_of, slug, without_places

OF_THE_COMMAND = ("site_dir", "explore_dir", "pages", "strict", "runner")  # overrides on which no figure depends
OF_THE_PAGE = ("experiment", "join", "figures_dir", *OF_THE_COMMAND)  # on which no claim depends


@dataclass(frozen=True)
class Gap:
    """Something that is missing in the site, why, and the command that adds it."""

    what: str
    why: str
    command: str


@dataclass(frozen=True)
class Exhibit:
    """All that a page shows of an experiment.

    Attributes
    ----------
    about: the comment at the beginning of its file.
    printed: what the paper prints in its place.
    commands: what each command does, and its text.
    caption: terms, each with its lines.
    picture: the content of its PNG, which another build may remove; None without a figure.
    document: its PDF; None without a figure.
    drawn: its figure; None without one.
    """

    name: str
    title: str
    about: str = ""
    printed: Printed | None = None
    commands: list[tuple[str, str]] = field(default_factory=list)
    caption: list[tuple[str, list[str]]] = field(default_factory=list)
    picture: bytes | None = None
    document: Path | None = None
    drawn: Drawn | None = None
    gap: Gap | None = None

    @property
    def identifier(self) -> str:
        return slug(self.name)

    @property
    def paper(self) -> str:
        return self.name.partition("/")[0]


@dataclass
class Reading:
    """What is read from stores once for several experiments, and passed on to the claims.

    Attributes
    ----------
    results: those of the claims; they take the plan and the cells of every experiment that was asked for with the same
        overrides.
    read: cells by their places and replications.
    """

    results: Results
    read: dict[tuple[Any, ...], Cells] = field(default_factory=dict)

    def places(self, planned: Plan) -> list[Place]:
        """The places of the cells of a plan. Raises `UserError`."""
        if self._of_claims(planned):
            self.results.plans[str(planned.experiment)] = planned
        return places_of_plan(planned)

    def cells(self, planned: Plan, places: Sequence[Place]) -> Cells:
        """The cells of a plan, from their places. Raises `UserError`."""
        same = (*places, *(request.replications for request in planned.requests))
        if same not in self.read:
            self.read[same] = read_cells(planned, places)
        if self._of_claims(planned):
            self.results.read[str(planned.experiment)] = self.read[same]
        return self.read[same]

    def _of_claims(self, planned: Plan) -> bool:
        return bool(planned.experiment) and of_claims(planned.overrides) == list(self.results.overrides)


def of_claims(overrides: Sequence[str]) -> list[str]:
    """The overrides on which claims depend."""
    return without(overrides, OF_THE_PAGE)


def exhibit_of(overrides: Sequence[str], composer: Composer, cache: FigureCache, reading: Reading) -> Exhibit:
    """The experiment that `overrides` name; with a gap if results are missing or it has an error.

    A figure that is not up to date is drawn. An error of one experiment becomes a gap, so that the others are shown.
    """
    name = named_experiment(overrides) or ""
    run, figures = (_command(module, overrides, composer) for module in ("experiments.run", "scripts.figures"))
    exhibit = Exhibit(name, name, comment_of(composer.file_of("experiment", name)))
    try:
        composed = composer.compose(overrides)
    except UserError as error:
        return _gap(exhibit, str(error), run)
    has_figure = composed.config.figure is not None
    commands = [*([("simulate", run)] if composed.config.cells else []), *([("draw", figures)] if has_figure else [])]
    commands += [("read every number", _loading(name, composer))] if composed.config.cells else []
    exhibit = replace(exhibit, title=_title(composed) or name, commands=commands)
    try:
        exhibit = replace(exhibit, printed=printed_of(composed))
        planned = plan([without(overrides, OF_THE_COMMAND)], composer)[0]
        return _filled(exhibit, planned, cache, reading)
    except NotStoredError as error:
        return _gap(exhibit, str(error).partition("; run: ")[0], run)
    except Exception as error:  # any error of a user's policy or bound
        return _gap(exhibit, why(error, composed, composer), figures if has_figure else run)


def _gap(exhibit: Exhibit, reason: str, command: str) -> Exhibit:
    return replace(exhibit, gap=Gap(f"experiment {exhibit.name}", without_places(reason), command))


def _title(composed: Composed) -> str:
    """The title of the figure, empty if there is none."""
    try:
        return without_mathtext(str((figure_of(composed) or {}).get("title", "")))
    except (UserError, OmegaConfBaseException):
        return ""


def _filled(exhibit: Exhibit, planned: Plan, cache: FigureCache, reading: Reading) -> Exhibit:
    """The exhibit with caption and figure from stored results. Raises `UserError`, `OSError`.

    A figure that is up to date is not described again: what the caption says of it is in the cache.
    """
    places, figure = reading.places(planned), figure_of(planned.composed)
    drawn = None if figure is None else _drawn(planned, places, cache, reading)
    cells = planned_cells(planned)
    exhibit = replace(
        exhibit,
        caption=[
            *caption(drawn, cells if figure is None else drawn_cells(figure, cells)),
            *([("Left out", planned.left_out)] if planned.left_out else []),
        ],
    )
    if drawn is None:
        return exhibit
    stem = cache.folder / exhibit.name
    picture = Path(f"{stem}.png").read_bytes()
    return replace(exhibit, picture=picture, document=Path(f"{stem}.pdf"), drawn=drawn)


def _drawn(planned: Plan, places: Sequence[Place], cache: FigureCache, reading: Reading) -> Drawn:
    """The figure of a plan, with all that a page shows; from the cache if it is up to date. Raises `UserError`."""
    inputs, output = digest_of_plan(planned, places), output_of(planned)
    output = replace(output, formats=tuple(dict.fromkeys((*output.formats, *FORMATS))))  # a page shows these, not pgf
    same = cache.made_from(figure_name(planned), inputs)
    if same is not None and set(same.formats) >= set(output.formats):
        return same
    drawing = drawing_of_plan(planned, reading.cells(planned, places))
    assert drawing is not None
    return draw_if_changed(planned, inputs, drawing, output, cache)[0]


def _command(module: str, overrides: Sequence[str], composer: Composer) -> str:
    """The command as text, with folders relative to the working folder."""
    places = [word for folder in composer.config_dirs for word in ("--config-dir", os.path.relpath(folder))]
    return shlex.join(["python", "-m", module, *places, *without(overrides, OF_THE_COMMAND)])


def _loading(name: str, composer: Composer) -> str:
    """How to read all rows of an experiment in Python."""
    places = [os.path.relpath(folder) for folder in composer.config_dirs]
    return f'from experiments import load; load("{name}"{f", config_dirs={places}" if places else ""})'
