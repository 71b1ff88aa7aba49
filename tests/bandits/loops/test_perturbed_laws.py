"""Laws of perturbed values, of their maximum, and of the phases of GDP-Elim-New, rewritten from the paper."""

import math

import numpy as np
import pytest
from scipy import stats

from bandits.audit.decision_laws import BetaLaw, GaussLaw, TruncatedLaw, largest_of
from bandits.environments.bandit import Instance
from bandits.loops.perturbed_values import (
    BETA,
    GAUSS,
    TRUNCATED_LAPLACE,
    Arms,
    Constants,
    draw_above,
    draw_value,
    exceeding,
    largest,
    parameters,
    set_bar,
)
from bandits.mechanisms.truncated_laplace import TruncatedLaplace, tail_constant
from bandits.policies.perturbed_leader import (
    DPFTPLBeta,
    DPFTPLGauss,
    DPFTPLNew,
    GDPElimNew,
    ThompsonBeta,
    ThompsonGauss,
)
from bandits.seeds import stream

HORIZON = 1000


def lemma_15(epsilon, delta, count, total):
    """The distribution function of DP-FTPL-New's value: Lemma 15 of Wang and Zhu about the center of section 6.3."""
    growth = math.exp(epsilon) - 1
    share = (HORIZON * growth + 2 * HORIZON * delta) / (2 * growth + 2 * HORIZON * delta)
    center = total / count + math.sqrt(math.log(HORIZON) / count) + math.log(share) / (count * epsilon)
    c = delta / growth

    def cdf(x):
        tail = np.maximum((0.5 + c) * np.exp(-count * epsilon * np.abs(x - center)) - c, 0)
        return np.where(x < center, tail, 1 - tail)

    return cdf


def flat(delta, count, total):
    """The same with epsilon = 0: uniform on +- 1 / (2 N delta), its center higher by (T - 2) / (2 T delta N)."""
    center = total / count + math.sqrt(math.log(HORIZON) / count) + (HORIZON - 2) / (2 * HORIZON * delta * count)
    return stats.uniform(center - 1 / (2 * count * delta), 1 / (count * delta)).cdf


def mirrored(count):
    return count // 8 + 1


LAWS = [
    (ThompsonGauss(), lambda n, r: stats.norm(r / (n + 1), 1 / math.sqrt(n + 1)).cdf),
    (ThompsonBeta(), lambda n, r: stats.beta(r + 1, n - r + 1).cdf),
    (DPFTPLGauss(1.0, 0.05), lambda n, r: stats.norm(r / n, math.sqrt(2 / n)).cdf),
    (DPFTPLBeta(1.0, 0.05), lambda n, r: stats.beta(r + 1 + mirrored(n), n - r + 1 + mirrored(n)).cdf),
    (DPFTPLNew(0.1, 0.05), lambda n, r: lemma_15(0.1, 0.05, n, r)),
    (DPFTPLNew(2.0, 0.0), lambda n, r: lemma_15(2.0, 0.0, n, r)),
    (DPFTPLNew(0.0, 0.2), lambda n, r: flat(0.2, n, r)),
]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 7, 8, 64, 1000])
@pytest.mark.parametrize(("policy", "law"), LAWS, ids=[str(policy) for policy, _ in LAWS])
def test_values_have_the_law_of_the_paper(policy, law, count, failure):
    """The law that both the plain and the fast loop draw from."""
    rng, total = stream("values", count), count // 3
    given = policy.law(HORIZON)
    values = [draw_value(*given, *parameters(*given, count, float(total)), rng) for _ in range(5000)]
    assert stats.kstest(values, law(count, total)).pvalue > failure


def new(epsilon, delta):
    reach = TruncatedLaplace(epsilon, delta, 1, 0.0).half_width
    return Constants(epsilon=epsilon, delta=delta, tail=tail_constant(epsilon, delta), reach=reach)


BEYOND = [  # a law, its parameters, a bar, and the law from scipy or from `lemma_15` about 0
    (GAUSS, Constants(), 0.3, 0.1, 0.55, GaussLaw(0.3, 0.1)),
    (GAUSS, Constants(), 0.3, 0.1, 0.2, GaussLaw(0.3, 0.1)),
    (BETA, Constants(), 30.0, 70.0, 0.4, BetaLaw(30.0, 70.0)),
    (TRUNCATED_LAPLACE, new(0.5, 0.05), 0.3, 1 / 20, 0.4, TruncatedLaw(TruncatedLaplace(0.5, 0.05, 20, 0.3))),
    (TRUNCATED_LAPLACE, new(0.5, 0.0), 0.3, 1 / 20, 0.7, TruncatedLaw(TruncatedLaplace(0.5, 0.0, 20, 0.3))),
    (TRUNCATED_LAPLACE, new(0.0, 0.1), 0.3, 1 / 20, 0.35, TruncatedLaw(TruncatedLaplace(0.0, 0.1, 20, 0.3))),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "constants", "first", "second", "bar", "whole"), BEYOND, ids=map(str, range(len(BEYOND)))
)
def test_a_draw_above_the_bar_has_the_law_beyond_it(law, constants, first, second, bar, whole, failure):
    rng, below = stream("above", law), float(whole.cdf(np.array([bar]))[0])
    values = np.array([draw_above(law, constants, first, second, bar, rng) for _ in range(20_000)])
    kept = values[np.isfinite(values)]
    assert kept.min() >= bar
    assert stats.kstest(kept, lambda x: (whole.cdf(x) - below) / (1 - below)).pvalue > failure
    chance = (1 - below) / exceeding(law, constants, first, second, bar)  # 1 except for Beta, whose bound is loose
    assert chance == pytest.approx(1) if law != BETA else 0.02 < chance < 1
    assert abs(len(kept) / 20_000 - chance) < 6.2 * math.sqrt(chance * abs(1 - chance) / 20_000) + 1e-9


