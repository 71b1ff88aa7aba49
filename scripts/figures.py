"""Draw the figures of experiments from stored results alone.

    python -m scripts.figures +experiment=sajed2019/fig03
    python -m scripts.figures -m +experiment=sajed2019/fig01,sajed2019/fig02

An experiment's `figure` says what to draw:

    kind: curves (the default): regret against time
        title: above the figure
        band: sd, quarter_sd, ci95 or quantiles (5 % to 95 %), the shading around the mean; runs: every run
        panels: a list of {title: ..., column: value or values}, the cells each panel shows
        scales: rows of panels, linear or log; both by default
    kind: sweep: a number of each run against a parameter
        title, panels as above; x: a column
        value: regret (the default, at the horizon) or another of experiments/quantities.py
        scales: [log, log], those of x and y, linear or log
        curves: columns that tell curves of one policy apart
        overlays: bounds of scripts/overlays.py
        slopes: a list of {panel, policy, between: [low, high]}
    kind: distribution: how the final regret of runs is spread, see scripts/distribution.py
        title, panels as above; value: as in a sweep; shows: box or ecdf; scale: linear or log
    kind: cdfs: laws of perturbed values, see scripts/cdfs.py
        title, law, epsilon, delta; panels: a list of {title, count, total, mirrored}
    kind: rates: pulls of the suboptimal arm against its gap, see scripts/rates.py
        title: above the figure
"""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import joblib
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from omegaconf import DictConfig, OmegaConf

from experiments.config.command_line import exit_on_user_error, read_command_line
from experiments.config.compose import Composed, Composer
from experiments.errors import UserError, nearest
from experiments.frames import stored_cells
from experiments.store import Store
from scripts.drawing import curves, distribution, rates, style
from scripts.drawing import laws as cdfs
from scripts.drawing import sweep as sweeps

KINDS: dict[str, Callable[..., Figure]] = {
    "cdfs": cdfs.draw,
    "curves": curves.draw,
    "distribution": distribution.draw,
    "rates": rates.draw,
    "sweep": sweeps.draw,
}


def figure_of(overrides: Sequence[str], composer: Composer) -> tuple[str, DictConfig, Figure | None]:
    """Name, config and figure of one experiment, None where it has no figure. Raises `UserError`."""
    composed = composer.compose(overrides)
    name = composed.choices.get("experiment")
    if name is None:
        raise UserError("which figure? give +experiment=NAME, as in +experiment=sajed2019/fig01")
    if composed.config.figure is None:
        return name, composed.config, None
    cells = stored_cells(overrides, Store(Path(composed.config.results_dir)), composer)
    kind, config = read_figure(composed)
    return name, composed.config, KINDS[kind](config, cells)


def draw_experiment(overrides: Sequence[str], config_dirs: Sequence[Path]) -> str:
    """Draw the figure of one experiment; what to tell of it. Raises `UserError`."""
    name, config, figure = figure_of(overrides, Composer(config_dirs))
    if figure is None:
        return f"{name}: has no figure"
    command = shlex.join(["python", "-m", "scripts.figures", *overrides])
    try:
        return " ".join(style.save(figure, Path(config.figures_dir) / name, command))
    except OSError as error:
        raise UserError(f"figures_dir={config.figures_dir}: cannot be written: {error.strerror}") from error
    finally:
        plt.close(figure)


def read_figure(composed: Composed) -> tuple[str, dict[str, Any]]:
    """The kind of an experiment's figure, and what else its config says of it. Raises `UserError`."""
    config = cast(dict[str, Any], OmegaConf.to_container(composed.config.figure, resolve=True))
    kind = config.pop("kind", "curves")
    if kind not in KINDS:
        raise UserError(f"figure.kind: {kind} is unknown; {nearest(str(kind), KINDS)}")
    return kind, config


def main() -> None:
    """Entry point of `python -m scripts.figures`."""
    command = read_command_line()
    if not command.jobs:
        return
    workers = 1 if len(command.jobs) == 1 else command.workers
    drawn = joblib.Parallel(n_jobs=workers, return_as="generator")(
        joblib.delayed(draw_experiment)(overrides, command.config_dirs) for overrides in command.jobs
    )
    for told in drawn:
        print(told, flush=True)


if __name__ == "__main__":
    exit_on_user_error(main)
