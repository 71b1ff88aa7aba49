"""Lower bounds under local privacy in total variation (local_privacy.md, section 1), and policies that attain them."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from bandits import ParameterError
from bandits.bounds import local_privacy, tao2022
from bandits.environments.heavy_tails import TwoPoint


def test_local_bounds_by_hand():
    """epsilon = log 2: min(4, 4) x 1. Gap 0.1: V = 0.1 for v = 1, 0.05 for v = 1/2."""
    two_armed = local_privacy.local_variation_two_armed_lower_bound_slope
    assert math.isclose(two_armed(0.1, math.log(2), 1.0), 0.1 / (4 * 0.1**2))
    assert math.isclose(two_armed(0.1, math.log(2), 0.5), 0.1 / (4 * 0.05**2))
    means = np.array([0.3, 0.2, 0.25])  # s = 0.4 and 0.5, V = 2 x 0.1 x 0.4 and 2 x 0.05 x 0.5
    slope = local_privacy.local_variation_lower_bound_slope(means, math.log(2), 1.0)
    assert math.isclose(slope, 0.1 / (4 * 0.08**2) + 0.05 / (4 * 0.05**2))
    at_e = local_privacy.local_variation_asymptote(means, math.log(2), math.e, 1.0)
    assert math.isclose(at_e, slope)
    order = local_privacy.local_variation_lower_bound_order(np.array([0.1, 0.2]), 0.5, 0.5)
    assert math.isclose(order, (0.1**-5 + 0.2**-5) / 0.25)


def divergence(first, second):
    return float(np.sum(first * np.log(first / second)))


def channels(epsilon, rng):
    """Rows of epsilon-LDP channels from {0, prize}: randomised response, then random ones of 2 to 8 outputs."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    yield np.array([truth, 1 - truth]), np.array([1 - truth, truth])
    for _ in range(200):
        outputs = rng.integers(2, 9)
        of_zero = rng.dirichlet(np.full(outputs, rng.choice([0.2, 1.0, 5.0]))) + 1e-9
        ratios = np.exp(epsilon * rng.choice([rng.uniform(-1, 1), -1.0, 1.0], size=outputs))
        of_prize = of_zero * ratios
        of_zero, of_prize = of_zero / of_zero.sum(), of_prize / of_prize.sum()
        if np.abs(np.log(of_prize / of_zero)).max() <= epsilon:
            yield of_zero, of_prize


def test_local_bernoulli_bound_by_hand():
    """epsilon = log 3: r(x) = (1 + 2x)/4, so means 1/2, 1/4 and 0 become 1/2, 3/8 and 1/4.

    kl(3/8, 1/2) = 3/8 log(3/4) + 5/8 log(5/4) = 0.0315839 and kl(1/4, 1/2) = log 2 - h(1/4) = 0.1308120.
    """
    slope = local_privacy.local_bernoulli_lower_bound_slope([0.5, 0.25, 0.0, 0.5], math.log(3))
    assert math.isclose(slope, 0.25 / 0.0315839 + 0.5 / 0.1308120, rel_tol=1e-6)
    at = local_privacy.local_bernoulli_asymptote([0.5, 0.25, 0.0, 0.5], math.log(3), math.e**2)
    assert math.isclose(at, 2 * slope)


def test_atom_bound_by_hand():
    """epsilon = log 2: 4. Point mass at 0, gap 0.1: x = 10 for v = 1, 100 for v = 1/2.

    Mean 0.2, moment 1/2, gap 0.1, v = 1: x^2 - 5x + 1/2 = 0, x = (5 + sqrt(23)) / 2 = 4.897916. The moment 1: x = 1.
    """
    slope = local_privacy.local_atom_lower_bound_slope
    assert math.isclose(slope([0.1, 0.0], [0.5, 0.0], math.log(2), 1.0), 10**2 / (0.1 * 4))
    assert math.isclose(slope([0.1, 0.0], [0.5, 0.0], math.log(2), 0.5), 100**2 / (0.1 * 4))
    assert math.isclose(slope([0.3, 0.2], [0.5, 0.5], math.log(2), 1.0), (4.897916 - 0.2) ** 2 / 0.4, rel_tol=1e-6)
    assert math.isclose(slope([0.3, 0.2], [0.5, 1.0], math.log(2), 1.0), 0.8**2 / 0.4)
    three = slope([0.3, 0.2, 0.3, 0.2], [0.5, 1.0, 0.2, 0.5], math.log(2), 1.0)
    assert math.isclose(three, (0.8**2 + (4.897916 - 0.2) ** 2) / 0.4, rel_tol=1e-6)


