"""Draw the figures of experiments from stored results, but only those that look different from when they were drawn.

    python -m scripts.figures +experiment=sajed2019/fig03
    python -m scripts.figures -m +experiment=sajed2019/fig01,sajed2019/fig02
    python -m scripts.figures                              # every experiment
    python -m scripts.figures complete=true                # first simulate missing cells, as `make figures` does

The key `figure` of an experiment says what to draw; its `kind` is a module of scripts/drawing/kinds/, whose docstring
lists the keys.
"""

import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from experiments.config.command_line import CommandLine, exit_on_user_error, named_experiment, read_command_line
from experiments.config.compose import Composed, Composer
from experiments.config.values import flag
from experiments.errors import UserError
from scripts.drawing.fresh import (
    Digests,
    Drawn,
    Inputs,
    code,
    describing_files,
    digest_of_drawing,
    digest_of_inputs,
    overrides_as_text,
    own_files,
    resolved,
)

if TYPE_CHECKING:
    from experiments.config.plan import Plan
    from experiments.store.place import Place
    from experiments.stored_cells import Cells
    from scripts.drawing.drawing import Drawing


KEYS_OF_FIGURES = ("figure", "printed")


def name_of(asked: "Plan") -> str:
    """The name of the experiment of a plan. Raises `UserError` if it has none."""
    if asked.experiment is None:
        raise UserError("which figure? give +experiment=NAME, as in +experiment=sajed2019/fig01")
    return asked.experiment


def figure_of(composed: Composed) -> dict[str, Any] | None:
    """The `figure` of a config, None if it has none. Raises `UserError` if it is not a mapping."""
    figure = composed.config.figure
    if figure is None:
        return None
    if not isinstance(figure, DictConfig):
        raise UserError(f"figure: must be a mapping with title, kind, ..., got {figure}")
    return resolved(figure)


def describe(asked: "Plan", cells: "Cells") -> "Drawing | None":
    """The drawing of the figure of a planned experiment, None if it has no figure. Raises `UserError`."""
    from experiments.papers import colours
    from scripts.drawing import kinds

    figure = figure_of(asked.composed)
    return None if figure is None else kinds.describe(figure, cells, colours(asked.composer.config_dirs))


def why(error: Exception, composed: Composed, composer: Composer) -> str:
    """Why a figure cannot be drawn, in one line with file and key; the experiment's if `error` names no others."""
    file = composer.file_of("experiment", composed.choices["experiment"])
    if isinstance(error, UserError):
        in_shell = any(key.partition(".")[0] in KEYS_OF_FIGURES for key in composed.given)
        message = str(error) if in_shell or not str(error).startswith(KEYS_OF_FIGURES) else f"{file}: {error}"
    elif isinstance(error, OmegaConfBaseException):
        message = f"{file}: {error.full_key or 'figure'}: {str(error).splitlines()[0]}"
    else:
        message = f"{file}: figure: {type(error).__name__}: {error}"
    return " ".join(message.split())


def draw(asked: "Plan", drawing: "Drawing") -> list[str]:
    """Write the files of the figure of a planned experiment; returns their paths. Raises `UserError`."""
    from scripts.drawing.render import save

    folder = Path(asked.config.figures_dir)
    try:
        return save(drawing, folder / name_of(asked), _command(asked))
    except OSError as error:
        raise UserError(f"figures_dir={folder}: cannot be written: {error.strerror}") from error


def _command(asked: "Plan") -> str:
    """The command that draws this figure alone, without overrides that concern only how a command runs."""
    from experiments.store import OF_COMMANDS

    kept = [text for text in asked.overrides if text.partition("=")[0] not in OF_COMMANDS]
    return shlex.join(["python", "-m", "scripts.figures", *kept])


def _content(asked: "Plan") -> dict[str, Any]:
    """The `figure` of a config for its hash; its plain text if it is not valid."""
    try:
        return figure_of(asked.composed) or {}
    except (UserError, OmegaConfBaseException):  # drawing it will raise the error
        return {"figure": str(asked.config.figure)}


def own_files_of(asked: "Plan") -> list[Path]:
    """The user's files that a planned figure depends on."""
    return own_files(_content(asked), [request.cell for request in asked.requests])


def inputs_of(asked: "Plan", places: Sequence["Place"]) -> str:
    """The hash of the inputs of a planned figure, see `digest_of_inputs`."""
    from experiments.papers import colours

    figure, cells = _content(asked), [request.cell for request in asked.requests]
    keys = [f"{request.cell.key} {request.replications}" for request in asked.requests]
    more = [_command(asked), colours(asked.composer.config_dirs), code(describing_files(figure, cells))]
    return digest_of_inputs(figure, keys, places, more, own_files_of(asked))


def drawn_as(asked: "Plan", drawing: "Drawing") -> str:
    """The hash of what the files of a planned figure show, see `digest_of_drawing`."""
    return digest_of_drawing(drawing, _command(asked))


@dataclass(frozen=True)
class Made:
    """The result of one job.

    Attributes
    ----------
    figure: whether it has a figure.
    results: the folders from which its cells are read.
    files: the user's files that its figure depends on.
    left_out: see `Plan`.
    lacks: whether nothing was drawn because cells are missing or cannot be read.
    digests: the hashes of its figure, once it is described.
    paths: the files written; none if the figure is up to date.
    problem: why it could not be drawn.
    """

    name: str
    figure: bool
    results: list[str]
    files: list[str]
    left_out: list[str]
    lacks: bool = False
    digests: Digests | None = None
    paths: list[str] = field(default_factory=list)
    problem: UserError | None = None


