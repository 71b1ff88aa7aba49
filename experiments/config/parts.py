"""What an instance, a policy and a budget must be before a cell of them is planned.

Most of it can only be wrong in a class of the user, of which `second_play` tries the rest in a play.
"""

import dataclasses
import math
from abc import ABC
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from bandits import Guarantee
from bandits.environments.bandit import Instance
from bandits.environments.bernoulli import BernoulliInstance
from bandits.learner import Environment, Learner
from experiments.cells import TABLES
from experiments.cells.base import NO_PARAMETERS, parts_of
from experiments.errors import UserError, is_number, shown
from experiments.own_code.built_in import require_own_name
from experiments.own_code.user_code import in_words, is_built_in, is_own

TAKEN = NO_PARAMETERS.union(*(schema.columns for schema in TABLES.values()))  # by columns of tables
SHARED = {"policy": {"epsilon", "delta"}, "instance": {"arms"}}  # parameters that these columns are made of


def require_sound(whole: Environment | Learner[Any], group: str, file: Path) -> None:
    """Raise `UserError` unless an instance or policy is what tables, keys and loops take it for; `file` is its own."""
    require_own_name(whole, str(file))
    _require_revision(whole, file)
    if isinstance(whole, Learner):
        _require_guarantee(whole, file)
    for part in filter(is_own, parts_of(whole)):
        _require_own_columns(part, group, file)
        if isinstance(part, Environment):
            _require_law(part, file)
        if isinstance(part, Instance):
            _require_means(part, file)


def require_possible_budget(budget: Mapping[str, Any], policy: Learner[Any]) -> None:
    """Raise `UserError` for an impossible epsilon, delta or rho, also one that the policy does not use.

    And for a delta or rho that a private policy would ignore: results would be mislabelled.
    """
    for key, least, most, limits in (
        ("epsilon", 0.0, math.inf, "of at least 0"),
        ("delta", 0.0, 1.0, "between 0 and 1, or null"),
        ("rho", math.ulp(0.0), math.inf, "above 0, or null"),
    ):
        value = budget[key]
        if not (is_number(value) and least <= value <= most) and not (value is None and key != "epsilon"):
            raise UserError(f"budget.{key}: must be a number {limits}, got {shown(value)}")
    for key in ("delta", "rho"):
        if budget[key] and not hasattr(policy, key) and policy.guarantee.private:
            kind = "is rho-zCDP" if hasattr(policy, "rho") else "is purely epsilon-private"
            kind = "is (epsilon, delta)-private" if hasattr(policy, "delta") else kind
            raise UserError(f"budget.{key}: {policy.name} {kind} and takes none; leave it null, got {budget[key]}")


def require_profile(set_keys: Mapping[str, Any], instance: Environment) -> None:
    """Raise `UserError` for a profile that the instance would ignore: results would be mislabelled."""
    overrides = [f"{key}={value}" for key, value in set_keys.items() if key.partition(".")[0] == "profile"]
    if overrides and not hasattr(instance, "profile"):
        raise UserError(f"{overrides[0]}: {instance.name} has no gap profile; it is for the instances dtol_*")


def _require_own_columns(part: Any, group: str, file: Path) -> None:
    """Raise `UserError` for a field with the name of a column of tables."""
    for item in dataclasses.fields(part):
        if item.name in TAKEN - SHARED[group]:
            problem = "is a column of every table; rename the parameter"
            raise UserError(f"{file}: {group}.{item.name}: {problem}")


def _require_guarantee(policy: Learner[Any], file: Path) -> None:
    """Raise `UserError` unless the guarantee of a policy is a `Guarantee`, the same whenever a policy like it is made.

    That of a user's class may not be.
    """
    try:
        promised: Any = policy.guarantee
        again: Any = dataclasses.replace(cast(Any, policy)).guarantee if is_own(policy) else promised
    except Exception as error:  # a user's property may raise anything
        raise UserError(f"{file}: guarantee of {policy.name}: {in_words(error)}") from error
    if not isinstance(promised, Guarantee):
        raise UserError(f"{file}: guarantee of {policy.name}: must be a bandits.Guarantee, got {promised}")
    if again != promised:
        raise UserError(f"{file}: guarantee of {policy.name}: changes: {promised}, then {again}")


def _require_revision(part: Environment | Learner[Any], file: Path) -> None:
    """Raise `UserError` unless the revision of a class is a whole number; that of a user's class may not be."""
    revision: Any = part.revision
    if isinstance(revision, bool) or not isinstance(revision, int) or revision < 1:
        raise UserError(f"{file}: revision of {part.name}: must be a whole number >= 1, got {revision!r}")


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
        if is_built_in(cls) or cls in (ABC, object):
            continue
        for ours in kind.__mro__[place + 1 :]:
            if is_built_in(ours):
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
