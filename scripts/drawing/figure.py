"""The figure of a planned experiment: describe it, draw it, and say what its files depend on."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from experiments.config.compose import Composed, Composer
from experiments.errors import UserError
from scripts.drawing.fresh import code, describing_files, digest_of_drawing, digest_of_inputs, own_files, renderer
from scripts.drawing.output import Output
from scripts.drawing.styles import KEYS, read_output

if TYPE_CHECKING:
    from experiments.config.plan import Plan
    from experiments.store.place import Place
    from experiments.store.stored import Cells
    from scripts.drawing.drawing import Drawing

KEYS_OF_FIGURES = ("figure", "printed")


def figure_name(plan: "Plan") -> str:
    """The name of the experiment of a plan. Raises `UserError` if it has none."""
    if plan.experiment is None:
        raise UserError("which figure? give +experiment=NAME, as in +experiment=sajed2019/fig01")
    return plan.experiment


def figure_of(composed: Composed) -> dict[str, Any] | None:
    """What the `figure` of a config draws, None if it has none, without the keys of `Output`.

    Raises `UserError` if it is not a mapping.
    """
    figure = composed.config.figure
    if figure is None:
        return None
    if not isinstance(figure, DictConfig):
        raise UserError(f"figure: must be a mapping with title, kind, ..., got {figure}")
    return {key: value for key, value in plain_node(figure).items() if key not in KEYS}


def output_of(plan: "Plan") -> Output:
    """How the figure of a planned experiment is written. Raises `UserError`."""
    figure = plan.config.figure
    return read_output(plain_node(figure) if isinstance(figure, DictConfig) else {}, plan.composer.config_dirs)


def plain_node(node: Any) -> dict[str, Any]:
    """A node of a config as plain values."""
    values: dict[str, Any] = OmegaConf.to_container(node, resolve=True)  # type: ignore[assignment]
    return values


def drawing_of_plan(plan: "Plan", cells: "Cells") -> "Drawing | None":
    """The drawing of the figure of a planned experiment, None if it has no figure. Raises `UserError`."""
    from experiments.config.papers import colours
    from scripts.drawing import kinds

    figure = figure_of(plan.composed)
    return None if figure is None else kinds.describe(figure, cells, colours(plan.composer.config_dirs))


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


def draw(plan: "Plan", drawing: "Drawing") -> list[str]:
    """Write the files of the figure of a planned experiment; returns their paths. Raises `UserError`."""
    from scripts.drawing.render import save

    folder = Path(plan.config.figures_dir)
    try:
        return save(drawing, folder / figure_name(plan), _command(plan), output_of(plan))
    except OSError as error:
        raise UserError(f"figures_dir={folder}: cannot be written: {error.strerror}") from error


def _command(plan: "Plan") -> str:
    """The command that draws this figure alone, without overrides that concern only how a command runs."""
    from experiments.config.plan import COMMAND_KEYS

    kept = [text for text in plan.overrides if text.partition("=")[0] not in COMMAND_KEYS]
    return shlex.join(["python", "-m", "scripts.figures", *kept])


def _content(plan: "Plan") -> dict[str, Any]:
    """The `figure` of a config for its hash; its plain text if it is not valid."""
    try:
        return figure_of(plan.composed) or {}
    except (UserError, OmegaConfBaseException):  # drawing it will raise the error
        return {"figure": str(plan.config.figure)}


def _written(plan: "Plan") -> str:
    """How a figure is written, for its hash; the error if its keys are not valid."""
    try:
        return str(output_of(plan))
    except (UserError, OmegaConfBaseException) as error:  # drawing it will raise the error
        return str(error)


def own_files_of(plan: "Plan") -> list[Path]:
    """The user's files that a planned figure depends on."""
    return own_files(_content(plan), [request.cell for request in plan.requests])


def inputs_digest(plan: "Plan", places: Sequence["Place"]) -> str:
    """The hash of the inputs of a planned figure, see `digest_of_inputs`."""
    from experiments.config.papers import colours

    figure, cells = _content(plan), [request.cell for request in plan.requests]
    keys = [f"{request.cell.key} {request.replications}" for request in plan.requests]
    how = [_command(plan), _written(plan), renderer()]
    more = [*how, colours(plan.composer.config_dirs), code(describing_files(figure, cells))]
    return digest_of_inputs(figure, keys, places, more, own_files_of(plan))


def drawing_digest(plan: "Plan", drawing: "Drawing") -> str:
    """The hash of what the files of a planned figure show, see `digest_of_drawing`."""
    return digest_of_drawing(drawing, f"{_command(plan)} {_written(plan)}")
