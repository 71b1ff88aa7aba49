"""Draw the figures of experiments from stored results, but only those that look different from when they were drawn.

    python -m scripts.figures +experiment=sajed2019/fig03
    python -m scripts.figures -m +experiment=sajed2019/fig01,sajed2019/fig02
    python -m scripts.figures                              # every experiment
    python -m scripts.figures complete=true                # first simulate missing cells, as `make figures` does

The key `figure` of an experiment says what to draw; its `kind` is a module of scripts/drawing/kinds/, whose docstring
lists the keys. What only a figure needs that is out of date, as the store and the renderer, is imported in functions.

For a paper of yours:

- `figure.width` is `column` or `text` of the style, or a number of inches. Where panels would be narrower than 1.5
  inches a row of them is broken. The legend becomes a grid: a policy a row, a budget a column, what all have in common
  once.
- `figure.format`: `pdf`, `png`, `svg`, and `pgf`, which takes the fonts of the document; it needs `pdflatex` and its
  package `pgf` while it is written.
- `figure.style=NAME` is a file of conf/style/, or `style/NAME.yaml` in your own folder: two widths in
  inches, and `settings` of matplotlib by their names. Without it a figure with a width has `icml`.
- `figure.title=null` draws neither title nor caption, for a figure whose caption stands in the paper; metadata of the
  file have the picture in words instead.

Any other key of `figure` can be set in the same way, as `figure.scales=[log]`. Without these keys a figure is as it is
published.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from experiments.config.command_line import CommandLine, exit_on_user_error, read_command_line
from experiments.config.folders import folder
from experiments.config.overrides import named_experiment
from experiments.errors import UserError, flag
from scripts.drawing.figure import drawing_of_plan, figure_name, output_of, why
from scripts.drawing.fresh import (
    CommandInputs,
    Drawn,
    FigureCache,
    code_of_plans,
    digest_of_plan,
    draw_if_changed,
    overrides_as_text,
    own_files_of,
)

if TYPE_CHECKING:
    from experiments.config.plan import Plan

LISTS = ("figure.format",)  # keys whose values with commas are one list


@dataclass(frozen=True)
class Made:
    """The result of one job.

    Attributes
    ----------
    figure: whether it has a figure.
    results: the folders from which its cells are read.
    files: the user's files that its figure depends on.
    lacks: whether nothing was drawn because cells are missing or cannot be read.
    drawn: its figure, once it is described.
    paths: the files written; none if the figure is up to date.
    problem: why it could not be drawn.
    """

    name: str
    figure: bool
    results: list[str]
    files: list[str]
    lacks: bool = False
    drawn: Drawn | None = None
    paths: list[str] = field(default_factory=list)
    problem: UserError | None = None


def _figure_of_job(planned: "Plan", cache: FigureCache, again: bool, may_lack: bool) -> Made:
    """Find the cells of a job, and draw its figure unless the `cache` has it from the same inputs, or `again`.

    If it `may_lack` cells, missing or damaged ones set `lacks` in the result; else missing ones raise `UserError`.
    """
    from experiments.store import Store, places_of_plan, read_cells

    results = [str(place) for place in Store.of(planned).folders()]
    files = [str(file) for file in own_files_of(planned)]
    made = Made(figure_name(planned), planned.composed.keys["figure"] is not None, results, files)
    try:
        places = places_of_plan(planned) if made.figure or may_lack else []
    except UserError:
        if may_lack:
            return replace(made, lacks=True)
        raise
    if not made.figure:
        return made
    inputs = digest_of_plan(planned, places)
    if not again and (same := cache.made_from(made.name, inputs)):
        return replace(made, drawn=same)
    try:
        stored = read_cells(planned, places)
    except UserError as damage:
        return replace(made, lacks=True) if may_lack else replace(made, problem=damage)
    try:
        drawing = drawing_of_plan(planned, stored)
        assert drawing is not None
        drawn, paths = draw_if_changed(planned, inputs, drawing, output_of(planned), cache, again)
    except Exception as error:  # any error of a user's bound or label: the other figures are still drawn
        return replace(made, problem=UserError(why(error, planned.composed, planned.composer)))
    return replace(made, drawn=drawn, paths=paths)


def make_all(command: CommandLine, cache: FigureCache) -> CommandInputs:
    """Draw the figures that are not up to date, and print a line for each; returns what the command depends on.

    Exits with code 2 if some figure cannot be drawn, after all others are drawn. Raises `UserError`, without those that
    follow, for the first figure whose cells are not stored and are not to be completed.
    """
    again, complete_first = flag(command.config, "redraw"), flag(command.config, "complete")
    plans = command.plans()
    made = _each(plans, command.workers, cache, again, may_lack=complete_first)
    if lacking := [planned for planned, outcome in zip(plans, made, strict=True) if outcome.lacks]:
        _complete(lacking)
        completed = iter(_each(lacking, command.workers, cache, again, may_lack=False))
        made = [next(completed) if outcome.lacks else outcome for outcome in made]
    if fresh := [outcome.name for outcome in made if outcome.figure and not (outcome.paths or outcome.problem)]:
        print(_skipped(fresh, cache.folder))
    if any(outcome.problem for outcome in made):
        sys.exit(2)
    results, own = ({name for outcome in made for name in getattr(outcome, what)} for what in ("results", "files"))
    files = [*sorted(own), *map(str, code_of_plans(plans))]
    return CommandInputs([outcome.name for outcome in made if outcome.figure], sorted(results), files)


def _each(plans: Sequence["Plan"], workers: int, cache: FigureCache, again: bool, may_lack: bool) -> list[Made]:
    """Make the figure of each plan, and print its result as soon as it is there. Raises `UserError`."""
    from experiments.own_code.fan_out import delayed, in_parallel

    workers = 1 if len(plans) == 1 else workers
    before = replace(cache, figures=dict(cache.figures))  # `cache` changes meanwhile
    calls = [delayed(_figure_of_job)(planned, before, again, may_lack) for planned in plans]
    made = []
    with closing(in_parallel(calls, workers, batch_size=1)) as jobs:
        for outcome in jobs:
            _say(outcome)
            if outcome.drawn:
                cache.figures[outcome.name] = outcome.drawn
            made.append(outcome)
    return made


def _say(made: Made) -> None:
    """Print the result of a job, unless cells are still missing."""
    if made.lacks:
        return
    if made.problem:
        print(f"error: {made.problem}", file=sys.stderr, flush=True)
    elif made.paths:
        print(" ".join(made.paths), flush=True)
    elif not made.figure:
        print(f"{made.name}: has no figure")


def _complete(plans: Sequence["Plan"]) -> None:
    """Simulate the missing cells of plans, and print how many."""
    from experiments.simulate.complete import complete, runner_of

    print(complete(plans, runner_of(plans)), flush=True)


def _skipped(names: Sequence[str], folder: Path) -> str:
    figures = "1 figure is" if len(names) == 1 else f"{len(names)} figures are"
    return f"{figures} in {folder} as they would be drawn now, and skipped (redraw=true draws all): {', '.join(names)}"


def main() -> None:
    """Entry point of `python -m scripts.figures`."""
    command = read_command_line(lists=LISTS)
    if not command.jobs:
        return
    command = command.of_experiments()
    _require_once(command)
    config: DictConfig = command.config
    cache = FigureCache.read(folder(config, "figures_dir"))
    request = overrides_as_text(command.jobs)
    names = None if flag(config, "redraw") else cache.figures_if_unchanged(request, command.config_dirs)
    if names is not None:
        print(_skipped(names, cache.folder))
        return
    try:
        cache.remember(request, make_all(command, cache), command.config_dirs)
    finally:
        cache.keep()


def _require_once(command: CommandLine) -> None:
    """Raise `UserError` if several jobs name the same experiment: their figures would overwrite each other."""
    for name, times in Counter(map(named_experiment, command.jobs)).items():
        if times > 1 and name is not None:
            raise UserError(f"+experiment={name}: asked for {times} times; draw each with a figures_dir of its own")


if __name__ == "__main__":
    exit_on_user_error(main)
