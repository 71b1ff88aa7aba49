"""The tree in the introduction of Sajed and Sheffet: the noise of all nodes above a leaf is added."""

import itertools
import math

import numpy as np
import pytest

from bandits import ParameterError
from bandits.audit.ledger import Domain
from bandits.audit.path_sums import PathSums, least_moves, paths
from bandits.mechanisms.path_tree import (
    PathTreeMechanism,
    next_path,
    path_depth,
    path_loss,
    path_losses,
    path_node_scale,
    path_nodes,
    path_variances,
)
from bandits.seeds import stream
from experiments.claims.checks import sajed2019


def test_the_claims_about_the_mechanism_by_hand():
    """2 (D + 1) D^2 from depth 16 to 32: log2 of 4 x 33 / 17. Shares: floor(D / 2) + 1 of D, by the tree's depth."""
    powers = sajed2019.path_noise_power()
    assert [setting.interval.estimate for setting in powers[:3]] == [pytest.approx(math.log2(4 * 33 / 17))] * 3
    assert all((setting.at_least, setting.at_most) == (2.9, 3.1) for setting in powers)
    shares = {(s.labels["T"], s.labels["root"]): s.interval.estimate for s in sajed2019.path_share()}
    assert shares["2^4", "with"] == shares["2^4", "without"] == 0.75
    assert shares["2^3", "without"] == 1
    assert shares["2^1", "without"] == 2


def test_the_exact_loss_by_linear_programming():
    """The least |z|_1 with path sums 1[t >= s], for every s; the programmes do not use the recursion."""
    for root, depth in itertools.product([True, False], [1, 2, 3, 4, 5]):
        above = paths(depth)[:, : None if root else -1]  # the root is the last node
        least = least_moves(above)
        assert path_losses(depth, 1 << depth, root=root) == pytest.approx(least)
        assert max(least) == pytest.approx(path_loss(depth, root=root))
        for items in {1, 2, 3, 7, 11, 21} & set(range(1 << depth)):
            assert path_losses(depth, items, root=root) == pytest.approx(least_moves(above[:items]))


def test_the_loss_at_all_depths():
    """The two formulas against the recursion, with and without the root."""
    for root, depth in itertools.product([True, False], range(1, 17)):
        assert path_losses(depth, 1 << depth, root=root).max() == path_loss(depth, root=root)


def test_the_loss_is_the_longest_non_adjacent_form():
    def terms(count):
        """Signed powers of two in the non-adjacent form: an odd number minus its digit is a multiple of 4."""
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
    """Lap(log2(T) / epsilon): epsilon at T = 4, 3/4 of it at T = 16, half in the limit; 2 epsilon at T = 2, no root."""
    assert [path_loss(depth) / depth for depth in (2, 3, 4)] == [1, 2 / 3, 3 / 4]
    assert [path_loss(depth, root=False) / depth for depth in (1, 2, 3, 4)] == [2, 1, 1, 3 / 4]
    assert abs(path_loss(10**6) / 10**6 - 0.5) < 1e-5


def test_the_variance_is_the_same_at_every_step(failure):
    length, epsilon, runs = 13, 0.5, 20_000
    depth, printed = 4, path_variances(length, epsilon, printed=True)
    above = paths(depth)[:length]
    draws = stream("path tree", 0).laplace(scale=depth / epsilon, size=(runs, above.shape[1]))
    # The variance of a sum of five Laplace draws is estimated within sqrt(2.6 / runs); 13 steps, 7 sigma: < 1e-10.
    assert failure > 1e-10
    np.testing.assert_allclose((draws @ above.T).var(axis=0), printed, rtol=7 * math.sqrt(2.6 / runs))
    assert printed.tolist() == [5 * 2 * 64] * 13
    assert path_variances(length, epsilon).tolist() == [5 * 2 * 36] * 13  # the exact loss is 3


