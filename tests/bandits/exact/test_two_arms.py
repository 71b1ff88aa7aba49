"""Two arms: the law of the arm that is named and of the reward that is lost, by hand, by sums, and by simulation."""

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest, laplace, norm

from bandits import ParameterError, regret
from bandits.environments.bernoulli import Bernoulli
from bandits.exact.two_arms import TwoArms, best_pulls
from bandits.policies.halving import DPHalving, DPHalvingGauss, SequentialHalving
from bandits.seeds import stream

RATES = (0.033, 0.030)


def test_one_user_an_arm_by_hand():
    """Leads 1, 0 and -1 have probabilities .35, .5 and .15."""
    half = 0.5 * math.exp(-1)
    assert TwoArms((0.5, 0.3), epsilon=1.0).wrong(1) == pytest.approx(0.35 * half + 0.25 + 0.15 * (1 - half))
    both = 0.75 * math.exp(-1)  # (1 + 1 / 2) / 2 of it: two draws are further away
    assert TwoArms((0.3, 0.5), epsilon=1.0, draws=2).wrong(1) == pytest.approx(0.35 * both + 0.25 + 0.15 * (1 - both))
    assert TwoArms((0.5, 0.3)).wrong(1) == pytest.approx(0.25 + 0.15)
    one, two = norm.cdf(-math.sqrt(2 * 0.5)), norm.cdf(-math.sqrt(0.5))  # variances 1 and 2
    assert TwoArms((0.5, 0.3), rho=0.5).wrong(1) == pytest.approx(0.35 * one + 0.25 + 0.15 * (1 - one))
    assert TwoArms((0.5, 0.3), rho=0.5, draws=2).wrong(1) == pytest.approx(0.35 * two + 0.25 + 0.15 * (1 - two))
    assert TwoArms((0.5, 0.5), epsilon=1.0).wrong(1) == 0


@pytest.mark.parametrize("means", [(0.9, 0.2), (0.03, 0.05), (1.0, 0.0), (0.5, 0.49)])
@pytest.mark.parametrize("pulls", [3, 40])
def test_all_pairs_of_sums(means, pulls):
    sums = np.arange(pulls + 1)
    pairs = np.outer(binom.pmf(sums, pulls, max(means)), binom.pmf(sums, pulls, min(means)))
    leads = sums[:, None] - sums
    for design, behind in [
        (TwoArms(means, epsilon=0.3), laplace.cdf(-leads, scale=1 / 0.3)),
        (TwoArms(means, rho=0.02), norm.cdf(-leads, scale=5)),
        (TwoArms(means), (leads < 0) + (leads == 0) / 2),
    ]:
        assert design.wrong(pulls) == pytest.approx((pairs * behind).sum(), rel=1e-10, abs=1e-14)


def precisely(pulls, mean):
    """The least of the likely sums, and the probabilities from it on, by ratios of 64 bits."""
    mean, centre, reach = np.longdouble(mean), round(pulls * mean), round(12 * math.sqrt(pulls))
    away = np.arange(reach, dtype=np.longdouble)
    rising = np.cumprod((pulls - centre - away) / (centre + away + 1) * (mean / (1 - mean)))
    falling = np.cumprod((centre - away) / (pulls - centre + away + 1) * ((1 - mean) / mean))
    masses = np.concatenate([falling[::-1], [np.longdouble(1)], rising])
    return centre - reach, masses / masses.sum()


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="long double is no longer than double")
@pytest.mark.parametrize("pulls", [10**4, 10**8, 10**10])
@pytest.mark.parametrize("mean", [0.5, 0.3])
def test_many_pulls_lose_no_digits(pulls, mean):
    """Without noise the worse arm is named if its sum is larger, and half of the time if it is the same."""
    means = (mean, mean - 0.3 / math.sqrt(pulls))
    (least, better), (low, worse) = (precisely(pulls, one) for one in means)
    above = np.cumsum(worse[::-1])[::-1] - worse / 2
    place = np.arange(len(better)) + least - low
    beaten = np.where(place < len(worse), above[np.minimum(place, len(worse) - 1)], 0)
    assert abs(TwoArms(means).wrong(pulls) - float(better @ beaten)) < 2e-15


@pytest.mark.parametrize("mean", [1e-320, 1e-12, 1 - 2**-53, np.float32(0.25)])
def test_sums_that_are_nearly_sure(mean):
    """By hand: a coin decides if the one bit of the better arm is 0."""
    assert TwoArms((mean, 0.0)).wrong(1) == pytest.approx((1 - mean) / 2, rel=1e-15)


def test_many_users_are_nearly_normal():
    """5 x 10^8 users an arm: the difference is 5,000 +- 4,400 beside noise of 1,414."""
    design = TwoArms((0.02001, 0.02), epsilon=0.001)
    spread = math.sqrt(5e8 * (0.02001 * 0.97999 + 0.02 * 0.98) + 2e6)
    assert design.wrong(500_000_000) == pytest.approx(norm.cdf(-5000 / spread), rel=0.01)
    assert TwoArms(RATES, epsilon=0.5).wrong(10_000) == pytest.approx(0.1137297, abs=1e-7)


