"""DPRUCB's tree with epsilon / log T at every node, for both bases of the logarithm: the budget spent per node."""

import math

import numpy as np
import pytest

from bandits.audit.ledger import Domain
from bandits.policies.given_moments import GivenMoments
from bandits.policies.heavy_tailed import DPRUCB, Moment


def nodes_of(item, last):
    """The ends of the nodes that hold an item: one for each level whose node is released, by the rule of the code."""
    return [end for end in range(item, last + 1) if end - (end & -end) < item]


def most_spent(last, v):
    """The largest sum of B_i / B_n over the nodes of an item, B_n of order n^(1/(1+v)): its cost times log T."""
    return max(sum((item / end) ** (1 / (1 + v)) for end in nodes_of(item, last)) for item in range(1, last + 1))


def spent(horizon, v):
    """What one reward costs with epsilon / ln T at every node, by linear algebra, for epsilon = 1 and two arms."""
    policy = GivenMoments(DPRUCB(1.0, tree_budget="natural"), Moment(1.0, v))
    return policy.release_cost(2, horizon, Domain.SIGNED).epsilon.kept


def test_base_two_is_enough_from_four_steps_on():
    """Two arms, so that one has T - 1 rewards at most. `spent` is the same number by linear algebra."""
    for horizon in range(4, 130):
        for v in (0.01, 0.5, 1.0):
            assert most_spent(horizon - 1, v) <= math.log2(horizon)
    assert most_spent(2, 1.0) / math.log2(3) == pytest.approx(1.0771, abs=1e-4)
    assert most_spent(2, 0.29) < math.log2(3) < most_spent(2, 0.30)


def test_why_base_two_is_enough():
    """An item in (2^(j-1), 2^j], j >= 1, is in no node of level j - 1: m nodes at most, m = floor(log2 T)."""
    for item in range(2, 300):
        level = (item - 1).bit_length()
        ends = nodes_of(item, 1023)
        assert 1 << (level - 1) not in [end & -end for end in ends]
        assert len(ends) <= 9
    for m in range(2, 60):  # the first item: only powers of two, costliest at v = 1; m = 2 needs T = 5
        assert sum(2 ** (-level / 2) for level in range(m + 1)) <= max(m, math.log2(5))


def test_shares_of_both_readings():
    places = [(horizon, v) for horizon in (10, 1000, 10**6) for v in (0.5, 0.9)]
    natural = {(horizon, v): spent(horizon, v) for horizon, v in places}
    binary = {place: share * math.log(2) for place, share in natural.items()}  # nodes of epsilon / log2 T
    shares = list(binary.values())
    np.testing.assert_allclose([min(shares), max(shares)], [0.79, 0.93], atol=0.005)
    np.testing.assert_allclose([min(natural.values()), max(natural.values())], [1.14, 1.34], atol=0.005)
    assert binary[10, 0.5] == pytest.approx(most_spent(9, 0.5) / math.log2(10))
    assert binary[1000, 0.9] == pytest.approx(most_spent(999, 0.9) / math.log2(1000))
