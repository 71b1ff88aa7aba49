"""Policies that join an experiment: `join=mine` puts a policy in the place of those that the experiment names.

A policy that joins has the instances, budgets, horizons and recorded checkpoints of the experiment's cells. Of the
parameters that cells set of their policies it takes those that it has too, as the accuracy of a stopping rule, and has
its own values of the others. It takes the place of the private policies only, if there are any: the others have no
budget.
"""

from dataclasses import dataclass
from typing import Any, Self

from omegaconf import DictConfig, OmegaConf

from experiments.config.compose import Composed, Composer
from experiments.errors import UserError

Setting = tuple[tuple[str, Any], ...]  # keys of a config and what a cell sets them to


@dataclass(frozen=True)
class Seat:
    """The place of an experiment's policies, with another policy in it.

    Attributes
    ----------
    composed: the experiment's config with this policy.
    parameters: those that its file names.
    takes_delta: whether its file refers to budget.delta; if not, its cells have none.
    """

    composed: Composed
    parameters: frozenset[str]
    takes_delta: bool

    @classmethod
    def of(cls, policy: str, composed: Composed, composer: Composer) -> Self:
        """A seat for the `policy` in an experiment. Raises `UserError`."""
        file_node, own = composer.node("policy", policy), composer.node("policy", composed.choices["policy"])
        node, own_values, now = _raw(file_node), _raw(own), _raw(composed.config.policy)
        set_there = {key: value for key, value in now.items() if key not in own_values or own_values[key] != value}
        shared = {key: value for key, value in set_there.items() if key in node and key != "_target_"}
        config = composed.config.copy()
        config.policy = OmegaConf.merge(file_node, shared)
        seat = cls(
            Composed(config, {**composed.choices, "policy": policy}),
            frozenset(key for key in node if key != "_target_"),
            "budget.delta" in str(node),
        )
        given = {key: value for key, value in composed.given.items() if seat.takes(key)}
        return cls(Composed(config, seat.composed.choices, given), seat.parameters, seat.takes_delta)

    def takes(self, key: str) -> bool:
        """Whether a key that was set for the experiment's own policies is for this one too."""
        group, _, name = key.partition(".")
        return group != "policy" or name.partition(".")[0] in self.parameters

    def settings(self, settings: list[Setting]) -> list[Setting]:
        """What its cells set, each once, where those of the experiment set `settings`."""
        without = () if self.takes_delta else (("budget.delta", None),)
        kept = [(*((key, value) for key, value in of if self.takes(key)), *without) for of in settings]
        return list({str(setting): setting for setting in kept}.values())


def names(config: DictConfig) -> list[str]:
    """The policies that join. Raises `UserError`."""
    given = OmegaConf.to_object(config.join) if OmegaConf.is_config(config.join) else config.join
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, list) or not all(isinstance(name, str) and name for name in listed):
        raise UserError(f"join: must be a policy or a list of policies, got {given}")
    return list(dict.fromkeys(listed))


def _raw(node: Any) -> dict[str, Any]:
    raw: dict[str, Any] = OmegaConf.to_container(node, resolve=False)  # type: ignore[assignment]
    return raw
