"""KL-UCB and Thompson sampling on randomised bits: KLUCB-CF and TS-CF (Gajane, Urvoy and Kaufmann 2018).

CF stands for corrupted feedback: the learner sees a reward after a known random map, here randomised response. The
probability of a 1 grows with the mean reward, so that the arm with the best bits is the best arm. Only the abstract of
the paper was read: constants and details are ours where the docstrings do not cite it.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bandits.arrays import IntArray
from bandits.divergences import divergence_upper_end
from bandits.environments.bandit import Instance
from bandits.loops.bit_thompson import bit_thompson_pulls
from bandits.loops.kl_ucb import KLIndex, exploration, is_highest, kl_ucb_pulls
from bandits.parameters import require
from bandits.policies.local_ucb import BitPolicy

LARGEST_C = 1e6


@dataclass(frozen=True)
class KLUCBCF(BitPolicy):
    """KLUCB-CF (Gajane et al. 2018), randomised response as the corruption: KL-UCB on bits, see `BitPolicy`.

    Each arm once, then the arm with the largest q <= H with n_a kl(s_a / n_a, q) <= log t + c log+ log t, s_a the sum
    of its n_a bits; q = H if s_a / n_a >= H. Ties go to the arm with the fewest pulls, then to the first. With `cap`, H
    is e^epsilon / (1 + e^epsilon), the largest mean that a bit can have; without, 1. `c` is 3 in proofs of KL-UCB.

    On Bernoulli arms its regret is log T times the constant of theorem 5.2 of bandits/bounds/gajane2018.md as T grows
    (5.3), which no locally private policy improves.

    Guarantee: epsilon-DP of every reward before the learner sees it, for rewards in [0, 1].
    """

    name: ClassVar[str] = "klucb_cf"
    label: ClassVar[str] = "KLUCB-CF"
    citation: ClassVar[str] = "Gajane, Urvoy and Kaufmann (2018), arXiv 1708.05033"
    revision: ClassVar[int] = 2  # its loop draws bits of arms at H ahead; revision 1 drew other blocks
    cap: bool = True
    c: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 <= self.c <= LARGEST_C, "c", self.c, f"a number in 0..{LARGEST_C:g}")

    def select(self, state: Any, t: int, rng: np.random.Generator) -> int:
        if t <= len(state.pulls):
            return t - 1
        index, best = self.index, (-math.inf, 0)
        level, chosen = exploration(index, t), 0
        for arm, (pulls, total) in enumerate(zip(state.pulls.tolist(), state.sums.tolist(), strict=True)):
            value = index.highest
            if not is_highest(pulls, total / pulls, index.highest, level):
                value = min(divergence_upper_end(total / pulls, level / pulls), index.highest)
            if (value, -pulls) > best:
                best, chosen = (value, -pulls), arm
        return chosen

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        return kl_ucb_pulls(self.chance(instance.mean_rewards), horizon, checkpoints, self.index, rng)

    @property
    def index(self) -> KLIndex:
        """How arms are compared."""
        return KLIndex(float(self.chance(1.0)) if self.cap else 1.0, float(self.c))


@dataclass(frozen=True)
class TSCF(BitPolicy):
    """TS-CF (Gajane et al. 2018), randomised response as the corruption: Thompson sampling on bits, see `BitPolicy`.

    Each arm once, then every arm draws from Beta(s_a + 1, n_a - s_a + 1), s_a the sum of its n_a bits, and the arm
    with the largest draw is pulled. Regret as for `KLUCBCF`.

    Guarantee: epsilon-DP of every reward before the learner sees it, for rewards in [0, 1].
    """

    name: ClassVar[str] = "ts_cf"
    label: ClassVar[str] = "TS-CF"
    citation: ClassVar[str] = "Gajane, Urvoy and Kaufmann (2018), arXiv 1708.05033"
    revision: ClassVar[int] = 2  # its loop has closer bounds and keeps a bar for many events
    draws_arms: ClassVar[bool] = True

    def select(self, state: Any, t: int, rng: np.random.Generator) -> int:
        if t <= len(state.pulls):
            return t - 1
        return int(np.argmax(rng.beta(state.sums + 1, state.pulls - state.sums + 1)))

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        return bit_thompson_pulls(self.chance(instance.mean_rewards), horizon, checkpoints, rng)
