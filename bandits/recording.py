"""Pulls recorded at checkpoints, and the regret that follows from them."""

from collections.abc import Callable

import numpy as np

from bandits.arrays import FloatArray, IntArray


def checkpoint_grid(horizon: int, count: int = 200) -> IntArray:
    """About `count` steps at which pulls are recorded: increasing, from 1 to `horizon`.

    Half of them are evenly spaced and half grow geometrically, so that one recording serves a
    linear and a logarithmic time axis. Below `count` steps every step is a checkpoint; a `count` of 1
    is the horizon alone.
    """
    if count == 1:
        return np.array([horizon], dtype=np.int64)
    if horizon <= count:
        return np.arange(1, horizon + 1, dtype=np.int64)
    linear = np.linspace(1, horizon, count // 2)
    geometric = np.geomspace(1, horizon, count - count // 2)
    steps = np.rint(np.concatenate([linear, geometric])).astype(np.int64)
    return np.unique(np.append(steps[steps < horizon], horizon))  # above 2^53 a float may miss the horizon


def regret(pulls: IntArray, gaps: FloatArray) -> FloatArray:
    """Pseudo-regret sum over arms of pulls x gap; `pulls` has shape (..., arms), the result (...).

    Arms are added one by one: a matrix product adds in an order that depends on the processor.
    """
    total = np.zeros(pulls.shape[:-1])
    for arm, gap in enumerate(gaps):
        total += pulls[..., arm] * gap
    return total


class PullLog:
    """Pulls of every arm at each checkpoint, recorded many steps at a time.

    Attributes
    ----------
    pulls: shape (checkpoints, arms); rows of checkpoints not yet reached are zero.
    """

    def __init__(self, arms: int, horizon: int, checkpoints: IntArray) -> None:
        self.pulls = np.zeros((len(checkpoints), arms), dtype=np.int64)
        self._horizon = horizon
        self._checkpoints = checkpoints
        self._step = 0
        self._pulls_now = np.zeros(arms, dtype=np.int64)

    @property
    def steps_left(self) -> int:
        return self._horizon - self._step

    def round_robin(self, viable: IntArray, rounds: int) -> bool:
        """Pull the `viable` arms in turn, `rounds` times each. False if the horizon cut this short."""
        return self._stretch(viable, rounds, lambda steps: _turns(steps, len(viable)))

    def arm_after_arm(self, viable: IntArray, rounds: int) -> bool:
        """Pull each of the `viable` arms `rounds` times without a break. False if the horizon cut this short."""
        before = rounds * np.arange(len(viable))
        return self._stretch(viable, rounds, lambda steps: np.clip(steps[:, None] - before, 0, rounds))

    def _stretch(self, viable: IntArray, rounds: int, order: Callable[[IntArray], IntArray]) -> bool:
        """Pull each viable arm `rounds` times; `order` gives the pulls of each arm after a number of these steps."""
        wanted = rounds * len(viable)
        steps = min(wanted, self.steps_left)
        first, last = np.searchsorted(self._checkpoints, [self._step, self._step + steps], side="right")
        self.pulls[first:last] = self._pulls_now
        self.pulls[first:last, viable] += order(self._checkpoints[first:last] - self._step)
        self._pulls_now[viable] += order(np.array([steps]))[0]
        self._step += steps
        return steps == wanted

    def exploit(self, arm: int) -> IntArray:
        """Pull `arm` until the horizon; returns the finished record."""
        self.round_robin(np.array([arm]), self.steps_left)
        return self.pulls


def _turns(steps: IntArray, size: int) -> IntArray:
    """How often round-robin pulls each of `size` arms in `steps` steps, shape (len(steps), size)."""
    full, begun = np.divmod(steps[:, None], size)
    return np.asarray(full + (np.arange(size) < begun))
