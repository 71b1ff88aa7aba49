"""From overrides to the cells that they ask for."""

import itertools
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf

from bandits import ParameterError
from bandits.environments.streams import Stream
from bandits.exact.worst_profiles import WorstProfile
from bandits.learner import Environment, Learner
from bandits.policies.stopping_rules import StoppingRule
from experiments.cells import BaseCell, Cell, ExactCell, StoppingCell, WorstProfileCell
from experiments.config.build import build, flag, whole_number
from experiments.config.compose import Composer
from experiments.errors import UserError


@dataclass(frozen=True)
class Request:
    """A cell and how many replications of it are wanted, with the resolved config it came from."""

    cell: BaseCell
    replications: int
    config: dict[str, Any]


def plan(overrides: Sequence[str], composer: Composer) -> list[Request]:
    """The cells that `overrides` ask for, each once: one cell, or those of `+experiment=...`.

    Overrides win over what an experiment says of its cells: `+experiment=sajed2019/fig01 horizon=1e5`
    is the same figure at a shorter horizon, and `policy=dp_se` picks its cells of that policy.
    """
    composed = composer.compose(overrides)
    if composed.config.cells is None:
        return [_request(overrides, composer)]
    sweeps = _sweeps(composed.config)
    given = dict(text.split("=", 1) for text in overrides)
    for key, value in given.items():
        if any(value in sweep.get(key, ()) for sweep in sweeps):
            sweeps = [sweep for sweep in sweeps if value in sweep.get(key, (value,))]
    requests = []
    for sweep in sweeps:
        axes = [[f"{key}={value}" for value in values] for key, values in sweep.items() if key not in given]
        for combination in itertools.product(*axes):
            requests.append(_request([*combination, *overrides], composer))
    return merge(requests)


def _sweeps(config: DictConfig) -> list[dict[str, list[str]]]:
    """An experiment's `cells`: for each sweep the values of each override, in Hydra's grammar."""
    cells = cast(dict[str, Any], OmegaConf.to_container(config, resolve=True))["cells"]
    if not (isinstance(cells, list) and all(isinstance(sweep, dict) for sweep in cells)):
        raise UserError(f"cells: must be a list of {{override: value or values}}, got {cells}")
    return [
        {
            key: [_text(value) for value in (values if isinstance(values, list) else [values])]
            for key, values in sweep.items()
        }
        for sweep in cells
    ]


def merge(requests: Iterable[Request]) -> list[Request]:
    """Each cell once, with the most replications that were asked of it, in the order of first mention."""
    merged: dict[str, Request] = {}
    for request in requests:
        known = merged.get(request.cell.key)
        if known is None or known.replications < request.replications:
            merged[request.cell.key] = request
    return list(merged.values())


def _text(value: Any) -> str:
    """A value in Hydra's override grammar."""
    return json.dumps(value) if isinstance(value, list | bool) or value is None else str(value)


def _request(overrides: Sequence[str], composer: Composer) -> Request:
    """The one cell that `overrides` ask for. Raises `UserError`."""
    composed = composer.compose(overrides)
    config = composed.config
    files = {group: composer.file_of(group, composed.choices[group]) for group in ("instance", "profile", "policy")}
    instance = build(config, "instance", files, Environment)  # type: ignore[type-abstract]
    policy: Learner[Any] = build(config, "policy", files, Learner)  # type: ignore[type-abstract]
    _check_delta(config, policy)
    _check_profile(overrides, instance)
    horizon, replications, recorded = (_whole(config, key) for key in ("horizon", "replications", "recorded"))
    for key, value in (("replications", replications), ("recorded", recorded)):
        if value < 1:
            raise UserError(f"{key}: must be at least 1, got {value}")
    try:
        cell = _kind(config, instance, policy)(instance, policy, horizon, recorded)
    except ParameterError as error:
        raise UserError(str(error)) from None
    groups = ["instance", "policy", "budget", "horizon"]
    node = OmegaConf.masked_copy(config, ["profile", *groups])  # an instance may refer to the profile
    resolved = cast(dict[str, Any], OmegaConf.to_container(node, resolve=True))
    wanted = replications if cell.repeatable else 1
    return Request(cell, wanted, {name: resolved[name] for name in groups})


def _kind(config: DictConfig, instance: Environment, policy: Learner[Any]) -> type[BaseCell]:
    """What is to be recorded. Raises `UserError`."""
    exact = flag(config, "exact")
    if exact and isinstance(instance, Stream | WorstProfile):
        raise UserError(f"exact: has no meaning for {instance.name}; leave it false")
    if isinstance(policy, StoppingRule):
        return StoppingCell
    if isinstance(instance, WorstProfile):
        return WorstProfileCell
    return ExactCell if exact else Cell


def _check_delta(config: DictConfig, policy: Learner[Any]) -> None:
    """A pure guarantee has no use for a delta, and ignoring one would mislabel the results."""
    if policy.guarantee.private and not hasattr(policy, "delta") and config.budget.delta:
        raise UserError(
            f"budget.delta: {policy.name} is purely epsilon-private and takes none; leave it null, "
            f"got {config.budget.delta}"
        )


def _check_profile(overrides: Sequence[str], instance: Environment) -> None:
    """A profile says nothing to an instance without one, and ignoring it would mislabel the results."""
    asked = [text for text in overrides if re.match(r"profile[.=]", text)]
    if asked and not hasattr(instance, "profile"):
        raise UserError(f"{asked[0]}: {instance.name} has no gap profile; it is for the instances dtol_*")


def _whole(config: DictConfig, key: str) -> int:
    try:
        return whole_number(config[key])
    except ValueError as error:
        raise UserError(f"{key}: must be {error}") from None
