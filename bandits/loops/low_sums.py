"""The first low sum in a block of a tree of Laplace noise: exact, mostly without drawing any noise.

A block of some level has 2^level leaves. Every sum in it has the noise that was there before the block and that of some
fresh nodes of the block, independent Laplace variables, at most one of each level below the block's:

- `SET_BITS`, the tree of `bandits.mechanisms.tree`: the sum of the first k leaves, 0 < k < 2^level, has a node for
  each set bit of k, that which leaf k, with higher bits alone kept, closes;
- `PATHS`, the tree of `bandits.mechanisms.path_tree`: leaf k, counted from 0, has all nodes above it in the block.

A sum is low if its fresh noise is at most -room scales, room > 0. With m nodes that has probability

    Q_m(room) = e^-room sum over i + r < m of room^i / i! C(m - 1 + r, r) / 2^(m + r).

Proof. The noise is G - G', each the sum of m exponential variables. Let G be the m-th point of a Poisson process. It is
beyond room + G' if fewer than m points are before that: i before room, r in the next G'. Integrate over G'. Given i and
r, G' is Gamma(m + r) / 2, and the m - i - r further points are as far apart as exponential variables.

Let H be the sum of these probabilities over all sums of the block, at most 1. With probability 1 - H there is no low
sum. Else sum k is proposed with probability Q_m / H, and noise up to it is drawn given that sum k is low. If no earlier
sum is low, k is the first low sum; otherwise there is no low sum either. So the first low sum is k, with all noise up
to it, exactly as often as it should be: Pr[sum k is low] Pr[noise, no earlier sum is low | sum k is low]. And all other
cases together have the probability that is left. Their noise is not drawn, so that a block without a low sum must be
one whose noise no later sum contains.

Several independent trees, each with a room of its own, are one collection of sums, ordered by k and then by tree: the
same holds, with the sum of their H, and with the noise of all trees up to sum k. As H falls with the room, a uniform
variable above the number of trees times the H of the least room shows at once that no sum is low.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray
from bandits.compiled import borrowing, compiled
from bandits.mechanisms.laplace import laplace
from bandits.mechanisms.tree import lowest_bit

SET_BITS, PATHS = 0, 1
HIGHEST = 24  # level of a block
FAR = 300.0  # room at which H is below 1e-60 on all levels: no uniform variable is smaller
OFTEN = 0.1  # the largest H of a block that is worth a look,
WALKED = 8.0  # and the most leaves to be walked through per block, on average


def tails() -> FloatArray:
    """Coefficients of e^room H, a polynomial in the room: shape (2, HIGHEST + 1, HIGHEST)."""
    coefficients = np.zeros((2, HIGHEST + 1, HIGHEST))
    of_nodes = np.zeros((HIGHEST + 1, HIGHEST))
    for m in range(1, HIGHEST + 1):
        for i in range(m):
            of_nodes[m, i] = sum(math.comb(m - 1 + r, r) / 2 ** (m + r) for r in range(m - i)) / math.factorial(i)
    for level in range(1, HIGHEST + 1):
        coefficients[SET_BITS, level] = sum(math.comb(level, m) * of_nodes[m] for m in range(1, level + 1))
        coefficients[PATHS, level] = 2**level * of_nodes[level]
    return coefficients


def enough_room() -> FloatArray:
    """The room of a block of each level at which proposals are rare enough, shape (2, HIGHEST + 1)."""
    rooms = np.full((2, HIGHEST + 1), math.inf)
    room = np.linspace(0.1, 200, 2000)
    for kind in (SET_BITS, PATHS):
        for level in range(1, HIGHEST + 1):
            chance = np.exp(-room) * np.polynomial.polynomial.polyval(room, TAILS[kind, level])
            rooms[kind, level] = room[np.argmax(chance < min(OFTEN, WALKED / 2**level))]
    return rooms


TAILS = tails()
ENOUGH_ROOM = enough_room()


class Scratch(NamedTuple):
    """Memory of `first_low`, made once, as loops that count no references make no arrays: `scratch(levels)`.

    Attributes
    ----------
    partial: the noise that was found, shape (levels,), see `first_low`.
    fresh, backward, points: shape (levels,).
    noise: shape (levels + 1,).
    """

    partial: FloatArray
    fresh: FloatArray
    backward: FloatArray
    points: FloatArray
    noise: FloatArray


@compiled
def scratch(levels: int) -> Scratch:
    """Memory for blocks below so many levels."""
    return Scratch(np.zeros(levels), np.zeros(levels), np.zeros(levels), np.zeros(levels), np.zeros(levels + 1))


@compiled
def low_sums(kind: int, level: int, room: float) -> float:
    """H, the expected number of low sums in a block."""
    if room >= FAR:
        return 0.0
    total = 0.0
    for i in range(level - 1, -1, -1):
        total = total * room + TAILS[kind, level, i]
    return float(math.exp(-room) * total)


@borrowing
def first_low(kind: int, level: int, room: float, work: Scratch, rng: np.random.Generator) -> int:
    """The k of the first low sum in a block, or -1 if there is none.

    `work.partial` gets the sums of its fresh noise, in scales: `partial[i]` that of the nodes of level i and higher
    ones. The level must be one at which H is at most 1.
    """
    left = rng.random()
    return proposed(kind, level, room, left, work, rng) if left < low_sums(kind, level, room) else -1


@borrowing
def proposed(kind: int, level: int, room: float, left: float, work: Scratch, rng: np.random.Generator) -> int:
    """What `first_low` returns if its uniform variable `left` is below H."""
    leaf = propose_sum(kind, level, room, left, work, rng)
    noise, used = 0.0, 0
    for i in range(level - 1, -1, -1):
        if kind == PATHS or leaf >> i & 1 == 1:
            noise -= work.fresh[used]
            used += 1
        work.partial[i] = noise
    return leaf if no_earlier(kind, level, room, leaf, work, rng) else -1


@borrowing
def propose_sum(kind: int, level: int, room: float, left: float, work: Scratch, rng: np.random.Generator) -> int:
    """A sum that is low, and in `work.fresh` minus its noise; `left` is uniform between 0 and H."""
    nodes, before, between = level, 0, 0
    scaled = left * math.exp(room)
    for m in range(1 if kind == SET_BITS else level, level + 1):
        sums = 2.0**level if kind == PATHS else 1.0
        for bit in range(m if kind == SET_BITS else 0):
            sums *= (level - bit) / (bit + 1.0)
        power = sums / 2.0**m  # the term of i and r = 0
        for i in range(m):
            term = power
            for r in range(m - i):
                if scaled >= 0:
                    nodes, before, between = m, i, r
                    scaled -= term
                term *= (m + r) / (2.0 * (r + 1))
            power *= room / (i + 1)
    large_sum(nodes, before, between, room, work, rng)
    if kind == PATHS:
        return int(rng.random(dtype=np.float32) * (1 << level))  # it has HIGHEST bits; `integers` would make an array
    return chosen_bits(level, nodes, rng)


@borrowing
def large_sum(m: int, before: int, between: int, room: float, work: Scratch, rng: np.random.Generator) -> None:
    """The m Laplace variables of a sum beyond `room`, given how many points lie before it and in the G' after it."""
    total = 0.0
    for i in range(m):
        work.backward[i] = rng.standard_exponential()
        total += work.backward[i]
    far = rng.standard_gamma(float(m + between)) / 2
    points = work.points
    for i in range(m):
        if i < before:
            points[i] = room * rng.random()
        elif i < before + between:
            points[i] = room + far * rng.random()
        else:
            points[i] = (room + far if i == before + between else points[i - 1]) + rng.standard_exponential()
    for i in range(1, m):  # few, and the last of them are in order: sorted by insertion, without memory
        point, place = points[i], i
        while place > 0 and points[place - 1] > point:
            points[place] = points[place - 1]
            place -= 1
        points[place] = point
    last = 0.0
    for i in range(m):
        work.fresh[i] = points[i] - last - work.backward[i] * (far / total)
        last = points[i]


