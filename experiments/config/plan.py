"""Plans: from overrides to the cells that they ask for."""

import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bandits import Guarantee, ParameterError
from bandits.learner import Environment, Learner
from experiments.cells import Cell, kind_of
from experiments.config.build import build_resolved
from experiments.config.compose import REPOSITORY, Composed, Composer
from experiments.config.joining import JoiningPolicy, Setting, names
from experiments.config.overrides import PARTS, parsed
from experiments.config.shared import OF_CELLS, SharedConfig
from experiments.config.values import flag, shown, whole_number
from experiments.errors import UserError
from experiments.own_code.user_code import blamed, in_words, is_own, require_own_name

PUBLISHED = REPOSITORY / "results"  # a copy of the repository may lack it
FEW = 3  # reasons that are listed at most
MOST_REPLICATIONS = 10**9  # they are counted in 32 bits
MOST_RECORDED = 10**6  # checkpoints of a curve, each with the pulls of every arm


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


def plan(overrides: Sequence[str], composer: Composer) -> Plan:
    """The plan of `overrides`: one cell, or those of `+experiment=...`. Raises `UserError`.

    Overrides have priority over the cells of an experiment: `+experiment=sajed2019/fig01 horizon=1e5`
    is the same figure at a shorter horizon, `policy=dp_se` selects its cells with that policy, and `join=mine`
    adds such cells with another policy.
    """
    composed = composer.compose(overrides)
    try:
        settings = [()] if composed.config.cells is None else _settings(composed)
    except UserError as error:
        if "experiment" not in composed.choices or "cells" in composed.given:
            raise
        raise UserError(f"{composer.file_of('experiment', composed.choices['experiment'])}: {error}") from None
    planner = _Planner(composed, composer)
    own = [(setting, _request_of_experiment(planner, setting, composed, composer)) for setting in settings]
    joined = [_join(policy, own, composed, composer) for policy in names(composed.config)]
    requests = merge([*(request for _, request in own), *(request for of, _ in joined for request in of)])
    left_out = [line for _, line in joined if line]
    published = published_folder(composed.config)
    results = folder(composed.config, "results_dir")
    return Plan(tuple(overrides), composer, composed, results, published, requests, left_out)


def _request_of_experiment(planner: "_Planner", setting: Setting, composed: Composed, composer: Composer) -> Request:
    """The cell of one combination of an experiment's `cells`. Raises `UserError`, which names the file and the item."""
    try:
        return planner.request(setting)
    except UserError as error:
        message = str(error)
        name = composed.choices.get("experiment")
        key = re.split(r"[=:]", message, maxsplit=1)[0]  # the key that the error names
        if name is None or key in composed.given or key not in dict(setting):
            raise
        items = enumerate(_sweeps(composed.config), start=1)
        place = next((place for place, axes in items if all(value in axes.get(key, ()) for key, value in setting)), 1)
        raise UserError(f"{composer.file_of('experiment', name)}: cells: item {place}: {message}") from None


def plan_all(jobs: Sequence[Sequence[str]], composer: Composer) -> Iterator[Plan]:
    """The plan of each job, as `plan` makes it; jobs that differ only in values of their cell share a config.

    So the config of a sweep of ten thousand cells is composed only once. Raises `UserError`.
    """
    shared: dict[tuple[str, ...], tuple[Plan, _Planner]] = {}
    for job in jobs:
        items = [parsed(text) for text in job]
        setting = tuple((item.key_or_group, item.value()) for item in items if _is_of_cell(item.key_or_group))
        keys = [key for key, _ in setting]
        same = (*(text for text, item in zip(job, items, strict=True) if item.key_or_group not in keys), *keys)
        if same not in shared:
            asked = plan(job, composer)
            shared[same] = asked, _Planner(asked.composed, composer)
        else:
            first, planner = shared[same]
            if first.config.cells is None and not names(first.config):
                composed = replace(first.composed, given={**first.composed.given, **dict(setting)})
                asked = replace(first, overrides=tuple(job), composed=composed, requests=[planner.request(setting)])
            else:
                asked = plan(job, composer)
        yield asked


