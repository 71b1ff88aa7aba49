"""DP-SE-Gauss and Shuffle-SE: constants by hand, releases, and what an epoch of two arms shows."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom, norm

from bandits import ParameterError, Scope
from bandits.audit.costs import AuditVerdict
from bandits.audit.epoch_costs import coin_lead, gaussian_lead
from bandits.audit.ledger import Domain
from bandits.audit.releases import CoinCount, GaussianDraws
from bandits.audit.transcripts import Convention
from bandits.environments.bernoulli import C2, Bernoulli
from bandits.environments.resampling import Beta
from bandits.mechanisms.coins import coins_delta
from bandits.mechanisms.gaussian import gaussian_delta
from bandits.policies.sub_gaussian import DPSEGauss, ShuffleSE
from bandits.seeds import stream

HORIZON = 10**6


def test_epochs_by_hand():
    """Epoch 2 of 5 arms, beta = 1e-6: L = log(8 x 5 x 4 x 1e6) = 18.8907."""
    log = math.log(160e6)
    gauss = DPSEGauss(2e-5).epoch_of(5, 2, HORIZON)  # sqrt(L / rho) = 971.87, 32 x that = 31,100 > 512 L = 9,672
    length = 32 * math.sqrt(log / 2e-5) + 1
    assert gauss.rounds == math.ceil(length) == 31_101
    assert gauss.threshold == pytest.approx(2 * math.sqrt(log / (2 * length)) + 2 * math.sqrt(log / 2e-5) / length)
    coins = ShuffleSE(1.0, 1e-6).epoch_of(5, 2, HORIZON)  # 80 coins: sqrt(40 L) = 27.489
    length = 512 * log + 1
    assert coins.rounds == math.ceil(length)
    assert coins.threshold == pytest.approx(2 * math.sqrt(log / (2 * length)) + 2 * math.sqrt(40 * log) / length)
    assert DPSEGauss(0.5, 0.01).epoch_of(2, 1, HORIZON) == DPSEGauss(0.5, 0.01).epoch_of(2, 1, 7)


class Written:
    """A generator that records its arguments and returns a given value."""

    def __init__(self, value):
        self.value, self.asked = value, []

    def normal(self, loc=0.0, scale=1.0, size=None):
        self.asked.append(scale)
        return np.full(size, self.value * scale)

    def binomial(self, n, p, size=None):
        self.asked.append((n, p))
        return np.full(size, self.value)


def test_the_noise_of_a_mean():
    rng = Written(1.5)
    policy = DPSEGauss(0.02)  # standard deviation of a sum 1 / sqrt(0.04) = 5
    epoch = policy.epoch_of(2, 1, HORIZON)
    means = policy.released(np.array([0.0, 40.0]), epoch, rng)
    assert rng.asked == [pytest.approx(5 / epoch.rounds)]
    assert means == pytest.approx(np.array([7.5, 47.5]) / epoch.rounds)
    rng = Written(43)
    policy = ShuffleSE(1.0, 1e-6)
    epoch = policy.epoch_of(2, 1, HORIZON)
    means = policy.released(np.array([0.0, 40.0]), epoch, rng)
    assert rng.asked == [(80, 0.5)]
    assert means == pytest.approx(np.array([3.0, 43.0]) / epoch.rounds)


@pytest.mark.parametrize(("policy", "entry"), [(DPSEGauss(0.5), GaussianDraws), (ShuffleSE(1.0, 1e-6), CoinCount)])
def test_a_ledger_has_every_epoch_that_may_begin(policy, entry):
    releases = policy.ledger(2, HORIZON)
    assert all(isinstance(release, entry) for release in releases)
    begun = 2 * sum(epoch.rounds for epoch in policy.epochs(2, HORIZON)[:-1])
    assert begun < HORIZON <= begun + 2 * policy.epochs(2, HORIZON)[-1].rounds
    assert len(releases) == len(policy.epochs(2, HORIZON)) > 3
    assert policy.release_cost(2, HORIZON, Domain.UNIT).verdict(policy.guarantee) is not AuditVerdict.VIOLATED


def test_promises():
    gauss, coins = DPSEGauss(0.125).guarantee, ShuffleSE(1.0, 1e-6).guarantee
    assert (gauss.level, gauss.epsilon, gauss.least_rho) == (0.5, 0.5, 0.125)
    assert gauss.delta == gaussian_delta(0.5, 0.5)
    assert (coins.epsilon, coins.delta, coins.scope) == (1.0, 1e-6, Scope.SHUFFLE)
    assert DPSEGauss(0.125).release_cost(2, 1000, Domain.BINARY).verdict(gauss) is AuditVerdict.TIGHT


@pytest.mark.parametrize("threshold", [0.2, 7.5, 11.9])
def test_what_normal_noise_shows_of_two_arms(threshold):
    """Against every lead of two arms with 12 rewards."""
    level, epsilon, rounds = 0.8, 0.3, 12
    found = [
        norm.cdf((k + 1 - threshold) * level / math.sqrt(2))
        - math.exp(epsilon) * norm.cdf((k - threshold) * level / math.sqrt(2))
        for k in range(-rounds, rounds)
    ]
    assert gaussian_lead(level, epsilon, rounds, threshold)[0] == pytest.approx(max(*found, 0.0), rel=1e-12)
    assert gaussian_lead(level, epsilon, rounds, threshold)[0] <= gaussian_delta(level / math.sqrt(2), epsilon)


@pytest.mark.parametrize("threshold", [0.0, 3.0, 7.5, 11.9])
def test_what_coins_show_of_two_arms(threshold):
    """The difference of two numbers of heads, by summation; an arm that trails by the threshold at most stays."""
    coins, epsilon, rounds = 9, 0.3, 12
    heads = binom.pmf(np.arange(coins + 1), coins, 0.5)
    law = {d: sum(heads[a] * heads[a - d] for a in range(coins + 1) if 0 <= a - d <= coins) for d in range(-9, 10)}
    alone = {k: sum(chance for d, chance in law.items() if k + d > threshold) for k in range(-rounds, rounds + 1)}
    shown = {k: alone[k + 1] - math.exp(epsilon) * alone[k] for k in range(-rounds, rounds)}
    lead = max(shown, key=shown.__getitem__)
    found, witness = coin_lead(coins, epsilon, rounds, threshold)
    assert found == pytest.approx(shown[lead], rel=1e-10)
    assert witness.startswith(f"sums of 12 rewards {lead} apart")
    assert coin_lead(coins, epsilon, 1000, threshold)[0] == pytest.approx(coins_delta(18, epsilon), rel=1e-10)


def test_transcripts_of_two_arms_show_what_an_epoch_does():
    for policy in (DPSEGauss(0.5), ShuffleSE(1.0, 1e-6)):
        found = policy.transcript_cost(2, HORIZON, Domain.UNIT, Convention.STREAM).delta
        assert 0 < found.shown < found.kept <= policy.guarantee.delta * (1 + 1e-12)
        three = policy.transcript_cost(3, HORIZON, Domain.UNIT, Convention.STREAM).delta
        early = policy.transcript_cost(2, 50, Domain.UNIT, Convention.STREAM).delta
        assert 0 < three.shown < three.kept
        assert early.shown == 0
        assert policy.decision_cost(2, 50, Domain.UNIT).delta.shown == 0  # no epoch ends so early
    policy = DPSEGauss(0.5)  # of whose epochs the third of three shows most: 0.03901, 0.03784, 0.03925
    leads = [policy.lead(epoch, 2)[0] for epoch in policy.epochs(2, 10**5)[:-1]]
    found = policy.transcript_cost(2, 10**5, Domain.UNIT, Convention.STREAM).delta
    assert found.shown == pytest.approx(leads[2], rel=1e-12)
    assert leads[2] > 1.005 * max(leads[:2])
    assert DPSEGauss(0.5).decision_cost(2, HORIZON, Domain.UNIT).delta.shown == pytest.approx(
        gaussian_delta(math.sqrt(0.5), 1.0), rel=0.01
    )


def test_users_send_the_coins_of_an_epoch_together():
    """5,279 coins, 2,820 users of each arm: the first 2,459 users toss two coins each, the others one."""
    policy, sent = ShuffleSE(0.1, 1e-6, 1 / 8000), Counter()
    rounds = policy.epoch_of(2, 1, 8000).rounds

    class Counting:
        def random(self):
            return 0.5

        def binomial(self, coins, chance):
            sent[coins] += 1
            return 0

    policy.play(np.zeros((2, 2 * rounds + 1)), 2 * rounds + 1, Counting())
    assert policy.coins == 5279
    assert sent == {2: 2 * (5279 - rounds), 1: 2 * (2 * rounds - 5279)}


def test_rewards_are_rounded_at_random():
    """Rewards of 1/4 become bits, a quarter of them 1: an arm with rewards of 1 is far ahead."""

    class Bits:
        def __init__(self):
            self.numbers, self.bits = stream("bits", 0), []

        def random(self):
            self.bits.append(self.numbers.random())
            return self.bits[-1]

        def binomial(self, coins, chance):
            return 0

    policy, rng = ShuffleSE(3.0, 0.01), Bits()
    rounds = policy.epoch_of(2, 1, 3000).rounds
    played = policy.play(np.array([[0.25] * 3000, [1.0] * 3000]), 3000, rng)
    assert len(rng.bits) == 2 * rounds
    assert (played[2 * rounds :] == 1).all()


def test_what_is_refused():
    for rho in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ParameterError, match="rho: must be a finite number > 0"):
            DPSEGauss(rho)
    with pytest.raises(ParameterError, match="delta: must be a number in"):
        ShuffleSE(1.0, 0.0)
    with pytest.raises(ParameterError, match="epsilon: must be a number > 0"):
        ShuffleSE(0.0, 0.1)
    with pytest.raises(ParameterError, match="beta: must be a number in"):
        ShuffleSE(1.0, 0.1, 1.0)
    with pytest.raises(ParameterError, match=r"instance: .* Bernoulli"):
        ShuffleSE(1.0, 0.1).check(Beta((0.5, 0.4), 2.0))


def test_the_best_arm_is_lost_with_probability_beta_at_most():
    """Beta = 1/2, so that many runs could lose it."""
    for policy in (DPSEGauss(1e-4, 0.5), ShuffleSE(0.1, 1e-6, 0.5)):
        lost = 0
        for run in range(200):
            pulls = policy.simulate(C2(4), 10**6, np.array([10**6]), stream("lost", run))[-1]
            lost += pulls.argmax() != 0
        assert lost <= 100


def test_with_much_noise_arms_are_eliminated_later():
    few, many = (
        policy.simulate(Bernoulli((0.9, 0.2)), 10**6, np.array([10**6]), stream("a", 0))[-1][1]
        for policy in (DPSEGauss(8.0), DPSEGauss(1e-5))
    )
    assert few < many / 2
