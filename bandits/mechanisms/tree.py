"""The tree mechanism: private prefix sums of a stream of known length.

The stream is cut into dyadic nodes. The node of level i that ends at item n holds the sum of the
2^i items up to n, where i is the lowest set bit of n, plus fresh Laplace noise; the prefix sum of n
items is the sum of one node per set bit of n. An item lies in at most one node of each level.
(Chan, Shi and Song 2011, section 3.2; Dwork, Naor, Pitassi and Rothblum 2010, section 4.)

All that has to be kept is the noise: the noise of prefix n is the fresh noise of the node that n
closes plus the noise of prefix n with its lowest bit cleared.
"""

from dataclasses import dataclass, field

import numpy as np

from bandits.compiled import compiled
from bandits.mechanisms.laplace import laplace
from bandits.parameters import require, require_epsilon
from bandits.types import FloatArray


def tree_levels(length: int) -> int:
    """Levels of the tree over `length` items, floor(log2 length) + 1: in so many nodes an item can lie."""
    return length.bit_length()


def node_scale(length: int, epsilon: float, sensitivity: float = 1.0) -> float:
    """Scale of the Laplace noise of every node that makes the whole release epsilon-DP.

    One item moves at most `tree_levels(length)` nodes, each by at most `sensitivity`. (Dividing
    epsilon by the natural logarithm of the length instead would spend more than epsilon.)
    """
    return sensitivity * tree_levels(length) / epsilon


@compiled
def lowest_bit(count: int) -> int:
    """Index of the lowest set bit of `count` >= 1: the level of the node that item `count` closes."""
    level = 0
    while count & 1 == 0:
        count >>= 1
        level += 1
    return level


@compiled
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
class TreeMechanism:
    """Private running sum of at most `length` items, each in an interval of width `sensitivity`.

    Guarantee: `epsilon`-DP of the whole sequence of released sums, one item changed. Memory grows
    with log `length`. Raises `ParameterError` for parameters out of range and `OverflowError` when
    more than `length` items arrive.
    """

    length: int
    epsilon: float
    rng: np.random.Generator
    sensitivity: float = 1.0
    count: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        require(self.length >= 1, "length", self.length, "a whole number >= 1")
        require(self.sensitivity > 0, "sensitivity", self.sensitivity, "a number > 0")
        require_epsilon(self.epsilon)
        self._sum = 0.0
        self._scale = node_scale(self.length, self.epsilon, self.sensitivity)
        self._prefix_noise = np.zeros(tree_levels(self.length))

    def add(self, item: float) -> float:
        """Take the next item and release the private sum of all items so far."""
        if self.count == self.length:
            raise OverflowError(f"a tree over {self.length} items cannot take one more")
        self.count += 1
        self._sum += item
        return self._sum + close_node(self._prefix_noise, self.count, laplace(self._scale, self.rng))
