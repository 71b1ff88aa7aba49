"""The figure of a planned experiment: describe it, and draw it."""

import shlex
from typing import TYPE_CHECKING, Any

from experiments.config.compose import Composed, Composer, resolved
from experiments.config.folders import folder
from experiments.config.overrides import without
from experiments.errors import UserError
from scripts.drawing.output import KEYS, Output, read_output

if TYPE_CHECKING:
    from experiments.config.plan import Plan
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
    figure = resolved(composed.keys, "figure")
    if figure is None:
        return None
    if not isinstance(figure, dict):
        raise UserError(f"figure: must be a mapping with title, kind, ..., got {figure}")
    return {key: value for key, value in figure.items() if key not in KEYS}


def output_of(plan: "Plan") -> Output:
    """How the figure of a planned experiment is written. Raises `UserError`."""
    figure = resolved(plan.composed.keys, "figure")
    return read_output(figure if isinstance(figure, dict) else {}, plan.composer.config_dirs)


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
    else:
        message = f"{file}: figure: {type(error).__name__}: {error}"
    return " ".join(message.split())


def draw(plan: "Plan", drawing: "Drawing", output: Output) -> list[str]:
    """Write the files of the figure of a planned experiment; returns their paths. Raises `UserError`."""
    from scripts.drawing.render import save

    figures = folder(plan.config, "figures_dir")
    try:
        return save(drawing, figures / figure_name(plan), drawing_command(plan), output)
    except OSError as error:
        raise UserError(f"figures_dir={figures}: cannot be written: {error.strerror}") from error


def drawing_command(plan: "Plan") -> str:
    """The command that draws this figure alone, for its files, which are the same wherever folders of a user lie."""
    from experiments.config.plan import COMMAND_KEYS

    needless = (*COMMAND_KEYS, "runner")  # a figure is the same with any number of processes
    return shlex.join(["python", "-m", "scripts.figures", *without(plan.overrides, needless)])
