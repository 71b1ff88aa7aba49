"""Privacy costs of releases: linear algebra against the code of the mechanisms and against counts by hand."""

import itertools
import math

import numpy as np
import pytest

from bandits import ParameterError
from bandits.audit.composition import chernoff_delta, composed_delta, laplace_loss_cdf
from bandits.audit.ledger import Domain, LaplaceRelease
from bandits.audit.releases import TruncatedValue
from bandits.audit.running_sums import adaptive_tree, hybrid, tree
from bandits.mechanisms.hybrid import close_hybrid
from bandits.mechanisms.tree import close_node
from tests.bandits.audit.by_matrix import draws_of, privacy_losses


def test_a_tree_by_hand():
    assert tree(5, 0.6, 5).losses(Domain.UNIT) == pytest.approx([0.6, 0.4, 0.4, 0.2, 0.2])  # nodes of items 1..5
    assert tree(5, 0.6, 3).cost(Domain.BINARY).kept == pytest.approx(0.4)
    assert tree(7, 1.0, 7, "natural").cost(Domain.UNIT).kept == pytest.approx(3 / math.log(7))


def test_an_adaptive_tree_by_hand():
    bounds = np.array([1.0, 2.0, 3.0])  # nodes: {1}, {1, 2}, {3}; two levels
    release = adaptive_tree(3, 1.0, bounds)
    assert release.losses(Domain.SIGNED) == pytest.approx([0.5 + 0.25, 0.5, 0.5])
    assert release.losses(Domain.NONNEGATIVE) == pytest.approx([0.375, 0.25, 0.25])
    natural = adaptive_tree(3, 1.0, bounds, "natural")
    assert natural.cost(Domain.SIGNED).kept == pytest.approx(0.75 * 2 / math.log(3))


def test_a_hybrid_mechanism_by_hand():
    # {1}, {2}, {3}, {3, 4}, then the tree {5}, {5, 6}, {7} and the increment {5, ..., 8}
    assert hybrid(1.0, 8).losses(Domain.UNIT) == pytest.approx([0.5, 0.5, 1.0, 0.5, 1.0, 0.75, 0.75, 0.5])


def test_the_pass_over_items_is_the_linear_algebra_of_the_code():
    for items, (close, released) in itertools.product(
        [1, 2, 3, 7, 8, 9, 37, 64], [(close_node, lambda n: tree(n, 1.0, n)), (close_hybrid, lambda n: hybrid(1.0, n))]
    ):
        release = released(items)
        draws = draws_of(close, 10, items)
        sums = np.tril(np.ones((items, items)))
        by_matrix = privacy_losses(sums, draws, release.scales, np.ones(items))
        assert release.losses(Domain.UNIT) == pytest.approx(by_matrix, rel=1e-12)


def test_a_million_items_cost_no_more_than_epsilon():
    for power in range(1, 16):
        for items in (2**power - 1, 2**power, 2**power + 1):
            assert tree(items, 1.0, items).cost(Domain.UNIT).kept == pytest.approx(1.0, rel=1e-12)
            assert hybrid(1.0, items).cost(Domain.UNIT).kept <= 1 + 1e-12


def test_the_density_ratio_at_the_witness_is_the_cost():
    release = tree(6, 1.0, 6)
    sums, draws = np.tril(np.ones((6, 6))), draws_of(close_node, 3, 6)
    components = np.linalg.solve(draws, sums)
    beyond = np.full(6, -1.0)  # every component below both centers: all items 0 against item 1 = 1
    shift = components[:, 0]
    log_ratio = (np.abs(beyond - shift) - np.abs(beyond)) / release.scales
    assert log_ratio.sum() == pytest.approx(release.cost(Domain.UNIT).shown)


def test_domains_are_held_apart():
    mean = LaplaceRelease("mean", "", -2.0, 2.0, 10.0, 0.4)
    assert mean.cost(Domain.SIGNED).kept == pytest.approx(1.0)
    assert mean.cost(Domain.NONNEGATIVE).kept == pytest.approx(0.5)
    with pytest.raises(ParameterError, match="domain"):
        mean.cost(Domain.UNIT)
    with pytest.raises(ParameterError, match="domain"):
        tree(4, 1.0, 4).cost(Domain.SIGNED)


def test_the_loss_of_one_laplace_release():
    assert laplace_loss_cdf(np.array([-2.0, -1.0, 0.0, 1.0]), 1.0) == pytest.approx(
        [0.0, math.exp(-1) / 2, math.exp(-0.5) / 2, 1.0]
    )
    low, high = composed_delta(np.array([1.0]), 0.5)
    assert low <= 1 - math.exp(-0.25) <= high  # hockey-stick of two Laplace laws one scale apart
    assert high - low < 2e-5


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 1.7])
def test_two_laplace_releases_against_a_double_integral(epsilon):
    costs = np.array([0.7, 1.2])
    grid = (np.arange(400_000) + 0.5) / 400_000
    # E over the first loss of the closed form of the second: both on a fine grid of quantiles
    x = np.where(grid < 0.5, np.log(2 * grid), -np.log(2 * (1 - grid)))
    first = np.abs(x - costs[0]) - np.abs(x)
    rest = np.maximum(epsilon - first, -costs[1])
    second = np.where(rest < costs[1], 1 - np.exp((rest - costs[1]) / 2), 0.0)
    exact = second.mean() + np.where(epsilon - first < -costs[1], 1 - np.exp(epsilon - first) - second, 0.0).mean()
    low, high = composed_delta(costs, epsilon)
    assert low - 1e-5 <= exact <= high + 1e-5
    assert high - low < 1e-4
    assert high <= chernoff_delta(costs, epsilon) + 1e-4


@pytest.mark.slow
def test_many_releases_keep_lower_below_upper():
    costs = np.arange(1, 5001, dtype=float) ** -0.55
    for epsilon in (5.0, 31.0):
        low, high = composed_delta(costs, epsilon)
        assert 0 <= low <= high <= 1


@pytest.mark.parametrize("delta", [0.01, 0.3])
def test_a_truncated_value_costs_its_delta(delta):
    bounds = TruncatedValue("value", "", 1.0, delta, 50).delta(1.0, Domain.UNIT)
    assert bounds.kept == bounds.shown == pytest.approx(delta, rel=1e-12)
