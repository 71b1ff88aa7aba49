"""Plans: from overrides to the cells that they ask for.

A policy can join an experiment: `join=mine` adds cells in which it replaces those of the experiment. It gets the
instances, budgets, horizons and recorded checkpoints of the experiment's cells. If cells set parameters of their
policies that it has too, as the accuracy of a stopping rule, it gets these values; its other parameters keep their own.
If there are private policies it replaces only these, as the others have no budget.
"""

import itertools
import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from omegaconf import DictConfig

from bandits import ParameterError
from bandits.learner import Environment, Learner
from experiments.cells import Cell, kind_of
from experiments.config.build import build_resolved
from experiments.config.compose import Composed, Composer, Keys, merged_keys, resolved, with_value
from experiments.config.folders import as_folder, as_published, require_unpublished
from experiments.config.overrides import PARTS, without
from experiments.config.parts import require_possible_budget, require_profile, require_sound
from experiments.errors import UserError, flag, whole_in, whole_of
from experiments.own_code.user_code import blamed

FEW = 3  # reasons that are listed at most
MOST_REPLICATIONS = 10**9  # they are counted in 32 bits
MOST_SEED = 2**62  # a 64-bit column has it
MOST_RECORDED = 10**6  # checkpoints of a curve, each with the pulls of every arm
COMMAND_KEYS = ("plan", "complete", "redraw", "strict", "accept")  # of the command, not of the experiment
CELL_KEYS = ("horizon", "replications", "recorded", "exact", "weighted", "seed")  # keys of a cell beside its parts

Combination = tuple[tuple[str, Any], ...]  # the keys of a config that a cell sets, with their values
Setting = Combination  # what `experiments.advice` calls it


@dataclass(frozen=True)
class Request:
    """A cell, how many replications of it are wanted, and the resolved config that it was built from."""

    cell: Cell
    replications: int
    config: dict[str, Any]


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


def attempts(settings: Iterable[Combination], composer: Composer, extra: Sequence[str]) -> list[Plan | str]:
    """The plan of a cell with each of the `settings`, or why it is refused; `extra` overrides are those of all.

    Raises `UserError` if the `extra` ones alone are refused.
    """
    parts: dict[tuple[str, str], Any] = {}
    plans: list[Plan | str] = []
    _plan(extra, composer, parts)
    for setting in settings:
        try:
            plans.append(_plan([*extra, *(f"{key}={value}" for key, value in setting)], composer, parts))
        except UserError as error:
            plans.append(str(error))
    return plans


def _plan(overrides: Sequence[str], composer: Composer, parts: dict[tuple[str, str], Any]) -> Plan:
    """The plan of one job; `parts` are the instances and policies that were built. Raises `UserError`."""
    composed = composer.compose(overrides)
    composer.use_folders(composed.keys)
    try:
        settings = [()] if composed.keys["cells"] is None else _settings(composed)
    except UserError as error:
        if "experiment" not in composed.choices or "cells" in composed.given:
            raise
        raise UserError(f"{composer.file_of('experiment', composed.choices['experiment'])}: {error}") from None
    planner = _Planner(composed, composer, parts)
    own = [(setting, _request_of_experiment(planner, setting)) for setting in settings]
    joined = [_join(policy, own, planner) for policy in _joining(composed.keys)]
    requests = merge([*(request for _, request in own), *(request for more, _ in joined for request in more)])
    left_out = [line for _, line in joined if line]
    results = as_folder(resolved(composed.keys, "results_dir"), "results_dir")
    name = resolved(composed.keys, "published_dir")
    published = None if name is None else as_published(name)
    require_unpublished((request.cell.seed for request in requests), results)
    return Plan(tuple(overrides), composer, composed, results, published, requests, left_out)


