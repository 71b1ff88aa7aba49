"""Plans: from overrides to the cells that they ask for."""

import itertools
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from experiments.cells import Cell
from experiments.config.compose import Composed, Composer, Keys, resolved
from experiments.config.folders import as_folder, as_published, require_unpublished
from experiments.config.joining import join, policies_that_join
from experiments.config.overrides import PARTS, without
from experiments.config.request import Combination, Planner, Request
from experiments.errors import UserError

COMMAND_KEYS = ("plan", "complete", "redraw", "strict", "accept")  # of the command, not of the experiment



@dataclass(frozen=True)
class Plan:
    """All that one list of overrides asks for.

    Attributes
    ----------
    overrides: as given in the shell; they reproduce the plan.
    composer: the files, of this repository and of the user, that it was composed from.
    composed: the config and the choices that follow from them.
    results: the folder of its results: from the shell, else from the experiment, else `runs` of this repository.
    published: a folder whose results count as stored and which is only read, None to compute everything.
    requests: each cell once, in the order of first mention.
    left_out: a line for each policy that could not join everywhere, with the reasons.
    """

    overrides: tuple[str, ...]
    composer: Composer
    composed: Composed
    results: Path
    published: Path | None
    requests: list[Request]
    left_out: list[str] = field(default_factory=list)

    @property
    def config(self) -> DictConfig:
        return self.composed.config

    @property
    def experiment(self) -> str | None:
        """The name of the experiment, None without one."""
        return self.composed.choices.get("experiment")

    def command(self, module: str, *more: str) -> str:
        """The shell command by which a module of ours gets this plan, without `COMMAND_KEYS`."""
        folders = [word for beside in self.composer.config_dirs for word in ("--config-dir", str(beside))]
        kept = [text for text in without(self.overrides, COMMAND_KEYS) if text not in more]
        return shlex.join(["python", "-m", module, *folders, *kept, *more])


def plan(jobs: Iterable[list[str] | tuple[str, ...]], composer: Composer) -> list[Plan]:
    """The plan of each job, a list of overrides: one cell, or those of `+experiment=...`. Raises `UserError`.

    Overrides have priority over the cells of an experiment: `+experiment=sajed2019/fig01 horizon=1e5`
    is the same figure at a shorter horizon, `policy=dp_se` selects its cells with that policy, and `join=mine`
    adds such cells with another policy.
    """
    parts: dict[tuple[str, str], Any] = {}
    return [_plan(job, composer, parts) for job in jobs]


def attempts(combinations: Iterable[Combination], composer: Composer, extra: Sequence[str]) -> list[Plan | str]:
    """The plan of a cell with each of the `combinations`, or why it is refused; `extra` overrides are those of all.

    Raises `UserError` if the `extra` ones alone are refused.
    """
    parts: dict[tuple[str, str], Any] = {}
    plans: list[Plan | str] = []
    _plan(extra, composer, parts)
    for combination in combinations:
        try:
            plans.append(_plan([*extra, *(f"{key}={value}" for key, value in combination)], composer, parts))
        except UserError as error:
            plans.append(str(error))
    return plans


def _plan(overrides: Sequence[str], composer: Composer, parts: dict[tuple[str, str], Any]) -> Plan:
    """The plan of one job; `parts` are the instances and policies that were built. Raises `UserError`."""
    composed = composer.compose(overrides)
    composer.use_folders(composed.keys)
    try:
        combinations = [()] if composed.keys["cells"] is None else _combinations(composed)
    except UserError as error:
        if "experiment" not in composed.choices or "cells" in composed.given:
            raise
        raise UserError(f"{composer.file_of('experiment', composed.choices['experiment'])}: {error}") from None
    planner = Planner(composed, composer, parts)
    of_experiment = [(one, _request_of_experiment(planner, one)) for one in combinations]
    joined = [join(policy, of_experiment, planner) for policy in policies_that_join(composed.keys)]
    requests = merge([*(request for _, request in of_experiment), *(request for more, _ in joined for request in more)])
    left_out = [line for _, line in joined if line]
    results = as_folder(resolved(composed.keys, "results_dir"), "results_dir")
    name = resolved(composed.keys, "published_dir")
    published = None if name is None else as_published(name)
    require_unpublished((request.cell.seed for request in requests), results)
    return Plan(tuple(overrides), composer, composed, results, published, requests, left_out)


