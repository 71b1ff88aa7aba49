"""Losses that never vary: votes, any noise, and lower bounds for every policy (never_varying.md, 2.1 to 2.5)."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from bandits import ParameterError
from bandits.bounds import never_varying, noisy_leaders
from bandits.environments.full_information import BernoulliLosses, DeterministicLosses
from bandits.environments.gap_profiles import Free, OneGap
from bandits.exact.regret import selection_probabilities
from bandits.policies.epochs import OffsetFTNL, VoteFTNL
from bandits.policies.full_information import RNMFTNL
from bandits.seeds import stream
from tests.bandits.two_samples import assert_mean_of

NOISES = ["laplace", "gumbel", "exponential"]


def regret_of(gaps, noises, chances, horizon=2**40):
    """Expected regret of RNM-FTNL(0, Q), Q uniform on `noises`, shape (values, arms): epoch by epoch."""
    regret, rounds = float(np.mean(gaps)), 1
    while 2 * rounds <= horizon:
        regret += 2 * rounds * float(chances @ gaps[np.argmax(noises - rounds * gaps, axis=1)])
        rounds *= 2
    return regret


def spread_of(gaps, noises, chances):
    return float(chances @ (noises.max(axis=1) - noises[:, gaps == 0].max(axis=1)))


def test_two_armed_bound_by_hand():
    """epsilon = log 4: e^(-eps/2) = 1/2 and 1 / cosh = 4/5: (1 + 2/5 + 1/4 + 1/10) / 2 after four steps."""
    assert math.isclose(never_varying.two_armed_lower_bound(math.log(4), 4), 0.875)
    assert math.isclose(never_varying.two_armed_lower_bound(math.log(4), 4, 0.01), 0.00875)
    assert never_varying.two_armed_lower_bound(1000.0, 10, 0.5) == 0.25  # beyond doubles; a guess at the first step
    for epsilon in np.geomspace(1e-6, 50, 60):
        limit = never_varying.two_armed_lower_bound(epsilon, math.inf)
        assert limit >= 1 / epsilon
        assert math.isclose(limit, 1 / epsilon + 0.25, rel_tol=max(0.1 * epsilon, 1e-9)) or epsilon > 1


def test_the_first_arm_does_not_follow_the_noise():
    """Q = (10, 0), gaps (0, 1): without losses arm 1 would be chosen, but the first arm is uniform and costs 1/2."""
    gaps, noises = np.array([0.0, 1.0]), np.array([[10.0, 0.0]])
    assert regret_of(gaps, noises, np.ones(1)) == 0.5
    assert spread_of(gaps, noises, np.ones(1)) == 0
    assert noisy_leaders.any_noise_regret(0.5, 0.0) == 0.5


def test_any_noise_stays_below_its_bound():
    """Noises with any joint law on few values: dependent, not identically distributed, not centred."""
    rng, nearest = stream("any noise", 0), 0.0
    for _ in range(400):
        arms, values = int(rng.integers(2, 6)), int(rng.integers(1, 5))
        gaps = np.concatenate([np.zeros(int(rng.integers(1, arms))), rng.random(arms)])[:arms]
        gaps = gaps * 10 ** -rng.uniform(0, 3)
        noises = rng.standard_cauchy((values, arms)) * 10 ** rng.uniform(-1, 2)
        chances = rng.dirichlet(np.ones(values))
        regret = regret_of(gaps, noises, chances)
        allowed = noisy_leaders.any_noise_regret(float(gaps.mean()), spread_of(gaps, noises, chances))
        assert regret <= allowed * (1 + 1e-9)
        nearest = max(nearest, regret / allowed)
    assert nearest > 0.95  # the constant 4 is attained: one noise, one gap, just above a power of two


@pytest.mark.parametrize("noise", NOISES)
def test_the_choice_is_late_for_all_noises(noise):
    """Section 2.2: right with probability at most 1 / log K after (2 / epsilon) (log K - 3 log log K) / gap vectors."""
    arms, epsilon = 2**20, 0.1
    late = math.log(arms) - 3 * math.log(math.log(arms))
    rounds = int(2 / epsilon * late / 1e-4)
    chance = selection_probabilities([0.0, 1e-4], [1, arms - 1], noise, epsilon, rounds, calibration="proved")[1]
    assert chance > 1 - 1 / math.log(arms)


# Votes


def test_votes_by_the_softmax():
    """Gumbel noise: after n vectors the arm with the votes has the weight e^(n epsilon / 2), all others 1."""
    gaps, counts, epsilon, horizon = np.array([0.0, 0.001, 0.4]), np.array([2, 5, 9]), 0.3, 1000
    rest = gaps @ counts / 15
    epochs = 2 ** np.arange(10)
    played = np.clip(horizon + 1 - 2 * epochs, 0, 2 * epochs)
    chances = 15 / (np.exp(epochs * epsilon / 2) + 15)
    expected = gaps @ counts / 16 + float((rest * chances) @ played)
    exact = VoteFTNL(epsilon, "gumbel").regret_of_groups(gaps, counts, [horizon], "deterministic")[0]
    assert math.isclose(exact, expected, rel_tol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
def test_votes_simulated_and_exact(noise, failure):
    instance, checkpoints = DeterministicLosses(Free((0.1, 0.5), (2, 3)), best=0.2), np.array([10, 127])
    policy = VoteFTNL(0.5, noise, "proved")
    exact = policy.expected_regret(instance, checkpoints)
    rng = stream("votes", 0)
    assert_mean_of(lambda _: policy.simulate(instance, 127, checkpoints, rng) @ instance.gaps, exact, 2000, failure)
    table = np.tile(np.repeat(instance.mean_losses, instance.counts)[:, None], 127)
    gaps = np.repeat(instance.gaps, instance.counts)
    assert_mean_of(lambda _: gaps[policy.play(table, 127, rng)].cumsum()[checkpoints - 1], exact, 2000, failure)


def test_votes_go_to_the_first_of_equal_arms():
    """Hardly any noise: after the first step the first of three equal best arms is always played."""
    table = np.tile(np.array([[0.7], [0.2], [0.2], [0.2]]), 50)
    assert set(VoteFTNL(1e4).play(table, 50, stream("first", 0))[1:]) == {1}


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
def test_votes_stay_below_their_bound_and_scale_with_the_gap(noise):
    rng, nearest = stream("votes bound", 0), 0.0
    for arms, place in itertools.product((2, 1024, 2**20), np.linspace(0, 1, 4)):
        epsilon, gap = 0.01 * 2**place, float(10 ** -rng.uniform(0, 6))
        policy = VoteFTNL(epsilon, noise, "proved")
        regret = policy.regret_of_groups([0.0, gap], [1, arms - 1], [2**50], "deterministic")[0]
        allowed = never_varying.votes_regret(arms, epsilon, noise, gap)
        assert regret <= allowed
        nearest = max(nearest, regret / allowed)
    assert nearest > 0.7


def test_what_votes_save():
    """K = 1024, epsilon = 0.1, gap 0.001: a thousandth."""
    instance = DeterministicLosses(OneGap(1024, 0.001))
    votes, sums = (kind(0.1, "gumbel").expected_regret(instance, np.array([2**40]))[0] for kind in (VoteFTNL, RNMFTNL))
    assert round(votes, 2) == 0.41
    assert round(sums) == 415
    assert math.isclose(never_varying.votes_regret(1024, 0.1, "gumbel", 0.001), 0.001 * (1 + 80 * math.log(1024)))


def test_votes_refuse_losses_that_vary():
    with pytest.raises(ParameterError, match="vote_ftnl needs losses that never vary"):
        VoteFTNL(1.0).check(BernoulliLosses(OneGap(3, 0.3)))


def test_most_votes_may_go_to_the_worse_arm():
    """Loss 0.4 always, against 0 with probability 0.55 and else 1: the second has more votes and the larger mean."""
    rng = stream("worse", 0)
    table = np.array([np.full(2000, 0.4), (rng.random(2000) < 0.45) * 1.0])
    assert table.mean(axis=1).argmin() == 0
    assert (VoteFTNL(5.0).play(table, 2000, rng)[1023:] == 1).mean() > 0.9


# Two arms


def least_error(epsilon, flips):
    """The least P(wrong | first) + P(wrong | second) of one private choice, the inputs `flips` vectors apart."""
    size = flips + 1  # u[k]: the probability of arm 2 when k vectors favour it
    rows = []
    for low, high in [(k, k + 1) for k in range(flips)] + [(k + 1, k) for k in range(flips)]:
        row = np.zeros(size)
        row[low], row[high] = -math.exp(epsilon), 1
        rows.append((row, 0.0))  # u_high <= e^eps u_low
        other = np.zeros(size)
        other[low], other[high] = math.exp(epsilon), -1
        rows.append((other, math.expm1(epsilon)))  # 1 - u_high <= e^eps (1 - u_low)
    cost = np.zeros(size)
    cost[0] += 1
    cost[-1] -= 1
    limits = ([row for row, _ in rows] or None, [most for _, most in rows] or None)
    found = linprog(cost, *limits, bounds=(0, 1))
    return found.fun + 1


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 2.5])
def test_two_armed_bound_is_what_single_choices_allow(epsilon):
    """A linear programme over all private choices, for each step: the bound is their sum."""
    total = 0.0
    for steps in range(1, 12):
        total += least_error(epsilon, steps - 1) / 2
        assert math.isclose(never_varying.two_armed_lower_bound(epsilon, steps), total, rel_tol=1e-6)


def test_no_policy_beats_the_two_armed_bound():
    for epsilon, horizon in itertools.product([0.02, 0.3, 2.0], [1, 2, 7, 100, 10_000]):
        lower = never_varying.two_armed_lower_bound(epsilon, horizon, 0.25)
        kinds = [RNMFTNL(epsilon, noise, False, "proved") for noise in NOISES]
        kinds += [OffsetFTNL(epsilon, "gumbel"), VoteFTNL(epsilon, "gumbel")]
        found = [policy.regret_of_groups([0.0, 0.25], [1, 1], [horizon], "deterministic")[0] for policy in kinds]
        assert min(found) >= lower * (1 - 1e-9)
        assert found[-1] < 9 * lower  # votes are within a constant of it


# The constant of epochs


def least_constant(scales, points):
    """The least mean of (length until a size is met) / size over increasing lengths on a grid, by shortest path.

    Sizes are drawn with the density 1 / size on [1, scales] and, with the remaining mass 1, are `scales` itself.
    """
    sizes = np.geomspace(1, scales, points)
    beyond = 1 / np.concatenate([[1.0], sizes])  # mean of 1 / size over the sizes above: the atom accounts for the end
    cost = np.full(points + 1, np.inf)
    cost[0] = 0.0
    for met in range(1, points + 1):
        cost[met] = (cost[:met] + sizes[met - 1] * beyond[:met]).min()
    return cost[points] / (1 + math.log(scales))


@pytest.mark.parametrize("scales", [1e2, 1e6, 1e12])
def test_no_epochs_have_a_smaller_constant(scales):
    """The best lengths against random sizes approach the bound from above; so do sampled sizes."""
    least, bound = least_constant(scales, 2000), never_varying.epoch_constant_lower_bound(scales)
    assert bound <= least < math.e  # the random offset attains e for every size
    assert least < 1.02 * bound
    rng = stream("sizes", 0)
    drawn = np.exp(rng.uniform(0, 1 + math.log(scales), 200_000)).clip(max=scales)
    for ratio in (1.5, 2.0, math.e, 6.0):
        bids = np.append(ratio ** np.arange(0.5, math.log(scales) / math.log(ratio)), scales)
        mean = (np.cumsum(bids)[np.searchsorted(bids, drawn)] / drawn).mean()
        assert mean > 0.99 * bound


def test_the_constant_goes_to_e():
    values = [never_varying.epoch_constant_lower_bound(10.0**power) for power in (1, 3, 10, 30, 100, 300)]
    assert values == sorted(values)
    assert math.isclose(never_varying.epoch_constant_lower_bound(math.exp(99)), 0.99 * math.e)


def test_conditions_of_the_theorems():
    for name, given, blamed in [
        ("votes_regret", (4, 1.0, "gumbel", 1.5), "gap"),
        ("two_armed_lower_bound", (0.0, 10), "epsilon"),
        ("two_armed_lower_bound", (1.0, 0), "horizon"),
        ("two_armed_lower_bound", (1.0, 10, 0.0), "gap"),
        ("epoch_constant_lower_bound", (1.0,), "scales"),
    ]:
        with pytest.raises(ParameterError) as error:
            getattr(never_varying, name)(*given)
        assert error.value.parameter == blamed