def _request_of_experiment(planner: "_Planner", setting: Combination) -> Request:
    """The cell of one combination of an experiment's `cells`. Raises `UserError`, which names the file and the item."""
    composed, composer = planner.composed, planner.composer
    try:
        return planner.request(setting)
    except UserError as error:
        message = str(error)
        name = composed.choices.get("experiment")
        key = re.split(r"[=:]", message, maxsplit=1)[0]  # the key that the error names
        if name is None or key in composed.given or key not in dict(setting):
            raise
        items = enumerate(_items_of_cells(composed.keys), start=1)
        place = next((place for place, axes in items if all(value in axes.get(key, ()) for key, value in setting)), 1)
        raise UserError(f"{composer.file_of('experiment', name)}: cells: item {place}: {message}") from None


def _settings(composed: Composed) -> list[Combination]:
    """The setting of each cell of an experiment: every combination of the values in its `cells`, without given keys."""
    items, given = _items_of_cells(composed.keys), composed.given
    for key, value in given.items():
        if any(value in item.get(key, ()) for item in items):
            items = [item for item in items if value in item.get(key, (value,))]
    settings: list[Combination] = []
    for item in items:
        axes = [[(key, value) for value in values] for key, values in item.items() if key not in given]
        settings += itertools.product(*axes)
    return settings


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


class _Planner:
    """Makes cells of a config from their settings; an instance or policy with the same parameters is built once."""

    def __init__(self, composed: Composed, composer: Composer, parts: dict[tuple[str, str], Any]) -> None:
        self.composed, self.composer, self.parts = composed, composer, parts
        self._chosen: dict[Combination, tuple[Composed, dict[str, Path]]] = {}

    def request(self, setting: Combination) -> Request:
        """The cell of one combination of values. Raises `UserError`."""
        chosen, files = self._choose(tuple(pair for pair in setting if pair[0] in PARTS))
        keys = chosen.keys
        for key, value in setting:
            if key not in PARTS:
                keys = with_value(keys, key, value)
        config = {group: resolved(keys, group, f" ({group} {files[group]})") for group in ("instance", "policy")}
        config |= {key: resolved(keys, key) for key in ("budget", *CELL_KEYS)}
        instance: Environment = self._part(keys, "instance", config["instance"], files, Environment)
        policy: Learner[Any] = self._part(keys, "policy", config["policy"], files, Learner)
        with blamed(f"{files['policy']} on {files['instance']}"):
            require_possible_budget(config["budget"], policy)
            require_profile({**dict(setting), **self.composed.given}, instance)
            cell = _cell(config, instance, policy)
            if cell.own:
                json.dumps([cell.key, cell.columns, cell.caveats])  # so that errors in these are raised now
        replications = whole_in(config, "replications", 1, MOST_REPLICATIONS) if cell.repeatable else 1
        return Request(cell, replications, {key: config[key] for key in ("instance", "policy", "budget", "horizon")})

    def _choose(self, choices: Combination) -> tuple[Composed, dict[str, Path]]:
        """The config with some choices, and the files of its parts."""
        if choices not in self._chosen:
            chosen = self.composer.choose(self.composed, dict(choices))
            files = {group: self.composer.file_of(group, chosen.choices[group]) for group in PARTS}
            self._chosen[choices] = chosen, files
        return self._chosen[choices]

    def _part(self, keys: Keys, group: str, given: Keys, files: Mapping[str, Path], kind: type[Any]) -> Any:
        """The instance or policy with the keys and values `given`, which is checked when it is built."""
        content = (group, repr(given))
        if content not in self.parts:
            part = build_resolved(keys, group, given, files, kind)
            with blamed(str(files[group])):
                require_sound(part, group, files[group])
            self.parts[content] = part
        return self.parts[content]


def _cell(config: Mapping[Any, Any], instance: Environment, policy: Learner[Any]) -> Cell:
    """The cell of an instance and a policy. Raises `UserError`."""
    horizon, recorded = whole_of(config, "horizon"), whole_in(config, "recorded", 1, MOST_RECORDED)
    whole_in(config, "replications", 1, MOST_REPLICATIONS)
    seed = whole_in(config, "seed", 0, MOST_SEED)
    try:
        kind = kind_of(instance, policy, flag(config, "exact"), flag(config, "weighted"))
        return kind(instance, policy, horizon, recorded, seed if kind.repeatable else 0)
    except ParameterError as error:
        raise UserError(str(error)) from None


