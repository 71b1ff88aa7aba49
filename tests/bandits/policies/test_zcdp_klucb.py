"""zCDP-KLUCB: its index, the first choice, and its regret (concentrated_kl.md, 11.3 and 11.4)."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, kstest, norm

from bandits import ParameterError
from bandits.audit.costs import AuditVerdict
from bandits.audit.gaussian_choices import clipped_choice_delta, first_choice_delta
from bandits.audit.ledger import Domain
from bandits.audit.transcripts import Convention
from bandits.bounds.concentrated_kl import (
    _cost,
    _late_pulls,
    batch_ends,
    failed_steps,
    kl_exploration,
    price_of_rho,
    zcdp_klucb_regret,
)
from bandits.divergences import bernoulli_divergence, divergence_upper_end
from bandits.environments.bernoulli import C1, Bernoulli
from bandits.loops.batches import GAUSSIAN_KL_UCB, Rule, arm_of_batch, index, noise
from bandits.normal_sums import highest_normal_mean
from bandits.policies.batched_index import ZCDPKLUCB, AdaCUCB
from bandits.seeds import stream

X = np.concatenate([[0.0], np.geomspace(1e-6, 200, 100_001)])


def cost(total, count, batches, mean, level):
    """D-: the supremum over a fine grid of tilts."""
    return (-X * total - count * np.log(1 - mean + mean * np.exp(-X)) - batches * X**2 / (2 * level**2)).max()


def test_the_index_by_hand():
    """One reward and one noise of level 1: at q = 0+ and S < 0 the cost is S^2 / 2, at q = 1 it is (1 - S)^2 / 2."""
    assert ZCDPKLUCB(0.125, 3, 1.5, 3.0).rule == Rule(GAUSSIAN_KL_UCB, 0.5, 3.0, 3.0, 1.5, 1.0)
    assert ZCDPKLUCB(0.5).limits(8) == pytest.approx((-math.sqrt(2 * math.log(8)), 1 - math.sqrt(2 * math.log(8))))
    rule = ZCDPKLUCB(0.5).rule
    for side, sign in ((0, -1), (1, 1)):
        edge = ZCDPKLUCB(0.5).limits(8)[side]
        assert index(rule, 1.0, 1.0, edge + sign * 1e-9, math.log(8), 0.0) == side
        assert 0 < index(rule, 1.0, 1.0, edge - sign * 1e-3, math.log(8), 0.0) < 1
    # c = 3: log 20 + 3 log log 20 = 2.995732 + 3 x 1.097189 = 6.287299
    q = index(ZCDPKLUCB(0.125, c=3.0).rule, 20.0, 2.0, 8.0, math.log(20), 0.0)
    assert cost(8.0, 20, 2, q, 0.5) == pytest.approx(6.287299, rel=1e-6)
    assert index(ZCDPKLUCB(0.125, c=3.0).rule, 20.0, 2.0, 8.0, 0.5, 0.0) == pytest.approx(
        highest_normal_mean(8.0, 20.0, 2.0, 0.5, 0.5)
    )  # log+ of log t < 1


def test_the_index_costs_what_it_may():
    rng, inside = stream("normal sums", 0), 0
    for _ in range(150):
        count, batches, level = int(10 ** rng.uniform(0, 5)), int(rng.integers(1, 15)), 10 ** rng.uniform(-2, 1.5)
        total = rng.binomial(count, rng.random()) + rng.normal() * math.sqrt(batches) / level
        most = 10 ** rng.uniform(-0.5, 1.5)
        q = highest_normal_mean(total, float(count), float(batches), most, level)
        if 0 < q < 1:
            assert cost(total, count, batches, q, level) == pytest.approx(most, rel=1e-6)
            assert highest_normal_mean(total, float(count), float(batches), most, level, q - 1e-9) == q
            assert q <= highest_normal_mean(total, float(count), float(batches), most, level, q + 0.1) < q + 0.1
            inside += 1
        elif q == 1:
            assert cost(total, count, batches, 1 - 1e-13, level) <= most * (1 + 1e-6)
        else:
            assert cost(total, count, batches, 1e-15, level) >= most * (1 - 1e-6)
    assert inside > 50


def test_hardly_any_noise():
    """At rho = 1e99 the index is that of KL-UCB: all rewards 0 say 1 - t^(-1/n)."""
    rule = ZCDPKLUCB(1e99).rule
    for total in (0.0, 1.0, 7.0, 19.0):
        found = index(rule, 20.0, 3.0, total, math.log(500), 0.0)
        assert found == pytest.approx(divergence_upper_end(total / 20, math.log(500) / 20), rel=1e-9)
    assert index(rule, 20.0, 3.0, 0.0, math.log(500), 0.0) == pytest.approx(1 - 500 ** (-1 / 20))


def test_ties_go_to_the_least_pulled():
    counts, batches, sums = np.array([4.0, 2.0, 2.0]), np.ones(3), np.array([40.0, 20.0, 20.0])
    assert arm_of_batch(ZCDPKLUCB(0.5).rule, counts, batches, sums, 10) == 1


@pytest.mark.parametrize("rho", [0.005, 0.5, 50.0])
def test_the_index_seldom_is_below_the_mean(rho):
    """Lemma 11.3: after m batches with probability at most e^-L, by the exact law of the sum."""
    nearest = 0.0
    for (count, batches), step, mean in itertools.product(((1, 1), (4, 3), (64, 7)), (3, 20, 500), (0.05, 0.5, 0.95)):
        policy = ZCDPKLUCB(rho)
        low, high = -60 * math.sqrt(batches) / policy.level, count + 60.0 * math.sqrt(batches) / policy.level
        for _ in range(60):  # the noisy sum at which the index is the mean
            total = (low + high) / 2
            below = index(policy.rule, float(count), float(batches), total, math.log(step), 0.0) < mean
            low, high = (total, high) if below else (low, total)
        k = np.arange(count + 1)
        chance = binom.pmf(k, count, mean) @ norm.cdf((low - k) * policy.level / math.sqrt(batches))
        assert chance <= 1 / step * (1 + 1e-9)
        nearest = max(nearest, chance * step)
    assert nearest > 0.1


def test_the_noise_of_a_batch(failure):
    """Normal with variance 1 / (2 rho), in the loop and on given rewards."""
    policy, rng = ZCDPKLUCB(0.125), stream("normal batches", 0)
    for draws in ([noise(policy.rule, rng) for _ in range(3000)], [policy.noise(rng) for _ in range(3000)]):
        assert kstest(draws, norm(scale=2.0).cdf).pvalue > failure


def test_privacy():
    policy = ZCDPKLUCB(0.02)
    assert (policy.guarantee.level, policy.guarantee.least_rho) == (pytest.approx(0.2), pytest.approx(0.02))
    assert policy.guarantee == AdaCUCB(0.02).guarantee
    assert policy.release_cost(2, 1000, Domain.UNIT).verdict(policy.guarantee) is AuditVerdict.TIGHT
    assert [release.level for release in policy.ledger(2, 1000)] == pytest.approx([0.2] * 11)


@pytest.mark.slow
@pytest.mark.parametrize(("arms", "rho"), [(2, 0.5), (3, 0.5), (3, 8.0)])
def test_the_first_choice(arms, rho):
    """The audit's law of the first choice against plays, over all rewards 0 or 1 and changes of one."""
    policy, runs = ZCDPKLUCB(rho), 4000
    found = policy.transcript_cost(arms, arms + 1, Domain.BINARY, Convention.STREAM).delta
    assert (
        found.kept
        == found.shown
        == clipped_choice_delta(policy.level, policy.level, arms, *policy.limits(arms + 1)).shown
    )
    assert found.kept < policy.transcript_cost(arms, arms + 1, Domain.UNIT, Convention.STREAM).delta.kept
    assert policy.transcript_cost(arms, arms, Domain.BINARY, Convention.STREAM).delta.shown == 0
    rng, laws = stream("first choice", 0), {}
    for rewards in itertools.product((0.0, 1.0), repeat=arms):
        table = np.repeat(np.array(rewards)[:, None], arms + 1, axis=1)
        played = [policy.play(table, arms + 1, rng)[arms] for _ in range(runs)]
        laws[rewards] = np.bincount(played, minlength=arms) / runs
    worst = 0.0
    for first, second in itertools.permutations(laws, 2):
        if np.abs(np.subtract(first, second)).sum() == 1:
            excess = np.maximum(laws[first] - math.exp(policy.level) * laws[second], 0).sum()
            worst = max(worst, float(excess))
    assert abs(worst - found.shown) < 5 * (1 + math.exp(policy.level) * math.sqrt(found.shown)) / math.sqrt(runs)
    assert worst > 0
    plain = first_choice_delta(policy.level, policy.level, arms).shown
    assert clipped_choice_delta(policy.level, policy.level, arms, -50.0, 51.0).shown == pytest.approx(plain, rel=0.2)


