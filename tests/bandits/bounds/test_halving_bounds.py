"""How often halving names a wrong arm: bounds by hand, beside exact laws and plays that could refute them."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from bandits import ParameterError
from bandits.bounds.halving import complexities, halving_error, halving_error_order, local_halving_error, overtaken
from bandits.environments.bernoulli import C2, Bernoulli
from bandits.exact.two_arms import TwoArms
from bandits.policies.halving import DPHalving, DPHalvingGauss, SequentialHalving
from bandits.policies.identification import identify
from bandits.policies.local_halving import LDPHalving
from bandits.seeds import stream

NOISES = [{}, {"epsilon": 0.1}, {"epsilon": 2.0}, {"rho": 0.01}, {"rho": 2.0}]


def test_one_arm_overtakes_another_by_hand():
    assert overtaken(100, 0.2) == pytest.approx(math.exp(-4))
    assert overtaken(100, 0.2, rho=0.02) == pytest.approx(math.exp(-2))  # (n gap)^2 = 400 over 100 + 100
    at = math.exp(-0.089 * 200 + 250 * 0.089**2) / (1 - 0.89**2) ** 2  # the best x is near .089
    assert 0.99 * at < overtaken(1000, 0.2, epsilon=0.1) <= at
    assert overtaken(1000, 0.2, epsilon=100.0) == pytest.approx(math.exp(-40), rel=0.1)
    assert overtaken(10**10, 1e-7, epsilon=1.0) == 1  # of the smallest x too the logarithm is 62,000


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_no_exact_law_is_above_the_bound(noise):
    rng = stream("overtaken", 0)
    for _ in range(40):
        means, pulls = tuple(np.sort(rng.random(2)).tolist()), int(rng.integers(1, 3000))
        exact = TwoArms(means, **noise, draws=2).wrong(pulls)
        assert exact <= overtaken(pulls, means[1] - means[0], **noise) + 1e-12


def test_rounds_are_added():
    """Gaps .3, .4 and .5, four arms, T = 400: 50 pulls, then 100; the best of four is lost if two overtake it."""
    first = [math.exp(-50 * gap**2) for gap in (0.3, 0.4, 0.5)]
    lost = min(sum(first) / 2, first[1] + first[2])
    assert halving_error(np.array([0.5, 0.3, 0.4]), 400) == pytest.approx(lost + math.exp(-100 * 0.3**2))
    assert lost == first[1] + first[2] < sum(first) / 2
    uniform = sum(math.exp(-100 * gap**2) for gap in (0.3, 0.4, 0.5))
    assert halving_error(np.array([0.5, 0.3, 0.4]), 400, allocation="uniform") == pytest.approx(uniform)
    assert halving_error(np.array([0.2]), 100) == pytest.approx(math.exp(-50 * 0.04))


def test_the_closed_form_by_hand():
    """Four arms: i / gap^2 is 2 / .09, 3 / .16, 4 / .25 and i / gap 6.67, 7.5, 8; R = 2, so that 8 users are lost."""
    gaps = np.array([0.3, 0.4, 0.5])
    assert complexities(gaps) == (pytest.approx(2 / 0.09), pytest.approx(8))
    mean = 1000 / (8 * 2 / 0.09)
    assert halving_error_order(gaps, 1008) == pytest.approx(6 * math.exp(-mean))
    assert halving_error_order(gaps, 1008, epsilon=100.0) == pytest.approx(24 * math.exp(-mean))
    noise = 0.05 * 20_000 / (8 * math.sqrt(2) * 2 * 8)
    assert halving_error_order(gaps, 20_008, epsilon=0.05) == pytest.approx(24 * math.exp(-noise))
    assert halving_error_order(gaps, 2008, epsilon=0.05) == 1
    normal = 32 * (2 * 8) ** 2 / (0.01 * 2000**2)
    assert halving_error_order(gaps, 2008, rho=0.01) == pytest.approx(6 * math.exp(-1 / (1 / (2 * mean) + normal)))
    assert halving_error_order(gaps, 8) == 1


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_the_closed_form_is_no_smaller(noise):
    rng = stream("closed form", 0)
    told = 0
    for _ in range(300):
        gaps = rng.random(int(rng.integers(1, 70))) ** 2 + 0.01
        gaps = np.minimum(gaps, 1)
        explored = int(np.exp(rng.uniform(np.log(1000), np.log(3e6))))
        closed = halving_error_order(gaps, explored, **noise)
        assert halving_error(gaps, explored, **noise) <= closed + 1e-300
        told += closed < 1
    assert told > 20


@pytest.mark.slow
@pytest.mark.parametrize("arms", [3, 8])
@pytest.mark.parametrize("allocation", ["halving", "uniform"])
def test_no_play_is_above_the_bound(arms, allocation, failure):
    """At the first budget where it is below a tenth; the best arm is in the middle."""
    gaps = np.linspace(0.3, 0.5, arms - 1)
    means = np.insert(0.6 - gaps, arms // 2, 0.6)
    for noise, form in [({}, SequentialHalving), ({"epsilon": 0.3}, DPHalving), ({"rho": 0.02}, DPHalvingGauss)]:
        budgets = range(10 * arms, 10**5, 10)
        bounds = (halving_error(gaps, users, **noise, allocation=allocation) for users in budgets)
        explored, bound = next(pair for pair in zip(budgets, bounds, strict=True) if pair[1] < 0.1)
        runs = [
            identify(
                Bernoulli(tuple(means)), form(*noise.values(), explored, allocation), explored + 2, stream("b", run)
            )
            for run in range(400)
        ]
        wrong = sum(found.arm != arms // 2 for found in runs)
        assert binomtest(wrong, len(runs), bound, alternative="greater").pvalue > failure


def test_conditions_are_asked_for():
    for name, ask in [
        ("gaps", lambda: halving_error(np.array([0.0, 0.2]), 100)),
        ("explored", lambda: halving_error(np.array([0.1, 0.2, 0.3, 0.4]), 14)),
        ("rho", lambda: halving_error(np.array([0.1]), 100, epsilon=1.0, rho=1.0)),
        ("rho", lambda: halving_error_order(np.array([0.1]), 100, epsilon=1.0, rho=1.0)),
        ("epsilon", lambda: overtaken(10, 0.1, epsilon=-1.0)),
        ("rho", lambda: overtaken(10, 0.1, rho=0.0)),
        ("pulls", lambda: overtaken(0, 0.1)),
        ("gap", lambda: overtaken(10, 1.5)),
    ]:
        with pytest.raises(ParameterError, match=f"^{name}"):
            ask()


def test_bits_have_smaller_gaps():
    """At epsilon = log 3 gaps are halved: two arms, 50 pulls each, gap .4: exp(-50 x .04)."""
    assert local_halving_error(np.array([0.4]), 100, math.log(3)) == pytest.approx(math.exp(-2))
    gaps = np.array([0.1, 0.3, 0.5, 0.5])
    expected = halving_error(gaps / 2, 3000, allocation="uniform")
    assert local_halving_error(gaps, 3000, math.log(3), "uniform") == pytest.approx(expected)
    with pytest.raises(ParameterError, match="epsilon"):
        local_halving_error(gaps, 3000, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "users"), [(2.0, 120), (1.0, 400), (1.0, 800)])
def test_bits_are_within_their_bound(epsilon, users, failure):
    """Five arms of 2,000 runs each: the share of wrong arms is not above the bound."""
    instance, policy = C2(5), LDPHalving(epsilon, users)
    wrong = sum(identify(instance, policy, users + 2, stream("bits", run)).arm != 0 for run in range(2000))
    bound = local_halving_error(instance.gaps[1:], users, epsilon)
    assert binomtest(wrong, 2000, min(bound, 1.0), alternative="greater").pvalue > failure
