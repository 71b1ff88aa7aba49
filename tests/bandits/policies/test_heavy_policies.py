import itertools
import math

import numpy as np
import pytest

from bandits.compiled import compiled
from bandits.environments.heavy_tails import S1, S3, Pareto
from bandits.environments.pareto import pareto, ziggurat
from bandits.loops.heavy_leader import ParetoRewards, robust_ucb_pulls, truncated_ucb_pulls
from bandits.mechanisms.tree import tree_levels
from bandits.policies.elimination import Epoch
from bandits.policies.heavy_tailed import DPRSE, DPRUCB, LDPRSE, BoxedLDPRSE, RobustUCB
from bandits.seeds import stream
from tests.plain_loops.steps import dprucb_steps


@pytest.mark.parametrize(("constants", "s"), [("paper", 1.0), ("scaled", 1 / 12)])
def test_epochs_of_dprse_by_hand(constants, s):
    u, v, epsilon, horizon = S1(0.5).moment, 0.5, 0.5, 10**7
    log = math.log(4 * 5 * 2**2 * 1e7)
    rounds = math.ceil(u**2 * (24 * s) ** 3 * log / (epsilon * 0.25**3) + 1)
    epoch = DPRSE(epsilon, constants).epoch(S1(0.5), 5, 2, horizon)
    assert epoch.rounds == rounds
    assert math.isclose(epoch.truncation, (u * rounds * epsilon / log) ** (1 / 1.5), rel_tol=1e-14)
    error = u ** (2 / 3) * (log / (rounds * epsilon)) ** (1 / 3)
    assert math.isclose(epoch.threshold, 12 * s * error, rel_tol=1e-12)
    assert epoch.threshold <= 0.25 / 2  # R is just long enough for 12 err <= D / 2
    assert math.isclose(epoch.threshold, 0.125, rel_tol=1e-4)
    assert v == S1(0.5).v


def test_epochs_of_ldprse_by_hand():
    for (constants, s), base in itertools.product([("paper", 1.0), ("scaled", 1 / 12)], [2, 4]):
        u, epsilon, horizon = S3(0.5).moment, 5.0, 10**8
        log, gap = math.log(8 * 5 * 3**2 * 1e8), base**-3.0
        rounds = math.ceil(u**4 * (28 * s) ** 6 * log / (epsilon**2 * gap**6) + log)
        epoch = LDPRSE(epsilon, constants, epoch_base=base).epoch(S3(0.5), 5, 3, horizon)
        assert epoch.rounds == rounds
        assert math.isclose(
            epoch.truncation, (u * math.sqrt(rounds) * epsilon / math.sqrt(log)) ** (1 / 1.5), rel_tol=1e-14
        )
        assert math.isclose(epoch.threshold, gap / 2, rel_tol=1e-3)  # 14 err <= D / 2: epochs and elimination agree


@pytest.mark.slow
def test_the_first_removal_by_hand():
    """DPRSE as printed on two arms with gap 0.2, T = 10^7: the lines of Algorithm 3; u, the moment, is given."""
    instance, horizon = Pareto((0.9, 0.7), v=0.9, shape=3.0), 10**7
    steps, ends = 0, []
    for epoch in (1, 2):
        log = np.log(4 * 2 * epoch**2 * horizon)
        rounds = np.ceil(instance.moment ** (1 / 0.9) * (24 * 2**epoch) ** (1.9 / 0.9) * log + 1)
        steps += 2 * rounds
        ends.append(12 * instance.moment ** (1 / 1.9) * (log / rounds) ** (0.9 / 1.9) < 0.2)
    assert ends == [False, True], "thresholds are 1/4 and 1/8"
    assert DPRSE(1.0).first_removal(instance, horizon) == steps
    assert DPRSE(1.0).first_removal(instance, 500_000) == math.inf, "they end after the horizon"


@pytest.mark.parametrize(
    ("policy", "variance"),
    [
        (DPRSE(0.7), lambda rounds, bound: 2 * (2 * bound / (rounds * 0.7)) ** 2),
        (LDPRSE(0.7), lambda rounds, bound: 2 * (2 * bound / 0.7) ** 2 / rounds),
    ],
    ids=["central", "local"],
)
def test_noise_is_made_for_the_truncation(policy, variance, failure):
    """Rewards that are all truncated leave only the noise."""
    instance, repeats = Pareto((0.9, 0.5), 0.5), 20_000
    rounds, bound = 50, float(instance.scales.min()) / 2
    rng = stream("noise", 0)
    epoch = Epoch(rounds, 1.0, bound)
    noise = np.array([policy.noisy_means(instance, np.array([0, 1]), epoch, rng) for _ in range(repeats)])
    assert failure > 1e-11  # variance of a Laplace sum is known within sqrt(5 / repeats), 7 sigma
    np.testing.assert_allclose(noise.var(axis=0), variance(rounds, bound), rtol=7 * math.sqrt(5 / repeats))
    assert (np.abs(noise.mean(axis=0)) < 7 * np.sqrt(variance(rounds, bound) / repeats)).all()


