import itertools
import math
from functools import cache, partial

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import softmax
from scipy.stats import binom, norm

from bandits.exact import noisy_values as exact_laws
from bandits.exact import winners as exact_quadrature
from bandits.exact.regret import (
    RELATIVE_ERROR,
    SMALLEST,
    expected_regret,
    expected_regret_curve,
    selection_probabilities,
)

NOISES = ["laplace", "exponential", "gumbel", "none"]
PRIVATE = NOISES[:3]
LOSSES = ["deterministic", "bernoulli"]


def scale_of(noise, epsilon):
    return (1 if noise == "exponential" else 2) / epsilon


def behind_wins(lag, noise, scale):
    """Probability that the second of two arms has the larger noisy value, its value being `lag` lower."""
    x = np.abs(np.asarray(lag, dtype=float)) / scale
    upset = {
        "laplace": lambda: np.exp(-x) * (1 + x / 2) / 2,
        "exponential": lambda: np.exp(-x) / 2,
        "gumbel": lambda: np.exp(-x) / (1 + np.exp(-x)),
        "none": lambda: (x == 0) / 2,
    }[noise]()
    return np.where(np.asarray(lag) >= 0, upset, 1 - upset)


def with_permute_and_flip(lags, scale):
    """Exponential noise: a_j times the integral over t in [0, 1] of the product of 1 - a_i t, a = exp(-lag / scale)."""
    a = np.exp(-(np.asarray(lags) - min(lags)) / scale)
    chances = []
    for j in range(len(a)):
        polynomial = np.polynomial.Polynomial([1.0])
        for i in np.delete(np.arange(len(a)), j):
            polynomial *= np.polynomial.Polynomial([1.0, -a[i]])
        chances.append(a[j] * (polynomial.integ()(1.0) - polynomial.integ()(0.0)))
    return np.array(chances)


def with_laplace(lags, scale):
    def density(x):
        return math.exp(-abs(x) / scale) / (2 * scale)

    def cdf(x):
        return math.exp(x / scale) / 2 if x < 0 else 1 - math.exp(-x / scale) / 2

    edges = sorted({min(lags) + scale * s for s in (-70, -20, -5, 0)} | {float(lag) for lag in lags})
    edges += [edges[-1] + 5 * scale, edges[-1] + 20 * scale, edges[-1] + 70 * scale]
    return np.array(
        [
            sum(
                quad(
                    lambda x, j=j: density(x - lags[j]) * math.prod(cdf(x - v) for i, v in enumerate(lags) if i != j),
                    low,
                    high,
                    epsabs=0,
                    epsrel=1e-12,
                    limit=200,
                )[0]
                for low, high in itertools.pairwise(edges)
            )
            for j in range(len(lags))
        ]
    )


def of_fixed_values(lags, noise, scale):
    """Selection probabilities of arms with values -lags, by a method that the module does not use."""
    lags = np.asarray(lags, dtype=float)
    if noise == "laplace":
        return with_laplace(list(-lags), scale)
    if noise == "exponential":
        return with_permute_and_flip(lags, scale)
    if noise == "gumbel":
        return softmax(-lags / scale)
    return (lags == lags.min()) / np.sum(lags == lags.min())


@cache
def difference_of_binomials(means, rounds):
    """Law of the second of two sums of losses minus the first: the least difference, and the masses from there on."""
    laws = []
    for mean in means:
        reach = 12 * math.sqrt(rounds * mean * (1 - mean)) + 60
        k = np.arange(max(0, math.floor(rounds * mean - reach)), min(rounds, math.ceil(rounds * mean + reach)) + 1)
        mass = binom.pmf(k, rounds, mean)
        laws.append((k[mass > 1e-27], mass[mass > 1e-27]))
    (first, first_mass), (second, second_mass) = laws
    return second[0] - first[-1], np.convolve(second_mass, first_mass[::-1])


def of_two_binomials(means, rounds, noise, scale):
    """Probability that the second of two arms is selected."""
    least, mass = difference_of_binomials(means, rounds)
    return float(mass @ behind_wins(least + np.arange(len(mass)), noise, scale))


