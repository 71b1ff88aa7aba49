"""Policies that join an experiment: `join=mine` adds cells in which `mine` replaces its policies.

It gets the instances, budgets, horizons and recorded checkpoints of the experiment's cells. If cells set parameters of
their policies that it has too, as the accuracy of a stopping rule, it gets these values; its other parameters keep
their own. If there are private policies it replaces only these, as the others have no budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from experiments.config.compose import Composed, Composer, Keys, merged_keys, resolved
from experiments.config.request import Combination, Planner, Request
from experiments.errors import UserError

FEW = 3  # reasons that are listed at most


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
    def joining(cls, policy: str, composed: Composed, composer: Composer) -> Self:
        """`policy`, as it joins the experiment `composed`. Raises `UserError`."""
        node, changed = composer.node("policy", policy), composer.changed_keys(composed, "policy")
        shared = {key: value for key, value in changed.items() if key in node and key != "_target_"}
        keys, choices = {**composed.keys, "policy": merged_keys(node, shared)}, {**composed.choices, "policy": policy}
        parameters = frozenset(key for key in node if key != "_target_")
        made = cls(Composed(keys, choices), parameters, "budget.delta" in str(node))
        given = {key: value for key, value in composed.given.items() if made.takes(key)}
        return replace(made, composed=Composed(keys, choices, given))

    def takes(self, key: str) -> bool:
        """Whether a key that cells set for the experiment's own policies applies to this policy too."""
        group, _, name = key.partition(".")
        return group != "policy" or name.partition(".")[0] in self.parameters

    def combinations(self, of_experiment: Sequence[Combination]) -> list[Combination]:
        """Those of its cells, each once, from those of the cells `of_experiment`."""
        without = () if self.takes_delta else (("budget.delta", None),)
        kept = [(*((key, value) for key, value in pairs if self.takes(key)), *without) for pairs in of_experiment]
        return list({str(combination): combination for combination in kept}.values())


def policies_that_join(keys: Keys) -> list[str]:
    """The policies that join. Raises `UserError`."""
    given = resolved(keys, "join")
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, list) or not all(isinstance(name, str) and name for name in listed):
        raise UserError(f"join: must be a policy or a list of policies, got {given}")
    return list(dict.fromkeys(listed))


def join(
    policy: str, of_experiment: Sequence[tuple[Combination, Request]], planner: Planner
) -> tuple[list[Request], str]:
    """The requests of a policy that joins, and a line about where it could not join; empty if it joins everywhere.

    They are made from those of the cells `of_experiment`. A private policy replaces private policies only, if there
    are any; a policy without privacy replaces all of them. Raises `UserError` if no cell is valid.
    """
    where = planner.composed.choices.get("experiment", "this cell")
    if not of_experiment:
        raise UserError(f"join: {where} has no cells that {policy} could join")
    joining = JoiningPolicy.joining(policy, planner.composed, planner.composer)
    its_planner = Planner(joining.composed, planner.composer, planner.parts)
    every = [one for one, _ in of_experiment]
    private = [one for one, request in of_experiment if request.cell.policy.guarantee.private]
    requests, refused = _valid_requests(its_planner, joining.combinations(private or every))
    if private and requests and not requests[0].cell.policy.guarantee.private:
        requests, refused = _valid_requests(its_planner, joining.combinations(every))
    reasons = "; ".join(list(dict.fromkeys(refused))[:FEW])
    if not requests:
        raise UserError(f"join: {policy} cannot join any cell of {where}: {reasons}")
    return requests, f"{policy} joins {where}, but not everywhere: {reasons}" if reasons else ""


def _valid_requests(planner: Planner, combinations: list[Combination]) -> tuple[list[Request], list[str]]:
    """The requests for the `combinations` that are valid, and the errors of the others."""
    requests, refused = [], []
    for combination in combinations:
        try:
            request = planner.request(combination)
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
