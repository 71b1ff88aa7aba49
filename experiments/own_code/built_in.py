"""Classes of this repository, found by the name that tables show: a class of the user has another name."""

import json
import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

import bandits
from bandits.learner import Environment, Learner
from experiments.errors import UserError
from experiments.own_code.user_code import is_built_in, is_own


def require_own_name(part: Environment | Learner[Any], where: str) -> None:
    """Raise `UserError` if a user's class has the `name` of a built-in one: tables tell them apart only by name."""
    ours = _ours().get((isinstance(part, Learner), part.name)) if is_own(part) else None
    if ours:
        raise UserError(
            f"{where}: {type(part).__module__}.{type(part).__qualname__} has the name {part.name} of "
            f"{ours.__module__}.{ours.__qualname__}; give it a `name` of its own"
        )


def built_in_policy(name: str) -> type[Any] | None:
    """The policy of this repository with that name, if there is one."""
    return _ours().get((True, name))


def revisions(identity: str) -> dict[str, int]:
    """The present revisions of the instance and policy that an identity names, those of them that are in `bandits`.

    Classes are found by name: nothing that only a file names is imported or called.
    """
    content = json.loads(identity)
    present = {}
    for part, is_learner in (("instance", False), ("policy", True)):
        package, _, name = content[part]["class"].partition(":")
        cls = _ours().get((is_learner, name)) if package == "bandits" else None
        if cls is not None:
            present[part] = cls.revision
    return present


@cache
def built_in_classes(*kinds: type[Any]) -> set[type[Any]]:
    """Every class of `bandits` that is of one of these kinds and has a `name`."""
    for item in pkgutil.walk_packages(bandits.__path__, "bandits."):
        import_module(item.name)
    waiting, classes = list(kinds), set()
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if is_built_in(cls) and hasattr(cls, "name"):
            classes.add(cls)
    return classes


@cache
def _ours() -> dict[tuple[bool, str], type[Any]]:
    """Every instance and policy class of `bandits`, by whether it is a learner, and its name."""
    return {(issubclass(cls, Learner), cls.name): cls for cls in built_in_classes(Learner, Environment)}