def worst(found, wanted, floor=0.0):
    """The case with the largest relative error, and that error; values below `floor` count as 0."""
    errors = {}
    for case, values in wanted.items():
        apart, size = np.abs(np.asarray(found[case]) - values), np.abs(values)
        relative = np.where(apart <= floor, 0.0, apart / np.maximum(size, 1e-300))
        errors[case] = float(np.nan_to_num(relative, nan=np.inf).max())
    case = max(errors, key=errors.get)
    return errors[case], case


@pytest.mark.parametrize("noise", PRIVATE)
def test_two_arms_with_fixed_losses(noise):
    found, wanted = {}, {}
    for epsilon, gap, rounds in itertools.product((0.01, 1.0, 30.0), (1e-9, 0.01, 0.5, 1.0), (1, 32)):
        best = min(0.25, 1 - gap)
        chance = float(behind_wins(rounds * ((best + gap) - best), noise, scale_of(noise, epsilon)))
        if chance > 1e-18:
            case = epsilon, gap, rounds
            wanted[case] = np.array([1 - chance, chance])
            found[case] = selection_probabilities([best, best + gap], [1, 1], noise, epsilon, rounds)
    assert len(wanted) > 18
    assert worst(found, wanted) < (1e-11, ())


def test_improbable_selections_keep_their_digits_or_are_absent():
    chance = selection_probabilities([0, 1], [1, 1], "laplace", 2.0, 60)[1]
    assert chance == pytest.approx(float(behind_wins(60, "laplace", 1.0)), rel=RELATIVE_ERROR, abs=10 * SMALLEST)
    assert chance < 1e-24
    assert selection_probabilities([0, 1], [1, 1], "laplace", 2.0, 128)[1] == 0


def test_several_arms_with_fixed_losses():
    for noise, epsilon in itertools.product(["laplace", "exponential"], [0.1, 2.0]):
        means, rounds = np.array([0.1, 0.125, 0.5, 0.3, 0.1, 0.9]), 8
        chances = selection_probabilities(means, np.ones(6, int), noise, epsilon, rounds)
        assert chances == pytest.approx(of_fixed_values(rounds * means, noise, scale_of(noise, epsilon)), rel=1e-10)


def test_one_best_arm_and_many_others_with_exponential_noise():
    """P(best) = integral over t in [0, 1] of (1 - a t)^n = (1 - (1 - a)^(n+1)) / (a (n + 1))."""
    for arms in [1, 1000, 2**20, 2**50]:
        a = math.exp(-0.25 * 16)
        wanted = -math.expm1((arms + 1) * math.log1p(-a)) / (a * (arms + 1))
        assert selection_probabilities([0.5, 0.75], [1, arms], "exponential", 1.0, 16)[0] == pytest.approx(
            wanted, rel=1e-11, abs=0
        )


def test_a_million_arms_with_laplace_noise():
    arms, lag = 2**20 - 1, 8.0

    def integrand(x):
        """The best arm has the value x = 0 + Lap(1), above `arms` values -lag + Lap(1); only x > -lag matters."""
        return math.exp(-abs(x)) / 2 * math.exp(arms * math.log1p(-math.exp(-x - lag) / 2))

    pieces = [quad(integrand, low, low + 2, epsabs=0, epsrel=1e-12)[0] for low in range(-6, 40, 2)]
    assert selection_probabilities([0, 0.5], [1, arms], "laplace", 2.0, 16)[0] == pytest.approx(sum(pieces), rel=1e-10)


@pytest.mark.slow
def test_a_million_different_arms_with_gumbel_noise():
    means = np.random.default_rng(0).random(2**20)
    chances = selection_probabilities(means, np.ones(len(means), int), "gumbel", 0.5, 4)
    np.testing.assert_allclose(chances, softmax(-0.5 / 2 * 4 * means), rtol=1e-9)
    gaps = means - means.min()
    regret = sum(2**r * gaps @ softmax(-0.5 / 2 * 2 ** (r - 1) * means) for r in range(1, 5)) + gaps.mean()
    assert expected_regret(means, np.ones(len(means), int), "gumbel", 0.5, 31) == pytest.approx(regret, rel=1e-11)


@cache
def sums_of_three(means, rounds=2):
    """All triples of sums of Bernoulli losses, with their probabilities."""
    laws = [binom.pmf(np.arange(rounds + 1), rounds, mean) for mean in means]
    every = itertools.product(range(rounds + 1), repeat=3)
    chances = {sums: math.prod(law[k] for law, k in zip(laws, sums, strict=True)) for sums in every}
    return {sums: chance for sums, chance in chances.items() if chance > 0}


