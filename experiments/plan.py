"""From overrides to the cells that they ask for."""

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf

from bandits import Instance, ParameterError, Policy, checkpoint_grid
from bandits.types import IntArray
from experiments.build import build, whole_number
from experiments.compose import Composed, Composer
from experiments.errors import UserError

RECORDED = 200


@dataclass(frozen=True)
class Cell:
    """Instance x policy (its budget among its parameters) x horizon: what is planned, run and stored as one.

    `recorded` is about how many checkpoints are kept of it; it changes no other number.

    Raises `ParameterError` if the horizon is shorter than one pull of every arm, or the policy
    refuses the instance.
    """

    instance: Instance
    policy: Policy
    horizon: int
    recorded: int = RECORDED

    def __post_init__(self) -> None:
        if self.horizon < self.arms:
            raise ParameterError("horizon", f"must be at least the number of arms, {self.arms}, got {self.horizon}")
        self.policy.check(self.instance)

    @property
    def arms(self) -> int:
        return len(self.instance.mean_rewards)

    @property
    def checkpoints(self) -> IntArray:
        """The steps at which regret is recorded."""
        return checkpoint_grid(self.horizon, self.recorded)

    @cached_property
    def identity(self) -> str:
        """What the cell is, as canonical JSON, parameters at their default left out. Seeds follow from it."""
        content = {"instance": _describe(self.instance), "policy": _describe(self.policy), "horizon": self.horizon}
        return json.dumps(content, sort_keys=True)

    @cached_property
    def key(self) -> str:
        """What its stored numbers are filed under: the identity and the revisions of instance and policy."""
        kept = "" if self.recorded == RECORDED else f" recorded {self.recorded}"
        text = (
            f"{self.identity}{kept} instance revision {self.instance.revision} policy revision {self.policy.revision}"
        )
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def columns(self) -> dict[str, Any]:
        """What `experiments.load` tells about the cell in every row; epsilon is infinite without privacy."""
        guarantee = self.policy.guarantee
        return {
            **_parameters(self.instance),
            **_parameters(self.policy),
            "instance": self.instance.name,
            "arms": self.arms,
            "policy": self.policy.name,
            "epsilon": guarantee.epsilon,
            "delta": guarantee.delta,
            "scope": guarantee.scope.value,
            "horizon": self.horizon,
        }

    @property
    def caveats(self) -> tuple[str, ...]:
        """Why a theorem does not apply here, for whoever reads the results."""
        return self.policy.caveats(self.instance, self.horizon)


@dataclass(frozen=True)
class Request:
    """A cell and how many replications of it are wanted, with the resolved config it came from."""

    cell: Cell
    replications: int
    config: dict[str, Any]


def _parameters(part: Instance | Policy) -> dict[str, Any]:
    """The fields of `part`; of an instance within it the name, and its own fields besides."""
    values: dict[str, Any] = {}
    for item in dataclasses.fields(cast(Any, part)):
        value = getattr(part, item.name)
        if isinstance(value, Instance):
            values |= {**_parameters(value), item.name: value.name}
        else:
            values[item.name] = value
    return values


def _describe(part: Instance | Policy) -> dict[str, Any]:
    """Name and parameters; the top-level package keeps a user's `dp_se` apart from ours."""
    package = type(part).__module__.partition(".")[0]
    values = {}
    for item in dataclasses.fields(cast(Any, part)):
        value = getattr(part, item.name)
        if value != item.default:
            values[item.name] = _describe(value) if isinstance(value, Instance) else value
    return {"class": f"{package}:{part.name}", **values}


def plan(overrides: Sequence[str], composer: Composer) -> list[Request]:
    """The cells that `overrides` ask for, each once: one cell, or those of `+experiment=...`.

    Overrides win over what an experiment says of its cells: `+experiment=sajed2019/fig01 horizon=1e5`
    is the same figure at a shorter horizon, and `policy=dp_se` picks its cells of that policy.
    """
    composed = composer.compose(overrides)
    if composed.config.cells is None:
        return [_request(composed, composer)]
    sweeps = _sweeps(composed.config)
    given = dict(text.split("=", 1) for text in overrides)
    for key, value in given.items():
        if any(value in sweep.get(key, ()) for sweep in sweeps):
            sweeps = [sweep for sweep in sweeps if value in sweep.get(key, (value,))]
    requests = []
    for sweep in sweeps:
        axes = [[f"{key}={value}" for value in values] for key, values in sweep.items() if key not in given]
        for combination in itertools.product(*axes):
            requests.append(_request(composer.compose([*combination, *overrides]), composer))
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


def _request(composed: Composed, composer: Composer) -> Request:
    """One cell from one composed config. Raises `UserError`."""
    config = composed.config
    instance_file, policy_file = (composer.file_of(group, composed.choices[group]) for group in ("instance", "policy"))
    instance = build(config, "instance", instance_file, Instance)  # type: ignore[type-abstract]
    policy = build(config, "policy", policy_file, Policy)  # type: ignore[type-abstract]
    _check_delta(config, policy)
    horizon, replications, recorded = (_whole(config, key) for key in ("horizon", "replications", "recorded"))
    for key, value in (("replications", replications), ("recorded", recorded)):
        if value < 1:
            raise UserError(f"{key}: must be at least 1, got {value}")
    try:
        cell = Cell(instance, policy, horizon, recorded)
    except ParameterError as error:
        raise UserError(str(error)) from None
    resolved = OmegaConf.masked_copy(config, ["instance", "policy", "budget", "horizon"])
    return Request(cell, replications, cast(dict[str, Any], OmegaConf.to_container(resolved, resolve=True)))


def _check_delta(config: DictConfig, policy: Policy) -> None:
    """A pure guarantee has no use for a delta, and ignoring one would mislabel the results."""
    if policy.guarantee.private and not hasattr(policy, "delta") and config.budget.delta:
        raise UserError(
            f"budget.delta: {policy.name} is purely epsilon-private and takes none; leave it null, "
            f"got {config.budget.delta}"
        )


def _whole(config: DictConfig, key: str) -> int:
    try:
        return whole_number(config[key])
    except ValueError as error:
        raise UserError(f"{key}: must be {error}") from None
