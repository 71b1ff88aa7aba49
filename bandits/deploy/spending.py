"""The privacy budget of one user that sessions spend, as numbers and in words."""

import math
from dataclasses import dataclass

from bandits.mechanisms.concentrated import rho_of_pure
from bandits.parameters import require
from bandits.policies.batched import BatchedRun


@dataclass(frozen=True)
class Spent:
    """What is known about one user from all that a session, or several, has released.

    Guarantee: if all rewards of one user change, the probability of every set of releases and arms changes by at most
    the factor e^`epsilon`, and all that was released is `rho`-zCDP.

    Attributes
    ----------
    epsilon: spent so far: 0 before the first release; infinite after one with normal noise.
    most: spent at most, however long the session goes on.
    releases: noisy numbers so far; they use disjoint rewards, so their costs do not add up.
    words: the guarantee in a sentence.
    rho, most_rho: the same as a rho of zCDP; of a pure epsilon what that implies.
    """

    epsilon: float
    most: float
    releases: int
    words: str
    rho: float
    most_rho: float


NOT_KNOWN = "; if an older copy of the journal was restored, more was spent: that is not known without expect="


AGAIN = "; no user has more in batches that are open together, and one who is in later batches spends as much again"


def spent(
    epsilon: float,
    contributions: int,
    releases: int,
    outputs: str = "all arms and releases",
    anchored: bool = True,
    rho: float | None = None,
    counted: bool = False,
) -> Spent:
    """The cost of `releases` that are each epsilon-private for one reward: `contributions` times as much for one user.

    With a `rho` each is rho-zCDP, which is `contributions`^2 times as much. This is group privacy: one input becomes
    the other in `contributions` steps, each of which changes one reward. `anchored`: whether it is known that no older
    copy of the journal was restored. `counted`: whether a session counts the rewards of each user in open batches.
    """
    most = contributions * epsilon
    most_rho = rho_of_pure(most) if rho is None else contributions**2 * rho
    who = "one user with one reward" if contributions == 1 else f"one user with at most {contributions} rewards"
    words = f"{outputs} are {_in_words(most, most_rho)} for {who}"
    words += (AGAIN if counted else "") + ("" if anchored else NOT_KNOWN)
    return Spent(most if releases else 0.0, most, releases, words, most_rho if releases else 0.0, most_rho)


def spent_by(run: BatchedRun, contributions: int, releases: int, anchored: bool, counted: bool = False) -> Spent:
    """`spent` of the releases of a run."""
    return spent(run.epsilon, contributions, releases, anchored=anchored, rho=run.rho, counted=counted)


def _in_words(most: float, most_rho: float) -> str:
    return f"{most:g}-differentially private" if math.isfinite(most) else f"{most_rho:g}-zCDP"


def on_disjoint_users(*sessions: Spent) -> Spent:
    """Several sessions, no user in two of them: the most that one of them spends (parallel composition)."""
    return _together(sessions, max, "the sessions have no user in common")


def on_same_users(*sessions: Spent) -> Spent:
    """Several sessions in which one user may be in each: their epsilons, and rhos, add up (sequential composition)."""
    return _together(sessions, sum, "a user may be in all sessions")


def _together(sessions: tuple[Spent, ...], combined: object, words: str) -> Spent:
    require(len(sessions) > 0, "sessions", len(sessions), "at least one")
    for one in sessions:
        require(isinstance(one, Spent), "sessions", repr(one), "what `spent()` of each session returns")
    assert callable(combined)
    epsilon, most = combined([one.epsilon for one in sessions]), combined([one.most for one in sessions])
    rho, most_rho = combined([one.rho for one in sessions]), combined([one.most_rho for one in sessions])
    words += f": all together are {_in_words(most, most_rho)} for one user"
    return Spent(epsilon, most, sum(one.releases for one in sessions), words, rho, most_rho)
