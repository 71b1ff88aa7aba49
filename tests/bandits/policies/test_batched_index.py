import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, kstest, laplace, norm

from bandits import ParameterError
from bandits.audit.costs import AuditVerdict
from bandits.audit.ledger import Domain
from bandits.audit.transcripts import Convention
from bandits.environments.bernoulli import C1, Bernoulli
from bandits.loops.batches import (
    EXACT_KL_UCB,
    GAUSSIAN_UCB,
    KL_UCB,
    PRIVATE_IMED,
    PRIVATE_KL_UCB,
    UCB,
    Rule,
    arm_of_batch,
    batch_length,
    batches_in,
    index,
    noise,
)
from bandits.noisy_sums import cost_above
from bandits.policies.batched_index import DPIMED, DPKLUCB, AdaCUCB, AdaPKLUCB, AdaPUCB, IndexRun
from bandits.seeds import stream


def lengths(policy, count):
    pulls, found = 0, []
    for _ in range(count):
        found.append(batch_length(policy.rule, pulls))
        pulls += found[-1]
    return found


def test_batches_by_hand():
    assert lengths(AdaPUCB(1.0), 6) == [1, 1, 2, 4, 8, 16]
    assert lengths(AdaCUCB(0.5), 6) == [1, 1, 2, 4, 8, 16]
    assert lengths(DPKLUCB(1.0), 6) == [1, 1, 2, 4, 8, 16]
    assert np.cumsum(lengths(DPIMED(1.0, 1, 1.5), 8)).tolist() == [1, 2, 3, 5, 8, 12, 18, 27]
    assert np.cumsum(lengths(DPIMED(1.0, 7, 1.1), 8)).tolist() == [7, 8, 9, 10, 11, 13, 15, 17]
    assert np.cumsum(lengths(DPIMED(1.0, 50, 1.1), 3)).tolist() == [50, 55, 61]  # 1.1 x 50 is 55.00000000000001
    assert lengths(DPKLUCB(0.1, None), 3) == [30, 30, 60]
    assert lengths(DPKLUCB(1e-100, None), 1) == [2**62]


def test_indices_by_hand():
    log_t = math.log(100)  # 4.605170
    # 2.5 / 4 + sqrt(3.1 x 4.605170 / 8) + 3.1 x 4.605170 / (.5 x 4) = .625 + 1.335854 + 7.138014
    assert index(AdaPUCB(0.5).rule, 4.0, 1.0, 2.5, log_t, 0.0) == pytest.approx(9.098868, rel=1e-6)
    # rho = .125: 2.5 / 4 + sqrt((1 / 8 + 1 / (.125 x 16)) 3.1 x 4.605170) = .625 + sqrt(.625 x 14.276027)
    assert index(AdaCUCB(0.125).rule, 4.0, 1.0, 2.5, log_t, 0.0) == pytest.approx(3.612058, rel=1e-6)
    # 50 rewards, epsilon = 1: p = .4 + 3.1 x 4.605170 / 50 = .6855205, kl(p, q) = .2855205 at q = .9569756
    q = index(AdaPKLUCB(1.0).rule, 50.0, 1.0, 20.0, log_t, 0.0)
    p = 0.6855205
    assert p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q)) == pytest.approx(0.2855205, rel=1e-5)
    assert index(AdaPKLUCB(1.0).rule, 10.0, 1.0, 9.0, log_t, 0.0) == 1
    # d_1(.4, q) = 4.605170 / 20 = .2302585; beyond kl: (1 - e^-(.4 + .2302585)) / (1 - 1/e) = .4675453 / .6321206
    assert index(DPKLUCB(1.0).rule, 20.0, 1.0, 8.0, log_t, 0.0) == pytest.approx(0.7396458, rel=1e-5)
    assert index(DPKLUCB(1.0).rule, 20.0, 1.0, 25.0, log_t, 0.0) == 1  # a noisy mean above 1 is cut
    # 20 d_1(.4, .8) + log 20 = 20 (-.4 - log(1 - .8 x .6321206)) + 2.995732 = 20 x 0.3046055 + 2.995732
    assert index(DPIMED(1.0).rule, 20.0, 1.0, 8.0, log_t, 0.8) == pytest.approx(-9.087842, rel=1e-5)
    assert index(DPIMED(1.0).rule, 20.0, 1.0, -8.0, log_t, 0.0) == pytest.approx(-math.log(20))


