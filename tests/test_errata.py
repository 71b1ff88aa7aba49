"""What is misprinted in the papers, computed: a counterexample for each statement that falls."""

import itertools
import math

import numpy as np
import pytest

from bandits import ParameterError, divergences
from bandits.bounds import sajed2019, wang2024
from bandits.mechanisms.truncated_laplace import TruncatedLaplace
from bandits.policies.elimination import DPSE
from bandits.seeds import stream
from experiments.claims import errata


def test_natural_logarithm_of_lemma_4_2_has_room():
    """All epochs with all arms in them, for every beta up to 0.9: the printed bound is above by 1.18 at least."""
    gaps = 2.0 ** -np.arange(0, 20, 1 / 7)
    for arms, beta, epsilon in itertools.product((2, 3, 20, 1000), (1e-12, 0.01, 0.5, 0.9), (1e-6, 0.01, 1.0, 1e3)):
        policy = DPSE(epsilon, beta)
        lengths = np.cumsum([math.ceil(policy.epoch_length(arms, epoch, 1)) for epoch in range(1, 22)])
        for gap in gaps:
            epochs = max(1, math.ceil(-math.log2(gap) - 1e-12))  # the first with 2^-e <= gap
            printed = math.log(arms * math.log(2 / gap) / beta) * (1024 / gap**2 + 96 / (epsilon * gap))
            assert lengths[epochs - 1] * 1.18 < printed


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
    """The rule asks at t = 2^k and needs t |mean| >= c_t or so; times epsilon this grows, and the print does not."""

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
    assert math.isclose(ratio, 1 + math.expm1(epsilon) * variation)  # the bound that is true, attained


def test_tree_noise_at_powers_of_two():
    """The p-sums behind a prefix are the ones of its binary digits, each with noise of one variance."""
    horizon = 2**20
    nodes = [t.bit_count() for t in (2**19, 2**19 - 1)]
    assert nodes == [1, 19]
    mean = sum(t.bit_count() for t in range(1, horizon)) / (horizon - 1)
    assert abs(mean - 10) < 0.01  # half of log2 T, so log(T)^3 on average


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
    assert wang2024.transcript_lower_bound(20.0, 0.0, 1000, 1.0, 0.1) == 0.0  # x = 0.13


def test_horizons_of_the_transcript_bound_are_those_of_the_proof():
    """p = 4 gap / (1 + 2 gap) = 2/3 at gap 1/4, so N_0 = log / (epsilon p) = 3 log / (2 epsilon) is at most T / 2."""
    epsilon, scale, power = 0.01, 0.02, 0.1

    def needed(horizon):
        return math.log(horizon ** (1 - power) / (40 * scale)) / (epsilon * 2 / 3)

    for horizon in (2000, 2150, 2200, 3000):
        if needed(horizon) <= horizon / 2:
            assert wang2024.transcript_lower_bound(epsilon, 0.0, horizon, scale, power) > 0
        else:
            with pytest.raises(ParameterError, match="horizon"):
                wang2024.transcript_lower_bound(epsilon, 0.0, horizon, scale, power)
    assert needed(2000) > 1000
    assert needed(3000) < 1500


def test_every_erratum_says_how_much_it_matters():
    found = errata()
    assert {erratum.matters for erratum in found} == {"harmless slip", "constant", "statement falls"}
    assert all(erratum.shown_by for erratum in found)
