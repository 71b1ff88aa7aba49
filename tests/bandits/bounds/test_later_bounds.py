"""Bounds of the papers of later policies: Azize and Basu, Hu and Hegde, Gajane et al., Ren et al."""

import math

import numpy as np
import pytest

from bandits.bounds import azize2022, azize2025, hu2022, sajed2019
from bandits.bounds.concentrated_ucb import adac_ucb_regret, failed_pulls, last_episode
from bandits.bounds.gajane2018 import klucb_cf_misses, klucb_cf_regret
from bandits.bounds.local_privacy import local_bernoulli_asymptote
from bandits.bounds.ren2020 import ldp_ucb_b_regret, ldp_ucb_l_regret
from bandits.bounds.robust_elimination import robust_se_regret
from bandits.environments.bernoulli import C1, C2, C3, C4, Bernoulli
from bandits.environments.heavy_tails import MomentBernoulli, Pareto
from bandits.loops.batches import index
from bandits.policies.batched_index import AdaCUCB
from bandits.policies.heavy_tailed import LDPRSE
from bandits.policies.local_bits import KLUCBCF
from bandits.policies.local_ucb import LDPUCBB
from bandits.policies.robust_elimination import RobustSE
from bandits.seeds import stream

SLOPES = {  # from the specification, computed independently of this code
    C1: (407.66, 49.420, 31.244, 31.243, 31.243, 31.243),
    C2: (401.57, 41.677, 17.886, 10.405, 7.708, 7.128),
    C3: (401.07, 41.118, 17.205, 9.381, 5.934, 5.042),
    C4: (404.38, 45.758, 25.874, 20.343, 18.491, 18.071),
}


def test_lines_by_hand():
    means = np.array([0.75, 0.25, 0.75])
    # .5 / d_1(.25, .75) = .5 / .3926260, times log(100) = 4.605170
    assert azize2025.lower_bound_line(means, 1.0, 100) == pytest.approx(5.864576, rel=1e-5)
    assert azize2025.dp_klucb_line(means, 1.0, 100, 1.5) == pytest.approx(1.5 * 5.864576, rel=1e-5)
    # .5 / min(.5 log 3, 6 x .05 x .5 = .15)
    assert azize2022.weaker_lower_bound_slope(means, 0.05) == pytest.approx(1 / 0.3)
    assert azize2022.weaker_lower_bound_slope(means, 5.0) == pytest.approx(1 / math.log(3))


def test_bounds_of_azize_and_basu_by_hand():
    # 16 x 3.1 x log(100) (1 / .05 + 1 / .1) + 2 x 31
    assert azize2022.adap_ucb_regret(np.array([0.05, 0.5]), 0.1, 100, 3.1) == pytest.approx(6914.493, rel=1e-6)
    assert azize2022.minimax_lower_bound(5, 0.1, 729) == pytest.approx(2.0)
    assert azize2022.minimax_lower_bound(132, 0.01, 4) == pytest.approx(100.0)


def test_adac_ucb_by_hand():
    """Gap 1/2, rho = 1/8, T = 100, alpha = 3: 3 log 100 = 13.81551; 2 x 4 x that + 2 x 2 sqrt(8 x that) = 152.5763."""
    assert last_episode(0.5, 0.125, 100, 3.0) == pytest.approx(152.57626, rel=1e-7)
    # 2 (1 + log2(3)) / 9 + 2 (1 + 2) / 16 + 2 (1 + log2(5)) / 25 = .574436 + .375 + .265754
    assert failed_pulls(3.0, 5) == pytest.approx(1.215190, rel=1e-5)
    whole = 0.5 * (1 + 4 * 152.57626 + failed_pulls(3.0, 100))
    assert adac_ucb_regret(np.array([0.5]), 0.125, 100, 3.0) == pytest.approx(whole, rel=1e-6)


def test_robust_se_by_hand():
    """Two arms, u = 1, k = 2, alpha = 0, epsilon = 1, T = 10,000: a width of 4 r for every batch, written again."""

    def four_r(tau):
        n, log = 2**tau, math.log(5 * 2 * tau**2 * 10**4)
        linear = 2 * log / (3 * n) + 2 * log / n
        m = math.sqrt(1 / linear)
        return 4 * (1 / m + linear * m + math.sqrt(2 * log / n))

    assert four_r(10) > 2.0 > four_r(11)
    assert robust_se_regret(np.array([2.0]), 1.0, 1.0, 0.0, 1.0, 10**4) == pytest.approx(2 * (4094 + 1))
    assert robust_se_regret(np.array([0.1]), 1.0, 1.0, 0.0, 1.0, 10**4) == pytest.approx(0.1 * (5000.5 + 1))