@pytest.mark.parametrize("noise", NOISES)
def test_three_arms_with_bernoulli_losses(noise):
    found, wanted = {}, {}
    every = [(0.2, 0.5, 0.55), (0.0, 0.3, 1.0), (0.7, 1.0, 1.0), (0.0, 0.5, 0.5)]
    for epsilon in (0.2, 3.0, 40.0, 1000.0):
        quiet = "none" if epsilon == 1000 else noise  # Noise of scale 0.002 changes no order of whole numbers.
        of_lags = cache(lambda *lags: of_fixed_values(np.array(lags), quiet, scale_of(noise, epsilon)))  # noqa: B023
        for means in every:
            laws = sums_of_three(means).items()
            wanted[epsilon, means] = sum(chance * of_lags(*np.subtract(sums, min(sums))) for sums, chance in laws)
            found[epsilon, means] = selection_probabilities(means, [1, 1, 1], noise, epsilon, 2, "bernoulli")
    assert worst(found, wanted, floor=1e-28) < (1e-10, ())


TWO_ARMS = [
    ((0.3, 0.5), 64),
    ((0.0, 0.01), 1024),
    ((0.5, 0.51), 4096),
    ((0.5, 0.505), 2**16),
    ((0.5, 0.502), 2**20),
    ((0.001, 0.0012), 2**16),
    ((0.99, 1.0), 2**10),
]


@pytest.mark.parametrize("noise", NOISES)
def test_two_arms_with_bernoulli_losses(noise):
    cases = list(itertools.product((0.02, 0.3, 8.0), TWO_ARMS))
    wanted = {(e, two): of_two_binomials(*two, noise, scale_of(noise, e)) for e, two in cases}
    chances = {(e, two): selection_probabilities(two[0], [1, 1], noise, e, two[1], "bernoulli") for e, two in cases}
    assert worst({case: chances[case][1] for case in cases}, wanted, floor=1e-24) < (1e-9, ())
    assert worst({case: chances[case].sum() for case in cases}, dict.fromkeys(cases, 1.0)) < (1e-10, ())


def test_one_best_arm_and_many_others_without_noise():
    """The best arm has sum k and its share of the ties: p(k) ((1 - F(k-1))^(n+1) - (1 - F(k))^(n+1)) / ((n+1) q(k))."""
    for arms, (means, rounds) in itertools.product(
        [1, 2**20, 2**60], [((0.25, 0.5), 4), ((0.25, 0.5), 64), ((0.4, 0.45), 2**14)]
    ):
        k = np.arange(rounds + 1)
        best, other = (binom.pmf(k, rounds, mean) for mean in means)
        k, best, other = (array[other > 1e-200] for array in (k, best, other))
        below, at_most, above = (
            binom.cdf(k - 1, rounds, means[1]),
            binom.cdf(k, rounds, means[1]),
            binom.sf(k, rounds, means[1]),
        )
        with np.errstate(divide="ignore"):
            log_above = np.where(at_most < 0.5, np.log1p(-np.minimum(at_most, 0.5)), np.log(above))
            log_not_below = np.where(below < 0.5, np.log1p(-np.minimum(below, 0.5)), np.log(above + other))
        share = (
            np.exp((arms + 1) * log_not_below)
            * -np.expm1((arms + 1) * (log_above - log_not_below))
            / ((arms + 1) * other)
        )
        chances = selection_probabilities(means, [1, arms], "none", 1.0, rounds, "bernoulli")
        assert chances[0] == pytest.approx(float(best @ share), rel=1e-8, abs=0)


@pytest.mark.parametrize("noise", PRIVATE)
def test_noise_that_is_too_small_to_matter(noise):
    game = ([0.0, 0.05, 1e-4], [1, 1000, 3])
    chances = [selection_probabilities(*game, q, 1e12, 2**12, "bernoulli") for q in (noise, "none")]
    assert chances[0] == pytest.approx(chances[1], rel=1e-12)