def test_equal_indices_go_to_the_first_arm():
    """Limits that all but meet at 1/2: arm 2 is chosen where its noisy reward alone is above."""
    level, epsilon = 1.5, 0.3

    def second(first, other):
        return norm.cdf(level * (0.5 - first)) * norm.cdf(level * (other - 0.5))

    worst = 0.0
    for rewards, changed in itertools.permutations(itertools.product((0, 1), repeat=2), 2):
        if rewards[0] == changed[0] or rewards[1] == changed[1]:
            old, new = second(*rewards), second(*changed)
            worst = max(worst, old - math.exp(epsilon) * new, 1 - old - math.exp(epsilon) * (1 - new))
    found = clipped_choice_delta(level, epsilon, 2, 0.5, 0.5 + 1e-9)
    assert found.shown == pytest.approx(worst, rel=1e-6)


def test_the_regret_bound_by_hand():
    """rho so large that noise is free, T = 4, ratio 2: batches end at 1, 2, 4."""
    assert batch_ends(4, 2.0, 1).tolist() == [1, 2, 4]
    # T = 7. i = 1: 2 + 4 + 1 steps, M = 2 batches end before 4, e^-L = 1/2. i = 2: 7 steps of 13 at most, M = 3 batches
    # end before 8, e^-L = 1 / (4 (log 4)^3) = .093837
    assert failed_steps(7, 2.0, 1, 3.0) == pytest.approx(7 + 7 * 3 * 0.0938370, rel=1e-6)
    # cost log 4 + 3 log log 4 = 2.366112; kl(.5, .9) = .510826: n = 1, 2, 4 cost .51, 1.02, 2.04: all batches
    assert _late_pulls(0.1, 0.9, 0.5, 1e90, kl_exploration(4, 3.0), batch_ends(4, 2.0, 1)) == 4
    # T = 8, cost 1: n = 2 costs 1.02 > 1, so that J = 1 and n_2 = 2; then 2 e^(-2 k) + 4 e^(-4 k), k = kl(.5, .1)
    pulls = _late_pulls(0.1, 0.9, 0.5, 1e90, 1.0, batch_ends(8, 2.0, 1))
    k = bernoulli_divergence(0.5, 0.1)
    assert pulls == pytest.approx(2 + 2 * math.exp(-2 * k) + 4 * math.exp(-4 * k), rel=1e-6)
    # rho = 1/2: n = 1, 2, 4 with m = 1, 2, 3 cost sup of x n / 2 - n log(.9 + .1 e^x) - m x^2 / 2, here at both means
    x = np.linspace(0, 3, 300_001)
    costs = [(x * n / 2 - n * np.log(0.9 + 0.1 * np.exp(x)) - m * x**2 / 2).max() for n, m in ((1, 1), (2, 2), (4, 3))]
    pulls = _late_pulls(0.1, 0.9, 0.5, 0.5, (costs[0] + costs[1]) / 2, batch_ends(8, 2.0, 1))
    assert pulls == pytest.approx(2 + 2 * math.exp(-costs[1]) + 4 * math.exp(-costs[2]), rel=0.01)


