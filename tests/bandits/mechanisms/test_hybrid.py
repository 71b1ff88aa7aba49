import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from bandits import ParameterError
from bandits.compiled import compiled
from bandits.mechanisms.hybrid import (
    ENDLESS,
    HybridMechanism,
    close_hybrid,
    fresh_levels,
    hybrid_scale,
    hybrid_variances,
)
from bandits.mechanisms.laplace import laplace
from bandits.seeds import stream


def brute_force_noise(count, fresh):
    """The two mechanisms separately: all increments up to the last power of two, then a textbook tree."""
    last_power = 2 ** (count.bit_length() - 1)
    total = sum(fresh[power] for power in (2**k for k in range(count.bit_length())))
    start = last_power
    for level in reversed(range(last_power.bit_length())):
        if (count - last_power) >> level & 1:
            start += 2**level
            total += fresh[start]  # the node of 2^level items that ends here
    return total


@given(st.integers(1, 300), st.integers(0, 2**32))
def test_noise_is_that_of_the_two_mechanisms_apart(length, seed):
    rng = np.random.default_rng(seed)
    fresh = {}
    prefix_noise = np.zeros(ENDLESS)
    for count in range(1, length + 1):
        fresh[count] = rng.normal()
        assert math.isclose(
            close_hybrid(prefix_noise, count, fresh[count]), brute_force_noise(count, fresh), rel_tol=1e-9, abs_tol=1e-9
        )


def variance(count, epsilon):
    """Increments of scale 2 / epsilon up to 2^k <= count, and a node of scale 2k / epsilon per bit of the rest."""
    k = count.bit_length() - 1
    return 2 * (2 / epsilon) ** 2 * (k + 1) + 2 * (2 * k / epsilon) ** 2 * (count.bit_count() - 1)


@compiled
def noises(repeats, length, scale, rng):
    """Releases of mechanisms that count only zeros, one mechanism per row."""
    out = np.empty((repeats, length))
    for repeat in range(repeats):
        prefix_noise = np.zeros(ENDLESS)
        for place in range(length):
            fresh = laplace(scale * fresh_levels(place + 1), rng)
            out[repeat, place] = close_hybrid(prefix_noise, place + 1, fresh)
    return out


def many_releases(repeats, length, item, epsilon, sensitivity, name):
    """The same draws as separate mechanisms, one after another; the first 200 releases are compared."""
    released = noises(repeats, length, hybrid_scale(epsilon, sensitivity), stream(name, 0))
    released += item * np.arange(1, length + 1)
    rng = stream(name, 0)
    mechanisms = (HybridMechanism(epsilon, rng, sensitivity) for _ in range(200))
    by_the_class = [[mechanism.add(item) for _ in range(length)] for mechanism in mechanisms]
    np.testing.assert_allclose(released[:200], by_the_class, rtol=1e-12, atol=1e-12)
    return released


def test_noise_variance(failure):
    length, epsilon, repeats = 21, 0.7, 10_000
    released = many_releases(repeats, length, 0.0, epsilon, 1.0, "hybrid variance")
    expected = np.array([variance(count, epsilon) for count in range(1, length + 1)])
    assert hybrid_variances(length, epsilon) == pytest.approx(expected)
    # The variance of a sum of Laplace draws is estimated within sqrt(5 / repeats), 7 sigma and 21 counts: < 1e-10.
    assert failure > 1e-10
    np.testing.assert_allclose(released.var(axis=0), expected, rtol=7 * math.sqrt(5 / repeats))


def test_law_at_one_count_against_numpy(failure):
    count, epsilon, sensitivity, repeats = 13, 0.5, 3.0, 20_000  # 13 = 8 + 4 + 1
    released = many_releases(repeats, count, 1.5, epsilon, sensitivity, "hybrid law")[:, -1]
    scales = np.array([1, 1, 1, 1, 3, 3]) * 2 * sensitivity / epsilon
    by_hand = 13 * 1.5 + stream("by hand", 0).laplace(scale=scales, size=(repeats, 6)).sum(axis=1)
    assert ks_2samp(released, by_hand).pvalue > failure


def privacy_loss(length, epsilon):
    """The exact privacy loss of each item in the first `length` releases. They are an invertible linear image of
    independent Laplace draws, so changing an item costs the sum of |shift of a draw| / its scale."""
    image = np.empty((length, length))
    for draw in range(length):
        prefix_noise = np.zeros(ENDLESS)
        image[:, draw] = [close_hybrid(prefix_noise, n, float(n == draw + 1)) for n in range(1, length + 1)]
    scales = hybrid_scale(epsilon) * np.array([fresh_levels(n) for n in range(1, length + 1)])
    moved = np.tril(np.ones((length, length)))  # column: an item raised by 1, row: a release
    return (np.abs(np.linalg.solve(image, moved)) / scales[:, None]).sum(axis=0)


def test_the_releases_spend_epsilon_and_no_more():
    loss = privacy_loss(300, 0.8)
    assert loss.max() <= 0.8 * (1 + 1e-12)
    assert math.isclose(loss.max(), 0.8, rel_tol=1e-12)  # no noise is wasted on the first item after a power of two


def test_fresh_levels():
    assert [fresh_levels(n) for n in range(1, 18)] == [1, 1, 1, 1, 2, 2, 2, 1, 3, 3, 3, 3, 3, 3, 3, 1, 4]
    assert fresh_levels(2**62 - 1) == 61
    assert hybrid_scale(0.5, sensitivity=3.0) == 12.0


def test_sums_are_exact_without_noise():
    mechanism = HybridMechanism(1e12, stream("exact", 0))
    items = np.random.default_rng(0).random(200)
    np.testing.assert_allclose([mechanism.add(item) for item in items], items.cumsum(), atol=1e-7)
    assert mechanism.count == 200


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "name"), [(0, 1, "epsilon"), (math.nan, 1, "epsilon"), (1, 0, "sensitivity")]
)
def test_bad_parameters_are_refused(epsilon, sensitivity, name):
    with pytest.raises(ParameterError, match=name):
        HybridMechanism(epsilon, stream("bad", 0), sensitivity)