def test_certain_losses_are_not_ruled_out():
    """An arm with mean 1 leads only if the other arm's losses are all 1."""
    chances = selection_probabilities([0.5, 1], [1, 1], "none", 1.0, 32, "bernoulli")
    assert chances[1] == pytest.approx(0.5**33, rel=1e-11)


def test_binomial_law():
    for rounds, mean in [(7, 0.3), (10**4, 0.5), (10**6, 1e-4), (2**50, 1e-13)]:
        law = exact_laws.Binomial(rounds, mean, 1e-40, 0)
        k = -np.arange(law.bottom, law.top + 1)
        bulk = law.mass > 1e-25
        # The error of SciPy grows with the number of rounds.
        assert law.mass[bulk] == pytest.approx(binom.pmf(k, rounds, mean)[bulk], rel=1e-9, abs=0)
        assert k @ law.mass == pytest.approx(rounds * mean, rel=1e-13)
        assert (k - rounds * mean) ** 2 @ law.mass == pytest.approx(law.variance, rel=1e-11)
        assert law.mass[[0, -1]].max() < 1e-38 or rounds == 7


def random_game(rng):
    groups = rng.integers(2, 9)
    means = [
        rng.random(groups),
        np.clip(0.4 + 10 ** rng.uniform(-3, 0, groups), 0, 1),
        rng.choice([0, 1, 0.5, 0.501, 1e-4, 1 - 1e-5], groups),
    ][rng.integers(3)]
    return means, np.floor(2 ** rng.uniform(0, rng.choice([1, 20, 50]), groups)), 10 ** rng.uniform(-2, 2)


@pytest.mark.slow
@pytest.mark.parametrize("losses", LOSSES)
@pytest.mark.parametrize("noise", NOISES)
def test_halving_the_step_changes_nothing(noise, losses, monkeypatch):
    rng = np.random.default_rng(7)
    checkpoints = [2**k for k in range(0, 16 if losses == "bernoulli" else 60, 3)]
    refined = exact_quadrature.refined

    def refined_from(first, estimate, floor):
        return refined(lambda level: estimate(level + first), floor)

    for _ in range(8):
        game = random_game(rng)
        regret = []
        for step in (0, 1):
            monkeypatch.setattr(exact_quadrature, "refined", partial(refined_from, step))
            regret.append(expected_regret_curve(*game[:2], noise, game[2], checkpoints, losses))
        assert regret[0] == pytest.approx(regret[1], rel=1e-10, abs=0)


@pytest.mark.slow
@pytest.mark.parametrize("losses", LOSSES)
@pytest.mark.parametrize("noise", NOISES)
def test_two_halvings_of_the_first_step_are_enough(noise, losses, monkeypatch):
    monkeypatch.setattr(exact_quadrature, "_LEVELS", 3)
    rng = np.random.default_rng(8)
    for _ in range(12):
        means, counts, epsilon = random_game(rng)
        assert expected_regret(means, counts, noise, epsilon, 2**24, losses) >= 0


@pytest.mark.parametrize("losses", LOSSES)
@pytest.mark.parametrize("noise", NOISES)
def test_what_is_neglected_is_negligible(noise, losses, monkeypatch):
    game = ([0.3, 0.31, 0.4, 0.9], [3, 50, 10**6, 1], noise, 0.5, [10, 1000, 2**40], losses)
    curve = expected_regret_curve(*game)
    monkeypatch.setattr("bandits.exact.regret._NEGLIGIBLE", 1e-17)
    assert curve == pytest.approx(expected_regret_curve(*game), rel=1e-10)