def test_the_price_of_rho_by_hand():
    """Means 3/4 and 1/4: gap 1/2, x = 2 log 3, kl = log(3) / 2; at T = e^e and ratio 2 gap x^2 / (4 kl log 2) / rho."""
    price = price_of_rho([0.75, 0.25, 0.75], 0.5, math.exp(math.e))
    assert price == pytest.approx(0.5 * 4 * math.log(3) ** 2 / (math.log(3) / 2) / (4 * 0.5 * math.log(2)))


@pytest.mark.parametrize("rho", [5e-4, 0.5])
def test_mean_regret_is_below_its_bound(rho):
    for means in ((0.75, 0.7), (0.6, 0.3, 0.3)):
        ends, instance = np.array([10**6]), Bernoulli(means)
        policy = ZCDPKLUCB(rho, c=3.0)
        gaps = max(means) - np.array(means)
        regret = [policy.simulate(instance, 10**6, ends, stream("11.4", run))[0] @ gaps for run in range(60)]
        bound = zcdp_klucb_regret(means, rho, 1e6)
        assert bound / 20 < np.mean(regret) < bound


@pytest.mark.slow
def test_the_leading_constant_does_not_depend_on_rho():
    """At T = 1e300 regret / log T is at most ratio x gap / kl, up to terms of lower order, for every rho here."""
    slope = 0.5 / bernoulli_divergence(0.25, 0.75)
    for ratio in (1.1, 2.0):
        free, bound = (zcdp_klucb_regret([0.75, 0.25], rho, 1e300, ratio) for rho in (1e90, 0.5))
        assert free <= bound < free + 400
        assert bound < 1.35 * ratio * slope * math.log(1e300) + failed_steps(1e300, ratio, 1, 3.0)
    assert failed_steps(1e300, 2.0, 1, 3.0) < failed_steps(1e150, 2.0, 1, 3.0) + 0.1  # it has a limit


