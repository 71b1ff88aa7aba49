"""Stuck runs: laws by hand and by integration, the bound of 8.5 against a plain loop, 8.6 against weighted runs."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from bandits import ParameterError, laplace_sums
from bandits.bounds.azize2025 import lower_bound_line
from bandits.bounds.stuck_runs import (
    critical_gap,
    left_steps,
    stuck_chance,
    stuck_regret,
)
from bandits.divergences import private_divergence
from bandits.environments.bernoulli import C1
from bandits.laplace_sums import chances_of_sums, laplace_sum_tail
from bandits.loops.batches import arm_of_batch, batch_length
from bandits.policies.batched_index import DPIMED, DPKLUCB
from bandits.rare_runs import tilts_for, weighted_runs
from bandits.seeds import stream


def test_sums_of_laplace_variables():
    """One: e^-y / 2. Two: (1 + y / 2) e^-y / 2. Five: by Fourier inversion of (1 + x^2)^-5."""
    assert laplace_sum_tail([0.0, 1.0], 1).tolist() == pytest.approx([0.5, math.exp(-1) / 2])
    assert laplace_sum_tail([0.0, 2.0], 2).tolist() == pytest.approx([0.5, math.exp(-2)])
    y = np.array([0.5, 4.0, 20.0])
    inverted, _ = integrate.quad_vec(lambda x: np.sin(x * y) / x / (1 + x * x) ** 5, 0, 60)
    assert laplace_sum_tail(y, 5).tolist() == pytest.approx((0.5 - inverted / math.pi).tolist(), abs=1e-7)
    # the leading term of many scales: y^4 e^-y / (4! 2^5)
    assert laplace_sum_tail([400.0], 5)[0] == pytest.approx(400.0**4 * math.exp(-400) / (24 * 32), rel=0.06)
    assert laplace_sum_tail([1e9], 80).tolist() == [0.0]


def test_the_law_of_a_noisy_sum_by_hand():
    """One reward of mean p with Lap(1): P(S <= 0) = (1 - p) / 2 + p e^-1 / 2; P(S <= 1) = 1 - that with p swapped."""
    low, high = chances_of_sums([0.0, 1.0], 1, 1, 0.3, 1.0)
    assert low == pytest.approx(0.7 / 2 + 0.3 * math.exp(-1) / 2)
    assert high == pytest.approx(1 - (0.3 / 2 + 0.7 * math.exp(-1) / 2))


def test_laws_of_many_rewards(monkeypatch):
    """In blocks they are upper bounds and near; of 1e15 rewards they are normal, as the noise is small beside them."""
    low = 0.75 * 1e5 - np.array([0.0, 300.0, 600.0, 1e9])
    exact = chances_of_sums(low, 10**5, 5, 0.75, 0.01)
    monkeypatch.setattr(laplace_sums, "BLOCKS", 1000)
    assert (exact[:3] < chances_of_sums(low, 10**5, 5, 0.75, 0.01)[:3]).all()
    few = 0.75e5 - 299.5 - np.arange(10)  # for every place within a block
    assert (stats.binom.cdf(few, 10**5, 0.75) <= chances_of_sums(few, 10**5, 5, 0.75, 1000.0)).all()
    assert chances_of_sums(low, 10**5, 5, 0.75, 0.01) == pytest.approx(exact, rel=0.05)
    assert chances_of_sums([2e5], 10**5, 5, 0.75, 0.01) == [1.0]
    monkeypatch.undo()
    many = chances_of_sums(0.75e15 - math.sqrt(0.1875e15) * np.array([0.0, 1.0, 3.0]), 10**15, 40, 0.75, 1.0)
    assert many == pytest.approx(stats.norm.cdf([0.0, -1.0, -3.0]), rel=0.005)


@pytest.mark.slow
def test_long_starts_are_in_the_bound():
    """At epsilon = 1e-6 the noise hides the mean of 1e8 rewards; 8.70e7 is what laws of 3e8 single rewards give."""
    policy = DPKLUCB(1e-6)
    assert left_steps(policy, [0.75, 0.7], 1e12) == pytest.approx(8.7e7, rel=0.005)
    assert stuck_chance(policy, [0.75, 0.7], 1e12) == pytest.approx(4e-5, rel=0.01)


def test_left_steps_by_hand():
    """First batch of 2, T = 2: one batch, left for e^u, u up to log 2 < c(0)."""
    means, epsilon = [0.9, 0.8], 1.0
    c = -2 * math.log(1 - 0.8 * (1 - math.exp(-1)))  # 1.407
    assert c > math.log(2)

    def chance(u):
        low, high = 0.0, 1.6
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if 2 * private_divergence(middle / 2, 0.8, 1.0) > u else (low, middle)
        return chances_of_sums([low], 2, 1, 0.9, 1.0)[0]

    expected, _ = integrate.quad(lambda u: math.exp(u) * chance(u), 0, math.log(2))
    assert left_steps(DPKLUCB(epsilon, 2), means, 2) == pytest.approx(1 + expected, rel=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_bound_on_steps_holds_and_is_not_loose(epsilon):
    """Theorem 8.5 in a plain loop: steps at which the index of the best arm is below the second best mean."""
    means, horizon, runs = np.array([0.6, 0.5]), 3000, 400
    policy, counted = DPKLUCB(epsilon), []
    for run in range(runs):
        rng, t, left = stream("stuck", run), 0, 0.0
        counts, batches, sums = np.zeros(2), np.zeros(2), np.zeros(2)
        while t < horizon:
            arm = t if t < 2 else arm_of_batch(policy.rule, counts, batches, sums, t + 1)
            steps = min(batch_length(policy.rule, int(counts[arm])), horizon - t)
            if counts[0] > 0:
                seen = min(max(sums[0] / counts[0], 0.0), 1.0)
                until = math.exp(counts[0] * private_divergence(seen, 0.5, epsilon)) if seen < 0.5 else 0.0
                left += max(0.0, min(t + steps, math.floor(until)) - t)
            counts[arm] += steps
            batches[arm] += 1
            sums[arm] += rng.binomial(steps, means[arm]) + rng.laplace(scale=1 / epsilon)
            t += steps
        counted.append(left)
    bound, error = left_steps(policy, means, horizon), np.std(counted) / math.sqrt(runs)
    assert np.mean(counted) - 5 * error < bound < 6 * (np.mean(counted) + 5 * error)


@pytest.mark.slow
def test_what_stuck_runs_carry():
    """8.6 beside weighted runs on C1, epsilon = 0.1, T = 10^12: what the mean has above the median."""
    means = C1(5).mean_rewards
    for policy in (DPKLUCB(0.1), DPIMED(0.1)):
        runs = weighted_runs(means, 10**12, policy.rule, tilts_for(means, 10**12, policy.rule), 4000, stream("8.6", 0))
        plain = weighted_runs(means, 10**12, policy.rule, tilts_for(means, 2, policy.rule), 400, stream("8.6", 1))
        carried = runs.mean - np.median(plain.regret)
        assert 0.4 * carried < stuck_regret(policy, means, 1e12) + 3 * runs.standard_error < 2.5 * carried
    assert stuck_chance(DPKLUCB(0.1), means, 1e12) < stuck_chance(DPIMED(0.1), means, 1e12) < 1e-5


def test_a_larger_first_batch_is_a_remedy():
    means = C1(5).mean_rewards
    assert stuck_regret(DPKLUCB(0.1, None), means, 1e12) < 0.02 * stuck_regret(DPKLUCB(0.1), means, 1e12)


@pytest.mark.slow
def test_the_critical_gap():
    policy = DPKLUCB(0.1)
    gap = critical_gap(policy, 0.75, 1e12)
    other = critical_gap(DPIMED(0.1), 0.75, 1e12)
    assert (round(gap, 3), round(other, 3)) == (0.152, 0.376)  # finer grids agree to 1e-4
    assert critical_gap(policy, 0.75, 1e5) == critical_gap(DPKLUCB(0.1, None), 0.75, 1e12) == 0
    for factor, exceeds in ((0.95, True), (1.05, False)):
        means = np.array([0.75, 0.75 - factor * gap])
        assert (stuck_regret(policy, means, 1e12) > lower_bound_line(means, 0.1, 1e12)) == exceeds
    assert 0 < critical_gap(policy, 0.75, 1e9) < gap


def test_what_is_refused():
    for given, blamed in (
        ((DPKLUCB(1.0, index="exact"), [0.5, 0.4], 100), "policy"),
        ((DPKLUCB(1.0), [0.5, 0.5], 100), "means"),
        ((DPKLUCB(1.0), [1.0, 0.5], 100), "means"),
        ((DPKLUCB(1.0), [0.5], 100), "means"),
        ((DPKLUCB(1.0), [0.5, 0.4], math.inf), "horizon"),
    ):
        with pytest.raises(ParameterError) as error:
            stuck_regret(*given)
        assert error.value.parameter == blamed
    for y, batches, blamed in ((-1.0, 1, "y"), (1.0, 0, "batches"), (1.0, 81, "batches")):
        with pytest.raises(ParameterError) as error:
            laplace_sum_tail(y, batches)
        assert error.value.parameter == blamed
