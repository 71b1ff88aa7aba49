"""Lower bounds for any policy that can be run on two neighbouring inputs: Clopper-Pearson on a held-out half.

The first half of the outcomes chooses an event, the outcomes that are the most typical of one input; the second
half bounds its probability from below, p, under that input and from above, q, under the other. If both bounds hold,
epsilon is at least log((p - delta) / q), and delta at least p - e^epsilon q. A second bound comes from the bets of
`bandits.audit.betting`; the larger one is used, and each is wrong with at most half of the failure probability.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from bandits.arrays import FloatArray, IntArray
from bandits.audit.betting import betting_delta, betting_epsilon
from bandits.audit.costs import Bounds, PrivacyCost
from bandits.audit.events import Beginnings, View
from bandits.audit.transcripts import Convention
from bandits.exponents import grown
from bandits.guarantees import Guarantee, Neighbours
from bandits.learner import Learner
from bandits.parameters import ParameterError, require
from bandits.policies.base import Policy
from bandits.policies.full_information import FullInformationPolicy
from bandits.policies.heavy_tailed import HeavyTailedPolicy

INPUTS = {
    Neighbours.ONE_REWARD: "first reward of arm 1 is the lowest or the highest, all others 0",
    Neighbours.ONE_LOSS_VECTOR: "first losses are 1 for arm 1 alone or for all others, the rest 0",
    Neighbours.ONE_VALUE: "first value is 0 or 1, the rest 0",
}


def at_least(hits: int, runs: int, failure: float) -> float:
    """A lower bound on the probability of an event with `hits` in `runs`; wrong with probability at most `failure`."""
    return 0.0 if hits == 0 else float(scipy.special.betaincinv(hits, runs - hits + 1, failure))


def at_most(hits: int, runs: int, failure: float) -> float:
    """An upper bound on the probability of an event with `hits` in `runs`; wrong with probability at most `failure`."""
    return 1.0 if hits == runs else float(scipy.special.betaincinv(hits + 1, runs - hits, 1 - failure))


def sampled_epsilon(first: IntArray, second: IntArray, failure: float, delta: float = 0.0) -> tuple[float, list[int]]:
    """A lower bound on epsilon at `delta`, and its event, from independent outcomes under two neighbouring inputs.

    `first` and `second` are outcomes as numbers, shapes (runs,), equally many of each. The bound is at least 0.
    """
    require(len(first) == len(second) >= 4, "runs", len(first), "at least 4, and as many of both inputs")
    half = len(first) // 2
    best, event, swapped = -math.inf, np.empty(0, dtype=np.int64), False
    for turn, (one, other) in enumerate(((first, second), (second, first))):
        outcomes = np.unique(np.concatenate([one[:half], other[:half]]))
        counts = [np.bincount(np.searchsorted(outcomes, side[:half]), minlength=len(outcomes)) for side in (one, other)]
        order = np.argsort(-(counts[0] + 0.5) / (counts[1] + 0.5), kind="stable")
        for size in range(1, len(outcomes) + 1):
            hits = [int(count[order[:size]].sum()) for count in counts]
            value = _bound(hits[0], hits[1], half, failure, delta)
            if value > best:
                best, event, swapped = value, outcomes[order[:size]], bool(turn)
    one, other = (second, first) if swapped else (first, second)
    hits = [int(np.isin(side[half:], event).sum()) for side in (one, other)]
    return max(0.0, _bound(hits[0], hits[1], len(first) - half, failure, delta)), event.tolist()


def _bound(hits: int, other: int, runs: int, failure: float, delta: float) -> float:
    low = at_least(hits, runs, failure / 2) - delta
    return math.log(low / at_most(other, runs, failure / 2)) if low > 0 else -math.inf


def neighbouring_tables(
    arms: int, horizon: int, neighbours: Neighbours, limits: tuple[float, float] = (0.0, 1.0)
) -> tuple[FloatArray, FloatArray]:
    """Two tables that differ only in the first step, all else 0; shapes (arms, horizon).

    The first reward of arm 1 is the lower or the upper of the `limits`, or arm 1 has all losses of the first step or
    none.
    """
    first, second = np.zeros((2, arms, horizon))
    first[0, 0], second[0, 0] = limits
    if neighbours is Neighbours.ONE_LOSS_VECTOR:
        first[1:, 0] = 1.0
    return first, second


def sampled_delta(first: IntArray, second: IntArray, failure: float, epsilon: float) -> float:
    """A lower bound on delta at `epsilon` from independent outcomes under two neighbouring inputs.

    The event: the outcomes that were more than e^epsilon times as frequent in the first half. The second half bounds
    its probabilities.
    """
    half = len(first) // 2
    outcomes = np.unique(np.concatenate([first, second]))
    best, event, swapped = -math.inf, outcomes, False
    for turn, (one, other) in enumerate(((first, second), (second, first))):
        counts = [np.bincount(np.searchsorted(outcomes, side[:half]), minlength=len(outcomes)) for side in (one, other)]
        gains = counts[0] - grown(counts[1].astype(float), epsilon)
        if (value := float(gains[gains > 0].sum())) > best:
            best, event, swapped = value, outcomes[gains > 0], bool(turn)
    one, other = (second, first) if swapped else (first, second)
    hits = [int(np.isin(side[half:], event).sum()) for side in (one, other)]
    rest = len(first) - half
    rare = np.array(at_most(hits[1], rest, failure / 2))
    return max(0.0, at_least(hits[0], rest, failure / 2) - float(grown(rare, epsilon)))


def require_runs(runs: int, failure: float) -> None:
    """Raise `ParameterError` for runs that are too few to show anything at this failure probability.

    A quarter of them bounds one probability, with a quarter of `failure`: if all of these are hits, the bound must be
    at least 1/e.
    """
    least = 4 * math.ceil(math.log(4 / failure))
    if runs < least:
        raise ParameterError("runs", f"failure={failure:g} needs at least {least}, got {runs}")


def require_playable(policy: Learner[Any]) -> None:
    """Raise `ParameterError` for a policy that cannot be played on a table of rewards."""
    if not isinstance(policy, Policy | FullInformationPolicy):
        raise ParameterError("policy", f"{policy.name} cannot be played on a table of rewards")
    if isinstance(policy, Policy) and type(policy).choices in (Policy.choices, HeavyTailedPolicy.choices):
        policy.choices(2, 2, np.random.default_rng(0))  # raises the error that says why not


def played(
    policy: Policy | FullInformationPolicy,
    table: FloatArray,
    runs: int,
    rng: np.random.Generator,
    convention: Convention,
) -> IntArray:
    """The arms of `runs` plays on one table, shape (runs, horizon)."""
    return np.array([policy.play(table, table.shape[1], rng, convention) for _ in range(runs)], dtype=np.int64)


def with_plays(
    finding: PrivacyCost,
    claimed: Guarantee,
    plays: tuple[IntArray, IntArray],
    failure: float,
    inputs: str = "",
    view: View | None = None,
) -> PrivacyCost:
    """The finding with the lower bound from `plays` on two neighbouring tables, shapes (runs, horizon), if larger.

    The bound is on delta at the epsilon claimed for a promise with delta > 0, else on epsilon at delta = 0. `inputs`
    says how the tables differ, if they are not those of `neighbouring_tables`. Plays are compared by their whole
    sequences of arms, or by a `view` that other plays chose.
    """
    seen = view or Beginnings(np.unique(np.concatenate(plays), axis=0))
    first, second = map(seen.outcomes, plays)
    runs, inputs = len(first) + len(second), inputs or INPUTS[claimed.neighbours]
    if claimed.delta > 0:
        bounds = finding.delta or Bounds(1.0, 0.0, "none", "none")
        shown = _larger(
            betting_delta(first, second, failure / 2, claimed.epsilon),
            sampled_delta(first, second, failure / 2, claimed.epsilon),
        )
        event_text = f"what is more than e^{claimed.epsilon:g} times as frequent"
        event_text += f" of: {view.what}" if view is not None else ""
        return replace(finding, delta=_sampled(bounds, shown, inputs, event_text, failure, runs))
    bounds = finding.epsilon or Bounds(math.inf, 0.0, "none", "none")
    held_out, event = sampled_epsilon(first, second, failure / 2)
    shown = _larger(betting_epsilon(first, second, failure / 2), held_out)
    return replace(finding, epsilon=_sampled(bounds, shown, inputs, seen.words(event), failure, runs))


def _larger(bets: float, held_out: float) -> tuple[float, str]:
    return (bets, "bets") if bets > held_out else (held_out, "Clopper-Pearson")


def _sampled(bounds: Bounds, shown: tuple[float, str], inputs: str, event: str, failure: float, runs: int) -> Bounds:
    if shown[0] <= bounds.shown:
        return bounds
    witness = f"{inputs}; {event}"
    return replace(bounds, shown=shown[0], witness=witness, method=shown[1], failure=failure, runs=runs)
