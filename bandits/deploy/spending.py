"""The privacy budget of one user that sessions spend, as numbers and in words."""

from dataclasses import dataclass

from bandits.parameters import require


@dataclass(frozen=True)
class Spent:
    """What is known about one user from all that a session, or several, has released.

    Guarantee: if all rewards of one user change, the probability of every set of releases and arms changes by at most
    the factor e^`epsilon`.

    Attributes
    ----------
    epsilon: spent so far: 0 before the first release.
    most: spent at most, however long the session goes on.
    releases: noisy numbers so far; they use disjoint rewards, so their costs do not add up.
    words: the guarantee in a sentence.
    """

    epsilon: float
    most: float
    releases: int
    words: str


NOT_KNOWN = "; if an older copy of the journal was restored, more was spent: that is not known without expect="


def spent(
    epsilon: float, contributions: int, releases: int, of: str = "all arms and releases", anchored: bool = True
) -> Spent:
    """The cost of `releases` that are each epsilon-private for one reward: `contributions` times as much for one user.

    This is group privacy: one input becomes the other in `contributions` steps, each of which changes one reward.
    `anchored`: whether it is known that no older copy of the journal was restored.
    """
    most = contributions * epsilon
    who = "one user with one reward" if contributions == 1 else f"one user with at most {contributions} rewards"
    words = f"{of} are {most:g}-differentially private for {who}" + ("" if anchored else NOT_KNOWN)
    return Spent(most if releases else 0.0, most, releases, words)


def on_disjoint_users(*sessions: Spent) -> Spent:
    """Several sessions, no user in two of them: the most that one of them spends (parallel composition)."""
    return _together(sessions, max, "the sessions have no user in common")


def on_same_users(*sessions: Spent) -> Spent:
    """Several sessions in which one user may be in each: their epsilons add up (sequential composition)."""
    return _together(sessions, sum, "a user may be in all sessions")


def _together(sessions: tuple[Spent, ...], combined: object, words: str) -> Spent:
    require(len(sessions) > 0, "sessions", len(sessions), "at least one")
    for one in sessions:
        require(isinstance(one, Spent), "sessions", repr(one), "what `spent()` of each session returns")
    assert callable(combined)
    most = combined([one.most for one in sessions])
    epsilon, releases = combined([one.epsilon for one in sessions]), sum(one.releases for one in sessions)
    return Spent(epsilon, most, releases, f"{words}: all together are {most:g}-differentially private for one user")
