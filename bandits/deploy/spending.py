"""The privacy budget of one user that sessions spend, as numbers and in words."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bandits.deploy.tickets import SessionProgress
from bandits.mechanisms.concentrated import rho_of_discrete_laplace
from bandits.mechanisms.deployable import GRID
from bandits.parameters import require
from bandits.policies.batched import BatchedRun, moved_by_a_reward


@dataclass(frozen=True)
class Spent:
    """What is known about one user from all that a session, or several, has released.

    Guarantee: if all rewards of one user change, the probability of every set of releases and arms changes by at most
    the factor e^`epsilon`, and all that was released is `rho`-zCDP. This is about every user of a session that counts
    rewards by a `user_key`, else about users with at most `contributions` rewards in the whole session.

    Attributes
    ----------
    epsilon: spent so far: 0 before the first release; infinite after one with normal noise.
    most: spent at most, however long the session goes on.
    releases: noisy numbers so far; each reward is in one, so that costs add up only for a user in several batches.
    words: the guarantee in a sentence.
    rho, most_rho: the same as a rho of zCDP; of discrete Laplace noise its own, less than pure privacy implies.
    """

    epsilon: float
    most: float
    releases: int
    words: str
    rho: float
    most_rho: float


NOT_KNOWN = "; if an older copy of the journal was restored, more was spent: that is not known without expect="


def spent(
    epsilon: float,
    contributions: int,
    releases: int,
    outputs: str = "all arms and releases",
    anchored: bool = True,
    rho: float | None = None,
    counted: tuple[int, int] | None = None,
    steps: int = 1,
    changed: int | None = None,
) -> Spent:
    """The cost of `releases` that are each epsilon-private for one reward: `contributions` times as much for one user.

    With a `rho` each is rho-zCDP, which is `contributions`^2 times as much. This is group privacy: one input becomes
    the other in `contributions` steps, each of which changes one reward. `anchored`: whether it is known that no older
    copy of the journal was restored. `counted`, if `contributions` is of open batches alone: how many rewards of one
    user are in releases at most, so far and to the end. Batches that are closed one after another add up (adaptive
    composition): e rewards cost e x epsilon, and `contributions` x e x rho, since no closing has more of them.
    `changed`: how many rewards of a closing one user changes, if that is not `contributions`.
    `steps`: by how many one reward moves a number with discrete Laplace noise; 1 also if each reward has a message of
    its own, whatever the noise (bandits/guarantees.md, 6.7).
    """
    changed = contributions if changed is None else changed
    so_far, to_the_end = counted or (contributions if releases else 0, contributions)
    now, most = (epsilon * rewards if rewards else 0.0 for rewards in (so_far, to_the_end))
    if rho is not None:
        of_a_reward = changed * rho
    else:  # it is convex in the rewards, which cost the most if all are in one number
        of_a_reward = rho_of_discrete_laplace(changed * epsilon, changed * steps) / changed
    now_rho, most_rho = of_a_reward * so_far, of_a_reward * to_the_end
    who = "one user with one reward" if contributions == 1 else f"one user with at most {contributions} rewards"
    words = f"{outputs} are {_in_words(most, most_rho)} for {who}"
    if counted:
        words += f" in batches that are open together, in every batch to the end; so far {_in_words(now, now_rho)}"
    return Spent(now, most, releases, words + ("" if anchored else NOT_KNOWN), now_rho, most_rho)


def steps_of_a_reward(run: BatchedRun) -> int:
    """By how many steps one reward moves a released number, or 1, which is always safe."""
    return GRID if run.grid == GRID else 1  # other grids change from batch to batch


LOOKED_AT = 100  # sums of a release; all are alike in most policies, and there may be 10^6


def require_numbers(run: BatchedRun, due: int) -> None:
    """Raise `ParameterError` if a reward moves what is released of `due` sums by more than the noise is made for.

    It looks at sums of 0 and 1, not at those of users: whether a policy is refused must not depend on rewards.
    """
    if type(run).numbers_of is BatchedRun.numbers_of:
        return
    sums = [0] * due
    for place in range(0, due, -(-due // LOOKED_AT)):
        moved = moved_by_a_reward(run, sums, place)
        require(moved <= 1, "policy", f"{moved:g}", "one whose `numbers_of` a reward of 1 moves by at most 1 in all")
        numbers = run.numbers_of([*sums[:place], 1, *sums[place + 1 :]])
        whole = all(number == int(number) for number in numbers)
        require(whole, "policy", numbers, "one whose `numbers_of` are whole numbers for sums that are")


def changed_at_once(header: Mapping[str, Any]) -> int:
    """By how many rewards one user changes the sums of a closing at most: `contributions` of a header, or twice that.

    If users are counted, which of their rewards are beyond the limit follows from which they send. With `wait_always`
    that is protected too: between any two ways to send at most `contributions` rewards leave the sums of a closing and
    as many enter, while all that is sent by others counts as before. Otherwise it is public, and values alone change.
    """
    twice = "users" in header and header["wait_always"]
    return int(header["contributions"]) * (2 if twice else 1)


def spent_by(progress: SessionProgress, header: Mapping[str, Any], anchored: bool, closings: int | None) -> Spent:
    """`spent` by a session that counts its users if it has `closings`: how often it closed batches, one after another.

    A closing has at most `changed_at_once` rewards that one user changes, and no session has more rewards than pulls.
    """
    run, counted, changed = progress.run, None, changed_at_once(header)
    if closings is not None:
        counted = min(changed * closings, progress.pulls), progress.horizon
    return spent(
        run.epsilon,
        header["contributions"],
        progress.released,
        anchored=anchored,
        rho=run.rho,
        counted=counted,
        steps=steps_of_a_reward(run),
        changed=changed,
    )


def _in_words(most: float, most_rho: float) -> str:
    return f"{most:g}-differentially private" if math.isfinite(most) else f"{most_rho:g}-zCDP"


def on_disjoint_users(*sessions: Spent) -> Spent:
    """Several sessions, no user in two of them: the most that one of them spends (parallel composition)."""
    return _together(sessions, max, "the sessions have no user in common")


def on_same_users(*sessions: Spent) -> Spent:
    """Several sessions in which one user may be in each: their epsilons, and rhos, add up (sequential composition)."""
    return _together(sessions, sum, "a user may be in all sessions")


def _together(sessions: tuple[Spent, ...], combined: Callable[[list[float]], float], words: str) -> Spent:
    require(len(sessions) > 0, "sessions", len(sessions), "at least one")
    for one in sessions:
        require(isinstance(one, Spent), "sessions", repr(one), "what `spent()` of each session returns")
    epsilon, most = combined([one.epsilon for one in sessions]), combined([one.most for one in sessions])
    rho, most_rho = combined([one.rho for one in sessions]), combined([one.most_rho for one in sessions])
    words += f": all together are {_in_words(most, most_rho)} for one user"
    return Spent(epsilon, most, sum(one.releases for one in sessions), words, rho, most_rho)
