"""The first low sum of a block against blocks that are drawn in full, and how often sums are low by quadrature."""

import math

import numpy as np
import pytest
from scipy.stats import chi2_contingency, chisquare, ks_2samp

from bandits.compiled import compiled
from bandits.loops.low_sums import (
    ENOUGH_ROOM,
    HIGHEST,
    PATHS,
    SET_BITS,
    chosen_bits,
    first_low,
    first_low_of_all,
    low_sums,
    propose_sum,
    scratch,
)
from bandits.seeds import stream


@compiled
def first_lows(runs, kind, level, room, rng):
    """Per block: the first low sum, its noise, and that of its highest node; -1 and no noise if there is none."""
    out, found = np.zeros((runs, 3)), scratch(level)
    for run in range(runs):
        leaf = first_low(kind, level, room, found, rng)
        out[run, 0] = leaf
        if leaf >= 0:
            top = level - 1
            while kind == SET_BITS and leaf >> top & 1 == 0:
                top -= 1
            out[run, 1], out[run, 2] = found.partial[0], found.partial[top]
    return out


def drawn_in_full(runs, kind, level, room, rng):
    """The same, from the noise of all nodes of a block; node j of level i has the leaves from j 2^i on."""
    leaves = np.arange(2**level)
    noise, highest = np.zeros((runs, 2**level)), np.zeros((runs, 2**level))
    for i in reversed(range(level)):
        nodes = rng.laplace(size=(runs, 2 ** (level - i)))
        under = leaves >> i if kind == PATHS else np.maximum((leaves >> i) - 1, 0)
        has = np.ones(2**level, dtype=bool) if kind == PATHS else leaves >> i & 1 == 1
        highest = np.where(has & (highest == 0), nodes[:, under], highest)
        noise += np.where(has, nodes[:, under], 0.0)
    low = noise <= -room
    first = np.where(low.any(axis=1), low.argmax(axis=1), -1)
    row = np.arange(runs)
    found = np.array([first, noise[row, first], highest[row, first]]).T
    found[first < 0, 1:] = 0
    return found


def test_how_often_sums_are_low_by_hand():
    """One variable: e^-x / 2. Two: e^-x (2 + x) / 4. A block of level 2 has leaves 1, 2 with one node, 3 with two."""
    one, two = math.exp(-3) / 2, math.exp(-3) * 5 / 4
    assert low_sums(SET_BITS, 1, 3.0) == pytest.approx(one, rel=1e-14)
    assert low_sums(SET_BITS, 2, 3.0) == pytest.approx(2 * one + two, rel=1e-14)
    assert low_sums(PATHS, 2, 3.0) == pytest.approx(4 * two, rel=1e-14)
    assert low_sums(PATHS, 2, 1e6) == 0


@pytest.mark.parametrize("nodes", [3, 10, 20])
def test_how_often_sums_are_low_by_their_characteristic_function(nodes):
    """Pr[sum > x] = 1/2 - (1 / pi) times the integral of sin(u x) / (u (1 + u^2)^m) over u > 0 (Gil-Pelaez)."""
    room = 2.0 * math.sqrt(2 * nodes)
    u = (np.arange(4_000_000) + 0.5) * 1e-5
    tail = 0.5 - (np.sin(u * room) / (u * (1 + u**2) ** nodes)).sum() * 1e-5 / math.pi
    assert low_sums(PATHS, nodes, room) / 2**nodes == pytest.approx(tail, rel=1e-5)


@compiled
def noise_of_low_sums(runs, nodes, room, rng):
    """Minus the noise of the first node and of all nodes of a sum that is low, if all have so many nodes."""
    out, found = np.zeros((runs, 2)), scratch(nodes)
    for run in range(runs):
        propose_sum(PATHS, nodes, room, rng.random() * low_sums(PATHS, nodes, room), found, rng)
        out[run, 0], out[run, 1] = found.fresh[0], found.fresh.sum()
    return out


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "room"), [(2, 0.5), (4, 1.0)])
def test_the_noise_of_a_low_sum_is_that_of_sums_that_happen_to_be_low(nodes, room, failure):
    rng = stream("noise of low sums", nodes)
    drawn = rng.laplace(size=(500_000, nodes))
    plain = drawn[drawn.sum(axis=1) >= room]
    fast = noise_of_low_sums(len(plain), nodes, room, rng)
    assert ks_2samp(fast[:, 0], plain[:, 0]).pvalue > failure
    assert ks_2samp(fast[:, 1], plain.sum(axis=1)).pvalue > failure


def test_bits_are_chosen_uniformly(failure):
    """All numbers of five bits with two ones, equally often."""
    rng = stream("bits", 0)
    found = np.array([chosen_bits(5, 2, rng) for _ in range(3000)])
    counts = np.bincount(found, minlength=32)
    assert chisquare(counts[[number for number in range(32) if number.bit_count() == 2]]).pvalue > failure
    assert all(int(number).bit_count() == 2 for number in found)


