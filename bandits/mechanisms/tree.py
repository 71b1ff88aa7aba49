"""The tree mechanism: private prefix sums of a stream of known length.

The stream is divided into dyadic nodes. The node of level i that ends at item n holds the sum of the
2^i items up to n, where i is the lowest set bit of n, plus fresh Laplace noise; the prefix sum of n
items is the sum of one node per set bit of n. An item lies in at most one node of each level.
(Chan, Shi and Song 2011, section 3.2; Dwork, Naor, Pitassi and Rothblum 2010, section 4.)

Only the noise has to be stored: the noise of prefix n is the fresh noise of the node that n
closes plus the noise of prefix n with its lowest bit cleared.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from bandits.arrays import FloatArray
from bandits.compiled import borrowing, compiled
from bandits.mechanisms.laplace import laplace
from bandits.parameters import require, require_epsilon


def tree_levels(length: int) -> int:
    """Levels of the tree over `length` items, floor(log2 length) + 1: the most nodes that contain one item."""
    return length.bit_length()


def node_scale(length: int, epsilon: float, sensitivity: float = 1.0) -> float:
    """Scale of the Laplace noise of every node that makes the whole release epsilon-DP.

    One item moves at most `tree_levels(length)` nodes, each by at most `sensitivity`. (Dividing
    epsilon by the natural logarithm of the length instead would spend more than epsilon.)
    """
    return sensitivity * tree_levels(length) / epsilon


def tree_variances(length: int, epsilon: float) -> FloatArray:
    """Variance of the noise of the sums of n = 1..length items, shape (length,): a node for each set bit of n."""
    require(length >= 1, "length", length, "a whole number >= 1")
    require_epsilon(epsilon)
    nodes = np.bitwise_count(np.arange(1, length + 1))
    return nodes * 2.0 * node_scale(length, epsilon) ** 2


@compiled
def lowest_bit(count: int) -> int:
    """Index of the lowest set bit of `count` >= 1: the level of the node that item `count` closes."""
    level = 0
    while count & 1 == 0:
        count >>= 1
        level += 1
    return level


@borrowing
def close_node(prefix_noise: FloatArray, count: int, fresh: float) -> float:
    """Noise of the prefix of `count` items, whose last node has the noise `fresh`.

    `prefix_noise[level]`, shape (levels,), is the noise of the latest prefix whose lowest set bit is
    `level`; it is updated in place.
    """
    rest = count & (count - 1)
    noise = fresh + (prefix_noise[lowest_bit(rest)] if rest else 0.0)
    prefix_noise[lowest_bit(count)] = noise
    return noise


@dataclass
class AdaptiveTreeMechanism:
    """Private running sum of at most `length` items, the n-th in [-B_n, B_n], B_n known and never decreasing.

    The node that item n closes has noise Lap(2 B_n levels / epsilon): every item in it is bounded by B_n.
    (Tao, Wu, Zhao and Wang 2022, Algorithm 2, with `levels` for its log T.) With `natural_logarithm` the
    noise has log(length) instead of the levels, a literal reading, and the guarantee is weaker.

    Guarantee: `spent_epsilon`-DP of the whole sequence of released sums, one item changed; that is
    `epsilon` unless `natural_logarithm`. Memory grows with log `length`. Raises `ParameterError` for
    parameters out of range, `ValueError` for an item beyond its bound or a bound that decreases, and
    `OverflowError` when more than `length` items arrive.
    """

    length: int
    epsilon: float
    rng: np.random.Generator
    natural_logarithm: bool = False
    count: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        require(self.length >= 1, "length", self.length, "a whole number >= 1")
        require_epsilon(self.epsilon)
        if self.natural_logarithm:
            require(self.length >= 2, "length", self.length, "at least 2 for a logarithm > 0")
        self._sum = 0.0
        self._bound = 0.0
        self._prefix_noise = np.zeros(tree_levels(self.length))

    @property
    def levels(self) -> float:
        """The factor of the noise scale of a node: the levels of the tree, or log(length)."""
        return math.log(self.length) if self.natural_logarithm else tree_levels(self.length)

    @property
    def spent_epsilon(self) -> float:
        """The epsilon of all releases: an item lies in at most `tree_levels` nodes, at epsilon / `levels` each."""
        return self.epsilon * tree_levels(self.length) / self.levels

    def add(self, item: float, bound: float) -> float:
        """Take the next item, at most `bound` in absolute value, and release the private sum of all so far."""
        if self.count == self.length:
            raise OverflowError(f"a tree over {self.length} items cannot take one more")
        if bound < self._bound or not abs(item) <= bound:
            raise ValueError(f"item {item} with bound {bound} after bound {self._bound}: |item| <= bound, never less")
        self.count += 1
        self._sum += item
        self._bound = bound
        fresh = laplace(2 * bound * self.levels / self.epsilon, self.rng)
        return self._sum + close_node(self._prefix_noise, self.count, fresh)


@dataclass
class TreeMechanism:
    """Private running sum of at most `length` items in [0, `sensitivity`].

    Guarantee: `epsilon`-DP of the whole sequence of released sums, one item changed. Memory and errors
    are those of `AdaptiveTreeMechanism`; this is its special case of a constant bound.
    """

    length: int
    epsilon: float
    rng: np.random.Generator
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        require(self.sensitivity > 0, "sensitivity", self.sensitivity, "a number > 0")
        self._centred = AdaptiveTreeMechanism(self.length, self.epsilon, self.rng)

    @property
    def count(self) -> int:
        """Items so far."""
        return self._centred.count

    def add(self, item: float) -> float:
        """Take the next item and release the private sum of all items so far."""
        half = self.sensitivity / 2
        return self._centred.add(item - half, half) + self.count * half