def regret_of(policy, users, runs):
    instance = Bernoulli((0.3, 0.4))
    final = [policy.simulate(instance, users, np.array([users]), stream("two", run))[0] for run in range(runs)]
    return np.array([regret(pulls, instance.gaps) for pulls in final])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "noise"),
    [
        (DPHalving(0.1, 100), {"epsilon": 0.1, "draws": 2}),
        (DPHalvingGauss(0.01, 100), {"rho": 0.01, "draws": 2}),
        (SequentialHalving(100), {}),
    ],
    ids=repr,
)
def test_lost_rewards_have_the_law_of_plays(policy, noise, failure):
    lost = TwoArms((0.3, 0.4), **noise).lost(50, 1000)
    played = regret_of(policy, 1000, 1500)
    assert set(np.round(played, 9)) == {round(lost.right, 9), round(lost.wrong, 9)} == {5.0, 95.0}
    assert binomtest(int((played > 50).sum()), len(played), lost.chance).pvalue > failure


def test_one_noisy_difference_has_the_law_of_draws(failure):
    rng = stream("difference", 0)
    runs = 200_000
    leads = rng.binomial(50, 0.4, runs) - rng.binomial(50, 0.3, runs) + rng.laplace(scale=10, size=runs)
    assert binomtest(int((leads < 0).sum()), runs, TwoArms((0.4, 0.3), epsilon=0.1).wrong(50)).pvalue > failure


def test_the_law_of_the_lost_reward():
    lost = TwoArms((0.5, 0.3), epsilon=1.0).lost(1, 10)
    assert (lost.right, lost.wrong) == (pytest.approx(0.2), pytest.approx(1.8))
    assert lost.mean == pytest.approx(0.2 + 1.6 * lost.chance)
    assert (lost.quantile(0.5), lost.quantile(0.95)) == (lost.right, lost.wrong)
    assert TwoArms((0.9, 0.1)).lost(400, 1000).quantile(0.99) == pytest.approx(320)


@pytest.mark.parametrize("error", [0.4, 0.05, 0.001])
def test_the_fewest_pulls_for_an_error(error):
    for design in (TwoArms((0.8, 0.6), epsilon=0.2), TwoArms((0.8, 0.6), rho=0.1), TwoArms((0.8, 0.6))):
        pulls = design.pulls_for(error)
        assert design.wrong(pulls) <= error
        assert pulls == 1 or design.wrong(pulls - 1) > error
    assert TwoArms(RATES, epsilon=0.5).pulls_for(0.05) == 18_464


@pytest.mark.parametrize("users", [2, 11, 50, 200])
@pytest.mark.parametrize("means", [(0.5, 0.4), (0.9, 0.1), (0.03, 0.02)])
def test_the_best_time_to_commit(users, means):
    for noise in ({"epsilon": 0.1}, {"epsilon": 1.0}, {}):
        designs = [TwoArms(means, **noise), TwoArms((0.5, 0.45), **noise)]
        for chosen in (designs[:1], designs):
            losses = [max(one.lost(pulls, users).mean for one in chosen) for pulls in range(1, users // 2 + 1)]
            found = best_pulls(chosen, users)
            assert losses[found - 1] == pytest.approx(min(losses), rel=1e-12)


def test_when_to_commit_with_two_million_users():
    design = TwoArms(RATES, epsilon=0.5)
    pulls = best_pulls([design], 2_000_000)
    assert 42_000 < pulls < 43_000
    assert design.lost(pulls, 2_000_000).mean == pytest.approx(163.115, abs=1e-3)
    assert design.lost(pulls // 2, 2_000_000).mean > 200
    assert design.lost(2 * pulls, 2_000_000).mean > 250


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"means": (0.5, 1.5)}, "means"),
        ({"means": (0.5, 0.4, 0.3)}, "means"),
        ({"means": (0.5, 0.4), "epsilon": 1.0, "rho": 1.0}, "rho"),
        ({"means": (0.5, 0.4), "epsilon": 0.0}, "epsilon"),
        ({"means": (0.5, 0.4), "draws": 3}, "draws"),
    ],
)
def test_what_is_refused(given, name):
    with pytest.raises(ParameterError, match=f"^{name}"):
        TwoArms(**given)


def test_questions_that_are_refused():
    design = TwoArms((0.5, 0.4), epsilon=1.0)
    for name, ask in [
        ("pulls", lambda: design.wrong(0)),
        ("pulls", lambda: design.lost(6, 11)),
        ("error", lambda: design.pulls_for(0.0)),
        ("means", lambda: TwoArms((0.5, 0.5)).pulls_for(0.1)),
        ("error: 0.05 needs more than", lambda: TwoArms((1e-7, 1.01e-7), epsilon=0.001).pulls_for(0.05)),
        ("users", lambda: best_pulls([design], 1)),
        ("designs", lambda: best_pulls([], 10)),
    ]:
        with pytest.raises(ParameterError, match=f"^{name}"):
            ask()