def test_what_an_index_counts():
    """AdaP counts the last batch alone, the others count all batches."""
    assert AdaPUCB(0.5).rule == Rule(UCB, 0.5, 3.1, 1.0, 2.0, 0.0)
    assert AdaCUCB(0.125, 2.5).rule == Rule(GAUSSIAN_UCB, 0.5, 2.5, 1.0, 2.0, 0.0)
    assert AdaPKLUCB(0.5, 4.0).rule == Rule(KL_UCB, 0.5, 4.0, 1.0, 2.0, 0.0)
    assert DPKLUCB(0.5, 3, 1.5).rule == Rule(PRIVATE_KL_UCB, 0.5, 0.0, 3.0, 1.5, 1.0)
    assert DPKLUCB(0.5, 3, 1.5, "exact").rule == Rule(EXACT_KL_UCB, 0.5, 0.0, 3.0, 1.5, 1.0)
    assert DPIMED(0.5).rule == Rule(PRIVATE_IMED, 0.5, 0.0, 1.0, 2.0, 1.0)


def test_exact_indices_by_hand():
    """20 rewards of sum 8 and 2 noises at epsilon = 1: the index q has D-(8, 20, 2; q) = log 100 = 4.605170."""
    rule = DPKLUCB(1.0, 10, 2.0, "exact").rule
    assert [batches_in(rule, count) for count in (10, 20, 40, 80)] == [1, 2, 3, 4]
    assert [batches_in(DPKLUCB(1.0, 1, 1.2, "exact").rule, count) for count in (1, 2, 5, 6, 8)] == [1, 2, 5, 6, 7]
    q = index(rule, 20.0, 2.0, 8.0, math.log(100), 0.0)
    x = np.linspace(0, 1, 1_000_001)[:-1]
    cost = (x * 12 - 20 * np.log(q + (1 - q) * np.exp(x)) + 2 * np.log(1 - x * x)).max()
    assert cost == pytest.approx(math.log(100), rel=1e-9)
    assert index(rule, 20.0, 1.0, 8.0, math.log(100), 0.0) < q  # with less noise it is lower
    # One noise alone: 1 once 20 - S costs at most log 100; sup x s + log(1 - x^2) is log 100 at s = 5.9447
    one = DPKLUCB(1.0, 20, 2.0, "exact").rule
    s = brentq(lambda s: cost_above(s, 1.0, 1.0, 0.0, 1.0) - math.log(100), 0, 20)
    assert index(one, 20.0, 1.0, 20.001 - s, math.log(100), 0.0) == 1
    assert 0.99 < index(one, 20.0, 1.0, 19.999 - s, math.log(100), 0.0) < 1
    assert 0 < index(one, 20.0, 1.0, 0.001 - s, math.log(100), 0.0) < 0.01
    assert index(one, 20.0, 1.0, -0.001 - s, math.log(100), 0.0) == 0
    assert index(one, 20.0, 1.0, 60.0, math.log(100), 0.0) == 1


def chance_below(policy, n, t, mean):
    """The chance that an index after an episode of n rewards is below their mean, by the exact law."""
    k = np.arange(n + 1)
    widths = [index(policy.rule, float(n), 1.0, float(total), math.log(t), 0.0) - total / n for total in k]
    above = (n * (mean - np.array(widths)) - k) * policy.level
    return float(binom.pmf(k, n, mean) @ norm.cdf(above))


def test_the_noise_of_a_batch(failure):
    """Laplace of scale 1 / epsilon, or normal with variance 1 / (2 rho)."""
    for policy, law in [(DPKLUCB(0.5), laplace(scale=2.0)), (AdaCUCB(0.125), norm(scale=2.0))]:
        rng = stream("noise", 0)
        draws = [noise(policy.rule, rng) for _ in range(3000)]
        assert kstest(draws, law.cdf).pvalue > failure


