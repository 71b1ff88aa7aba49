"""The tree with digits that may be negative: running sums with a fraction of the binary tree's noise.

Andersson, Pagh, Steiner and Torkamani (FORC 2025, arXiv 2408.07021), who propose arity 19. Only the abstract and the
introduction were at hand: what follows is reconstructed, its privacy is proved in signed_tree.md, 9.2.

With an odd arity k every whole number has digits in -(k - 1)/2..(k - 1)/2. The sum of t items is one node of k^i items
for each unit of digit i: added if the digit is positive, subtracted if it is negative. Such a node may end after item
t, but only its noise is needed, as the sum of the items is known: the mechanism releases the exact sum plus one Laplace
variable for each unit of a digit of t. The variables have one scale, as signs do not change their law.

Equivalently, the noise of sum t is a fresh variable plus the noise of sum `parent(t)`, which is t with one unit less in
its lowest digit that is not 0, closer to 0. If that digit is negative, the parent is later than t.
"""

from dataclasses import dataclass

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import borrowing, compiled
from bandits.mechanisms.laplace import laplace
from bandits.mechanisms.unit_sums import UnitSumMechanism
from bandits.parameters import require, require_epsilon


def require_arity(arity: int) -> None:
    """Raise `ParameterError` unless `arity` is an odd number of digits, at least 3."""
    require(arity >= 3 and arity % 2 == 1, "arity", arity, "an odd number >= 3")


def signed_digits(length: int, arity: int) -> int:
    """Digits of the numbers up to `length`: the least h with (arity^h - 1) / 2 >= length.

    The sums of 1..length items are exactly (signed_digits / scale)-private (signed_tree.md, 9.2).
    """
    require(length >= 1, "length", length, "a whole number >= 1")
    require_arity(arity)
    digits = 1
    while (arity**digits - 1) // 2 < length:
        digits += 1
    return digits


def digits_at(counts: IntArray, level: int, arity: int) -> IntArray:
    """The digit of each number at a level, 0 for the lowest; of the shape of `counts`."""
    half, nodes = arity // 2, (counts + arity**level // 2) // arity**level
    return np.asarray((nodes + half) % arity - half)


@compiled
def parent(count: int, arity: int) -> int:
    """The number with one unit less in its lowest digit that is not 0, which is one step closer to 0."""
    size = 1
    while count % (size * arity) == 0:
        size *= arity
    return count - size if count // size % arity <= arity // 2 else count + size


def most_nodes(length: int, arity: int) -> int:
    """The most nodes in the noise of a sum of at most `length` items: the largest sum of |digits|."""
    half, above, most, rest = arity // 2, 0, 0, length
    for level in reversed(range(signed_digits(length, arity))):
        digit = int(digits_at(np.array([rest]), level, arity)[0])
        smaller = digit - 1 if rest == length else half  # the largest |digit| below this one: the first is >= 0
        if digit > (0 if rest == length else -half):
            most = max(most, above + smaller + level * half)
        above, rest = above + abs(digit), rest - digit * arity**level
    return max(most, above)


def signed_node_scale(length: int, epsilon: float, arity: int) -> float:
    """Scale of the noise of every node for which the whole release is exactly epsilon-DP."""
    require_epsilon(epsilon)
    return signed_digits(length, arity) / epsilon


def signed_variances(length: int, epsilon: float, arity: int) -> FloatArray:
    """Variance of the noise of the sums of n = 1..length items, shape (length,): a node for each unit of a digit."""
    counts, levels = np.arange(1, length + 1), range(signed_digits(length, arity))
    nodes = sum(np.abs(digits_at(counts, level, arity)) for level in levels)
    return np.asarray(nodes * 2.0 * signed_node_scale(length, epsilon, arity) ** 2)


@borrowing
def next_signed(ahead: FloatArray, count: int, scale: float, rng: np.random.Generator) -> float:
    """The noise of the sum of `count` items, after that of `count` - 1 items.

    `ahead`, shape (digits, arity // 2 + 1), is updated in place. Let m be `count` with its digits up to level i
    replaced by 0. While digit i is negative, `ahead[i, l]` is the noise of m - l arity^i; `ahead[i, 0]` is that of m,
    and once the digit is positive, that of m and the digit.
    """
    half, arity = ahead.shape[1] - 1, 2 * ahead.shape[1] - 1
    size, level = arity, 0
    while level < len(ahead) - 1 and (count + size // 2) % size == 0:  # digit `level` ended at half: the next grows
        size *= arity
        level += 1
    size //= arity
    digit = ((count + size // 2) // size + half) % arity - half
    if digit > 0:
        ahead[level, 0] += laplace(scale, rng)
    noise: float = ahead[level, max(0, -digit)]
    while level > 0:
        level -= 1
        ahead[level, 0] = noise
        for i in range(1, half + 1):
            noise += laplace(scale, rng)
            ahead[level, i] = noise
    return noise


@dataclass
class SignedTreeMechanism(UnitSumMechanism):
    """Running sum of at most `length` items in [0, 1], released with Lap(`scale`) for each unit of a digit.

    Guarantee: (signed_digits / scale)-DP of the whole sequence of released sums, one item changed, even if items depend
    on earlier releases (signed_tree.md, 9.2). Raises `ParameterError` for parameters out of range, `ValueError` for an
    item outside [0, 1] and `OverflowError` when more than `length` items arrive.
    """

    arity: int = 19

    def __post_init__(self) -> None:
        super().__post_init__()
        self._ahead = np.zeros((signed_digits(self.length, self.arity), self.arity // 2 + 1))

    def noise(self) -> float:
        return next_signed(self._ahead, self.count, self.scale, self.rng)