@pytest.mark.parametrize("bound", [0.5, 2.0, 100.0])
def test_one_reward_moves_a_truncated_mean_by_at_most_2b(bound):
    x = np.linspace(-3 * bound, 3 * bound, 601)
    kept = np.where(np.abs(x) <= bound, x, 0)
    assert kept.max() - kept.min() <= 2 * bound


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 0.02])
@pytest.mark.parametrize("epsilon", [0.5, 50.0])
def test_dprucb_is_algorithm_1_number_by_number(scale, epsilon):
    instance, horizon = S1(0.9), 20_000
    policy = DPRUCB(epsilon, "custom", scale)
    u, v, log = instance.moment, 0.9, math.log(horizon)
    bonus = 18 * scale * u ** (1 / (1 + v)) * (log ** (1.5 + 1 / v) / epsilon) ** (v / (1 + v))
    rate, noise_scale, levels = epsilon * u / log**1.5, 2 * tree_levels(horizon) / epsilon, tree_levels(horizon)
    layers = ziggurat(instance.tail_index)
    given = (instance.scales, layers, 1 + v, horizon, bonus, rate, noise_scale, levels)
    rewards = ParetoRewards(instance.scales, layers, 1 + v)
    constants = policy.loop_arguments(policy.moment(instance), horizon)._replace(largest_block=0)
    different = 0
    for replication in range(12):
        fast = truncated_ucb_pulls(rewards, horizon, np.array([horizon]), constants, stream("dprucb", replication))[-1]
        different += (fast != dprucb_steps(*given, stream("dprucb", replication))).any()
    assert different <= 1  # a tie of one run may be rounded to the other side


@compiled
def one_pareto(layers, rng):
    return pareto(layers, rng)


def plain_robust_ucb(instance, horizon, rng):
    """Truncated means of Bubeck et al. (2013); whenever a count doubles, all rewards are truncated again."""
    arms, order, u = len(instance.mean_rewards), 1 + instance.v, instance.moment
    power = instance.v / order
    rewards = [[] for _ in range(arms)]
    sums = np.zeros(arms)
    for t in range(1, horizon + 1):
        pulls = np.array([len(kept) for kept in rewards])
        log = math.log(t**2)
        arm = t - 1
        if t > arms:
            arm = int(np.argmax(sums / pulls + 4 * u ** (1 / order) * (log / pulls) ** power))
        rewards[arm].append(instance.scales[arm] * one_pareto(ziggurat(instance.tail_index), rng))
        count = len(rewards[arm])
        fresh = 0 if count & (count - 1) == 0 else count - 1
        kept = 0.0 if fresh == 0 else sums[arm]
        for i in range(fresh, count):
            reward = rewards[arm][i]
            if log == 0 or reward <= (u * (i + 1) / log) ** (1 / order):
                kept += reward
        sums[arm] = kept
    return np.array([len(kept) for kept in rewards])


def test_robust_ucb_is_the_plain_loop_number_by_number():
    instance = S1(0.9)
    for replication in range(3):
        fast = RobustUCB().simulate(instance, 3_000, np.array([3_000]), stream("robust", replication))[-1]
        assert (fast == plain_robust_ucb(instance, 3_000, stream("robust", replication))).all()


def test_robust_ucb_learns_and_remembers():
    rewards = ParetoRewards(S1(0.9).scales, ziggurat(1.95), order=1.9)
    pulls = robust_ucb_pulls(rewards, 200_000, np.array([200_000]), 1.0, 8.142, stream("learn", 0))
    assert pulls[-1].argmax() == 0


def test_what_a_tree_with_natural_logarithm_spends():
    assert DPRUCB(1.0).guarantee.epsilon == 1.0
    spent = max(tree_levels(horizon) / math.log(horizon) for horizon in [*range(2, 5_000), 10**7, 2**40])
    assert math.isclose(DPRUCB(1.0, tree_budget="natural").guarantee.epsilon, spent, rel_tol=1e-12)


def test_central_and_local_scopes():
    assert DPRSE(1.0).guarantee.scope == "transcript"
    assert LDPRSE(1.0).guarantee.scope == "local"
    assert not RobustUCB().guarantee.private


def test_the_box_of_algorithm_4_has_a_smaller_error():
    """S1 with v = 0.5, epsilon = 5, T = 10^10, five arms, epoch 1 at gap 1/4: 14 err with R for sqrt(R)."""
    instance, horizon = S1(0.5), 10**10
    epoch = BoxedLDPRSE(5.0).epoch(instance, 5, 1, horizon)
    log = math.log(8 * 5 * horizon)
    rounds = math.ceil(instance.moment**4 * 28**6 * log / (25 * 0.25**6) + log)
    error = instance.moment ** (2 / 3) * (math.sqrt(log) / (rounds * 5)) ** (1 / 3)
    assert epoch.rounds == rounds
    assert math.isclose(epoch.threshold, 14 * error)
    assert epoch.threshold < 0.01 * LDPRSE(5.0, epoch_base=4).epoch(instance, 5, 1, horizon).threshold
    assert BoxedLDPRSE(5.0).guarantee == LDPRSE(5.0).guarantee
