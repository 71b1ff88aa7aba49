"""Collect what the page shows: the cells of experiments and of folders of results, their numbers, and all verdicts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.cells import Cell
from experiments.claims import Results, written
from experiments.config.command_line import CommandLine
from experiments.config.folders import folder, published_folder
from experiments.config.overrides import named_experiment
from experiments.config.papers import colours
from experiments.config.plan import plan
from experiments.errors import UserError
from experiments.evidence.contests import error_of_each
from experiments.progress import Progress
from experiments.store import Store
from experiments.store.place import Place, trusted_rows
from experiments.store.rebuilt import Known, cell_of
from experiments.store.stored import Replications, Stored
from scripts.drawing.legend import colours_of
from scripts.exhibits.collect import jobs_on_page
from scripts.exhibits.exhibit import of_claims
from scripts.explore.about import About, about_cell
from scripts.explore.asked import Asked, asked_by
from scripts.explore.judged import Judged, all_judged
from scripts.explore.summaries import Summary, summary

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
    colours: of policies, by `About.colour`.
    """

    cells: list[tuple[About, Summary]]
    experiments: list[Asked]
    judged: Judged
    missing: int
    outdated: int
    colours: dict[str, str]


def collected(command: CommandLine) -> Collection:
    """Everything that is stored and judged, or what the experiments that are named have of it. Raises `UserError`."""
    jobs = jobs_on_page(command)
    named = all(map(named_experiment, command.jobs))
    on_page = {name.partition("/")[0] for name in jobs} if named else None
    with Progress("planning", {"experiments": len(jobs)}) as progress:
        planned = plan((progress.after(job, experiments=1) for job in jobs.values()), command.composer)
    plans = dict(zip(jobs, planned, strict=True))
    joined = any(one.composed.keys["join"] for one in planned)  # no claim is about policies that join
    of_results = {} if joined else dict(plans)  # a copy, as claims add the plans of other experiments
    results = Results(command.composer, of_claims(command.jobs[0]), written.read_verdicts(), plans=of_results)
    verdicts = all_judged(results, on_page)
    with Progress("reading experiments", {"experiments": len(plans)}) as progress:
        experiments = [progress.after(asked_by(one, name), experiments=1) for name, one in plans.items()]
    return _with_numbers(command, experiments, verdicts, only_asked=named)


def _with_numbers(command: CommandLine, experiments: Sequence[Asked], verdicts: Judged, only_asked: bool) -> Collection:
    """The summaries of the cells that are stored."""
    wanted = {cell.key: cell for experiment in experiments for cell in experiment.cells}
    quantities = _quantities(experiments)
    store = Store(folder(command.config, "results_dir"), published_folder(command.config))
    places = [place for place, _ in store.look().sound() if place.key in wanted or not only_asked]
    error = error_of_each(max(1, len(places)))
    cells: list[tuple[About, Summary]] = []
    policies = []
    outdated = 0
    with Progress("reading results", {"cells": len(places)}) as progress:
        for place in places:
            contents = trusted_rows(progress.after(place, cells=1))
            try:
                cell = wanted.get(place.key) or _cell(place, contents)
            except UserError:
                outdated += 1
                continue
            policies.append(cell.policy)
            stored = Stored(contents.rows, contents.footer, cell, weighted=store.weighted(cell))
            cells.append((about_cell(cell), summary(stored, error, tuple(quantities.get(cell.identity, ())))))
    keys = {described.key for described, _ in cells}
    kept = [
        replace(experiment, cells=[cell for cell in experiment.cells if cell.key in keys]) for experiment in experiments
    ]
    missing = len(wanted.keys() - keys)
    cells.sort(key=_order)
    assigned = colours_of(policies, colours(command.config_dirs))
    return Collection(
        cells, [experiment for experiment in kept if experiment.cells], verdicts, missing, outdated, assigned
    )


def _order(pair: tuple[About, Summary]) -> tuple[Any, ...]:
    """By instance, policy, budget and horizon."""
    cell, _ = pair
    size = (cell.columns["arms"], cell.instance)
    epsilon = math.inf if cell.columns["epsilon"] is None else cell.columns["epsilon"]
    return (
        cell.columns["instance"],
        *size,
        cell.legend,
        epsilon,
        cell.columns["delta"],
        cell.columns["horizon"],
        cell.key,
    )


def _quantities(experiments: Sequence[Asked]) -> dict[str, dict[str, None]]:
    """The quantities besides the headline that figures show of a cell, by its identity, and the wrong arms of all."""
    shown: dict[str, dict[str, None]] = {}
    for experiment in experiments:
        for cell in experiment.cells:
            more = shown.setdefault(cell.identity, {})
            wanted = {experiment.value: None} if experiment.value else {}
            if cell.record in COUNTED:
                wanted |= dict.fromkeys(cell.quantities)
            more |= {name: None for name in wanted if name != cell.headline and name in cell.quantities}
    return shown


def _cell(place: Place, contents: Replications) -> Cell:
    """A cell that no experiment asks for, built from its footer. Raises `UserError` if the code makes another now."""
    return cell_of(place.key, Known.of_stored(place.file, contents))