def test_which_nodes_are_drawn_when():
    """Each node is drawn once, at the first leaf below it; path sums add these draws."""
    scale, depth = 2.0, 4
    rng, same = stream("next path", 0), stream("next path", 0)
    above, nodes = np.zeros(depth + 1), {}
    for leaf in range(1 << depth):
        noise = next_path(above, leaf + 1, scale, rng)
        for level in reversed(range(depth + 1)):
            if (level, leaf >> level) not in nodes:
                nodes[level, leaf >> level] = next_path(np.zeros(1), 1, scale, same)
        assert noise == pytest.approx(sum(nodes[level, leaf >> level] for level in range(depth + 1)))
    assert len(nodes) == 2 * 16 - 1


def test_without_the_root_its_children_are_two_trees():
    scale, depth = 2.0, 3
    rng, same = stream("no root", 0), stream("no root", 0)
    above = np.zeros(path_nodes(depth, root=False))
    mechanism, nodes = PathTreeMechanism(8, scale, stream("no root", 0), root=False), {}
    for leaf in range(1 << depth):
        noise = next_path(above, leaf + 1, scale, rng)
        for level in reversed(range(depth)):
            if (level, leaf >> level) not in nodes:
                nodes[level, leaf >> level] = next_path(np.zeros(1), 1, scale, same)
        assert noise == pytest.approx(sum(nodes[level, leaf >> level] for level in range(depth)))
        assert mechanism.add(0.0) == pytest.approx(noise)
    assert len(nodes) == 2 * 8 - 2


@pytest.mark.parametrize(("horizon", "kept"), [(2, 2.0), (4, 1.0), (8, 1.0), (16, 0.75), (2**20, 11 / 20)])
def test_the_ledger_without_the_root(horizon, kept):
    """Lap(log2(T) / epsilon) of all T sums: 2 epsilon at T = 2, by theorem and, up to 32 items, by programmes."""
    depth = path_depth(horizon)
    found = PathSums("path tree", "printed", depth, horizon, depth / 0.7, root=False)
    cost = found.cost(Domain.UNIT)
    assert cost.kept == pytest.approx(0.7 * kept)
    assert cost.shown == pytest.approx(0.7 * kept)
    assert all(1 not in found.draws_in(items) for items in range(1, min(horizon, 9)))
    assert len(found.draws_in(1)) == depth


def test_the_mechanism():
    mechanism = PathTreeMechanism(3, 1e-9, stream("path tree", 1))
    assert [mechanism.add(item) for item in (1.0, 0.0, 0.5)] == pytest.approx([1, 1, 1.5], abs=1e-6)
    with pytest.raises(OverflowError, match="3 items"):
        mechanism.add(0.0)
    with pytest.raises(ValueError, match=r"outside \[0, 1\]"):
        PathTreeMechanism(3, 1.0, stream("path tree", 1)).add(1.5)
    assert [path_depth(length) for length in (1, 2, 3, 4, 5, 1_000_000)] == [1, 1, 2, 2, 3, 20]


def test_what_is_released():
    """Six of eight leaves at scale 2: w = 2 by both methods; nodes are numbered from the root."""
    sums = PathSums("path tree", "exact", 3, 6, 2.0)
    cost = sums.cost(Domain.BINARY)
    assert (cost.kept, cost.shown) == (pytest.approx(1.0), pytest.approx(1.0))
    assert "linear programmes" in cost.method
    deep = PathSums("path tree", "printed", 20, 1_000_000, 20.0).cost(Domain.UNIT)
    assert (deep.kept, deep.shown) == (0.55, 0.55)
    assert sums.draws_in(1) == [8, 4, 2, 1]
    assert sums.draws_in(6) == [13, 6, 3, 1]
    assert len(sums.scales) == 15
    assert sums.touches() == 6
    with pytest.raises(ParameterError, match="domain"):
        sums.cost(Domain.SIGNED)


def test_bad_arguments_are_named():
    for items in (0, 9):
        with pytest.raises(ParameterError, match="items"):
            path_losses(3, items)
    with pytest.raises(ParameterError, match="length"):
        path_depth(0)
    with pytest.raises(ParameterError, match="scale"):
        PathTreeMechanism(3, 0.0, stream("path tree", 1))
    for function in (path_nodes, path_loss):
        with pytest.raises(ParameterError, match="depth"):
            function(0)
    with pytest.raises(ParameterError, match="epsilon"):
        path_node_scale(3, 0.0)