def plan_settings(overrides: Sequence[str], settings: Iterable[Setting], composer: Composer) -> list[Plan | str]:
    """For each of the `settings` of one cell a plan, or why it is refused; the config is composed only once.

    Composing one takes a quarter of a second, so that it is not done for each of all policies. Raises `UserError` if
    the cell of the `overrides` alone is refused.
    """
    base = plan(overrides, composer)
    planner = _Planner(base.composed, composer)
    plans: list[Plan | str] = []
    for setting in settings:
        try:
            plans.append(replace(base, requests=[planner.request(setting)]))
        except UserError as error:
            plans.append(str(error))
    return plans


def _is_of_cell(key: str) -> bool:
    """Whether a key sets a value of a cell and nothing else, so not a choice of a group."""
    return key in OF_CELLS or (key.partition(".")[0] in PARTS and "." in key)


def _join(
    policy: str, own: list[tuple[Setting, Request]], composed: Composed, composer: Composer
) -> tuple[list[Request], str]:
    """The requests of a policy that joins, and a line about where it could not join; empty if it joins everywhere.

    They are made from those of the experiment's `own` cells. A private policy replaces private policies only, if there
    are any; a policy without privacy replaces all of them. Raises `UserError` if no cell is valid.
    """
    where = composed.choices.get("experiment", "this cell")
    if not own:
        raise UserError(f"join: {where} has no cells that {policy} could join")
    joining = JoiningPolicy.of(policy, composed, composer)
    planner = _Planner(joining.composed, composer)
    private = [setting for setting, request in own if request.cell.policy.guarantee.private]
    requests, refused = _valid_requests(planner, joining.settings(private or [setting for setting, _ in own]))
    if private and requests and not requests[0].cell.policy.guarantee.private:
        requests, refused = _valid_requests(planner, joining.settings([setting for setting, _ in own]))
    reasons = "; ".join(list(dict.fromkeys(refused))[:FEW])
    if not requests:
        raise UserError(f"join: {policy} cannot join any cell of {where}: {reasons}")
    return requests, f"{policy} joins {where}, but not everywhere: {reasons}" if reasons else ""


def _valid_requests(planner: "_Planner", settings: list[Setting]) -> tuple[list[Request], list[str]]:
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


def published_folder(config: DictConfig) -> Path | None:
    """The folder of results that are only read, or None. Raises `UserError` if it does not exist."""
    if config.published_dir is None:
        return None
    place = folder(config, "published_dir")
    if not place.is_dir() and place != PUBLISHED:
        raise UserError(f"published_dir={place}: no such folder; null reads no published results")
    return place


def folder(config: DictConfig, key: str) -> Path:
    """The folder that a key names. Raises `UserError`."""
    try:
        name = config[key]
    except OmegaConfBaseException as error:
        raise UserError(f"{key}: {str(error).partition(chr(10))[0]}") from None
    if not isinstance(name, str) or not name.strip():
        raise UserError(f"{key}: must be a folder, got {str(name).strip() or 'nothing'}")
    return Path(name)


def merge(requests: Iterable[Request]) -> list[Request]:
    """Each cell once, with the largest number of replications asked for, in the order of first mention."""
    merged: dict[str, Request] = {}
    of_identity: dict[str, Cell] = {}
    for request in requests:
        known = merged.get(request.cell.key)
        if request.cell.own:
            _require_same_class(of_identity.setdefault(request.cell.identity, request.cell), request.cell)
        if known is None or known.replications < request.replications:
            merged[request.cell.key] = request
    return list(merged.values())