@pytest.mark.parametrize("corruption", [0.0, 0.003])
def test_robust_se_keeps_theorem_13_3(corruption):
    """Mean pulls of the bad arm: below the theorem and within a factor of it, as 4 r is more than is needed."""
    instance, horizon, ends = Pareto((0.9, 0.1), 1.0, 5.0), 10**6, np.array([10**6])
    policy = RobustSE(1.0, corruption)
    pulls = [policy.simulate(instance, horizon, ends, stream("13.3", run))[0][1] for run in range(30)]
    most = robust_se_regret(np.array([0.8]), instance.moment, 1.0, corruption, 1.0, horizon)
    assert most / 17 < 0.8 * np.mean(pulls) < most


def test_failed_pulls_have_a_limit():
    """The integral in place of the remaining terms is above their sum, and near it."""
    for alpha in (2.1, 3.1):
        t = np.arange(3.0, 2e6)
        added = float((2 * (1 + np.log2(t)) * t ** (1 - alpha)).sum())
        rest = 2 * 2e6 ** (2 - alpha) / (alpha - 2) * (1 + math.log2(2e6) + 1 / ((alpha - 2) * math.log(2)))
        assert added < failed_pulls(alpha, math.inf) == failed_pulls(alpha, 1001)
        assert failed_pulls(alpha, math.inf) == pytest.approx(added + rest, rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_adac_ucb_keeps_theorem_11_2(epsilon):
    """Mean pulls of an arm of AdaC-UCB: below the theorem, and within a factor of it, as episodes double."""
    rho, horizon, closest = epsilon**2 / 2, 10**6, 0.0
    for means in ((0.9, 0.8), (0.6, 0.3)):
        policy, gap = AdaCUCB(rho), means[0] - means[1]
        ends = np.array([horizon])
        pulls = np.mean(
            [policy.simulate(Bernoulli(means), horizon, ends, stream("11.2", run))[0][1] for run in range(30)]
        )
        most = 1 + 4 * last_episode(gap, rho, horizon, 3.1) + failed_pulls(3.1, horizon)
        assert pulls <= most
        closest = max(closest, pulls / most)
    assert closest > 0.1


@pytest.mark.parametrize("rho", [0.005, 0.5])
def test_no_longer_episode_is_followed_by_another_while_nothing_fails(rho):
    """Lemma 11.1: two widths reach the gap up to the root of n^2 gap^2 = 2 alpha L n + 4 alpha L / rho."""
    for gap in (0.01, 0.3, 1.0):
        for horizon in (100, 10**9):
            longest = last_episode(gap, rho, horizon, 3.1)
            log = 3.1 * math.log(horizon)
            root = (2 * log + math.sqrt(4 * log**2 + 16 * log * gap**2 / rho)) / (2 * gap**2)
            assert root <= longest <= math.sqrt(2) * root
            rule, log_t = AdaCUCB(rho).rule, math.log(horizon)
            widths = [index(rule, n, 1.0, 0.0, log_t, 0.0) for n in (0.999 * root, 1.001 * root)]
            assert 2 * widths[1] < gap < 2 * widths[0]


def test_orders_of_hu_and_hegde_by_hand():
    assert hu2022.lazy_regret_order(np.array([0.05, 0.5]), 0.1, 100) == pytest.approx(30 * math.log(100))
    log = math.log(100)
    assert hu2022.lazy_worst_case_regret_order(4, 0.5, 100) == pytest.approx(20 * math.sqrt(log) + 8 * log)


def test_misses_by_hand():
    """At t = 1 none, at 2 to 9 at most 1 each: e ceil(L log t) / (t log^3 t) is 1.36, 2.06, 1.53, ... there.

    At t = 100, log t = 4.60517, L = 4.60517 + 3 x 1.52718 = 9.18671, L log t = 42.3, so that it is
    e x 43 x exp(-9.18671) = 116.886 x 1.02394e-4 = 0.011968.
    """
    assert klucb_cf_misses(2, 3.0) == pytest.approx(1.0)
    assert klucb_cf_misses(100, 3.0) - klucb_cf_misses(99, 3.0) == pytest.approx(0.011968, rel=1e-4)


def test_bounds_of_ldp_ucb_by_hand():
    gaps, epsilon, horizon = np.array([0.5, 0.25]), math.log(3), round(math.exp(10))  # tanh(epsilon / 2) = 1/2
    log = math.log(horizon)
    # 8 log T x 4 x (2 + 4) + 4.289868 x 0.75
    assert math.isclose(ldp_ucb_b_regret(gaps, epsilon, horizon), 192 * log + 3.217401, rel_tol=1e-6)
    # epsilon = 4: 8 x 4 log T x (2 + 4) + 8.579736 x 0.75
    assert math.isclose(ldp_ucb_l_regret(gaps, 4.0, horizon), 192 * log + 6.434802, rel_tol=1e-6)


def test_slopes_of_the_private_lower_bound():
    for instance, slopes in SLOPES.items():
        means = instance(5).mean_rewards
        found = [azize2025.lower_bound_slope(means, epsilon) for epsilon in (0.01, 0.1, 0.25, 0.5, 1.0, math.inf)]
        assert found == pytest.approx(slopes, rel=1e-4)
        assert found[-1] == pytest.approx(sajed2019.consistent_lower_bound_slope(means), rel=1e-12)
        for epsilon in (0.01, 0.1, 1.0):
            assert azize2022.weaker_lower_bound_slope(means, epsilon) <= azize2025.lower_bound_slope(means, epsilon)


def test_misses_of_many_steps():
    """The integral beyond 4,096 steps is above the sum that it replaces, by less than a tenth."""
    log_t = np.log(np.arange(4097, 300_001))
    level = log_t + 3 * np.log(log_t)
    summed = (math.e * np.ceil(level * log_t) * np.exp(-level)).sum()
    integral = klucb_cf_misses(300_000, 3.0) - klucb_cf_misses(4096, 3.0)
    assert summed < integral < 1.1 * summed


def test_the_bound_on_two_arms():
    """epsilon = log 3, means 1/2 and 0: bits have means 1/2 and 1/4; by a search over y instead of eta."""
    level = 20 * math.log(10) + 3 * math.log(20 * math.log(10))

    def kl(p, q):
        return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))

    found = math.inf
    for y in np.linspace(0.2501, 0.45, 4000):
        pulls = math.ceil(level / kl(y, 0.5))  # (1 + eta) / d = 1 / kl(y, r*)
        found = min(found, pulls + math.exp(-pulls * kl(y, 0.25)) / (1 - math.exp(-kl(y, 0.25))))
    expected = 0.5 * (found + klucb_cf_misses(1e20, 3.0))
    assert klucb_cf_regret([0.5, 0.0], math.log(3), 1e20, 3.0) == pytest.approx(expected, rel=0.01)