@pytest.mark.parametrize("noise", NOISES)
class TestRegret:
    game = ([0.6, 0.2, 0.25, 0.2], [3, 2, 40, 1])

    def test_sums_up_selection_probabilities(self, noise):
        """Steps of the epochs up to step 20: 1, 2, 4, 8 and 5."""
        for losses in LOSSES:
            gaps = np.array([0.4, 0, 0.05, 0])
            wanted = gaps @ self.game[1] / 46
            for rounds, played in [(1, 2), (2, 4), (4, 8), (8, 5)]:
                wanted += played * gaps @ selection_probabilities(*self.game, noise, 0.3, rounds, losses)
            assert expected_regret(*self.game, noise, 0.3, 20, losses) == pytest.approx(wanted, rel=1e-9)

    def test_rises_and_is_linear_within_an_epoch(self, noise):
        for losses in LOSSES:
            curve = expected_regret_curve(*self.game, noise, 0.3, range(1, 256), losses)
            steps = np.diff(curve, prepend=0.0)
            assert np.all(steps >= 0)
            for first in 2 ** np.arange(8):
                assert steps[first - 1 : 2 * first - 1] == pytest.approx(steps[first - 1], rel=1e-8, abs=1e-13)

    def test_does_not_depend_on_other_checkpoints(self, noise):
        for losses in LOSSES:
            curve = expected_regret_curve(*self.game, noise, 0.3, [1, 7, 100], losses)
            assert curve[:2] == pytest.approx([expected_regret(*self.game, noise, 0.3, t, losses) for t in (1, 7)])

    def test_groups_are_their_arms(self, noise):
        for losses in LOSSES:
            curves = [
                expected_regret_curve(*game, noise, 0.3, [5, 500, 2**20], losses)
                for game in (self.game, (np.repeat(*self.game), np.ones(46)), ([0.25, 0.2, 0.6], [40, 3, 3]))
            ]
            assert curves[1] == pytest.approx(curves[0], rel=1e-11)
            assert curves[2] == pytest.approx(curves[0], rel=1e-11)

    def test_almost_equal_means_are_like_equal_ones(self, noise):
        """Groups that are not merged have the law of one group."""
        for losses in LOSSES:
            apart = expected_regret([0.6, 0.6 + 1e-14, 0.2], [3, 4, 5], noise, 0.3, 1000, losses)
            assert apart == pytest.approx(expected_regret([0.6, 0.2], [7, 5], noise, 0.3, 1000, losses), rel=1e-9)

    def test_equal_arms_have_no_regret(self, noise):
        for losses in LOSSES:
            assert expected_regret([0.5, 0.5], [1, 3], noise, 0.3, 1000, losses) == 0

    def test_stays_finite_for_a_long_horizon(self, noise):
        for losses in LOSSES:
            curve = expected_regret_curve(*self.game, noise, 0.3, [2**20, 2**60], losses)
            assert curve[1] == pytest.approx(curve[0], rel=1e-11)

    @pytest.mark.parametrize("losses", LOSSES)
    def test_is_close_to_simulated_regret(self, noise, losses, failure):
        gaps, runs, rng = np.repeat([0.4, 0.0, 0.05], [3, 3, 40]), 4000, np.random.default_rng(11)
        shape, scale = (runs, len(gaps)), scale_of(noise, 0.3)
        draw = {
            "laplace": lambda: rng.laplace(0, scale, shape),
            "gumbel": lambda: rng.gumbel(0, scale, shape),
            "exponential": lambda: rng.exponential(scale, shape),
            "none": lambda: rng.random(shape) * 1e-9,
        }[noise]
        regret = gaps[rng.integers(len(gaps), size=runs)]
        for rounds in (1, 2, 4, 8, 16):
            sums = rounds * gaps if losses == "deterministic" else rng.binomial(rounds, gaps + 0.2, shape)
            regret = regret + 2 * rounds * gaps[np.argmax(draw() - sums, axis=1)]
        wanted = expected_regret(*self.game, noise, 0.3, 63, losses)
        error = max(regret.std() / math.sqrt(runs), 1e-12)
        assert abs(regret.mean() - wanted) < norm.isf(failure / 2) * error


def test_resampling_makes_losses_bernoulli():
    game = ([0.5, 0.7], [1, 9], "laplace", 0.5, 300)
    resampled = expected_regret(*game, "deterministic", True)
    assert resampled == expected_regret(*game, "bernoulli", True) == expected_regret(*game, "bernoulli")
    assert resampled > expected_regret(*game)


@pytest.mark.parametrize("losses", LOSSES)
def test_calibration_is_a_matter_of_exponential_noise(losses):
    game = ([0.5, 0.7], [1, 9])
    proved = expected_regret(*game, "exponential", 0.5, 300, losses, calibration="proved")
    assert proved == expected_regret(*game, "exponential", 0.25, 300, losses)
    for noise in ("laplace", "gumbel", "none"):
        regret = [expected_regret(*game, noise, 0.5, 300, losses, False, c) for c in ("printed", "proved")]
        assert regret[0] == regret[1]
