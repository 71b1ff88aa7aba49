"""Requests: cells, and how many replications of each are wanted, made from a config."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bandits import ParameterError
from bandits.learner import Environment, Learner
from experiments.cells import Cell, kind_of
from experiments.config.build import build_resolved
from experiments.config.compose import Composed, Composer, Keys, resolved, with_value
from experiments.config.overrides import PARTS
from experiments.config.parts import require_possible_budget, require_profile, require_sound
from experiments.errors import UserError, flag, whole_in, whole_of
from experiments.own_code.user_code import blamed

MOST_REPLICATIONS = 10**9  # they are counted in 32 bits
MOST_SEED = 2**62  # a 64-bit column has it
MOST_RECORDED = 10**6  # checkpoints of a curve, each with the pulls of every arm
CELL_KEYS = ("horizon", "replications", "recorded", "exact", "weighted", "seed")  # keys of a cell beside its parts

Combination = tuple[tuple[str, Any], ...]  # the keys of a config that a cell sets, with their values


@dataclass(frozen=True)
class Request:
    """A cell, how many replications of it are wanted, and the resolved config that it was built from."""

    cell: Cell
    replications: int
    config: dict[str, Any]


class Planner:
    """Makes cells of a config from combinations; an instance or policy with the same parameters is built once."""

    def __init__(self, composed: Composed, composer: Composer, parts: dict[tuple[str, str], Any]) -> None:
        self.composed, self.composer, self.parts = composed, composer, parts
        self._chosen: dict[Combination, tuple[Composed, dict[str, Path]]] = {}

    def request(self, combination: Combination) -> Request:
        """The cell that one combination sets. Raises `UserError`."""
        chosen, files = self._choose(tuple(pair for pair in combination if pair[0] in PARTS))
        keys = chosen.keys
        for key, value in combination:
            if key not in PARTS:
                keys = with_value(keys, key, value)
        config = {group: resolved(keys, group, f" ({group} {files[group]})") for group in ("instance", "policy")}
        config |= {key: resolved(keys, key) for key in ("budget", *CELL_KEYS)}
        instance: Environment = self._part(keys, "instance", config["instance"], files, Environment)
        policy: Learner[Any] = self._part(keys, "policy", config["policy"], files, Learner)
        with blamed(f"{files['policy']} on {files['instance']}"):
            require_possible_budget(config["budget"], policy)
            require_profile({**dict(combination), **self.composed.given}, instance)
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
