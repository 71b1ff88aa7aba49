"""Importance sampling of rare runs: tilted laws by hand, a tiny case by enumeration, and against plain runs."""

import itertools
import math

import numpy as np
import pytest

from bandits.environments.bernoulli import C1
from bandits.policies.batched_index import DPIMED, DPKLUCB, ZCDPKLUCB
from bandits.rare_runs import (
    TRUE_SHARE,
    Tilts,
    Weighted,
    log_moment,
    tilted_laplace,
    tilted_mean,
    tilted_noise,
    tilts_for,
    weighted_runs,
)

NONE = Tilts(np.zeros(0, dtype=np.int64), np.zeros(0))


def test_tilted_laws_by_hand():
    """p = 3/4 with e^-theta = 1/2: (3/8) / (5/8). epsilon = 1, theta = 1/2: Laplace noise has 1 / (1 - 1/4) = 4/3."""
    assert math.isclose(tilted_mean(0.75, math.log(2)), 0.6)
    rule, normal = DPKLUCB(1.0).rule, ZCDPKLUCB(0.5).rule
    assert math.isclose(log_moment(rule, 0.75, 2, 0, math.log(2)), 2 * math.log(5 / 8))
    assert math.isclose(log_moment(rule, 0.0, 2, 3, 0.5), 3 * math.log(4 / 3))
    assert math.isclose(log_moment(normal, 0.0, 2, 3, 0.5), 3 / 8)  # normal noise of variance 1


def test_tilted_noise_has_its_mean():
    """Mean 1 / (epsilon + theta) - 1 / (epsilon - theta) = 2/3 - 2 at epsilon 1, theta 1/2; deviation sqrt(4 + 4/9).

    Normal noise of variance 4 at theta 1/2 has the mean -2.
    """
    rng = np.random.default_rng(1)
    draws = np.array([tilted_laplace(1.0, 0.5, rng) for _ in range(40_000)])
    assert abs(draws.mean() + 4 / 3) < 6 * math.sqrt(4 + 4 / 9) / 200  # fails with probability 2e-9
    normal = np.array([tilted_noise(ZCDPKLUCB(0.125).rule, 0.5, rng) for _ in range(40_000)])
    assert abs(normal.mean() + 2) < 6 * 2 / 200
    assert math.isclose(normal.std(), 2, rel_tol=6 / math.sqrt(80_000))
    assert math.isclose((draws < 0).mean(), 0.75, abs_tol=6 * math.sqrt(0.1875) / 200)


def test_what_weighted_runs_say_by_hand():
    """Terms 1, 2, 3: mean 2, deviation 1, 36 / 14 effective runs, half the sum in the largest."""
    found = Weighted(np.array([0.5, 1.0, 1.0]), np.array([2.0, 2.0, 3.0]))
    assert (found.mean, found.largest) == (2.0, 0.5)
    assert math.isclose(found.standard_error, 1 / math.sqrt(3))
    assert math.isclose(found.effective, 36 / 14)


def test_two_arms_and_three_steps_by_enumeration():
    """Each arm once, then DP-IMED takes the arm with the larger noisy reward, as log n is 0 for both.

    So the third pull is of the worse arm if its clipped noisy reward is the larger; ties go to the first arm. The
    chance of that is integrated over the clipped values, for each of the four pairs of rewards.
    """
    epsilon, means = 1.0, np.array([0.9, 0.2])
    grid = (np.arange(200_000) + 0.5) / 200_000
    chance = 0.0
    for x, y in itertools.product((0, 1), (0, 1)):
        share = (0.9 if x else 0.1) * (0.2 if y else 0.8)
        density = epsilon / 2 * np.exp(-epsilon * np.abs(grid - y))  # of the second inside (0, 1)
        below = np.where(grid < x, np.exp(-epsilon * (x - grid)) / 2, 1 - np.exp(-epsilon * (grid - x)) / 2)
        at_one = 0.5 if y else math.exp(-epsilon) / 2  # the second is 1: larger unless the first is 1 too
        first_below_one = 0.5 if x else 1 - math.exp(-epsilon) / 2
        chance += share * (float((density * below).mean()) + at_one * first_below_one)
    tilts = Tilts(np.array([1, 1]), np.array([0.3, 0.7]))
    found = weighted_runs(means, 3, DPIMED(epsilon).rule, tilts, 200_000, np.random.default_rng(2))
    assert abs(found.mean - 0.7 * (1 + chance)) < 5 * found.standard_error  # fails with probability 6e-7
    assert found.weights.max() <= 1 / TRUE_SHARE


@pytest.mark.parametrize("policy", [DPKLUCB(0.1), DPIMED(0.1), ZCDPKLUCB(0.005)])
def test_weights_average_to_one_and_agree_with_plain_runs(policy):
    means, horizon = C1(5).mean_rewards, 10**5
    tilts = tilts_for(means, horizon, policy.rule)
    if policy.name == "zcdp_klucb":  # an exact index is below the rival at log t with a chance of at most 1 / t
        assert len(tilts.thetas) == 0
        tilts = Tilts(np.array([1, 3]), np.array([0.2, 0.1]))
    assert len(tilts.thetas) > 0
    assert ((tilts.thetas > 0) & (tilts.thetas < (1 if policy.name == "zcdp_klucb" else 0.1))).all()
    rare = weighted_runs(means, horizon, policy.rule, tilts, 10_000, np.random.default_rng(3))
    plain = weighted_runs(means, horizon, policy.rule, NONE, 10_000, np.random.default_rng(4))
    error = math.hypot(rare.standard_error, plain.standard_error)
    assert abs(rare.mean - plain.mean) < 5 * error  # fails with probability 6e-7
    assert abs(rare.weights.mean() - 1) < 5 * rare.weights.std() / 100