def test_the_leading_constant_is_that_of_the_lower_bound():
    means, ratios = [0.75, 0.5, 0.25], []
    for horizon in (1e6, 1e30, 1e300):
        ratios.append(klucb_cf_regret(means, 1.0, horizon, 3.0) / local_bernoulli_asymptote(means, 1.0, horizon))
    assert ratios[0] > ratios[1] > ratios[2] > 1
    assert ratios[2] < 1.35


def test_small_budgets_and_gaps_scale():
    """The divergence of two bits is 2 (gap epsilon / 4)^2, of two close arms gap^2 / (2 v), v the variance."""
    at_small, at_large = (epsilon**2 * klucb_cf_regret([0.75, 0.7], epsilon, 1e30, 3.0) for epsilon in (1e-9, 1e-3))
    assert at_small == pytest.approx(at_large, rel=1e-4)
    gap = 2.0**-30
    near = gap * klucb_cf_regret([0.5 + gap, 0.5], 50.0, 1e40, 3.0)
    assert near == pytest.approx(2.0**-10 * klucb_cf_regret([0.5 + 2.0**-10, 0.5], 50.0, 1e40, 3.0), rel=1e-2)
    means = np.array([0.5 + gap, 0.5])
    assert azize2025.lower_bound_slope(means, math.inf) == pytest.approx(1 / (2 * gap), rel=1e-6)
    assert sajed2019.consistent_lower_bound_slope(means) == pytest.approx(1 / (2 * gap), rel=1e-6)
    assert azize2022.weaker_lower_bound_slope(means, 1.0) == pytest.approx(1 / (2 * gap), rel=1e-6)


@pytest.mark.slow
def test_regret_is_below_the_bound():
    instance, horizon = Bernoulli((0.9, 0.5, 0.1)), 20_000
    found = [KLUCBCF(2.0, c=3.0).simulate(instance, horizon, np.array([horizon]), stream("b", i)) for i in range(50)]
    regret = np.mean([pulls[0] @ instance.gaps for pulls in found])
    assert 5 < regret < klucb_cf_regret([0.9, 0.5, 0.1], 2.0, horizon, 3.0) < horizon * 0.8


def test_bernoulli_arms_have_moments():
    instance = MomentBernoulli((0.8, 0.2), 0.5)
    assert (instance.moment, instance.support) == (0.8, (0.0, 1.0))
    arms, rng = np.array([0, 1]), stream("moments", 0)
    assert (instance.truncated_sums(arms, 100, 0.5, rng) == 0).all()
    assert np.abs(instance.truncated_sums(arms, 10_000, 1.0, rng) - [8000, 2000]).max() < 300
    for policy in (LDPUCBB(1.0), LDPRSE(1.0)):
        policy.check(instance)
