"""A cell, built again from what a file says of it: its config, and the names of its classes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from bandits import checkpoint_grid
from bandits.environments.gap_profiles import GapProfile
from bandits.learner import Environment, Learner
from experiments.cells import KINDS, RECORDED, Cell
from experiments.config.build import build
from experiments.errors import UserError
from experiments.own_code.built_in import built_in_classes
from experiments.store.stored import Replications


@dataclass(frozen=True)
class Known:
    """What a file says of the cell with a key.

    Attributes
    ----------
    file: the file.
    config: the resolved parts of the config that the cell came from.
    identity: `Cell.identity`, parsed.
    horizon, record: of the cell.
    recorded: the possible numbers of checkpoints, of which one gives the key.
    contents: what is stored of the cell, None for a record of a failure.
    """

    file: Path
    config: dict[str, Any]
    identity: dict[str, Any]
    horizon: int
    record: str
    recorded: tuple[int, ...]
    contents: Replications | None

    @classmethod
    def of_failure(cls, file: Path, failed: Mapping[str, Any]) -> Self:
        """From the record of a failure."""
        return cls._of(file, failed, (failed["recorded"],), None)

    @classmethod
    def of_stored(cls, file: Path, contents: Replications) -> Self:
        """From what is stored of a cell."""
        recorded = recorded_of(contents, contents.footer["columns"]["horizon"])
        return cls._of(file, contents.footer, recorded, contents)

    @classmethod
    def _of(cls, file: Path, said: Mapping[str, Any], recorded: tuple[int, ...], contents: Replications | None) -> Self:
        identity, horizon = json.loads(said["identity"]), said["columns"]["horizon"]
        return cls(file, said["config"], identity, horizon, said["record"], recorded, contents)


def recorded_of(contents: Replications, horizon: int) -> tuple[int, ...]:
    """The numbers of checkpoints that may have been asked for: equal steps are kept once, so that fewer can be stored.

    Up to twice as many as are stored are tried.
    """
    if "t" not in contents.rows:
        return RECORDED, 1
    stored = len(contents.t)
    tried = dict.fromkeys((RECORDED, *range(stored, 2 * stored + 3)))
    return tuple(count for count in tried if np.array_equal(checkpoint_grid(horizon, count), contents.t)) or (RECORDED,)


def cell_of(key: str, said: Known) -> Cell:
    """The cell, built from its config. Raises `UserError` if the code now makes a cell with another key of it."""
    config = _with_classes_of_today(said.config, said.identity)
    files = dict.fromkeys(("instance", "policy"), said.file)
    instance: Environment = build(config, "instance", files, Environment)  # type: ignore[type-abstract]
    policy: Learner[Any] = build(config, "policy", files, Learner)
    kind, seed = KINDS[said.record], said.identity.get("seed", 0)
    cells = [kind(instance, policy, said.horizon, recorded, seed) for recorded in said.recorded]
    rebuilt = next((cell for cell in cells if cell.key == key), None)
    if rebuilt is None:
        raise UserError(
            f"key={key}: the code now gives it another key, {cells[0].key}: a revision was raised, or a parameter "
            "was added"
        )
    return rebuilt


def _with_classes_of_today(node: Any, identity: Any) -> Any:
    """A config in which each class of `bandits` has its present module; it may have moved since the cell was stored.

    `identity` is that of the same part of the cell; it names the class by a name that does not change.
    """
    if not isinstance(node, dict):
        return node
    parts = identity if isinstance(identity, dict) else {}
    package, _, name = parts.get("class", "").partition(":")
    moved = {"_target_": _ours()[name]} if package == "bandits" else {}
    return {key: _with_classes_of_today(value, parts.get(key)) for key, value in node.items()} | moved


@cache
def _ours() -> dict[str, str]:
    """The module and class of every instance, policy and gap profile of `bandits`, by its name."""
    return {
        cls.name: f"{cls.__module__}.{cls.__qualname__}" for cls in built_in_classes(Environment, Learner, GapProfile)
    }
