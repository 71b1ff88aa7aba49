"""The hybrid mechanism: private running sums of a stream of unknown length.

Two mechanisms of budget epsilon/2 share the stream (Chan, Shi and Song 2011).

- The logarithmic part speaks at the counts 1, 2, 4, 8, ... only. At 2^k it adds Lap(2/epsilon) to what
  arrived since 2^(k-1), on top of its own earlier release: noise is never taken off again, and after 2^k
  items k + 1 draws have piled up. An item lies in one such increment, so all releases together are
  (epsilon/2)-DP. (Fresh noise on the whole sum at every power of two would have a smaller error and
  spend epsilon/2 at each of them, without bound.)
- Between 2^k and 2^(k+1) a fresh tree counts the items after 2^k. The next power of two closes the
  stretch, so at most 2^k - 1 items enter, the tree has k levels and the scale of its nodes is 2k/epsilon;
  an item lies in one tree only.

Hence epsilon-DP of the whole endless sequence of releases, one item changed, also if an item is chosen
in view of earlier releases.

All that has to be kept is the noise, and it is kept as a tree keeps it: the noise of the sum of n items is
fresh noise plus the noise of an earlier sum, that of n with its lowest bit cleared as in a tree, or, at a
power of two, that of n/2.
"""

from dataclasses import dataclass, field

import numpy as np

from bandits.arrays import FloatArray
from bandits.compiled import compiled
from bandits.mechanisms.laplace import laplace
from bandits.mechanisms.tree import lowest_bit, node_scale
from bandits.parameters import require, require_epsilon

ENDLESS = 63  # levels that serve any stream


def hybrid_scale(epsilon: float, sensitivity: float = 1.0) -> float:
    """Scale of the noise at powers of two; the nodes of a tree of k levels take k times as much."""
    return node_scale(1, epsilon / 2, sensitivity)


@compiled
def fresh_levels(count: int) -> int:
    """By how many times `hybrid_scale` the sum of `count` items is newly disturbed: k between 2^k and 2^(k+1)."""
    if count & (count - 1) == 0:
        return 1
    levels = 0
    while count > 1:
        count >>= 1
        levels += 1
    return levels


@compiled
def continued(count: int) -> int:
    """The earlier sum whose noise the sum of `count` items carries on, 0 for none."""
    rest = count & (count - 1)
    return rest if rest else count >> 1


@compiled
def close_hybrid(prefix_noise: FloatArray, count: int, fresh: float) -> float:
    """Noise of the released sum of `count` items, of which `fresh` is new.

    `prefix_noise[level]` is the noise of the latest sum whose count has the lowest set bit `level`, as
    in `bandits.mechanisms.tree.close_node`; it is updated in place.
    """
    earlier = continued(count)
    noise = fresh + (prefix_noise[lowest_bit(earlier)] if earlier else 0.0)
    prefix_noise[lowest_bit(count)] = noise
    return noise


@dataclass
class HybridMechanism:
    """Private running sum of any number of items, each in an interval of width `sensitivity`.

    Guarantee: `epsilon`-DP of the whole sequence of released sums, one item changed. Memory does not
    grow. Raises `ParameterError` for parameters out of range.
    """

    epsilon: float
    rng: np.random.Generator
    sensitivity: float = 1.0
    count: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        require(self.sensitivity > 0, "sensitivity", self.sensitivity, "a number > 0")
        require_epsilon(self.epsilon)
        self._sum = 0.0
        self._scale = hybrid_scale(self.epsilon, self.sensitivity)
        self._prefix_noise = np.zeros(ENDLESS)

    def add(self, item: float) -> float:
        """Take the next item and release the private sum of all items so far."""
        self.count += 1
        self._sum += item
        fresh = laplace(self._scale * fresh_levels(self.count), self.rng)
        return self._sum + close_hybrid(self._prefix_noise, self.count, fresh)
