"""The tree of Sajed and Sheffet's introduction: all nodes above a leaf, with their noise."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from bandits import ParameterError
from bandits.mechanisms.path_tree import path_loss, path_nodes, path_variance
from bandits.seeds import stream
from experiments.claims.checks import sajed2019


def paths(depth, root):
    """Which nodes are above which leaf, shape (leaves, nodes)."""
    nodes = [(level, place) for level in range(depth + 1) for place in range(1 << (depth - level))]
    return np.array(
        [
            [float(leaf >> level == place) for level, place in nodes if root or level < depth]
            for leaf in range(1 << depth)
        ]
    )


def test_the_claims_about_the_mechanism_by_hand():
    """2 (D + 1) D^2 from depth 16 to 32: log2 of 4 x 33 / 17. Shares: floor(D / 2) + 1 of D, by the tree's depth."""
    powers = sajed2019.path_noise_power()
    assert [setting.interval.estimate for setting in powers[:3]] == [pytest.approx(math.log2(4 * 33 / 17))] * 3
    assert all((setting.at_least, setting.at_most) == (2.9, 3.1) for setting in powers)
    shares = {(s.labels["T"], s.labels["root"]): s.interval.estimate for s in sajed2019.path_share()}
    assert shares["2^4", "with"] == shares["2^4", "without"] == 0.75
    assert shares["2^3", "without"] == 1


def test_the_exact_loss_by_linear_programming():
    """The least |z|_1 with path sums 1[t >= s], for the worst s; no solution of the programme knows signed digits."""
    for root, depth in itertools.product([True, False], [1, 2, 3, 4, 5]):
        above = paths(depth, root)
        least = [
            linprog(
                np.ones(2 * above.shape[1]),
                A_eq=np.hstack([above, -above]),
                b_eq=(np.arange(1 << depth) >= item).astype(float),
                method="highs",
            ).fun
            for item in range(1 << depth)
        ]
        assert max(least) == pytest.approx(path_loss(depth, root=root))


def test_the_loss_is_the_longest_non_adjacent_form():
    def terms(count):
        """Signed powers of two in the non-adjacent form: of an odd number the digit leaves a multiple of 4."""
        used = 0
        while count:
            digit = 2 - count % 4 if count % 2 else 0
            used += digit != 0
            count = (count - digit) // 2
        return used

    for depth in range(1, 13):
        assert path_loss(depth) == max(terms(count) for count in range(1, (1 << depth) + 1))


def test_two_items_by_their_density():
    """T = 2, sums y1 = x1 + r + l1 and y2 = x1 + x2 + r + l2 with Lap(b): the loss is 1 / b, and 2 / b without r."""
    scale, nodes = 1.0, np.linspace(-60, 60, 24_001)
    width = nodes[1] - nodes[0]

    def density(first, second):
        return float(np.exp(-(np.abs(nodes) + np.abs(first - nodes) + np.abs(second - nodes)) / scale).sum() * width)

    losses = [
        abs(math.log(density(first, second) / density(first - down, second - 1)))
        for first in np.linspace(-20, 20, 21)
        for second in np.linspace(-20, 20, 21)
        for down in (0.0, 1.0)  # the second item, or the first
    ]
    assert 0.99 < max(losses) <= path_loss(1) / scale + 1e-3
    assert path_loss(1, root=False) == 2  # l1 and l2 both move by 1


def test_half_of_epsilon_is_spent():
    """Lap(log2(T) / epsilon): epsilon at T = 4, 3/4 of it at T = 16, half in the end; 2 epsilon at T = 2, no root."""
    assert [path_loss(depth) / depth for depth in (2, 3, 4)] == [1, 2 / 3, 3 / 4]
    assert [path_loss(depth, root=False) / depth for depth in (1, 2, 3, 4)] == [2, 1, 1, 3 / 4]
    assert abs(path_loss(10**6) / 10**6 - 0.5) < 1e-5


def test_the_variance_is_the_same_at_every_step(failure):
    depth, epsilon, runs = 4, 0.5, 20_000
    rng = stream("path tree", 0)
    above = paths(depth, True)
    draws = rng.laplace(scale=depth / epsilon, size=(runs, above.shape[1]))
    # The variance of a sum of five Laplace draws is estimated within sqrt(2.6 / runs); 16 steps, 7 sigma: < 1e-10.
    assert failure > 1e-10
    np.testing.assert_allclose(
        (draws @ above.T).var(axis=0), path_variance(depth, epsilon), rtol=7 * math.sqrt(2.6 / runs)
    )
    assert path_variance(depth, epsilon) == 5 * 2 * 64
    assert path_variance(depth, epsilon, root=False) == 4 * 2 * 64


def test_bad_arguments_are_named():
    for function in (path_nodes, path_loss):
        with pytest.raises(ParameterError, match="depth"):
            function(0)
    with pytest.raises(ParameterError, match="epsilon"):
        path_variance(3, 0.0)
