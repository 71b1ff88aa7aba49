"""Policies that join an experiment: `join=mine` adds cells in which a policy replaces those of the experiment.

A policy that joins gets the instances, budgets, horizons and recorded checkpoints of the experiment's cells. If cells
set parameters of their policies that it has too, as the accuracy of a stopping rule, it gets these values; its other
parameters keep their own. If there are private policies it replaces only these, as the others have no budget.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

from omegaconf import DictConfig, OmegaConf

from experiments.config.compose import Composed, Composer, raw
from experiments.errors import UserError

Setting = tuple[tuple[str, Any], ...]  # the keys of a config that a cell sets, with their values


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
    def of(cls, policy: str, composed: Composed, composer: Composer) -> Self:
        """`policy`, as it joins the experiment `composed`. Raises `UserError`."""
        file_node, own = composer.node("policy", policy), composer.node("policy", composed.choices["policy"])
        node, own_values, now = raw(file_node), raw(own), raw(composed.config.policy)
        set_there = {key: value for key, value in now.items() if key not in own_values or own_values[key] != value}
        shared = {key: value for key, value in set_there.items() if key in node and key != "_target_"}
        config = composed.config.copy()
        config.policy = OmegaConf.merge(file_node, shared)
        parameters = frozenset(key for key in node if key != "_target_")
        joining = cls(Composed(config, {**composed.choices, "policy": policy}), parameters, "budget.delta" in str(node))
        given = {key: value for key, value in composed.given.items() if joining.takes(key)}
        return replace(joining, composed=replace(joining.composed, given=given))

    def takes(self, key: str) -> bool:
        """Whether a key that cells set for the experiment's own policies applies to this policy too."""
        group, _, name = key.partition(".")
        return group != "policy" or name.partition(".")[0] in self.parameters

    def settings(self, settings: list[Setting]) -> list[Setting]:
        """The settings of its cells, each once, from the `settings` of the experiment's cells."""
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