def _require_same_class(one: Cell, other: Cell) -> None:
    """Raise `UserError` if two classes have the same name and parameters, so that their cells have the same key."""
    for here, there in ((one.policy, other.policy), (one.instance, other.instance)):
        if type(here) is not type(there):
            names = " and ".join(f"{type(part).__module__}.{type(part).__qualname__}" for part in (here, there))
            raise UserError(f"{names} are both called {here.name}; give each a `name` of its own")


def _settings(composed: Composed) -> list[Setting]:
    """The setting of each cell of an experiment: every combination of the values in its `cells`, without given keys."""
    sweeps, given = _sweeps(composed.config), composed.given
    for key, value in given.items():
        if any(value in sweep.get(key, ()) for sweep in sweeps):
            sweeps = [sweep for sweep in sweeps if value in sweep.get(key, (value,))]
    settings: list[Setting] = []
    for sweep in sweeps:
        axes = [[(key, value) for value in values] for key, values in sweep.items() if key not in given]
        settings += itertools.product(*axes)
    return settings


def _sweeps(config: DictConfig) -> list[dict[str, list[Any]]]:
    """The `cells` of an experiment: for each item the values of each key. Raises `UserError`."""
    without_figure = OmegaConf.masked_copy(config, [str(key) for key in config if key != "figure"])
    cells = cast(dict[str, Any], OmegaConf.to_container(without_figure, resolve=True))["cells"]
    if not (isinstance(cells, list) and all(isinstance(sweep, dict) for sweep in cells)):
        raise UserError(f"cells: must be a list of {{override: value or values}}, got {cells}")
    return [_axes(sweep, place) for place, sweep in enumerate(cells, start=1)]


def _axes(sweep: dict[Any, Any], place: int) -> dict[str, list[Any]]:
    """The values of each key of one item of `cells`. Raises `UserError`."""
    axes = {key: values if isinstance(values, list) else [values] for key, values in sweep.items()}
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
    """Makes cells from their settings; configs are shared by cells with the same choices, and parts are built once."""

    def __init__(self, composed: Composed, composer: Composer) -> None:
        self._composed = composed
        self._composer = composer
        self._shared: dict[tuple[tuple[str, ...], Setting], SharedConfig] = {}
        self._parts: dict[tuple[str, str], Any] = {}

    def request(self, setting: Setting) -> Request:
        """The cell of one combination of values. Raises `UserError`."""
        shared = self._shared_by(setting)
        config, files = shared.of({key: value for key, value in setting if key not in PARTS}), shared.files
        instance: Environment = self._part(shared, "instance", config["instance"], Environment)
        policy: Learner[Any] = self._part(shared, "policy", config["policy"], Learner)
        with blamed(f"{files['policy']} on {files['instance']}"):
            require_own_name(instance, str(files["instance"]))
            require_own_name(policy, str(files["policy"]))
            for part, where in ((instance, files["instance"]), (policy, files["policy"])):
                _check_revision(part, where)
            _check_guarantee(policy, files["policy"])
            _check_budget(config["budget"])
            _check_unused(config["budget"], policy)
            _check_profile({**dict(setting), **self._composed.given}, instance)
            cell = _cell(config, instance, policy)
            if is_own(policy) or is_own(instance):
                json.dumps([cell.key, cell.columns, cell.caveats])  # so that errors in these are raised now
        replications = _positive(config, "replications") if cell.repeatable else 1
        return Request(cell, replications, {key: config[key] for key in ("instance", "policy", "budget", "horizon")})

    def _part(self, shared: SharedConfig, group: str, given: dict[str, Any], kind: type[Any]) -> Any:
        """The instance or policy with the keys and values `given`."""
        content = (group, repr(given))
        if content not in self._parts:
            self._parts[content] = build_resolved(shared.config, group, given, shared.files, kind)
        return self._parts[content]

    def _shared_by(self, setting: Setting) -> SharedConfig:
        """The config of all cells that make the same choices and set the same keys."""
        choices = tuple(pair for pair in setting if pair[0] in PARTS)
        keys = tuple(key for key, _ in setting if key not in PARTS)
        if (keys, choices) not in self._shared:
            chosen = self._composer.choose(self._composed, dict(choices))
            files = {group: self._composer.file_of(group, chosen.choices[group]) for group in PARTS}
            self._shared[keys, choices] = SharedConfig(chosen, self._composer, files, keys)
        return self._shared[keys, choices]


