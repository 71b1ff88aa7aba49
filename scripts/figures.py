"""Draw the figures of experiments from stored results, those whose inputs changed since they were drawn.

    python -m scripts.figures +experiment=sajed2019/fig03
    python -m scripts.figures -m +experiment=sajed2019/fig01,sajed2019/fig02
    python -m scripts.figures                              # every experiment
    python -m scripts.figures complete=true                # simulate first what is missing, as make figures does

An experiment's `figure` says what to draw; its `kind` is a file of scripts/drawing/kinds/, whose first lines list the
keys.
"""

import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from experiments.config.command_line import CommandLine, exit_on_user_error, named_experiment, read_command_line
from experiments.config.compose import Composed, Composer
from experiments.config.values import flag
from experiments.errors import UserError
from scripts.drawing.fresh import Drawn, Inputs, digest_of_figure, overrides_as_text, resolved

if TYPE_CHECKING:
    from experiments.config.plan import Plan
    from experiments.stored import Stored
    from scripts.drawing.drawing import Drawing


def name_of(asked: "Plan") -> str:
    """The experiment that is asked for. Raises `UserError` where none is."""
    if asked.experiment is None:
        raise UserError("which figure? give +experiment=NAME, as in +experiment=sajed2019/fig01")
    return asked.experiment


def figure_of(composed: Composed) -> dict[str, Any] | None:
    """What a config says of the figure. Raises `UserError`."""
    figure = composed.config.figure
    if figure is None:
        return None
    if not isinstance(figure, DictConfig):
        raise UserError(f"figure: must be a mapping with title, kind, ..., got {figure}")
    return resolved(figure)


def describe(asked: "Plan", cells: "Sequence[Stored]") -> "Drawing | None":
    """What the figure of a planned experiment shows, None where it has no figure. Raises `UserError`."""
    from experiments.papers import colours
    from scripts.drawing.kinds import kind

    figure = figure_of(asked.composed)
    if figure is None:
        return None
    return kind(figure.pop("kind", "curves"))(figure, cells, colours(asked.composer.config_dirs))


def why(error: Exception, composed: Composed, composer: Composer) -> str:
    """Why a figure cannot be drawn, in one line that names file and key: those of the experiment unless it says so."""
    file = composer.file_of("experiment", composed.choices["experiment"])
    if isinstance(error, UserError):
        in_shell = any(key.partition(".")[0] == "figure" for key in composed.given)
        said = str(error) if in_shell or not str(error).startswith("figure") else f"{file}: {error}"
    elif isinstance(error, OmegaConfBaseException):
        said = f"{file}: {error.full_key or 'figure'}: {str(error).splitlines()[0]}"
    else:
        said = f"{file}: figure: {type(error).__name__}: {error}"
    return " ".join(said.split())


def draw(asked: "Plan") -> list[str]:
    """Draw the figure of a planned experiment; the paths written. Raises `UserError`."""
    from experiments.store import stored_cells
    from scripts.drawing.render import save

    drawing = describe(asked, stored_cells(asked))
    assert drawing is not None
    folder = Path(asked.config.figures_dir)
    try:
        return save(drawing, folder / name_of(asked), _command(asked))
    except OSError as error:
        raise UserError(f"figures_dir={folder}: cannot be written: {error.strerror}") from error


def _drawn(asked: "Plan") -> list[str] | UserError:
    """What was written, or what is wrong with the figure."""
    try:
        return draw(asked)
    except Exception as error:  # whatever a bound, a label or the like of one's own raises: others are still drawn
        return UserError(why(error, asked.composed, asked.composer))


def _command(asked: "Plan") -> str:
    """What to type for one figure; how it was asked for among others is left out."""
    kept = [text for text in asked.overrides if text.partition("=")[0] not in ("complete", "redraw")]
    return shlex.join(["python", "-m", "scripts.figures", *kept])


def _digest(asked: "Plan") -> str:
    """See `digest_of_figure`. Raises `UserError`."""
    from experiments.store import complete_files

    keys = [f"{request.cell.key} {request.replications}" for request in asked.requests]
    try:
        said = figure_of(asked.composed) or {}
    except (UserError, OmegaConfBaseException):  # which drawing it will say
        said = {"figure": str(asked.config.figure)}
    return digest_of_figure(said, keys, complete_files(asked), _command(asked))


def draw_all(command: CommandLine, drawn: Drawn) -> Inputs:
    """Draw what is not fresh, a line for each figure as it is done; what the command was about and depends on.

    Exit code 2 if some cannot be drawn, after all others.
    """
    import joblib

    from experiments.complete import complete, runner_of
    from experiments.store import Store

    plans = command.plans()
    if flag(command.config, "complete"):
        print(complete(plans, runner_of(plans)), flush=True)
    for asked in plans:
        if asked.config.figure is None:
            print(f"{name_of(asked)}: has no figure")
    with_figure = [asked for asked in plans if name_of(asked) and asked.config.figure is not None]
    digests = {name_of(asked): _digest(asked) for asked in with_figure}
    redraw = flag(command.config, "redraw")
    stale = [asked for asked in with_figure if redraw or not drawn.has(name_of(asked), digests[name_of(asked)])]
    workers = 1 if len(stale) == 1 else command.workers
    made = joblib.Parallel(n_jobs=workers, return_as="generator", batch_size=1)(
        joblib.delayed(_drawn)(asked) for asked in stale
    )
    failed = False
    for asked, found in zip(stale, made, strict=True):
        if isinstance(found, UserError):
            print(f"error: {found}", file=sys.stderr, flush=True)
            failed = True
            continue
        print(" ".join(found), flush=True)
        drawn.figures[name_of(asked)] = digests[name_of(asked)]
    fresh = [name for name in digests if name not in {name_of(asked) for asked in stale}]
    if fresh:
        print(_skipped(fresh, drawn.folder))
    if failed:
        sys.exit(2)
    places = dict.fromkeys(str(place) for asked in plans for place in Store.of(asked).folders())
    return Inputs(list(digests), list(places))


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
        drawn.remember(asked, draw_all(command, drawn), command.config_dirs)
    finally:
        _keep(drawn)


def _require_once(command: CommandLine) -> None:
    """Raise `UserError` for an experiment that several jobs name: their figures would be one file."""
    for name, times in Counter(map(named_experiment, command.jobs)).items():
        if times > 1 and name is not None:
            raise UserError(f"+experiment={name}: asked for {times} times; draw each with a figures_dir of its own")


def _keep(drawn: Drawn) -> None:
    """Without the note figures are drawn again, which is no reason to fail."""
    try:
        if drawn.figures:
            drawn.write()
    except OSError:
        pass


if __name__ == "__main__":
    exit_on_user_error(main)