@dataclass(frozen=True)
class JoiningPolicy:
    """A policy that joins an experiment.

    Attributes
    ----------
    composed: the experiment's config with this policy.
    parameters: the parameters in the file of the policy.
    takes_delta: whether that file refers to budget.delta; if not, its cells have no delta.
    """

    composed: Composed
    parameters: frozenset[str]
    takes_delta: bool

    @classmethod
    def joining(cls, policy: str, composed: Composed, composer: Composer) -> Self:
        """`policy`, as it joins the experiment `composed`. Raises `UserError`."""
        node, own_values = composer.node("policy", policy), composer.node("policy", composed.choices["policy"])
        now = composed.keys["policy"]
        set_there = {key: value for key, value in now.items() if key not in own_values or own_values[key] != value}
        shared = {key: value for key, value in set_there.items() if key in node and key != "_target_"}
        keys, choices = {**composed.keys, "policy": merged_keys(node, shared)}, {**composed.choices, "policy": policy}
        parameters = frozenset(key for key in node if key != "_target_")
        made = cls(Composed(keys, choices), parameters, "budget.delta" in str(node))
        given = {key: value for key, value in composed.given.items() if made.takes(key)}
        return replace(made, composed=Composed(keys, choices, given))

    def takes(self, key: str) -> bool:
        """Whether a key that cells set for the experiment's own policies applies to this policy too."""
        group, _, name = key.partition(".")
        return group != "policy" or name.partition(".")[0] in self.parameters

    def settings(self, settings: list[Combination]) -> list[Combination]:
        """The settings of its cells, each once, from the `settings` of the experiment's cells."""
        without = () if self.takes_delta else (("budget.delta", None),)
        kept = [(*((key, value) for key, value in pairs if self.takes(key)), *without) for pairs in settings]
        return list({str(setting): setting for setting in kept}.values())


def _joining(keys: Keys) -> list[str]:
    """The policies that join. Raises `UserError`."""
    given = resolved(keys, "join")
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, list) or not all(isinstance(name, str) and name for name in listed):
        raise UserError(f"join: must be a policy or a list of policies, got {given}")
    return list(dict.fromkeys(listed))


def _join(policy: str, own: list[tuple[Combination, Request]], planner: "_Planner") -> tuple[list[Request], str]:
    """The requests of a policy that joins, and a line about where it could not join; empty if it joins everywhere.

    They are made from those of the experiment's `own` cells. A private policy replaces private policies only, if there
    are any; a policy without privacy replaces all of them. Raises `UserError` if no cell is valid.
    """
    where = planner.composed.choices.get("experiment", "this cell")
    if not own:
        raise UserError(f"join: {where} has no cells that {policy} could join")
    joining = JoiningPolicy.joining(policy, planner.composed, planner.composer)
    its_planner = _Planner(joining.composed, planner.composer, planner.parts)
    private = [setting for setting, request in own if request.cell.policy.guarantee.private]
    requests, refused = _valid_requests(its_planner, joining.settings(private or [setting for setting, _ in own]))
    if private and requests and not requests[0].cell.policy.guarantee.private:
        requests, refused = _valid_requests(its_planner, joining.settings([setting for setting, _ in own]))
    reasons = "; ".join(list(dict.fromkeys(refused))[:FEW])
    if not requests:
        raise UserError(f"join: {policy} cannot join any cell of {where}: {reasons}")
    return requests, f"{policy} joins {where}, but not everywhere: {reasons}" if reasons else ""


def _valid_requests(planner: "_Planner", settings: list[Combination]) -> tuple[list[Request], list[str]]:
    """The requests for the `settings` that are valid, and the errors of the others."""
    requests, refused = [], []
    for setting in settings:
        try:
            request = planner.request(setting)
        except UserError as error:
            refused.append(str(error))
            continue
        guarantee = request.cell.policy.guarantee
        if guarantee.epsilon == guarantee.delta == 0:  # nothing can be learned, and noise scales divide by 0
            refused.append(
                f"budget.epsilon: must be above 0 for {request.cell.policy.name}, which takes no delta, got 0"
            )
        else:
            requests.append(request)
    return requests, refused


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
