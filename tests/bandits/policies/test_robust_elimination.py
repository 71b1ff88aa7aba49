"""Robust elimination: values by hand, laws against rewards one by one, theorem 13.1, ledgers and bad inputs."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from bandits import ParameterError
from bandits.audit.ledger import Domain
from bandits.environments.bernoulli import Bernoulli
from bandits.environments.heavy_tails import S1, MomentBernoulli, Pareto, TwoPoint
from bandits.policies.heavy_tailed import DPRSE, Moment, RobustUCB
from bandits.policies.robust_elimination import RobustBitSE, RobustSE
from bandits.seeds import stream
from tests.bandits.two_samples import assert_same_law

POLICIES = [
    RobustSE(1.0),
    RobustSE(1.0, 0.05),
    RobustBitSE(1.0),
    RobustBitSE(1.0, 0.05),
    RobustBitSE(1.0, 0.2, order="ltc"),  # large enough to distinguish corrupted rewards from corrupted bits
]


def test_batches_by_hand():
    """Batch 3 of 5 arms: n = 8, k = 1.5, u = 2, alpha = 0.1, epsilon = 0.5, T = 1000."""
    log = math.log(5 * 5 * 9 * 1000)
    m = (2 / (0.2 + log / 12 + log / 2)) ** (2 / 3)
    r = 2 * m**-0.5 + 0.2 * m + math.sqrt((2 * m**0.5 + 0.1 * m**2) * log / 4) + m * log / 12 + m * log / 2
    batch = RobustSE(0.5, 0.1).epoch_of(Moment(2.0, 0.5), 5, 3, 1000)
    assert batch.rounds == 8
    assert math.isclose(batch.truncation, m)
    assert math.isclose(batch.threshold, 2 * r)
    log, q = math.log(4 * 5 * 9 * 1000), math.tanh(0.25)
    for order, shift in (("ctl", 0.2), ("ltc", 0.2 / q)):
        batch = RobustBitSE(0.5, 0.1, order=order).epoch_of(Moment(2.0, 0.5), 5, 3, 1000)
        m = (2 / (shift + math.sqrt(log / 4) / q)) ** (2 / 3)
        assert math.isclose(batch.truncation, m)
        assert math.isclose(batch.threshold, 2 * (2 * m**-0.5 + shift * m + m / q * math.sqrt(log / 4)))


def test_the_second_moment_follows_from_a_higher_one():
    """Batch 4 of 2 arms, k = 4, u = 16, alpha = 0, epsilon = 1, T = 100: E X^2 <= 4, whatever the bound."""
    log = math.log(5 * 2 * 16 * 100)
    slope = log / 24 + log / 8  # 2 L / (3 n) + 2 L / n
    m = (16 / slope) ** 0.25
    batch = RobustSE(1.0).epoch_of(Moment(16.0, 3.0), 2, 4, 100)
    assert math.isclose(batch.truncation, m)
    assert math.isclose(batch.threshold, 2 * (16 / m**3 + slope * m + math.sqrt(2 * 4 * log / 16)))
    at_two = [RobustSE(1.0).epoch_of(Moment(16.0, v), 2, 4, 100).threshold for v in (1 - 1e-12, 1.0, 1 + 1e-12)]
    assert math.isclose(min(at_two), max(at_two), rel_tol=1e-9)  # both forms agree at k = 2


def plain_mean(policy, instance, arm, epoch, best, rng):
    """The noisy mean of one arm, reward by reward and, where there are bits, bit by bit."""
    bound, terms = epoch.truncation, []
    for _ in range(epoch.rounds):
        reward = instance.sample(arm, rng)
        struck = rng.random() < policy.corruption
        local = isinstance(policy, RobustBitSE)
        if struck and not (local and policy.order == "ltc"):
            reward = -bound if best else bound
        kept = reward if abs(reward) <= bound else 0.0
        if local:
            kept = 1 if rng.random() < 0.5 + math.tanh(policy.epsilon / 2) * kept / (2 * bound) else -1
            if struck and policy.order == "ltc":
                kept = -1 if best else 1
        terms.append(kept)
    if isinstance(policy, RobustBitSE):
        return bound / math.tanh(policy.epsilon / 2) * np.mean(terms)
    return np.mean(terms) + rng.laplace(scale=2 * bound / (policy.epsilon * epoch.rounds))


@pytest.mark.parametrize("v", [0.9, 2.5])
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_means_have_the_law_of_rewards_one_by_one(policy, v, failure):
    """And they are within r, theorem 13.1: few of 600 means of batch 6 at T = 2 may be outside."""
    instance, runs = Pareto((0.9, 0.5), v), 300
    epoch = policy.epoch(instance, 2, 6, 2)
    fast = [policy.noisy_means(instance, np.array([0, 1]), epoch, stream("fast", j)) for j in range(runs)]
    plain = [
        [plain_mean(policy, instance, arm, epoch, arm == 0, stream("plain", 2 * j + arm)) for arm in (0, 1)]
        for j in range(runs)
    ]
    assert_same_law(fast, plain, failure)
    off = np.abs(np.array(fast) - instance.mean_rewards) > epoch.threshold / 2
    assert binom.sf(off.any(axis=1).sum() - 1, runs, 0.5) > failure


def test_truncated_means():
    rng, runs = np.random.default_rng(0), 200_000
    for instance, bound in [(S1(0.9), 1.0), (TwoPoint((0.1, 0.4), 0.5), 4.0), (MomentBernoulli((0.3, 0.6), 0.5), 1.0)]:
        arms = np.arange(instance.number_of_arms)
        drawn = instance.truncated_sums(arms, runs, bound, rng) / runs
        assert np.allclose(instance.truncated_means(arms, bound), drawn, atol=0.02)
        assert (instance.truncated_means(arms, 1e-9) == 0).all()


def test_the_best_arm_stays_and_bits_cost_more():
    pulls = {}
    for policy in (RobustSE(5.0), RobustBitSE(5.0)):
        ends = [
            policy.simulate(TwoPoint((0.5, 0.1), 1.0), 10**6, np.array([10**6]), stream("stays", j))[0]
            for j in range(9)
        ]
        assert all(end[0] > 0.6 * 10**6 for end in ends)
        pulls[policy.name] = np.mean([end[1] for end in ends])
    assert pulls["robust_se"] < pulls["robust_bit_se"]


def test_higher_moments_end_earlier():
    """Of rewards with light tails, a higher moment gives narrower widths in the end, and so fewer pulls of bad arms."""
    pulls = {}
    for v in (1.0, 3.0):
        instance = Pareto((0.9, 0.6), v, 6.0)
        ends = [RobustSE(1.0).simulate(instance, 10**7, np.array([10**7]), stream("moments", j))[0] for j in range(5)]
        pulls[v] = np.mean([end[1] for end in ends])
    assert pulls[3.0] < pulls[1.0]


def test_ledgers():
    (mean,) = RobustSE(0.7).ledger(5, 1000)
    assert math.isclose(mean.cost(Domain.SIGNED).kept, 0.7)
    assert math.isclose(mean.cost(Domain.NONNEGATIVE).shown, 0.35)
    (bit,) = RobustBitSE(0.7, 0.1, order="ltc").ledger(5, 1000)
    assert math.isclose(bit.cost(Domain.SIGNED).shown, 0.7)
    half = max(math.log(1 + math.tanh(0.35)), -math.log(1 - math.tanh(0.35)))
    assert math.isclose(bit.cost(Domain.NONNEGATIVE).kept, half)


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda: RobustSE(1.0, 0.5), "corruption"),
        (lambda: RobustBitSE(1.0, -0.1), "corruption"),
        (lambda: RobustSE(0.0), "epsilon"),
        (lambda: RobustBitSE(1.0, u=0.0), "u"),
        (lambda: Pareto((0.9, 0.5), 0.0), "v"),
        (lambda: Pareto((0.9, 0.5), 10.1), "v"),
        (lambda: MomentBernoulli((0.9, 0.5), 0.0), "v"),
        (lambda: DPRSE(1.0).check(Pareto((0.9, 0.5), 1.5)), "instance"),
        (lambda: RobustUCB().check(MomentBernoulli((0.9, 0.5), 1.5)), "instance"),
        (lambda: RobustSE(1.0).check(Bernoulli((0.5, 0.4))), "instance"),
    ],
)
def test_bad_inputs(make, parameter):
    with pytest.raises(ParameterError) as error:
        make()
    assert error.value.parameter == parameter
