"""Collect what the page shows: the cells of experiments and of folders of results, their numbers, and all verdicts."""

import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from experiments.cells import Cell
from experiments.config.command_line import CommandLine, named_experiment
from experiments.config.papers import colours
from experiments.config.plan import folder, published_folder
from experiments.config.progress import Progress
from experiments.contests import error_of_each
from experiments.errors import UserError
from experiments.own_code.fan_out import delayed, results
from experiments.store import Store
from experiments.store.place import Place, read_each
from experiments.store.rebuilt import Known, cell_of
from experiments.store.stored import Replications, Stored
from scripts.drawing.style import colours_of
from scripts.explore.about import About, about
from scripts.explore.asked import Asked, asked_by
from scripts.explore.judged import Judged, judged
from scripts.explore.summaries import Summary, summary
from scripts.report.collect import jobs_of
from scripts.report.exhibits import of_claims

COUNTED = ("identification", "stopping")  # records whose shares of runs are shown beside the headline


@dataclass(frozen=True)
class Collection:
    """All that the page shows.

    Attributes
    ----------
    cells: with their summaries, in order of instance, policy, budget and horizon.
    experiments: with those of their cells that are stored.
    missing: how many cells the experiments ask for that are not stored.
    outdated: how many stored cells are left out, as the code now makes other cells of them.
    error: probability with which each interval of a contest may miss, so that all hold together.
    colours: of policies, by `About.colour`.
    """

    cells: list[tuple[About, Summary]]
    experiments: list[Asked]
    judged: Judged
    missing: int
    outdated: int
    error: float
    colours: dict[str, str]


def collected(command: CommandLine) -> Collection:
    """Everything that is stored and judged, or what the experiments that are named have of it. Raises `UserError`."""
    jobs = jobs_of(command)
    overrides = of_claims(command.jobs[0])
    named = all(map(named_experiment, command.jobs))
    on_page = {name.partition("/")[0] for name in jobs} if named else None
    tasks = [delayed(judged)(command.config_dirs, overrides, on_page)]
    tasks += [delayed(asked_by)(job, command.config_dirs) for job in jobs.values()]
    of_name: dict[str, Asked] = {}
    verdicts = Judged([], [], [])
    with (
        Progress("reading experiments and claims", {"parts": len(tasks)}) as progress,
        closing(results(tasks, command.workers, batch_size=1, return_as="generator_unordered")) as found,
    ):
        for item in found:
            progress.after(item, parts=1)
            if isinstance(item, Judged):
                verdicts = item
            else:
                of_name[item.name] = item
    experiments = [of_name[name] for name in jobs]
    return _with_numbers(command, experiments, verdicts, only_asked=named)


def _with_numbers(command: CommandLine, experiments: Sequence[Asked], verdicts: Judged, only_asked: bool) -> Collection:
    """The summaries of the cells that are stored."""
    asked = {cell.key: cell for of in experiments for cell in of.cells}
    quantities = _quantities(experiments)
    store = Store(folder(command.config, "results_dir"), published_folder(command.config))
    places = [place for place in store.index().sound().places if place.key in asked or not only_asked]
    error = error_of_each(max(1, len(places)))
    cells: list[tuple[About, Summary]] = []
    policies = []
    outdated = 0
    with Progress("reading results", {"cells": len(places)}) as progress:
        for place, contents in zip(places, read_each(places), strict=True):
            progress.after(place, cells=1)
            try:
                cell = asked.get(place.key) or _cell(place, contents)
            except UserError:
                outdated += 1
                continue
            policies.append(cell.policy)
            stored = Stored(contents.rows, contents.footer, cell, weighted=store.weighted(cell))
            cells.append((about(cell), summary(stored, error, tuple(quantities.get(cell.identity, ())))))
    keys = {of.key for of, _ in cells}
    kept = [replace(of, cells=[cell for cell in of.cells if cell.key in keys]) for of in experiments]
    missing = len(asked.keys() - keys)
    cells.sort(key=_order)
    found = colours_of(policies, colours(command.config_dirs))
    return Collection(cells, [of for of in kept if of.cells], verdicts, missing, outdated, error, found)


def _order(cell: tuple[About, Summary]) -> tuple[Any, ...]:
    """By instance, policy, budget and horizon."""
    of, _ = cell
    size = (of.columns["arms"], of.instance)
    epsilon = math.inf if of.columns["epsilon"] is None else of.columns["epsilon"]
    return of.columns["instance"], *size, of.legend, epsilon, of.columns["delta"], of.columns["horizon"], of.key


def _quantities(experiments: Sequence[Asked]) -> dict[str, dict[str, None]]:
    """The quantities besides the headline that figures show of a cell, by its identity, and the wrong arms of all."""
    found: dict[str, dict[str, None]] = {}
    for of in experiments:
        for cell in of.cells:
            more = found.setdefault(cell.identity, {})
            wanted = {of.value: None} if of.value else {}
            if cell.record in COUNTED:
                wanted |= dict.fromkeys(cell.quantities)
            more |= {name: None for name in wanted if name != cell.headline and name in cell.quantities}
    return found


def _cell(place: Place, contents: Replications) -> Cell:
    """A cell that no experiment asks for, built from its footer. Raises `UserError` if the code makes another now."""
    return cell_of(place.key, Known.of_stored(place.file, contents))
