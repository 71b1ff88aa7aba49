"""One run of a policy that learns from noisy sums of batches alone, without rewards and without noise.

`BatchedRun` says which arm is next and when the sum of a batch must be released; the caller adds up rewards and draws
the noise. `play_batches` does so for given rewards with simulated noise, `bandits.deploy.Session` for real users with
exact noise, and writes every release down.
"""

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from typing import Any, ClassVar

import numpy as np

from bandits.mechanisms.deployable import GRID


class BatchedRun(ABC):
    """One run of a policy. Its state depends on pulls and releases alone.

    Every arm has at most one open batch: its pulls since its last release, while `learning`. Once batches are
    `due`, the sums of their rewards are released with noise of scale 1 / `epsilon` and given to `absorb`, or the
    `numbers_of` them; before that no arm is pulled. So a reward is in one release, and the arms are epsilon-private
    by parallel composition. With a `rho` noise is normal, of variance 1 / (2 rho), and the arms are rho-zCDP.

    Attributes
    ----------
    epsilon: what a release costs one reward in [0, 1]; infinite with a `rho`.
    rho: what a release with normal noise costs one reward in [0, 1]; None for Laplace noise.
    due: arms whose batches have ended, in the order in which `absorb` takes their sums.
    learning: whether the reward of the next pull enters a sum.
    draws_arms: whether `next_arm` is random given the releases, as in Thompson sampling.
    """

    draws_arms: ClassVar[bool] = False
    epsilon: float
    rho: float | None = None
    due: tuple[int, ...] = ()
    learning: bool = True

    @property
    def grid(self) -> int:
        """Rewards of the open batches are rounded to multiples of 1 / grid: at random if that is not `GRID`."""
        return GRID

    def numbers_of(self, sums: Sequence[Any]) -> list[Any]:
        """What is released of the sums of the due batches: these, or whole linear combinations of them.

        A reward of 1 moves all of them together by at most 1, see `moved_by_a_reward`.
        """
        return list(sums)

    @abstractmethod
    def next_arm(self, rng: np.random.Generator) -> int:
        """The arm of the next pull; asked for only while no batch is due. Changes nothing."""

    @abstractmethod
    def pull(self, arm: int) -> None:
        """Count a pull of `arm`."""

    @abstractmethod
    def absorb(self, sums: Sequence[float]) -> None:
        """Go on with the noisy sums of the batches that are due, or with what is released of them."""

    @abstractmethod
    def summary(self) -> dict[str, object]:
        """What the policy knows, as plain numbers; all of it follows from releases."""

    def saved(self) -> dict[str, Any] | None:
        """The state as plain data, from which `restore` goes on; None if the run cannot be saved."""
        return None

    def restore(self, saved: dict[str, Any]) -> None:
        """Set a run that has just begun to the state that was `saved`."""
        raise NotImplementedError


def moved_by_a_reward(run: BatchedRun, sums: Sequence[Any], place: int) -> float:
    """By how much the released numbers move in all if a reward of 1 is added to the sum of a due batch.

    Noise for a move of 1 hides them if this is at most 1: the sum of the moves, and with a `rho` that of their squares.
    """
    more = [*sums[:place], sums[place] + 1, *sums[place + 1 :]]
    before, after = run.numbers_of(sums), run.numbers_of(more)
    if len(before) != len(after):
        return math.inf
    moves = [abs(one - other) for one, other in zip(before, after, strict=True)]
    return float(sum(moves) if run.rho is None else sum(move**2 for move in moves))


def play_batches(
    run: BatchedRun, released: Callable[[list[float]], Sequence[float]], rng: np.random.Generator
) -> Generator[int, float, None]:
    """A run on given rewards: `released` adds noise to the sums of the batches that are due."""
    sums: defaultdict[int, float] = defaultdict(float)
    while True:
        arm = run.next_arm(rng)
        sums[arm] += yield arm
        run.pull(arm)
        if run.due:
            run.absorb(released(run.numbers_of([sums.pop(ended) for ended in run.due])))