@pytest.mark.parametrize("rho", [0.005, 0.5, 50.0])
@pytest.mark.parametrize("alpha", [2.1, 3.1])
def test_an_index_with_normal_noise_seldom_is_below_the_mean(rho, alpha):
    """Lemma of theorem 11.1: with probability at most t^-alpha, nearly attained where noise dominates."""
    for n in (1, 4, 64):
        for t in (3, 20, 500):
            for mean in (0.05, 0.5, 0.95):
                assert chance_below(AdaCUCB(rho, alpha), n, t, mean) <= t**-alpha
    assert chance_below(AdaCUCB(1e-6, 2.1), 1, 3, 0.5) > 0.6 * norm.sf(math.sqrt(2 * 2.1 * math.log(3)))


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_third_arm_with_normal_noise(epsilon):
    """Two arms after one reward each: the arm with the larger noisy reward; the audit shows exactly this law."""
    policy = AdaCUCB(epsilon**2 / 2)
    means = norm.cdf(np.array([0.0, -1.0]) * epsilon / math.sqrt(2))
    found = policy.transcript_cost(2, 3, Domain.BINARY, Convention.STREAM).delta
    assert found.shown == pytest.approx(max(means[0] - math.exp(epsilon) * means[1], 0.0), rel=1e-12)
    assert (found.shown > 0.3) is (epsilon == 4)
    assert found.kept == found.shown  # exact
    assert policy.transcript_cost(2, 2, Domain.BINARY, Convention.STREAM).delta.shown == 0
    chosen_first = sum(
        policy.play(np.array([[0.0] * 3, [1.0] * 3]), 3, stream("third", run))[2] == 0 for run in range(2000)
    )
    assert abs(chosen_first / 2000 - means[1]) < 5 * math.sqrt(means[1] / 2000)


def test_concentrated_privacy_of_the_episodes():
    policy = AdaCUCB(0.02)
    assert (policy.guarantee.level, policy.guarantee.least_rho) == (pytest.approx(0.2), pytest.approx(0.02))
    found = policy.release_cost(2, 1000, Domain.UNIT)
    assert found.verdict(policy.guarantee) is AuditVerdict.TIGHT
    assert [release.level for release in policy.ledger(2, 1000)] == pytest.approx([0.2] * 11)
    for wrong in ({"rho": 0.0}, {"rho": -1.0}, {"rho": math.nan}):
        with pytest.raises(ParameterError, match="rho: must be a finite number > 0"):
            AdaCUCB(**wrong)
    with pytest.raises(ParameterError, match="alpha: must be a finite number > 2"):
        AdaCUCB(1.0, 2.0)


def test_a_run_that_goes_on_knows_how_many_batches_it_counts():
    """Against the loop's rule, with the number of batches counted by hand; noise of many batches decides here."""
    rule = DPKLUCB(0.2, 1, 1.05, "exact").rule
    whole, again, rng = IndexRun(rule, 2), IndexRun(rule, 2), stream("goes on", 0)
    counts, batches, sums = np.zeros(2), np.zeros(2), np.zeros(2)
    for _ in range(200):
        arm = whole.next_arm(rng)
        assert again.next_arm(rng) == arm
        if counts.all():
            assert arm == arm_of_batch(rule, counts, batches, sums, int(counts.sum()) + 1)
        length, total = batch_length(rule, int(counts[arm])), 0.0
        for _ in range(length):
            whole.pull(arm)
            total += rng.random() < 0.5
        total += rng.laplace(scale=5.0)
        whole.absorb([total])
        counts[arm], batches[arm], sums[arm] = counts[arm] + length, batches[arm] + 1, sums[arm] + total
        again.restore(whole.saved())


@pytest.mark.parametrize(
    "policy", [AdaPKLUCB(1.0), DPKLUCB(1.0), DPKLUCB(20.0), DPKLUCB(1.0, index="exact"), AdaPUCB(1.0)], ids=repr
)
def test_the_arm_with_the_largest_index_is_chosen(policy):
    """However early the indices of other arms are left."""
    rng = stream("largest index", 0)
    leaders = set()
    for _ in range(500):
        counts, batches = np.ceil(10 ** rng.uniform(1, 4, 5)), rng.integers(1, 9, 5).astype(float)
        sums, t = (
            rng.binomial(counts.astype(int), rng.uniform(0.1, 0.5, 5)) + rng.laplace(size=5),
            3 * int(counts.sum()),
        )
        of_arms = [index(policy.rule, *arm, math.log(t), 0.0) for arm in zip(counts, batches, sums, strict=True)]
        if np.ptp(np.sort(of_arms)[-2:]) > 1e-12:
            assert arm_of_batch(policy.rule, counts, batches, sums, t) == np.argmax(of_arms)
            leaders.add(int(np.argmax(of_arms)))
    assert len(leaders) == 5