def test_no_local_channel_separates_laws_further():
    """The inequality of Duchi, Jordan and Wainwright, on which all these bounds rest."""
    for epsilon in [0.01, 0.1, 0.5, 1.0]:
        rng, tried, closest = np.random.default_rng(12), 0, 0.0
        for of_zero, of_prize in channels(epsilon, rng):
            for p, q in [(0.5, 0.501), (0.001, 0.003), (0.0, 1.0), tuple(rng.random(2))]:
                first, second = ((1 - chance) * of_zero + chance * of_prize for chance in (p, q))
                both = divergence(first, second) + divergence(second, first)
                allowed = local_privacy._divergence(epsilon, abs(p - q))
                assert both <= allowed * (1 + 1e-9)
                closest, tried = max(closest, both / allowed), tried + 1
        assert tried > 100
        assert closest > 0.05  # not so loose that nothing could refute it


def test_variation_of_the_hard_instance():
    """V between an arm and one that is better by a gap: the difference of their probabilities of the prize."""
    instance, gap = TwoPoint((0.3, 0.2), 0.5), 0.1
    better = instance.chances[1] + 2 * gap / instance.prizes[1]  # its mean is 0.2 + 2 gap = 0.3 + gap
    assert math.isclose(better * instance.prizes[1], 0.4)
    slope = gap / local_privacy._divergence(1.0, better - instance.chances[1])
    found = local_privacy.local_variation_lower_bound_slope(instance.mean_rewards, 1.0, 0.5)
    assert math.isclose(found, slope)


@pytest.mark.parametrize("v", [0.5, 0.9, 1.0])
def test_ldprse_attains_the_order_of_the_lower_bound(v):
    """Over eight decades of gaps their ratio is bounded, and the printed order falls below the lower bound."""
    gaps = np.geomspace(1e-8, 0.19, 30)
    lower = np.array([local_privacy.local_variation_two_armed_lower_bound_slope(gap, 0.5, v) for gap in gaps])
    steps = np.log(lower[1:] / lower[:-1]) / np.log(gaps[1:] / gaps[:-1])
    assert np.allclose(steps, -1 - 2 / v)
    log = math.log(1e300)
    upper = np.array([tao2022.ldprse_regret(np.array([gap]), 0.5, 1e300, v, 0.7) for gap in gaps]) / log
    assert (upper > lower).all()
    ratio = upper / lower
    assert ratio.max() / ratio.min() < 1.1
    printed = np.array([tao2022.ldprse_regret_order(np.array([gap]), 0.5, 1e300, v, 0.7) for gap in gaps]) / log
    assert printed[0] < lower[0] / 1e6  # so no epsilon-LDP policy attains Theorem 7 as printed


@pytest.mark.parametrize("v", [0.5, 0.9, 1.0])
def test_worst_case_has_the_power_of_ldprse(v):
    values = [local_privacy.local_variation_worst_case_lower_bound(5, 0.5, horizon, v) for horizon in (1e12, 1e15)]
    assert abs(math.log10(values[1] / values[0]) / 3 - (2 + v) / (2 + 2 * v)) < 0.01
    by_arms = [local_privacy.local_variation_worst_case_lower_bound(1 + arms, 0.5, 1e15, v) for arms in (10, 1000)]
    assert abs(math.log10(by_arms[1] / by_arms[0]) / 2 - v / (2 + 2 * v)) < 0.01
    assert tao2022.local_worst_case_lower_bound(5, 0.5, 1e15, v) < values[1]
    assert values[1] < tao2022.ldprse_worst_case_regret(5, 0.5, 10**15, v, 1.0)
    assert local_privacy.local_variation_worst_case_lower_bound(5, 0.5, 1e60, v) > (
        100 * tao2022.ldprse_worst_case_regret_order(5, 0.5, 10**60, v, 1.0)
    )


def test_total_variation_is_never_weaker_than_lemma_15():
    for v in (0.5, 1.0):
        for mean in np.geomspace(1e-6, 0.3, 20):
            means = np.array([1.3 * mean, mean])
            in_divergence = tao2022.local_lower_bound_slope(means, 0.5, v)
            assert local_privacy.local_variation_lower_bound_slope(means, 0.5, v) > 4 * in_divergence


def test_conditions_of_local_bounds():
    for name, given, blamed in [
        ("local_variation_lower_bound_slope", (np.array([0.3, 0.1]), 0.5, 0.5), "means"),
        ("local_variation_lower_bound_slope", (np.array([0.3, 0.3]), 0.5, 0.5), "means"),
        ("local_variation_two_armed_lower_bound_slope", (0.2, 0.5, 0.5), "gap"),
        ("local_variation_worst_case_lower_bound", (5, 2.0, 1e9, 0.5), "epsilon"),
        ("local_variation_lower_bound_order", (np.array([0.1]), 0.5, 1.5), "v"),
    ]:
        with pytest.raises(ParameterError) as error:
            getattr(local_privacy, name)(*given)
        assert error.value.parameter == blamed