def test_close_means():
    """Of two close arms x^2 / kl is 2 / v, v = 1/4 the variance of a reward, and kl is gap^2 / (2 v)."""
    gap = 2.0**-30
    price = gap * 8 * math.log(math.log(1e9)) / (4 * 0.5 * math.log(2))
    assert price_of_rho([0.5 + gap, 0.5], 0.5, 1e9) == pytest.approx(price, rel=1e-6)
    for y in (0.3 + 1e-13, 0.3 - 1e-13):
        cost = _cost(np.array([1e30]), np.array([3]), y, 0.3, 1e90)
        assert cost == pytest.approx(1e30 * (y - 0.3) ** 2 / (2 * 0.3 * 0.7), rel=1e-6)


@pytest.mark.slow
def test_regret_on_c1():
    """T = 10^7, rho = 1/2: about 730, as a separate computation has it (standard error 7)."""
    instance, ends = C1(5), np.array([10**7])
    gaps = max(instance.mean_rewards) - instance.mean_rewards
    regret = np.array(
        [ZCDPKLUCB(0.5).simulate(instance, 10**7, ends, stream("c1", run))[0] @ gaps for run in range(1000)]
    )
    assert abs(regret.mean() - 730) < 4 * math.hypot(7, regret.std() / math.sqrt(1000))


def test_what_is_refused():
    for given, blamed in [
        ({"rho": 0.0}, "rho"),
        ({"rho": 1.0, "first_batch": 0}, "first_batch"),
        ({"rho": 1.0, "ratio": 1.0}, "ratio"),
        ({"rho": 1.0, "c": -1.0}, "c"),
    ]:
        with pytest.raises(ParameterError) as error:
            ZCDPKLUCB(**given)
        assert error.value.parameter == blamed
    for given, blamed in [
        (([0.5, 0.4], 0.0, 100), "rho"),
        (([0.5, 0.5], 1.0, 100), "means"),
        (([1.0, 0.5], 1.0, 100), "means"),
        (([0.5, 0.4], 1.0, 100, 2.0, 1, 2.0), "c"),
        (([0.5, 0.4], 1.0, math.inf), "horizon"),
    ]:
        with pytest.raises(ParameterError) as error:
            zcdp_klucb_regret(*given)
        assert error.value.parameter == blamed