def _cell(config: Mapping[Any, Any], instance: Environment, policy: Learner[Any]) -> Cell:
    """The cell of an instance and a policy. Raises `UserError`."""
    horizon, recorded = _whole(config, "horizon"), _positive(config, "recorded", MOST_RECORDED)
    _positive(config, "replications")
    try:
        kind = kind_of(instance, policy, flag(config, "exact"), flag(config, "weighted"))
        return kind(instance, policy, horizon, recorded)
    except ParameterError as error:
        raise UserError(str(error)) from None


def _check_guarantee(policy: Learner[Any], file: Path) -> None:
    """Raise `UserError` unless the guarantee of a policy is a `Guarantee`; that of a user's class may not be."""
    try:
        promised: Any = policy.guarantee
    except Exception as error:  # a user's property may raise anything
        raise UserError(f"{file}: guarantee of {policy.name}: {in_words(error)}") from error
    if not isinstance(promised, Guarantee):
        raise UserError(f"{file}: guarantee of {policy.name}: must be a bandits.Guarantee, got {promised}")


def _check_revision(part: Environment | Learner[Any], file: Path) -> None:
    """Raise `UserError` unless the revision of a class is a whole number; that of a user's class may not be."""
    revision: Any = part.revision
    if isinstance(revision, bool) or not isinstance(revision, int) or revision < 1:
        raise UserError(f"{file}: revision of {part.name}: must be a whole number >= 1, got {revision!r}")


def _check_budget(budget: Mapping[str, Any]) -> None:
    """Raise `UserError` for an impossible epsilon, delta or rho, even if the policy does not use it."""
    for key, least, most, limits in (
        ("epsilon", 0.0, math.inf, "of at least 0"),
        ("delta", 0.0, 1.0, "between 0 and 1, or null"),
        ("rho", math.ulp(0.0), math.inf, "above 0, or null"),
    ):
        value = budget[key]
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and least <= value <= most) and not (value is None and key != "epsilon"):
            raise UserError(f"budget.{key}: must be a number {limits}, got {shown(value)}")


def _check_unused(budget: Mapping[str, Any], policy: Learner[Any]) -> None:
    """Raise `UserError` for a delta or rho that a private policy would ignore: results would be mislabelled."""
    for key in ("delta", "rho"):
        if policy.guarantee.private and not hasattr(policy, key) and budget[key]:
            kind = "is rho-zCDP" if hasattr(policy, "rho") else "is purely epsilon-private"
            kind = "is (epsilon, delta)-private" if hasattr(policy, "delta") else kind
            raise UserError(f"budget.{key}: {policy.name} {kind} and takes none; leave it null, got {budget[key]}")


def _check_profile(set_keys: Mapping[str, Any], instance: Environment) -> None:
    """Raise `UserError` for a profile that the instance would ignore: results would be mislabelled."""
    asked = [f"{key}={value}" for key, value in set_keys.items() if key.partition(".")[0] == "profile"]
    if asked and not hasattr(instance, "profile"):
        raise UserError(f"{asked[0]}: {instance.name} has no gap profile; it is for the instances dtol_*")


def _whole(config: Mapping[Any, Any], key: str) -> int:
    try:
        return whole_number(config[key])
    except ValueError as error:
        raise UserError(f"{key}: must be {error}") from None


def _positive(config: Mapping[Any, Any], key: str, most: int = MOST_REPLICATIONS) -> int:
    value = _whole(config, key)
    if value < 1:
        raise UserError(f"{key}: must be at least 1, got {value}")
    if value > most:
        raise UserError(f"{key}: must be at most {most}, got {value}")
    return value