def test_ties():
    counts, batches, sums = np.array([4.0, 2.0, 2.0]), np.ones(3), np.array([40.0, 20.0, 20.0])
    assert arm_of_batch(AdaPKLUCB(1.0).rule, counts, batches, sums, 10) == 0
    assert arm_of_batch(DPKLUCB(1.0).rule, counts, batches, sums, 10) == 1
    assert arm_of_batch(DPIMED(1.0).rule, counts, batches, -sums, 10) == 1
    assert arm_of_batch(DPKLUCB(1.0, index="exact").rule, counts, batches, sums, 10) == 1


def test_pulls_lie_on_the_lattice_of_episodes():
    horizon = 10**12
    for policy in (AdaPUCB(0.1), AdaCUCB(0.005), AdaPKLUCB(0.1), DPKLUCB(0.1)):
        pulls = policy.simulate(C1(5), horizon, np.array([horizon]), stream("lattice", 0))[0]
        assert pulls.sum() == horizon
        unfinished = [count for count in pulls.tolist() if count & (count - 1)]
        assert len(unfinished) <= 1  # at most one arm, whose episode the horizon cuts


def test_without_noise_a_budget_of_a_million_changes_nothing():
    # Arms that always pay 1 and 0: with next to no noise the loop is arithmetic.
    pulls = DPKLUCB(1e6).simulate(Bernoulli((1.0, 0.0)), 1000, np.array([1000]), stream("no noise", 0))[0]
    # The losing arm is pulled again only if 1 - e^(-log(t) / n) reaches 1, which never happens.
    assert pulls.tolist() == [999, 1]
    # UCB with alpha = 3.1, bonus 0: the losing arm, n = 1, 1, 2, 4, is pulled as sqrt(1.55 log(t) / n) is too large.
    pulls = AdaPUCB(1e6).simulate(Bernoulli((1.0, 0.0)), 1000, np.array([1000]), stream("no noise", 0))[0]
    n, total = [1, 1], [1, 1]
    while sum(total) < 1000:
        log_t = math.log(sum(total) + 1)
        arm = int(np.argmax([mean + math.sqrt(1.55 * log_t / n[a]) for a, mean in enumerate((1.0, 0.0))]))
        n[arm] = min(total[arm], 1000 - sum(total))
        total[arm] += n[arm]
    assert pulls.tolist() == total


def test_what_is_refused():
    for make, parameter, message in [
        (lambda: AdaPUCB(1.0, 3.0), "alpha", "> 3"),
        (lambda: AdaPKLUCB(1.0, math.nan), "alpha", "> 3"),
        (lambda: AdaPKLUCB(0.0), "epsilon", "> 0"),
        (lambda: DPKLUCB(1.0, 0), "first_batch", ">= 1"),
        (lambda: DPKLUCB(701.0, index="exact"), "epsilon", "at most 700"),
        (lambda: DPIMED(1.0, -3), "first_batch", ">= 1"),
        (lambda: DPKLUCB(1.0, 1, 1.0), "ratio", "> 1"),
        (lambda: DPIMED(1.0, 1, math.nan), "ratio", "> 1"),
        (lambda: DPIMED(math.inf), "epsilon", "finite"),
    ]:
        with pytest.raises(ParameterError, match=message) as refused:
            make()
        assert refused.value.parameter == parameter


def test_ledgers_and_legends():
    assert len(AdaPUCB(0.5).ledger(2, 100)) == 8  # 1, 1, 2, 4, ..., 32 and the episode that the horizon cuts
    assert {release.scale for release in DPKLUCB(0.5).ledger(2, 100)} == {2.0}
    assert DPKLUCB(0.5, None, 1.5).legend() == "DP-KLUCB (ratio 1.5, first batch 3/ε)"
    assert DPKLUCB(0.5, index="exact").legend() == "DP-KLUCB (ratio 2, exact index)"
    assert DPIMED(0.5).legend() == "DP-IMED (ratio 2)"
