"""Lower bounds for anything that can be run on two neighbouring inputs: Clopper-Pearson on a held-out half.

The first half of the outcomes chooses an event, those outcomes that are the most typical of one input; the second
half bounds its probability from below under that input and from above under the other. With both bounds valid,
epsilon is at least log((p - delta) / q).
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import betaincinv

from bandits.arrays import FloatArray, IntArray
from bandits.audit.transcripts import Convention
from bandits.audit.verdicts import Bounds, Finding
from bandits.learner import Learner
from bandits.parameters import ParameterError, require
from bandits.policies.base import Policy


def at_least(hits: int, runs: int, failure: float) -> float:
    """A lower bound on a probability of which `hits` in `runs` were seen; wrong with probability `failure` at most."""
    return 0.0 if hits == 0 else float(betaincinv(hits, runs - hits + 1, failure))


def at_most(hits: int, runs: int, failure: float) -> float:
    """An upper bound on a probability of which `hits` in `runs` were seen; wrong with probability `failure` at most."""
    return 1.0 if hits == runs else float(betaincinv(hits + 1, runs - hits, 1 - failure))


def sampled_epsilon(first: IntArray, second: IntArray, failure: float, delta: float = 0.0) -> tuple[float, list[int]]:
    """A lower bound on epsilon at `delta`, and its event, from independent outcomes under two neighbouring inputs.

    `first` and `second` hold outcomes as numbers, shape (runs,), as many of each. The bound is at least 0.
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


def neighbouring_tables(arms: int, horizon: int) -> tuple[FloatArray, FloatArray]:
    """Rewards 0 everywhere, but for the first reward of the first arm: it is 0 or 1. Shapes (arms, horizon)."""
    first = np.zeros((arms, horizon))
    second = first.copy()
    second[0, 0] = 1.0
    return first, second


def sampled_transcript(
    policy: Learner[Any],
    finding: Finding,
    arms: int,
    horizon: int,
    convention: Convention,
    runs: int,
    failure: float,
    seed: int = 0,
) -> Finding:
    """The finding with a lower bound from `runs` plays on each of two neighbouring tables, where that is the larger.

    Raises `ParameterError` for runs that are too few to show anything at this failure probability.
    """
    least = 4 * math.ceil(math.log(2 / failure))
    if runs < least:
        raise ParameterError("runs", f"failure={failure:g} needs at least {least}, got {runs}")
    if not isinstance(policy, Policy):
        raise ParameterError("policy", f"{policy.name} cannot be played on a table of rewards")
    rng = np.random.default_rng(seed)
    codes = []
    for table in neighbouring_tables(arms, horizon):
        plays = [policy.play(table, horizon, rng, convention) for _ in range(runs)]
        codes.append(np.unique(np.array(plays), axis=0, return_inverse=True))
    known = np.unique(np.concatenate([rows for rows, _ in codes]), axis=0)
    place = {row.tobytes(): number for number, row in enumerate(known)}
    outcomes = [np.array([place[row.tobytes()] for row in rows])[inverse] for rows, inverse in codes]
    delta = policy.guarantee.delta
    shown, event = sampled_epsilon(outcomes[0], outcomes[1], failure, delta)
    if delta > 0 or finding.epsilon is None or shown <= finding.epsilon.shown:
        return finding
    texts = ["".join(str(arm + 1) for arm in known[number][:40]) for number in event[:3]]
    witness = f"first reward of arm 1 is 0 or 1, all others 0; arms {', '.join(texts)}"
    bounds: Bounds = replace(
        finding.epsilon, shown=shown, witness=witness, method="Clopper-Pearson", failure=failure, runs=2 * runs
    )
    return replace(finding, epsilon=bounds)