def _request_of_experiment(planner: Planner, combination: Combination) -> Request:
    """The cell of one combination of an experiment's `cells`. Raises `UserError`, which names the file and the item."""
    composed, composer = planner.composed, planner.composer
    try:
        return planner.request(combination)
    except UserError as error:
        message = str(error)
        name = composed.choices.get("experiment")
        key = re.split(r"[=:]", message, maxsplit=1)[0]  # the key that the error names
        if name is None or key in composed.given or key not in dict(combination):
            raise
        items = enumerate(_items_of_cells(composed.keys), start=1)
        place = next(
            (place for place, axes in items if all(value in axes.get(key, ()) for key, value in combination)), 1
        )
        raise UserError(f"{composer.file_of('experiment', name)}: cells: item {place}: {message}") from None


def _combinations(composed: Composed) -> list[Combination]:
    """That of each cell of an experiment: every combination of the values in its `cells`, without given keys."""
    items, given = _items_of_cells(composed.keys), composed.given
    for key, value in given.items():
        if any(value in item.get(key, ()) for item in items):
            items = [item for item in items if value in item.get(key, (value,))]
    combinations: list[Combination] = []
    for item in items:
        axes = [[(key, value) for value in values] for key, values in item.items() if key not in given]
        combinations += itertools.product(*axes)
    return combinations


def _items_of_cells(keys: Keys) -> list[dict[str, list[Any]]]:
    """The `cells` of an experiment: for each item the values of each key. Raises `UserError`."""
    cells = resolved(keys, "cells")
    if not (isinstance(cells, list) and all(isinstance(item, dict) for item in cells)):
        raise UserError(f"cells: must be a list of {{override: value or values}}, got {cells}")
    return [_axes(item, place) for place, item in enumerate(cells, start=1)]


def _axes(item: dict[Any, Any], place: int) -> dict[str, list[Any]]:
    """The values of each key of one item of `cells`. Raises `UserError`."""
    axes = {key: values if isinstance(values, list) else [values] for key, values in item.items()}
    for key, values in axes.items():
        if not isinstance(key, str):
            raise UserError(f"cells: item {place}: {key}: must be a key, as in budget.epsilon")
        if not values:
            raise UserError(f"cells: item {place}: {key}: must be a value or a list of values, got none")
        for value in values:
            if key in PARTS and not isinstance(value, str):
                problem = f"must be the name of a choice, or a list of names, got {value}"
                raise UserError(f"cells: item {place}: {key}: {problem}")
    return axes


def merge(requests: Iterable[Request]) -> list[Request]:
    """Each cell once, with the largest number of replications asked for, in the order of first mention."""
    merged: dict[str, Request] = {}
    of_identity: dict[str, Cell] = {}
    for request in requests:
        earlier = merged.get(request.cell.key)
        if request.cell.own:
            _require_same_class(of_identity.setdefault(request.cell.identity, request.cell), request.cell)
        if earlier is None or earlier.replications < request.replications:
            merged[request.cell.key] = request
    return list(merged.values())


def _require_same_class(one: Cell, other: Cell) -> None:
    """Raise `UserError` if two classes have the same name and parameters, so that their cells have the same key."""
    for here, there in ((one.policy, other.policy), (one.instance, other.instance)):
        if type(here) is not type(there):
            names = " and ".join(f"{type(part).__module__}.{type(part).__qualname__}" for part in (here, there))
            raise UserError(f"{names} are both called {here.name}; give each a `name` of its own")
