"""At a very large budget a private policy has the law of its form without noise, here plain loops that know no budget.

Next to nothing of `bandits` is in the loops: batches, epochs, widths and draws are written again. What a budget does
not take away is in them too: the grid of batches and episodes, the bound of cut-off rewards, and the messages of users.
Noise that vanishes still breaks ties, so that the loops break them at random.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from bandits.environments.bernoulli import Bernoulli
from bandits.environments.heavy_tails import MomentBernoulli, Pareto
from bandits.policies.batched_index import DPKLUCB, ZCDPKLUCB, AdaCUCB
from bandits.policies.bit_top_two import CTBTT
from bandits.policies.normal_ucb import ZCDPUCB
from bandits.policies.private_ucb import DPUCB
from bandits.policies.robust_elimination import RobustBitSE, RobustSE
from bandits.policies.sub_gaussian import DPSEGauss, ShuffleSE
from bandits.policies.top_two import DPTT
from bandits.seeds import stream
from tests.bandits.two_samples import assert_same_law_of
from tests.plain_loops.top_two import ctb_tt_steps, dp_tt_steps

VAST = 1e9  # of a budget that policies of noisy sums take


def ucb1(means, horizon, rng):
    """UCB1, one reward at a time. Pulls."""
    arms = range(len(means))
    pulls, sums = [0] * len(means), [0.0] * len(means)
    for t in range(1, horizon + 1):
        arm = t - 1
        if t > len(means):
            arm = max(arms, key=lambda a: sums[a] / pulls[a] + math.sqrt(2 * math.log(t) / pulls[a]))
        pulls[arm] += 1
        sums[arm] = round(sums[arm]) + (rng.random() < means[arm]) + tie(rng)
    return pulls


def tie(rng):
    return 1e-8 * (rng.random() - 0.5)


def episodes(means, horizon, alpha, rng):
    """UCB in episodes of 1, 1, 2, 4, ... pulls of an arm, with the mean of its last episode. Pulls."""

    def index(arm):
        n = last[arm]
        return sums[arm] / n + math.sqrt(alpha * math.log(t) / (2 * n))

    pulls, last, sums = [0] * len(means), [0] * len(means), [0.0] * len(means)
    t = 1  # the next step
    while t <= horizon:
        arm = pulls.index(0) if 0 in pulls else max(range(len(means)), key=index)
        length = min(max(1, pulls[arm]), horizon + 1 - t)
        sums[arm], last[arm] = rng.binomial(length, means[arm]) + tie(rng), length
        pulls[arm] += length
        t += length
    return pulls


def kl_ucb(means, horizon, rng):
    """KL-UCB on batches that double the pulls of an arm, ties to the least pulled. Pulls."""

    def divergence(p, q):
        return sum(x * math.log(x / y) for x, y in ((p, q), (1 - p, 1 - q)) if x > 0)

    def index(arm):
        p = min(max(sums[arm] / pulls[arm], 0.0), 1.0)
        low, high = p, 1 - 1e-15
        if pulls[arm] * divergence(p, high) <= math.log(t):
            return 1.0, -pulls[arm]
        for _ in range(50):
            q = (low + high) / 2
            low, high = (q, high) if pulls[arm] * divergence(p, q) <= math.log(t) else (low, q)
        return low, -pulls[arm]

    pulls, sums = [0] * len(means), [0.0] * len(means)
    t = 1
    while t <= horizon:
        arm = pulls.index(0) if 0 in pulls else max(range(len(means)), key=index)
        length = min(max(1, pulls[arm]), horizon + 1 - t)
        sums[arm] += rng.binomial(length, means[arm]) + tie(rng)
        pulls[arm] += length
        t += length
    return pulls


def elimination(horizon, arms, means_of, epoch_of):
    """Elimination in epochs: pulls of arms that are not cut short within an epoch.

    `epoch_of(viable, number)` is (rounds, threshold, what `means_of(arm, rounds, ...)` needs besides).
    """
    viable, pulls = list(range(arms)), [0] * arms
    for number in itertools.count(1):
        rounds, threshold, *other = epoch_of(len(viable), number)
        left = horizon - sum(pulls)
        if len(viable) == 1 or left < rounds * len(viable):
            for place, arm in enumerate(viable):
                pulls[arm] += left // len(viable) + (place < left % len(viable))
            return pulls
        found = [means_of(arm, rounds, *other) for arm in viable]
        for arm in viable:
            pulls[arm] += rounds
        viable = [arm for arm, mean in zip(viable, found, strict=True) if mean >= max(found) - threshold]


def halving(means, horizon, coins, rng):
    """The form of DP-SE without noise; with as many `coins` in the widths, whose variance is left out. Pulls."""

    def epoch_of(viable, number):
        log = math.log(8 * viable * number**2 * horizon)
        bound = math.sqrt(coins * log / 2)
        length = max(32 * log * 4**number, 8 * bound * 2**number) + 1
        return math.ceil(length), 2 * math.sqrt(log / (2 * length)) + 2 * bound / length

    return elimination(horizon, len(means), lambda arm, n: rng.binomial(n, means[arm]) / n, epoch_of)


def cut_off(instance, horizon, alpha, rng):
    """Robust SE for k = 2: cut-off Pareto rewards, one by one, some of them replaced. Pulls."""
    means, shape = instance.means, instance.shape
    u = max(shape * ((shape - 1) * mean / shape) ** 2 / (shape - 2) for mean in means)

    def epoch_of(viable, number):
        log, n = math.log(5 * viable * number**2 * horizon), 2**number
        bound = math.sqrt(u / (2 * alpha + 2 * log / (3 * n)))
        spread = math.sqrt(2 * (u + alpha * bound**2) * log / n)
        return n, 2 * (u / bound + 2 * alpha * bound + spread + 2 * bound * log / (3 * n)), bound

    def mean_of(arm, n, bound):
        x = (shape - 1) * means[arm] / shape * (1 + rng.pareto(shape, size=n))
        x[rng.random(n) < alpha] = -bound if means[arm] == max(means) else bound
        return x[x <= bound].sum() / n

    return elimination(horizon, len(means), mean_of, epoch_of)


def signs(means, horizon, alpha, rng):
    """Robust bit SE for k = 2 and rewards 0 or 1, of which each is sent as one random sign with its mean. Pulls."""

    def epoch_of(viable, number):
        log, n = math.log(4 * viable * number**2 * horizon), 2**number
        slope = 2 * alpha + math.sqrt(2 * log / n)
        bound = math.sqrt(max(means) / slope)
        return n, 2 * (max(means) / bound + slope * bound), bound

    def mean_of(arm, n, bound):
        replaced = rng.binomial(n, alpha)
        ones = rng.binomial(n - replaced, means[arm])
        sent = rng.binomial(ones, 0.5 + 0.5 / bound) if bound >= 1 else rng.binomial(ones, 0.5)
        sent += rng.binomial(n - replaced - ones, 0.5) + replaced * (means[arm] != max(means))
        return bound * (2 * sent / n - 1)

    return elimination(horizon, len(means), mean_of, epoch_of)


@dataclass
class Row:
    """A policy at a very large budget, and what it tends to: `free(rng)`, one run of the same columns."""

    policy: Any
    instance: Any
    horizon: int
    free: Any
    runs: int = 4000

    def private(self, rng):
        """Samples and the arm of a policy that identifies; the pulls of one that does not."""
        if hasattr(self.policy, "least_samples"):
            found = self.policy.simulate(self.instance, self.horizon, rng)
            return found.samples, -1 if found.arm is None else found.arm
        return self.policy.simulate(self.instance, self.horizon, np.array([self.horizon]), rng)[-1]


ROWS = [
    # Bits equal the rewards: one is flipped with probability e^-50.
    Row(
        CTBTT(50.0, 0.2),
        Bernoulli((0.8, 0.3, 0.4)),
        10**6,
        lambda rng: ctb_tt_steps((0.8, 0.3, 0.4), 10**6, CTBTT(50.0, 0.2), rng, noisy=False),
        200,
    ),
    # Noise of 1/700 a batch, and its share of the cost, are left.
    Row(
        DPTT(700.0, 0.2),
        Bernoulli((0.8, 0.3, 0.4)),
        10**6,
        lambda rng: dp_tt_steps((0.8, 0.3, 0.4), 10**6, DPTT(700.0, 0.2), rng, noisy=False),
        100,
    ),
    Row(
        DPKLUCB(700.0, index="exact"),
        Bernoulli((0.5, 0.6, 0.4)),
        1000,
        lambda rng: kl_ucb((0.5, 0.6, 0.4), 1000, rng),
        400,
    ),
    Row(
        ZCDPKLUCB(VAST),
        Bernoulli((0.5, 0.6, 0.4)),
        1000,
        lambda rng: kl_ucb((0.5, 0.6, 0.4), 1000, rng),
        400,
    ),
    Row(
        DPUCB(VAST, split_budget=False, confidence="chernoff", tree="path"),
        Bernoulli((0.5, 0.8)),
        300,
        lambda rng: ucb1((0.5, 0.8), 300, rng),
        400,
    ),
    Row(
        ZCDPUCB(VAST),
        Bernoulli((0.5, 0.8)),
        300,
        lambda rng: ucb1((0.5, 0.8), 300, rng),
        400,
    ),
    Row(AdaCUCB(VAST), Bernoulli((0.5, 0.9)), 100, lambda rng: episodes((0.5, 0.9), 100, 3.1, rng)),
    # The second arm is as far behind as the threshold of epoch 1, the third as that of epoch 2.
    Row(
        DPSEGauss(VAST),
        Bernoulli((0.6, 0.475, 0.5375)),
        40_000,
        lambda rng: halving((0.6, 0.475, 0.5375), 40_000, 0, rng),
    ),
    # Coins stay: 2^-20 < delta, the chance that all of them are heads, whatever epsilon is.
    Row(
        ShuffleSE(50.0, 1e-6),
        Bernoulli((0.6, 0.46, 0.535)),
        40_000,
        lambda rng: halving((0.6, 0.46, 0.535), 40_000, 20, rng),
    ),
    # The bound at which rewards are cut off stays, now without a share for the noise.
    Row(
        RobustSE(VAST, 0.001),
        Pareto((0.9, 0.5), 1.0, 5.0),
        10**5,
        lambda rng: cut_off(Pareto((0.9, 0.5), 1.0, 5.0), 10**5, 0.001, rng),
        400,
    ),
    # A reward still is one random bit, whose mean is the reward in units of the bound.
    Row(
        RobustBitSE(50.0, 0.001),
        MomentBernoulli((0.36, 0.9), 1.0),
        10**6,
        lambda rng: signs((0.36, 0.9), 10**6, 0.001, rng),
        1000,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.policy.name)
def test_a_very_large_budget_leaves_the_policy_without_noise(row, failure):
    assert_same_law_of(
        lambda run: (row.private(stream("private", run)), row.free(stream("free", run))), row.runs, failure
    )


def test_so_many_coins_stay():
    assert ShuffleSE(50.0, 1e-6).coins == 20
