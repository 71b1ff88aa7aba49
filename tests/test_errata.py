"""Misprints in the papers: a computed counterexample for each false statement."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from bandits import ParameterError, divergences
from bandits.audit.path_sums import least_moves, paths
from bandits.bounds import sajed2019, tao2022, wang2024
from bandits.guarantees import Scope
from bandits.mechanisms.truncated_laplace import TruncatedLaplace
from bandits.policies.elimination import DPSE
from bandits.policies.hybrid_ucb import DPUCBBound, DPUCBTossou
from bandits.policies.perturbed_leader import DPFTPLNew
from bandits.seeds import stream
from experiments.claims import errata


def test_natural_logarithm_of_lemma_4_2_has_room():
    """All epochs with all arms, for every beta up to 0.9: the printed bound is above by a factor of at least 1.18."""
    gaps = 2.0 ** -np.arange(0, 20, 1 / 7)
    for arms, beta, epsilon in itertools.product((2, 3, 20, 1000), (1e-12, 0.01, 0.5, 0.9), (1e-6, 0.01, 1.0, 1e3)):
        policy = DPSE(epsilon, beta)
        lengths = np.cumsum([math.ceil(policy.epoch_length(arms, epoch, 1)) for epoch in range(1, 22)])
        for gap in gaps:
            epochs = max(1, math.ceil(-math.log2(gap) - 1e-12))  # the first with 2^-e <= gap
            printed = math.log(arms * math.log(2 / gap) / beta) * (1024 / gap**2 + 96 / (epsilon * gap))
            assert lengths[epochs - 1] * 1.18 < printed


def test_the_tree_over_a_path_spends_half_and_once_twice():
    """The least shifts of noise by linear programmes, over log2 T, with and without the root (the last node)."""
    for depth, with_root, without in [(1, 1, 2), (2, 1, 1), (3, 2 / 3, 1), (4, 3 / 4, 3 / 4), (5, 3 / 5, 4 / 5)]:
        above = paths(depth)
        assert least_moves(above).max() / depth == pytest.approx(with_root)
        assert least_moves(above[:, :-1]).max() / depth == pytest.approx(without)


def test_fact_2_1_fails_near_e():
    a, b, x = 1.01, 1 / 17, 3.0
    assert math.e < x < math.log(a * math.log(1 / b)) / b
    assert math.log(a * math.log(x)) / x < 0.6 * b


def test_theorem_3_3_allows_a_negative_number_of_samples():
    """Mean = R = 1, alpha = 0.99, beta = 0.08, epsilon = 10: 2000 (t0 + t1 + t2)."""
    log = math.log(math.log(1 / 0.99) / 0.08)
    allowed = 2000 * (log / 0.99**2 + log / 10 + math.log(1 / 0.08) / (10 * 0.99))
    assert allowed < -4000
    with pytest.raises(ParameterError):
        sajed2019.dp_exponential_nas_samples(1.0, 1.0, 10.0, 0.99, 0.08)


def test_theorem_3_3_lacks_a_logarithm_as_epsilon_falls():
    """The rule tests at t = 2^k and needs about t |mean| >= c_t; times epsilon this grows, the print does not."""

    def needed(power):
        """Times epsilon = 2^-power, R = mean = 1: the least 2^k above (12 / epsilon) log(8 k^2 / beta)."""
        k = 1
        while 2.0 ** (k - power) < 12 * math.log(8 * k**2 / 0.05):
            k += 1
        return 2.0 ** (k - power), 12 * math.log(8 * k**2 / 0.05)

    printed = [
        sajed2019.dp_exponential_nas_samples(1.0, 1.0, 2.0**-power, 0.3, 0.05) * 2.0**-power for power in (30, 300)
    ]
    assert math.isclose(*printed, rel_tol=1e-3)
    assert needed(300)[1] > needed(30)[1] + 12 * 2 * math.log(8)


def test_lemma_3_5_fails_for_large_epsilon():
    """Randomised response on one sample, always 0 or 1 with probability 0.1: the output 1."""
    epsilon, variation = 10.0, 0.1
    truth = 1 / (1 + math.exp(-epsilon))
    ratio = (variation * truth + (1 - variation) * (1 - truth)) / (1 - truth)
    assert int(ratio) == 2203
    assert ratio > 5 * math.exp(6 * epsilon * variation)
    assert math.isclose(ratio, 1 + math.expm1(epsilon) * variation)  # the true bound, attained


def test_the_factor_of_theorem_3_3_covers_all_that_can_run():
    """The printed bound is at least 1000 (t1 + t2): the width is below it even at the thousandth question, t = 2^1000.

    In units of R / (epsilon |mean|): noise and width at question k, both signs, against 1000 (t1 + t2) where that is
    least: R / (alpha |mean|) = e, so that log log is 0, and alpha near 1. Sampling does not matter as epsilon falls.
    """
    for beta, accuracy in itertools.product((0.08, 1e-3, 1e-12), (0.05, 0.5, 0.999)):
        width = 24 * math.log(4 / beta) + 24 * math.log(8 * 1000**2 / beta) + 4 / accuracy * math.log(4 / beta)
        allowed = 1000 * (1 + 1 / accuracy) * math.log(1 / beta)
        assert width < 0.3 * allowed
    endless = 48 * 110  # 48 log k at k = e^110; beyond it does not suffice
    assert endless > 1000 * 2 * math.log(1 / 0.08)


def test_lemma_4_2_allows_no_pulls_of_an_arm_with_a_large_gap():
    """K = 2, beta = 0.05, gap = e^(-beta / K): log(K / beta) + log log(1 / gap) = 0, and so is every multiple."""
    arms, beta = 2, 0.05
    gap = math.exp(-beta / arms)
    assert abs(math.log(arms / beta) + math.log(math.log(1 / gap))) < 1e-12
    assert DPSE(1.0, beta).epoch_length(arms, 1, 1) > 500
    assert math.log(arms * math.log(2 / gap) / beta) > 3  # the last line of the proof


def test_proof_of_fact_2_1_takes_a_sum_for_a_product():
    """p = log(1/b), q = log(log a + log log(1/b)): log(a log x0) / x0 is b (log a + log(p + q)) / (log a + log p)."""
    a, b = 1.01, 1 / 17
    p = math.log(1 / b)
    q = math.log(math.log(a) + math.log(p))
    first = math.log(a * math.log(1 / b)) / b

    def quotient(x):
        return math.log(a * math.log(x)) / x

    assert math.isclose(quotient(first), b * (math.log(a) + math.log(p + q)) / (math.log(a) + math.log(p)))
    assert quotient(first) > b > b * (math.log(a) + math.log(p) + math.log(q)) / (math.log(a) + math.log(p))
    assert quotient(3.0) > quotient(math.e)  # it rises near e
    for a, b in itertools.product((1.000001, 1.5, 3.0, 1e6), np.geomspace(1e-12, 1 / 16, 300)):  # the second half
        p = math.log(1 / b)
        q = math.log(math.log(a) + math.log(p))
        last = 2 * math.log(a * p) / b
        assert math.log(a * math.log(last)) / last < b
        assert math.log(math.log(2) + p + q) <= math.log(a) + 2 * math.log(p)
        assert math.log(last) * math.log(a * math.log(last)) > 1  # it falls from there on


def test_proof_of_lemma_7_drops_a_term():
    """X = 2 B with probability 1/4, else 0: the tail integral is B/4, the truncated mean B/2, and u / B^v is larger."""
    bound, chance, v = 3.0, 0.25, 0.5
    tail = bound * chance  # of Pr[X > t] over t > B, up to 2 B
    mean = 2 * bound * chance
    assert math.isclose(mean, tail + bound * chance)
    assert mean < chance * (2 * bound) ** (1 + v) / bound**v


def test_copied_line_of_theorem_8():
    """v = 1/2, mean 5 gaps: the divergence is above the line with gamma of Theorem 11, below the one with s."""
    gap, v = 1e-3, 0.5
    s, gamma = (10 * gap) ** (1 / v), (5 * gap) ** (1 / v)
    chance = s ** (1 + v) / 2
    divergence = divergences.bernoulli_divergence(chance, chance + 2 * gap * s)

    def line(scale, moved):
        better = scale ** (1 + v) / 2 + moved
        return (2 * gap * scale) ** 2 / (better * (1 - better))

    assert divergence > 1.1 * line(gamma, gap * gamma)
    assert divergence < line(s, 2 * gap * s)


def test_no_instance_is_hard_for_every_policy():
    """Theorem 9's instances: arm 1 has 5/2 gap, the others 3/2 gap, on instance i arm i has 7/2 gap.

    A policy that always pulls one arm is private. On each instance one of them has no regret; on average over the
    instances each has more than the bound, which is what can be true for every policy.
    """
    arms, epsilon, horizon, v = 4, 0.5, 10**6, 0.5
    bound = tao2022.local_worst_case_lower_bound(arms, epsilon, horizon, v)
    gap = 0.05
    means = np.full((arms, arms), 1.5 * gap)
    means[:, 0] = 2.5 * gap
    means[np.arange(1, arms), np.arange(1, arms)] = 3.5 * gap
    regret = horizon * (means.max(axis=1, keepdims=True) - means)  # instances x the arm that is always pulled
    assert bound > 0
    assert (regret.min(axis=1) == 0).all()
    assert (regret.max(axis=0) > bound).all()


def bernstein_exponent(deviation, variance, largest):
    """Bennett: Pr[sum - mean >= deviation] <= e^-this, for second moments about 0 that sum to `variance`."""
    u = deviation * largest / variance
    return variance / largest**2 * ((1 + u) * math.log1p(u) - u)


def test_bernstein_as_printed_is_true_of_each_side():
    """sqrt(2 s L) + B L / 3 suffices for e^-L, over all ratios of B^2 L to s; with a smaller constant it does not.

    E e^(lambda X) <= 1 + lambda E X + E X^2 (e^(lambda B) - 1 - lambda B) / B^2 for X <= B, centred or not.
    """
    for log in np.geomspace(1e-9, 1e6, 400):
        assert bernstein_exponent(math.sqrt(2 * log) + log / 3, 1.0, 1.0) >= log * (1 - 1e-6)
    assert bernstein_exponent(math.sqrt(2e-4) + 1e-4 / 3.5, 1.0, 1.0) < 1e-4 * (1 - 1e-5)
    rng = stream("bernstein", 0)  # one truncated law, exactly: values 0 and B
    for _ in range(50):
        count, chance, log = int(rng.integers(1, 200)), float(rng.uniform(0.001, 0.5)), float(rng.uniform(0.1, 20))
        above = count * chance + math.sqrt(2 * count * chance * log) + log / 3
        assert stats.binom.sf(math.ceil(above) - 1, count, chance) <= math.exp(-log)


def test_constants_of_lemmas_4_and_13():
    """In units of the error; y = 2 epsilon in Lemma 4, 2 epsilon sqrt(L / R) in Lemma 13, at most 2."""

    def of_lemma_6(y, sides=1.0):
        """Its tail exp(-t^2 n / (2 s + 2 M t / 3)) with M = 2 B solved for t; `sides` multiplies L."""
        linear = 2 / 3 * y / 2 * sides
        return 1 + linear + math.sqrt(linear**2 + y * sides)

    def printed(y, sides=1.0):
        return 1 + math.sqrt(y * sides) + y * sides / 6

    both = 1 + math.log(2) / math.log(8)  # log(2 / delta) / log(1 / delta), 1 / delta is at least 8
    assert printed(2) < of_lemma_6(2) < of_lemma_6(2, both) < 4  # Lemma 4 holds by Lemma 6, both sides too
    assert printed(2) < 3 < of_lemma_6(2)  # Lemma 13 needs the sharper form where epsilon = 1 and R = L
    assert math.isclose(of_lemma_6(2 * 6 / 7), 3)  # and no more from epsilon sqrt(L / R) = 6/7 down
    assert math.isclose(of_lemma_6(2), 3.23, abs_tol=0.005)
    assert 4 / 8 * math.pi**2 / 6 < 1  # two sides of both errors of Lemma 13, over all epochs, in units of beta


def test_growing_bounds_cost_no_more_than_the_last():
    """Bounds B_i of the order i^(1/(2+2v)): noise of the sum against n rewards of bound B_n, and truncation error."""
    for v in (0.1, 0.5, 1.0):
        bounds = np.arange(1.0, 100_001.0) ** (1 / (2 + 2 * v))
        counts = np.arange(1, len(bounds) + 1)
        noise = np.sqrt(np.cumsum(bounds**2))
        assert (noise <= np.sqrt(counts) * bounds).all()
        error = noise / counts  # of the mean: it falls, as n^(-v/(2+2v))
        slope = math.log(error[-1] / error[999]) / math.log(100)
        assert math.isclose(slope, -v / (2 + 2 * v), rel_tol=0.01)
        bias = np.cumsum(bounds**-v) / counts / bounds**-v
        assert bias.max() <= (2 + 2 * v) / (2 + v) <= 4 / 3
    for v in (0.1, 0.5):  # with the bounds of Algorithm 1 it grows
        bounds = np.arange(1.0, 100_001.0) ** (1 / (1 + v))
        noise = np.sqrt(np.cumsum(bounds**2)) / np.arange(1, len(bounds) + 1)
        assert noise[-1] > 1.5 * noise[999]


def test_revisions_turn_one_instance_into_the_other():
    """Arm 2 has mean 1/2 - gap on Instance 1 and 1/2 + gap on Instance 2; p = 4 gap / (1 + 2 gap) both ways."""
    for gap in (0.01, 0.25, 0.4):
        p = 4 * gap / (1 + 2 * gap)
        assert math.isclose((0.5 + gap) * (1 - p), 0.5 - gap)  # rewards of Instance 2 set to 0
        low = 0.5 - gap
        assert math.isclose(low + (1 - low) * p, 0.5 + gap)  # rewards of Instance 1 set to 1
        assert low * (1 - p) < low  # rewards of Instance 1 set to 0, as printed, are further away


def test_figure_5_ranks_two_kinds_of_promises():
    """Randomised response on one reward, k times: each decision keeps epsilon, the transcript shows k epsilon."""
    assert DPFTPLNew(1.0, 0.0).guarantee.scope is Scope.DECISION
    for rival in (DPSE(1.0), DPUCBTossou(1.0), DPUCBBound(1.0)):
        assert rival.guarantee.scope is Scope.TRANSCRIPT
    epsilon, decisions = 0.3, 5
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    laws = [
        [math.prod(truth if shown == reward else 1 - truth for shown in transcript) for reward in (0, 1)]
        for transcript in itertools.product((0, 1), repeat=decisions)
    ]
    assert math.isclose(max(math.log(first / second) for first, second in laws), decisions * epsilon)


def test_gdp_elim_new_keeps_half_of_its_delta():
    """Outcomes of a phase are sets of values of one arm; the rest of the transcript only weights them."""
    epsilon, delta, length = 0.7, 0.02, 40
    noise = TruncatedLaplace(epsilon, delta / 2, length, 0.0)
    grid = np.linspace(-2, 2, 4001)
    laws = [np.diff([noise.cdf(x - shift) for x in grid]) for shift in (0.0, 1 / length)]
    excess = [first - math.exp(epsilon) * second for first, second in itertools.permutations(laws)]
    worst = max(float(np.maximum(of, 0).sum()) for of in excess)  # over all sets of values
    assert 0.9 * delta / 2 < worst <= delta / 2 * (1 + 1e-9)
    rng = stream("weights", 0)
    for of in excess:  # what follows an outcome has a probability between 0 and 1
        assert all(float(of @ rng.random(len(of)).round(rng.integers(0, 3))) <= worst for _ in range(200))


def test_a_private_transcript_may_have_less_private_decisions():
    """Two decisions: every transcript has a ratio of at most 2 = e^epsilon, the second decision given the first 3.7."""
    law = np.array([[0.02, 0.20], [0.39, 0.39]])  # rows: the first decision
    neighbour = np.array([[0.01, 0.40], [0.295, 0.295]])
    assert math.isclose(law.sum(), 1)
    assert math.isclose(neighbour.sum(), 1)
    assert np.abs(np.log(law / neighbour)).max() <= math.log(2) + 1e-12
    given = [of[0, 0] / of[0].sum() for of in (law, neighbour)]
    assert 3.7 < given[0] / given[1] < 4


def test_transcript_bound_counts_whole_revisions():
    """x = log(...) / epsilon: printed x / 16, proved 3/32 of the whole part of x, which is less for x in (1.5, 2)."""
    for x in np.linspace(0.01, 50, 5000):
        assert x >= 2 or min(x / 16, 3 / 32 * math.floor(x)) <= x / 16
        assert x < 2 or 3 / 32 * math.floor(x) >= x / 16
    assert 3 / 32 * math.floor(1.9) < 1.9 / 16
    assert wang2024.two_armed_transcript_lower_bound(20.0, 0.0, 1000, 1.0, 0.1) == 0.0  # x = 0.13


def test_horizons_of_the_transcript_bound_are_those_of_the_proof():
    """p = 4 gap / (1 + 2 gap) = 2/3 at gap 1/4, so N_0 = log / (epsilon p) = 3 log / (2 epsilon) is at most T / 2."""
    epsilon, scale, power = 0.01, 0.02, 0.1

    def needed(horizon):
        return math.log(horizon ** (1 - power) / (40 * scale)) / (epsilon * 2 / 3)

    for horizon in (2000, 2150, 2200, 3000):
        if needed(horizon) <= horizon / 2:
            assert wang2024.two_armed_transcript_lower_bound(epsilon, 0.0, horizon, scale, power) > 0
        else:
            with pytest.raises(ParameterError, match="horizon"):
                wang2024.two_armed_transcript_lower_bound(epsilon, 0.0, horizon, scale, power)
    assert needed(2000) > 1000
    assert needed(3000) < 1500


def test_every_erratum_says_how_much_it_matters():
    found = errata()
    assert {erratum.matters for erratum in found} == {"harmless slip", "omission", "constant", "statement falls"}
    assert all(erratum.shown_by for erratum in found)