def test_enough_room_makes_low_sums_rare():
    for kind in (SET_BITS, PATHS):
        chances = [low_sums(kind, level, ENOUGH_ROOM[kind, level]) for level in range(1, HIGHEST + 1)]
        assert max(chances) <= 0.1
        assert math.isinf(ENOUGH_ROOM[kind, 0])


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "level", "room"), [
    (SET_BITS, 1, 1.0), (SET_BITS, 3, 3.5), (SET_BITS, 6, 7.0), (PATHS, 1, 1.0), (PATHS, 3, 4.0), (PATHS, 6, 8.5)
])  # fmt: skip
def test_the_first_low_sum_is_that_of_a_block_drawn_in_full(kind, level, room, failure):
    runs, rng = 60_000, stream("low sums", level)
    assert low_sums(kind, level, room) < 1
    fast, plain = first_lows(runs, kind, level, room, rng), drawn_in_full(runs, kind, level, room, rng)
    assert 0.05 < (plain[:, 0] >= 0).mean() < 0.95
    counts = np.array([np.bincount(part[:, 0].astype(int) + 1, minlength=2**level + 1) for part in (fast, plain)])
    p_values = [chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue]
    p_values += [ks_2samp(fast[fast[:, 0] >= 0, i], plain[plain[:, 0] >= 0, i]).pvalue for i in (1, 2)]
    assert min(p_values) > failure


@compiled
def first_lows_of_all(runs, level, rooms, rng):
    """Per block: the first low sum of all trees; for every tree its noise there and that of its highest node."""
    trees = len(rooms)
    out, noise, found = np.zeros((runs, 1 + 2 * trees)), np.zeros((level, trees)), scratch(level)
    for run in range(runs):
        leaf = first_low_of_all(level, rooms, noise, found, rng)
        out[run, 0] = leaf
        if leaf >= 0:
            bits = [i for i in range(level) if leaf >> i & 1 == 1]
            for tree in range(trees):
                out[run, 1 + 2 * tree], out[run, 2 + 2 * tree] = noise[bits[0], tree], noise[bits[-1], tree]
    return out


def all_drawn_in_full(runs, level, rooms, rng):
    """The same, from the noise of all nodes of a block of every tree."""
    leaves = np.arange(1, 2**level)
    noise, highest = np.zeros((2, runs, len(rooms), len(leaves)))
    for i in reversed(range(level)):
        nodes = rng.laplace(size=(runs, len(rooms), 2 ** (level - i)))
        own = leaves >> i & 1 == 1
        highest = np.where(own & (highest == 0), nodes[:, :, leaves >> i], highest)
        noise += np.where(own, nodes[:, :, leaves >> i], 0.0)
    low = (noise <= -rooms[:, None]).any(axis=1)
    first = low.argmax(axis=1)
    row = np.arange(runs)
    both = np.stack([noise[row, :, first], highest[row, :, first]], axis=2)  # shape (runs, trees, 2)
    found = np.column_stack([leaves[first], both.reshape(runs, -1)])
    return np.where(low.any(axis=1)[:, None], found, np.eye(1, found.shape[1]) * -1)


@pytest.mark.slow
@pytest.mark.parametrize(("level", "rooms"), [(1, (1.5, 2.0)), (2, (3.0, 2.2, 2.2)), (4, (5.8, 5.7, 8.0, 40.0))])
def test_the_first_low_sum_of_several_trees_is_that_of_blocks_drawn_in_full(level, rooms, failure):
    runs, rng, given = 60_000, stream("low sums of all", level), np.array(rooms)
    assert len(rooms) * low_sums(SET_BITS, level, min(rooms)) < 1
    fast, plain = first_lows_of_all(runs, level, given, rng), all_drawn_in_full(runs, level, given, rng)
    assert 0.05 < (plain[:, 0] >= 0).mean() < 0.95
    counts = np.array([np.bincount(part[:, 0].astype(int) + 1, minlength=2**level + 1) for part in (fast, plain)])
    assert chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue > failure
    for column in range(1, fast.shape[1]):
        parts = [part[part[:, 0] >= 0, column] for part in (fast, plain)]
        assert ks_2samp(*parts).pvalue > failure


@pytest.mark.slow
@pytest.mark.parametrize("rooms", [(1.0,), (1.4, 1.5), (1.9, 1.8, 1.85)])
def test_when_the_first_low_sum_of_several_trees_comes_by_hand(rooms, failure):
    """Trees of four leaves, with rooms that only just suffice: the exact law, in which trees are independent.

    A tree has the sums a, b, and b + c. With q = e^-room / 2, a or b is low with probability q each, and b + c with
    probability q (2 + room) / 2. If b = -room - u, b + c is low if c <= u: Pr[both] = q (1 - E[e^-u] / 2) = 3 q / 4.
    So b or b + c is low with probability q (1 + (2 + room) / 2 - 3 / 4) = q (5 / 4 + room / 2).
    """
    runs, given = 60_000, np.array(rooms)
    assert 0.6 < len(rooms) * low_sums(SET_BITS, 2, min(rooms)) < 1
    q = np.exp(-given) / 2
    none_until = [1.0, np.prod(1 - q), np.prod((1 - q) ** 2), np.prod((1 - q) * (1 - q * (5 / 4 + given / 2)))]
    law = np.array([none_until[3], *-np.diff(none_until)])  # of no low sum, and of each
    found = first_lows_of_all(runs, 2, given, stream("exact low sums", len(rooms)))[:, 0]
    assert chisquare([np.sum(found == leaf) for leaf in (-1, 1, 2, 3)], runs * law).pvalue > failure