def test_local_bernoulli_bound_between_its_limits():
    """No privacy: kl(1/4, 1/2) itself. Small epsilon: 2 / (epsilon^2 gap) an arm."""
    bound = local_privacy.local_bernoulli_lower_bound_slope
    assert math.isclose(bound([0.5, 0.25], math.inf), 0.25 / 0.1308120, rel_tol=1e-6)
    assert math.isclose(bound([0.5, 0.25], 1e-3), 2 / (1e-6 * 0.25), rel_tol=1e-5)


def test_no_local_channel_beats_randomised_response():
    for epsilon in [0.01, 0.5, 1.0, 3.0]:
        rng, tried, closest = np.random.default_rng(13), 0, 0.0
        response = next(channels(epsilon, rng))
        for of_zero, of_one in channels(epsilon, rng):
            for p, q in [(0.5, 0.501), (0.001, 0.003), (0.0, 0.9), tuple(rng.random(2))]:
                kept = [
                    divergence(*((1 - chance) * zero + chance * one for chance in (p, q)))
                    for zero, one in ((of_zero, of_one), response)
                ]
                assert kept[0] <= kept[1] * (1 + 1e-7) + 1e-15
                closest, tried = max(closest, kept[0] / kept[1]), tried + 1
        assert tried > 50
        assert closest > 0.5


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_every_local_channel_is_randomised_response_and_a_map(epsilon):
    """Lemma 5.1: both rows of the map are probability laws, and randomised response followed by it is the channel."""
    rng = np.random.default_rng(14)
    (truth, lie), _ = next(channels(epsilon, rng))
    for of_zero, of_one in channels(epsilon, rng):
        after_one = (math.exp(epsilon) * of_one - of_zero) / math.expm1(epsilon)
        after_zero = (math.exp(epsilon) * of_zero - of_one) / math.expm1(epsilon)
        assert min(after_one.min(), after_zero.min()) >= -1e-12
        np.testing.assert_allclose([after_one.sum(), after_zero.sum()], 1)
        np.testing.assert_allclose(truth * after_one + lie * after_zero, of_one, atol=1e-12)
        np.testing.assert_allclose(truth * after_zero + lie * after_one, of_zero, atol=1e-12)


def test_conditions_of_the_local_bernoulli_bound():
    for means, epsilon, blamed in [
        ([0.5], 1, "means"),
        ([0.5, 0.5], 1, "means"),
        ([0.5, 1.0], 1, "means"),
        ([0.5, 0.4], 0, "epsilon"),
    ]:
        with pytest.raises(ParameterError) as error:
            local_privacy.local_bernoulli_lower_bound_slope(means, epsilon)
        assert error.value.parameter == blamed


# One more atom: theorem 1.4, for every instance


def laws(rng, v):
    """Random laws of few values with a moment below 1: values, probabilities, moment."""
    while True:
        values = rng.choice([-1, 1], size=4, p=[0.3, 0.7]) * 10 ** rng.uniform(-2, 1.5, 4)
        chances = rng.dirichlet(np.full(4, 0.4))
        values *= (rng.uniform(0.05, 0.95) / (chances @ np.abs(values) ** (1 + v))) ** (1 / (1 + v))
        yield values, chances, float(chances @ np.abs(values) ** (1 + v))


@pytest.mark.parametrize("v", [0.3, 0.5, 1.0])
def test_the_atom_against_the_nearest_law_of_all(v):
    """A linear programme over all laws on a grid: the least total variation to a law that is as good as the best arm.

    The mixture is one of these laws, so it is not nearer; and no law is nearer by more than a constant.
    """
    rng, furthest = np.random.default_rng(15), 0.0
    for (values, chances, moment), _ in zip(laws(rng, v), range(25), strict=False):
        mean, spare = float(values @ chances), 1 - moment
        gap = float(10 ** rng.uniform(-3, -0.5)) * spare
        if mean + gap >= 1:
            continue
        atom = local_privacy._farthest_atom(mean, moment, gap, v)
        share = gap / (atom - mean)
        assert 0 < share < 1
        assert math.isclose((1 - share) * mean + share * atom, mean + gap)  # as good as the best
        assert (1 - share) * moment + share * atom ** (1 + v) <= 1 + 1e-9
        assert (1 - share) * moment + share * (1.001 * atom) ** (1 + v) > 1 or atom == 1  # and no farther away
        points = np.unique([*values, *np.geomspace(1e-3, 3 * atom, 300), *-np.geomspace(1e-3, atom, 30), atom, 0.0])
        own = np.zeros(len(points))
        own[np.searchsorted(points, values)] = chances
        mean_of, moment_of = points * share / gap, np.abs(points) ** (1 + v) * share / spare
        found = linprog(  # mass removed and mass added, in units of the share of the atom
            np.repeat([1.0, 0.0], len(points)),
            A_ub=[[*mean_of, *-mean_of], [*-moment_of, *moment_of]],
            b_ub=[-1, 1],
            A_eq=[[*np.ones(len(points)), *-np.ones(len(points))]],
            b_eq=[0],
            bounds=[*((0, mass / share) for mass in own), *((0, None) for _ in points)],
        )
        assert found.status == 0
        assert found.fun <= 1 + 1e-6
        furthest = max(furthest, 1 / found.fun)
    assert furthest < 2