@borrowing
def chosen_bits(level: int, ones: int, rng: np.random.Generator) -> int:
    """A number of `level` bits, uniformly among those with so many ones."""
    number = 0
    for i in range(level):
        if rng.random() * (level - i) < ones:
            number |= 1 << i
            ones -= 1
    return number


@borrowing
def no_earlier(kind: int, level: int, room: float, leaf: int, work: Scratch, rng: np.random.Generator) -> bool:
    """Whether no sum before `leaf` is low, whose own nodes have the sums `partial`: draws all other nodes."""
    partial, noise = work.partial, work.noise
    if kind == SET_BITS:
        for i in range(level):
            if leaf >> i & 1 == 1 and leaf & ((1 << i) - 1) > 0 and partial[i] <= -room:
                return False
    noise[level] = 0.0
    for k in range(1 if kind == SET_BITS else 0, leaf):
        start = level if k == 0 else lowest_bit(k)
        if kind == SET_BITS:
            rest = k & (k - 1)
            own = leaf >> start << start == k
            noise[start] = partial[start] if own else (noise[lowest_bit(rest)] if rest else 0.0) + laplace(1.0, rng)
        else:
            for i in range(min(start, level - 1), -1, -1):
                noise[i] = partial[i] if leaf >> i == k >> i else noise[i + 1] + laplace(1.0, rng)
            start = 0
        if noise[start] <= -room:
            return False
    return True


@borrowing
def first_low_of_all(level: int, rooms: FloatArray, noise: FloatArray, work: Scratch, rng: np.random.Generator) -> int:
    """The k of the first sum of several trees (`SET_BITS`) that is low, or -1 if none is.

    `rooms` has the shape (trees,). `noise`, shape (levels, trees), gets the sums of fresh noise, in scales: for each
    set bit i of k, `noise[i]` those of the nodes of level i and higher ones. The least room must be one at which H,
    times the number of trees, is at most 1.
    """
    trees, least = len(rooms), math.inf
    for room in rooms:
        least = min(least, room)
    left = rng.random()
    if left >= trees * low_sums(SET_BITS, level, least):
        return -1
    for tree in range(trees):
        chance = low_sums(SET_BITS, level, rooms[tree])
        if left < chance:
            leaf = proposed(SET_BITS, level, rooms[tree], left, work, rng)
            if leaf < 0:
                return -1
            for i in range(level):
                noise[i, tree] = work.partial[i]
            for other in range(trees):
                if other != tree and not no_low_before(leaf, rooms[other], other < tree, noise, other, rng):
                    return -1
            return leaf
        left -= chance
    return -1


@borrowing
def no_low_before(leaf: int, room: float, here: bool, noise: FloatArray, tree: int, rng: np.random.Generator) -> bool:
    """Whether no sum of a tree before `leaf` is low, nor, if `here`, that of `leaf`: draws all nodes up to it."""
    for k in range(1, leaf + 1):
        start, rest = lowest_bit(k), k & (k - 1)
        noise[start, tree] = (noise[lowest_bit(rest), tree] if rest else 0.0) + laplace(1.0, rng)
        if noise[start, tree] <= -room and (here or k < leaf):
            return False
    return True