def make(job: Sequence[str], composer: Composer, drawn: Drawn, again: bool, may_lack: bool) -> Made:
    """Plan a job, describe its figure if its inputs changed since it was `drawn`, and draw it if it looks different.

    If `again`, it is always drawn. If it `may_lack` cells, missing cells set `lacks` in the result; else they raise
    `UserError`, as does a job that cannot be planned.
    """
    from experiments.config.plan import plan
    from experiments.store import Store, complete_places, read_cells

    asked = plan(job, composer)
    results = [str(place) for place in Store.of(asked).folders()]
    files = [str(file) for file in own_files_of(asked)]
    made = Made(name_of(asked), asked.config.figure is not None, results, files, asked.left_out)
    if not (made.figure or may_lack):
        return made
    try:
        places = complete_places(asked)
    except UserError:
        if may_lack:
            return replace(made, lacks=True)
        raise
    if not made.figure:
        return made
    inputs = inputs_of(asked, places)
    if not again and (same := drawn.made_from(made.name, inputs)):
        return replace(made, digests=same)
    try:
        stored = read_cells(asked, places)
    except UserError as damage:
        return replace(made, lacks=True) if may_lack else replace(made, problem=damage)
    try:
        drawing = describe(asked, stored)
        assert drawing is not None
        digests = Digests(inputs, drawn_as(asked, drawing))
        paths = draw(asked, drawing) if again or not drawn.shows(made.name, digests.drawing) else []
        return replace(made, digests=digests, paths=paths)
    except Exception as error:  # any error of a user's bound or label: the other figures are still drawn
        return replace(made, problem=UserError(why(error, asked.composed, asked.composer)))


def make_all(command: CommandLine, drawn: Drawn) -> Inputs:
    """Draw the figures that are not up to date, and print a line for each; returns what the command depends on.

    Exits with code 2 if some figure cannot be drawn, after all others are drawn.
    """
    again, complete = flag(command.config, "redraw"), flag(command.config, "complete")
    made = list(_each(command, drawn, again, may_lack=complete))
    if lacking := [job for job, of_job in zip(command.jobs, made, strict=True) if of_job.lacks]:
        rest = replace(command, jobs=lacking)
        _complete(rest)
        completed = _each(rest, drawn, again, may_lack=False)
        made = [next(completed) if of_job.lacks else of_job for of_job in made]
    if fresh := [of_job.name for of_job in made if of_job.figure and not (of_job.paths or of_job.problem)]:
        print(_skipped(fresh, drawn.folder))
    if any(of_job.problem for of_job in made):
        sys.exit(2)
    results, files = ({name for of_job in made for name in getattr(of_job, of)} for of in ("results", "files"))
    return Inputs([of_job.name for of_job in made if of_job.figure], sorted(results), sorted(files))


def _each(command: CommandLine, drawn: Drawn, again: bool, may_lack: bool) -> Iterator[Made]:
    """Make the figure of each job, print its result and yield it. Raises `UserError`."""
    from experiments.fan_out import delayed, results

    workers = 1 if len(command.jobs) == 1 else command.workers
    composer = command.composer
    calls = (delayed(make)(job, composer, drawn, again, may_lack) for job in command.jobs)
    with closing(results(calls, workers, batch_size=1)) as made:
        for of_job in made:
            _say(of_job)
            if of_job.digests:
                drawn.figures[of_job.name] = of_job.digests
            yield of_job


def _say(made: Made) -> None:
    """Print the result of a job, unless cells are still missing."""
    if made.lacks:
        return
    for line in made.left_out:
        print(f"warning: {line}", file=sys.stderr)
    if made.problem:
        print(f"error: {made.problem}", file=sys.stderr, flush=True)
    elif made.paths:
        print(" ".join(made.paths), flush=True)
    elif not made.figure:
        print(f"{made.name}: has no figure")


def _complete(command: CommandLine) -> None:
    """Simulate the missing cells of the jobs of a command, and print how many."""
    from experiments.complete import complete, runner_of
    from experiments.config.plan import plan_all

    plans = list(plan_all(command.jobs, command.composer))
    print(complete(plans, runner_of(plans)), flush=True)


def _skipped(names: Sequence[str], folder: Path) -> str:
    figures = "1 figure is" if len(names) == 1 else f"{len(names)} figures are"
    return f"{figures} in {folder} as they would be drawn now, and skipped (redraw=true draws all): {', '.join(names)}"


def main() -> None:
    """Entry point of `python -m scripts.figures`."""
    command = read_command_line()
    if not command.jobs:
        return
    command = command.of_experiments()
    _require_once(command)
    config: DictConfig = command.config
    drawn = Drawn.read(Path(config.figures_dir))
    asked = overrides_as_text(command.jobs)
    known = None if flag(config, "redraw") else drawn.nothing_changed(asked, command.config_dirs)
    if known is not None:
        print(_skipped(known, drawn.folder))
        return
    try:
        drawn.remember(asked, make_all(command, drawn), command.config_dirs)
    finally:
        keep(drawn)


def _require_once(command: CommandLine) -> None:
    """Raise `UserError` if several jobs name the same experiment: their figures would overwrite each other."""
    for name, times in Counter(map(named_experiment, command.jobs)).items():
        if times > 1 and name is not None:
            raise UserError(f"+experiment={name}: asked for {times} times; draw each with a figures_dir of its own")


def keep(drawn: Drawn) -> None:
    """Write the cache; if that fails, figures are only drawn again next time, so the error is ignored."""
    try:
        if drawn.figures:
            drawn.write()
    except OSError:
        pass


if __name__ == "__main__":
    exit_on_user_error(main)