@pytest.mark.parametrize("v", [0.3, 0.5, 1.0])
def test_the_atom_has_the_order_for_every_gap(v):
    """At least (1 - M)^(2/v) gap^(-1-2/v) / 2^(2+2/v), with arms whose gaps are decades apart."""
    rng = np.random.default_rng(16)
    for _ in range(200):
        moments = rng.uniform(0, 0.95, 4)
        spare = 1 - moments
        gaps = spare[1:] / 2 ** (1 + v) * 10 ** -rng.uniform(0, 7, 3)
        most = moments ** (1 / (1 + v))
        best = float(rng.uniform(-most[0], min(most[0], 0.999)))
        means = np.array([best, *(best - gaps)])
        if (np.abs(means) > most).any():
            continue
        order = (spare[1:] ** (2 / v) * gaps ** (-1 - 2 / v)).sum() / 2 ** (2 + 2 / v)
        found = local_privacy.local_atom_lower_bound_slope(means, moments, 0.4, v)
        assert found >= order / local_privacy._divergence(0.4, 1.0) * (1 - 1e-9)


@pytest.mark.parametrize("v", [0.5, 0.9, 1.0])
def test_ldprse_is_within_a_constant_on_every_instance(v):
    """Arms with gaps up to seven decades apart: upper over lower bound, also where the moment leaves less slack."""
    log, ratios = math.log(1e300), []
    for moment in (0.1, 0.6):
        for gaps in ([1e-1], [1e-7], [1e-7, 1e-3, 1e-2], [0.1, 0.1, 1e-5]):
            means, moments = np.array([0.0, *-np.array(gaps)]), np.full(len(gaps) + 1, moment)
            lower = local_privacy.local_atom_lower_bound_slope(means, moments, 0.5, v)
            upper = tao2022.ldprse_regret(np.array(gaps), 0.5, 1e300, v, 0.7) / log
            assert lower < upper
            ratios.append(upper / lower * (1 - moment) ** (2 / v))
    assert max(ratios) / min(ratios) < 3.0


def test_the_atom_is_stronger_than_more_of_the_prize():
    for v in (0.5, 1.0):
        for mean in np.geomspace(1e-4, 0.3, 20):
            means = np.array([1.4 * mean, mean])
            more_often = local_privacy.local_variation_lower_bound_slope(means, 0.5, v)
            assert local_privacy.local_atom_lower_bound_slope(means, [0.7, 0.5], 0.5, v) > 4 * more_often


def test_conditions_of_the_atom_bound():
    for means, moments, blamed in [
        ([0.3, 0.3], [0.5, 0.5], "means"),
        ([1.0, 0.3], [1.0, 0.5], "means"),
        ([0.3, 0.1], [0.5], "means"),
        ([0.3, 0.1], [0.5, 1.1], "moments"),
        ([0.3, 0.1], [0.05, 0.5], "moments"),
    ]:
        with pytest.raises(ParameterError) as error:
            local_privacy.local_atom_lower_bound_slope(means, moments, 0.5, 1.0)
        assert error.value.parameter == blamed


def test_bernoulli_bounds_at_small_budgets_and_gaps():
    """The difference of two bits is 2 x gap x epsilon / 4, and kl of two bits twice its square."""
    slope = local_privacy.local_bernoulli_lower_bound_slope
    for means, epsilon in itertools.product(
        [(0.75, 0.7), (0.9, 0.5), (0.5 + 2**-30, 0.5)], [1e-6, 1e-8, 1e-12, 1e-100]
    ):
        gap = means[0] - means[1]
        assert slope(means, epsilon) == pytest.approx(2 / (gap * epsilon**2), rel=1e-5)
    assert slope((0.5 + 2**-30, 0.5), 50.0) == pytest.approx(2**30 / 2, rel=1e-6)
