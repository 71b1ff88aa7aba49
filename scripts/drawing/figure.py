"""The figure of a planned experiment: describe it, draw it, and say what its files depend on."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from experiments.config.compose import Composed, Composer
from experiments.errors import UserError
from scripts.drawing.fresh import code, describing_files, digest_of_drawing, digest_of_inputs, own_files, resolved

if TYPE_CHECKING:
    from experiments.config.plan import Plan
    from experiments.store.place import Place
    from experiments.store.stored_cells import Cells
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
    from experiments.config.papers import colours
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
    from experiments.config.papers import colours

    figure, cells = _content(asked), [request.cell for request in asked.requests]
    keys = [f"{request.cell.key} {request.replications}" for request in asked.requests]
    more = [_command(asked), colours(asked.composer.config_dirs), code(describing_files(figure, cells))]
    return digest_of_inputs(figure, keys, places, more, own_files_of(asked))


def drawn_as(asked: "Plan", drawing: "Drawing") -> str:
    """The hash of what the files of a planned figure show, see `digest_of_drawing`."""
    return digest_of_drawing(drawing, _command(asked))
