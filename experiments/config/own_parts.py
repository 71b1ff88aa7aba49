"""What a class of the user must be before a cell with it is planned; `second_play` tries the rest in a play."""

import dataclasses
from abc import ABC
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bandits.environments.bandit import Instance
from bandits.environments.bernoulli import BernoulliInstance
from bandits.learner import Environment, Learner
from experiments.cells import TABLES
from experiments.cells.base import parts_of
from experiments.errors import UserError
from experiments.own_code.user_code import is_own

COLUMNS = {  # of tables beside parameters
    *("instance", "arms", "policy", "epsilon", "delta", "scope", "horizon", "record", "random_seed", "key", "code"),
    *(name for schema in TABLES.values() for name in schema.columns),
}
SHARED = {"policy": {"epsilon", "delta"}, "instance": {"arms"}}  # parameters that these columns are made of


def require_sound(instance: Environment, policy: Learner[Any], files: Mapping[str, Path]) -> None:
    """Raise `UserError` for fields that tables cannot show, and for an instance that loops would not play as it is."""
    for group, whole in (("policy", policy), ("instance", instance)):
        for part in filter(is_own, parts_of(whole)):
            for item in dataclasses.fields(part):
                if item.name in COLUMNS - SHARED[group]:
                    problem = "is a column of every table; rename the parameter"
                    raise UserError(f"{files[group]}: {group}.{item.name}: {problem}")
            if isinstance(part, Environment):
                _require_law(part, files[group])
            if isinstance(part, Instance):
                _require_means(part, files[group])


def _require_law(instance: Environment, file: Path) -> None:
    """Raise `UserError` if a class changes what a class of this repository defines: compiled loops assume it."""
    for name, cls, ours in _changes(type(instance)):
        raise UserError(
            f"{file}: {cls.__qualname__} changes {name} of {ours.__qualname__}, which compiled loops assume: policies "
            "would play two environments; derive it from a class that leaves this open, as bandits.Instance"
        )


def _changes(kind: type[Any]) -> Iterator[tuple[str, type[Any], type[Any]]]:
    """The attributes that classes of the user define anew: name, its class, and the class of ours that defines it."""
    open_to_all = set(vars(Environment)) | set(Environment.__annotations__)
    for place, cls in enumerate(kind.__mro__):
        if cls.__module__.partition(".")[0] == "bandits" or cls in (ABC, object):
            continue
        for ours in kind.__mro__[place + 1 :]:
            if ours.__module__.partition(".")[0] == "bandits":
                defined = {
                    name for name, value in vars(ours).items() if not getattr(value, "__isabstractmethod__", False)
                }
                fixed = {name for name in defined - open_to_all - {"define_means"} if not name.startswith("_")}
                fields = set(getattr(ours, "__dataclass_fields__", ()))
                yield from ((name, cls, ours) for name in sorted((fixed - fields) & set(vars(cls))))


def _require_means(instance: Instance, file: Path) -> None:
    """Raise `UserError` unless means and gaps are numbers that belong together."""
    means = np.array(instance.define_means(), dtype=np.float64)
    problem = ""
    if means.ndim != 1 or not np.isfinite(means).all():
        problem = f"must be a list of finite numbers, got {means}"
    elif isinstance(instance, BernoulliInstance) and not ((means >= 0) & (means <= 1)).all():
        problem = f"of Bernoulli arms must lie in [0, 1], got {means}"
    elif not np.array_equal(instance.mean_rewards, means):
        problem = "are others when define_means is called again"
    elif not np.array_equal(instance.gaps, means.max() - means) or instance.number_of_arms != len(means):
        problem = "do not belong to its gaps and its number of arms"
    if problem:
        raise UserError(f"{file}: the means of {instance.name} {problem}")
