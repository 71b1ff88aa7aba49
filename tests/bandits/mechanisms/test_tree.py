import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandits import ParameterError
from bandits.compiled import compiled
from bandits.mechanisms.laplace import laplace, laplace_above
from bandits.mechanisms.tree import (
    AdaptiveTreeMechanism,
    TreeMechanism,
    close_node,
    node_scale,
    tree_levels,
    tree_variances,
)
from bandits.seeds import stream


def brute_force_prefix(items, count, node_noise):
    """The textbook tree: one node per set bit of `count`, from the highest bit down."""
    total, start = 0.0, 0
    for level in reversed(range(count.bit_length())):
        if count >> level & 1:
            end = start + 2**level
            total += sum(items[start:end]) + node_noise[level, end]
            start = end
    return total


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=70), st.integers(0, 2**32))
def test_prefix_sums_are_those_of_a_brute_force_tree(items, seed):
    rng = np.random.default_rng(seed)
    noise = {}
    prefix_noise = np.zeros(tree_levels(len(items)))
    for count in range(1, len(items) + 1):
        level = (count & -count).bit_length() - 1
        noise[level, count] = rng.normal()
        released = sum(items[:count]) + close_node(prefix_noise, count, noise[level, count])
        assert math.isclose(released, brute_force_prefix(items, count, noise), rel_tol=1e-9, abs_tol=1e-9)


@compiled
def noises(repeats, scales, levels, rng):
    """Releases of mechanisms that count only zeros, one per row; the n-th node has noise of the n-th scale."""
    out = np.empty((repeats, len(scales)))
    for repeat in range(repeats):
        prefix_noise = np.zeros(levels)
        for place in range(len(scales)):
            out[repeat, place] = close_node(prefix_noise, place + 1, laplace(scales[place], rng))
    return out


def many_noises(repeats, scales, mechanism, name):
    """The same draws as separate mechanisms, one after another; the first 200 releases are compared."""
    released = noises(repeats, scales, tree_levels(len(scales)), stream(name, 0))
    rng = stream(name, 0)
    by_the_class = [mechanism(rng) for _ in range(200)]
    np.testing.assert_allclose(released[:200], by_the_class, rtol=1e-12, atol=1e-12)
    return released


def test_noise_variance_is_one_node_per_set_bit(failure):
    length, epsilon, repeats = 37, 0.7, 20_000
    scale = tree_levels(length) / epsilon

    def mechanism(rng):
        tree = TreeMechanism(length, epsilon, rng)
        return [tree.add(0.0) for _ in range(length)]

    released = many_noises(repeats, np.full(length, scale), mechanism, "tree variance")
    expected = 2 * scale**2 * np.array([count.bit_count() for count in range(1, length + 1)])
    assert tree_variances(length, epsilon) == pytest.approx(expected)
    # The variance of a sum of Laplace draws is estimated within sqrt(5 / repeats), 7 sigma and 37 counts: < 1e-10.
    assert failure > 1e-10
    np.testing.assert_allclose(released.var(axis=0), expected, rtol=7 * math.sqrt(5 / repeats))


def test_levels():
    for length, levels in [(1, 1), (2, 2), (3, 2), (4, 3), (50_000_000, 26), (2**26, 27)]:
        assert tree_levels(length) == levels == math.floor(math.log2(length)) + 1
        assert node_scale(length, 0.5, sensitivity=2.0) == 2 * levels / 0.5


def test_one_item_moves_as_many_nodes_as_there_are_levels_at_most():
    length = 100
    for item in range(1, length + 1):
        nodes = {
            (level, count)
            for count in range(1, length + 1)
            for level in [(count & -count).bit_length() - 1]
            if count - 2**level < item <= count
        }
        assert len(nodes) <= tree_levels(length)
    assert any(
        sum(count - (count & -count) < item <= count for count in range(1, length + 1)) == tree_levels(length)
        for item in range(1, length + 1)
    )


@pytest.mark.parametrize("natural_logarithm", [False, True])
def test_noise_variance_with_growing_bounds(natural_logarithm, failure):
    length, epsilon, repeats = 21, 0.7, 20_000
    bounds = np.sqrt(np.arange(1, length + 1))
    factor = math.log(length) if natural_logarithm else tree_levels(length)

    def mechanism(rng):
        tree = AdaptiveTreeMechanism(length, epsilon, rng, natural_logarithm)
        return [tree.add(0.0, bound) for bound in bounds]

    released = many_noises(repeats, 2 * bounds * factor / epsilon, mechanism, "adaptive tree")
    expected = np.zeros(length)
    for count in range(1, length + 1):
        earlier = count & (count - 1)
        expected[count - 1] = 2 * (2 * bounds[count - 1] * factor / epsilon) ** 2 + (
            expected[earlier - 1] if earlier else 0
        )
    assert failure > 1e-10  # as above
    np.testing.assert_allclose(released.var(axis=0), expected, rtol=7 * math.sqrt(5 / repeats))
    spent = epsilon if not natural_logarithm else epsilon * tree_levels(length) / math.log(length)
    tree = AdaptiveTreeMechanism(length, epsilon, stream("spent", 0), natural_logarithm)
    assert math.isclose(tree.spent_epsilon, spent)


def test_adaptive_tree_sums_and_refuses():
    tree = AdaptiveTreeMechanism(10, 1e9, stream("sums", 0))
    sums = [tree.add(item, bound) for item, bound in [(0.5, 1), (-2, 2), (2.5, 2.5)]]
    np.testing.assert_allclose(sums, [0.5, -1.5, 1.0], atol=1e-6)
    for item, bound in [(0.0, 1.0), (3.0, 2.9), (math.nan, 5.0)]:
        with pytest.raises(ValueError, match="bound"):
            tree.add(item, bound)


def test_plain_tree_sums():
    tree = TreeMechanism(5, 1e9, stream("plain", 0), sensitivity=2.0)
    np.testing.assert_allclose([tree.add(item) for item in (2, 0, 1)], [2, 2, 3], atol=1e-6)


def test_tree_refuses_one_item_too_many():
    tree = TreeMechanism(2, 1.0, stream("full", 0))
    tree.add(1), tree.add(0)
    with pytest.raises(OverflowError):
        tree.add(1)


def test_tree_refuses_bad_parameters():
    for length, epsilon, sensitivity in [(0, 1, 1), (5, 0, 1), (5, math.nan, 1), (5, 1, 0)]:
        with pytest.raises(ParameterError):
            TreeMechanism(length, epsilon, stream("bad", 0), sensitivity)


@settings(deadline=None)
@given(st.floats(-30, -1e-12), st.floats(0.1, 1e6))
def test_laplace_above_inverts_the_survival_function(log_survival, scale):
    x = laplace_above(log_survival, scale)
    survival = 0.5 * math.exp(-x / scale) if x >= 0 else 1 - 0.5 * math.exp(x / scale)
    assert math.isclose(survival, math.exp(log_survival), rel_tol=1e-9)


def test_laplace_has_its_law(failure):
    from scipy.stats import kstest

    draws = noises(100_000, np.full(1, 3.0), 1, stream("laplace", 0))[:, 0]
    assert kstest(draws, "laplace", args=(0, 3.0)).pvalue > failure