CROWDS = [  # one arm that mostly leads, one that is often close, and twenty that rarely exceed the bar
    (GAUSS, Constants(), [0.6, 0.5, *[0.05] * 20], [0.1, 0.1, *[0.2] * 20], lambda a, b: GaussLaw(a, b)),
    (BETA, Constants(), [60.0, 50, *[4.0] * 20], [40.0, 50, *[15.0] * 20], lambda a, b: BetaLaw(a, b)),
    (
        TRUNCATED_LAPLACE,
        new(1.0, 0.01),
        [0.6, 0.5, *[0.14] * 20],
        [1 / 20, 1 / 20, *[1 / 8] * 20],
        lambda a, b: TruncatedLaw(TruncatedLaplace(1.0, 0.01, 1 / b, a)),
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("law", "constants", "first", "second", "exact"), CROWDS, ids=["gauss", "beta", "new"])
def test_arms_lead_as_often_as_their_laws_say(law, constants, first, second, exact, failure):
    """One step of the fast loop: which arm has the largest value, though most arms are not drawn."""
    chances = largest_of([exact(a, b) for a, b in zip(first, second, strict=True)])
    arms = Arms(np.array(first), np.array(second), np.zeros(22), np.zeros(22, dtype=bool))
    bar = set_bar(law, constants, arms)
    assert 2 <= arms.often.sum() < 22
    rare, rng, steps = float(arms.hazard.sum()), stream("crowd", law), 60_000
    leaders = np.bincount([largest(law, constants, arms, bar, rare, rng)[0] for _ in range(steps)], minlength=22)
    expected = steps * np.array([chances[0], chances[1], chances[2:].sum()])
    assert expected[2] > 500
    observed = np.array([leaders[0], leaders[1], leaders[2:].sum()])
    assert stats.chisquare(observed, expected).pvalue > failure
    assert stats.chisquare(leaders[2:]).pvalue > failure


class Certain(Instance):
    """Two arms whose every reward is their mean."""

    name = "certain"
    support = (0.0, 1.0)

    def __init__(self, *means):
        self.means = means

    def define_means(self):
        return np.array(self.means)

    def sample(self, arm, rng):
        return self.means[arm]

    def sums(self, arms, rounds, rng):
        return rounds * np.array(self.means)[arms]


def triangle(room, half_width):
    """Pr[U - V > room] for U and V uniform on +- half_width, room > 0."""
    return (2 * half_width - room) ** 2 / (8 * half_width**2)


def difference(room, scale):
    """Pr[X - Y > room] for Laplace variables, room > 0."""
    return math.exp(-room / scale) * (2 + room / scale) / 4


PHASES = [
    # epsilon = 0, delta = 0.004: N(1) = 8 (T^2 - 2) / (T^2 delta) -> 2000, uniform on 1 / (2 x 2000 x 0.002) = 1/8.
    (GDPElimNew(0.0, 0.004), 2000, 0.1, triangle(0.1, 1 / 8)),
    # epsilon = 0.05, delta = 0, T = 10^4: 8 log(T^2 / 2) / 0.05 = 2836.4, Laplace of scale 1 / (2837 x 0.05) = 0.00705.
    (GDPElimNew(0.05, 0.0), 2837, 0.01, difference(0.01, 1 / 141.85)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "length", "room", "chance"), PHASES, ids=str)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_phase_of_gdp_elim_new_ends_as_often_as_its_noise_says(policy, length, room, chance, sign, failure):
    """Means about 1/2 apart, the threshold of phase 1: both noises decide."""
    assert policy.phase_length(1, 10_000) == length
    apart = 0.5 + sign * room
    instance, runs, horizon = Certain(0.0, apart), 2000, 10_000
    pulls = [policy.simulate(instance, horizon, np.array([horizon]), stream("phase", run))[0] for run in range(runs)]
    exploited = sum(int(of[1] == horizon - length) for of in pulls)
    assert all(of[1] == horizon - length or of[0] > length for of in pulls)
    assert stats.binomtest(exploited, runs, 1 - chance if sign > 0 else chance).pvalue > failure


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1, -1])
def test_a_phase_of_gdp_elim_new_that_is_played_ends_as_often(sign, failure):
    """The same with given rewards: after N(1) pulls of each arm the better one is pulled next, or arm 1 again."""
    policy, length, room, chance = PHASES[0]
    horizon, runs, rng = 2 * length + 1, 250, stream("played phase", 0)
    table = np.repeat([[0.0], [0.5 + sign * room]], horizon, axis=1)
    last = [policy.play(table, horizon, rng)[-1] for _ in range(runs)]
    assert stats.binomtest(sum(map(int, last)), runs, 1 - chance if sign > 0 else chance).pvalue > failure
