"""The hybrid mechanism: private running sums of a stream of unknown length.

Two mechanisms of budget epsilon/2 share the stream (Chan, Shi and Song 2011).

- The logarithmic part releases a sum at the counts 1, 2, 4, 8, ... only. At 2^k it adds to its earlier
  release the items that arrived since 2^(k-1), plus Lap(2/epsilon). Noise is never removed, so the release
  at 2^k contains k + 1 draws. An item lies in one such increment, so all releases together are
  (epsilon/2)-DP. (Fresh noise on the whole sum at every power of two would have a smaller error and
  spend epsilon/2 at each of them, without bound.)
- Between 2^k and 2^(k+1) a fresh tree counts the items after 2^k. It ends before the next power of two,
  so it takes at most 2^k - 1 items, it has k levels and the scale of its nodes is 2k/epsilon. An item lies
  in one tree only.

Hence the whole infinite sequence of releases is epsilon-DP, one item changed, even if items depend on
earlier releases.

As for a tree only the noise is stored: the noise of the sum of n items is fresh noise plus the noise of the sum of m
items, where m is n with its lowest bit cleared or, if n is a power of two, n/2.
"""

from dataclasses import dataclass, field

import numpy as np

from bandits.arrays import FloatArray
from bandits.compiled import borrowing, compiled
from bandits.mechanisms.laplace import laplace
from bandits.mechanisms.tree import lowest_bit, node_scale
from bandits.parameters import require, require_epsilon

ENDLESS = 63  # levels, enough for any stream


def hybrid_scale(epsilon: float, sensitivity: float = 1.0) -> float:
    """Scale of the noise at powers of two; the nodes of a tree of k levels take k times as much."""
    return node_scale(1, epsilon / 2, sensitivity)


def hybrid_variances(length: int, epsilon: float) -> FloatArray:
    """Variance of the noise of the sums of n = 1..length items, shape (length,).

    With 2^k <= n < 2^(k+1) it is 2 (2 / epsilon)^2 (k + 1 + k^2 b), b the set bits of n - 2^k.
    """
    require(length >= 1, "length", length, "a whole number >= 1")
    require_epsilon(epsilon)
    counts = np.arange(1, length + 1)
    levels = np.frexp(counts)[1] - 1  # k
    nodes = np.bitwise_count(counts) - 1.0  # of the tree that counts after 2^k
    return np.asarray(2.0 * hybrid_scale(epsilon) ** 2 * (levels + 1 + levels**2 * nodes))


@compiled
def fresh_levels(count: int) -> int:
    """Scale of the fresh noise of the sum of `count` items, in units of `hybrid_scale`.

    1 at a power of two, and k between 2^k and 2^(k+1).
    """
    if count & (count - 1) == 0:
        return 1
    levels = 0
    for bits in (32, 16, 8, 4, 2, 1):  # of the highest set bit, one binary digit of its index at a time
        if count >> bits:
            count >>= bits
            levels += bits
    return levels


@compiled
def continued(count: int) -> int:
    """The number m of items of the earlier sum whose noise the sum of `count` items contains; 0 for none."""
    rest = count & (count - 1)
    return rest if rest else count >> 1


@borrowing
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
