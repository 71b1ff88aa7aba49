"""AdaP-TT: its thresholds and promise; the loop agrees in law with plain steps on single rewards."""

import math

import numpy as np
import pytest
from scipy.stats import kstest, laplace

from bandits import ParameterError
from bandits.audit.costs import AuditVerdict
from bandits.audit.ledger import Domain
from bandits.environments.bernoulli import C2, Bernoulli
from bandits.environments.resampling import Beta
from bandits.loops.top_two import TopTwo, challenger, noisy_mean, optimist, settled, threshold
from bandits.policies.top_two import AdaPTT
from bandits.seeds import stream
from experiments.cells import KINDS
from experiments.cells.identification import IdentificationCell
from tests.bandits.two_samples import assert_rarely, assert_same_law


def test_thresholds_by_hand():
    # lengths e^3 and e^4 rounded: 20 and 55; beta = e^-4, epsilon = 2: 4 + log(1 + 2.99573) + log(1 + 4.00733)
    # + (1/20 + 1/55) 16 / 4
    plotted = threshold(20, 55, 6, 5, TopTwo(2.0, math.exp(-4), False))
    assert math.isclose(plotted, 4 + 1.385227 + 1.610903 + 0.272727, rel_tol=1e-6)
    # x = log(4 x 1.644934 x 36 e^4) / 2 = (5.467514 + 4) / 2; log(10 x 1.644934 x 36 e^4) / 2 = (6.383804 + 4) / 2
    proved = threshold(20, 55, 6, 5, TopTwo(2.0, math.exp(-4), True))
    x, noise = 4.733757, 5.191902
    expected = 2 * (x + math.log(x)) + 2 * (math.log(6.995732) + math.log(8.007333)) + (1 / 20 + 1 / 55) * noise**2
    assert math.isclose(proved, expected, rel_tol=1e-6)


def test_choices_by_hand():
    noisy, length, pulls = np.array([0.5, 0.8, 0.3]), np.array([4, 8, 1]), np.array([8, 16, 2])
    # log 26 = 3.258: 0.5 + 0.815 + 0.638, 0.8 + 0.407 + 0.451, 0.3 + 3.258 + 1.276
    leader, ahead = optimist(noisy, length, pulls, 1.0)
    assert leader == 2
    slack = 1 / (1 + math.sqrt(26))
    assert ahead.tolist() == pytest.approx([-((0.2 - slack) ** 2), -((0.5 - slack) ** 2), math.inf])
    # leader 1: (0.3 + s) / sqrt(1/16 + 1/8) = 1.071, (0.5 + s) / sqrt(1/16 + 1/2) = 0.885
    ahead = np.array([(0.3 + slack) ** 2, math.inf, (0.5 + slack) ** 2])
    assert challenger(1, ahead, 1 / np.array([8, 16, 2])) == 2
    assert challenger(1, ahead, 1 / np.array([8, 16, 22])) == 0
    assert settled(noisy, length, np.ones(3, dtype=np.int64), TopTwo(1.0, 0.1, False)) == -1
    long = np.array([4000, 8000, 4000])
    assert settled(noisy, long, np.full(3, 12), TopTwo(1.0, 0.1, True)) == 1


def test_the_arm_with_more_phases_sets_the_threshold():
    """Between the thresholds of 3 and 12 phases nothing is settled, in whichever order the arms are."""
    lengths, rule = np.array([1000, 1000]), TopTwo(1.0, 0.1, True)
    low, high = (math.sqrt(threshold(1000, 1000, phase, 2, rule) * 4 / 1000) for phase in (3, 12))
    for ahead, arm in (((low + high) / 2, -1), (high * 1.001, 1)):
        for phases in ([3, 12], [12, 3]):
            assert settled(np.array([0.5, 0.5 + ahead]), lengths, np.array(phases), rule) == arm


def test_the_noise_of_a_mean(failure):
    """Laplace of scale 1 / (epsilon length) around the mean of rewards, here all 0."""
    rng = stream("noise", 0)
    draws = [noisy_mean(0.0, 4, 0.5, rng) for _ in range(3000)]
    assert kstest(draws, laplace(scale=0.5).cdf).pvalue > failure


def test_choices_where_constants_decide():
    # log 26 = 3.2580965: 0.8145241 + 0.6381709 for 4 rewards, 0.0509078 + 0.1595427 for 64, 1.2422445 less
    for behind, leader in ((1.2422, 0), (1.2423, 1)):
        found, _ = optimist(np.array([0.0, behind]), np.array([4, 64]), np.array([13, 13]), 1.0)
        assert found == leader
    # 0.3 / sqrt(1/16 + 1/8) = 0.69282 and 0.52 / sqrt(1/16 + 1/2) = 0.69333
    assert challenger(0, np.array([math.inf, 0.3**2, 0.52**2]), 1 / np.array([16, 8, 2])) == 1
    # d^2 1000 / 4 against log 10 + 2 log(1 + log 1000) + (log 10)^2 / 500 = 6.448877, at d = 0.160610
    for ahead, arm in ((0.1605, -1), (0.1607, 1)):
        lengths, phases = np.array([1000, 1000]), np.array([10, 10])
        assert settled(np.array([0.5, 0.5 + ahead]), lengths, phases, TopTwo(1.0, 0.1, False)) == arm


def plain_steps(means, most, policy, rng):
    """AdaP-TT with one reward per step, lists, and no cached values."""
    arms = range(len(means))
    pulls, last, since, phases = [1] * len(means), [1] * len(means), [[] for _ in means], [1] * len(means)
    noisy = [float(rng.random() < means[a]) + rng.laplace(scale=1 / policy.epsilon) for a in arms]
    rule = TopTwo(policy.epsilon, policy.beta, policy.threshold == "proved")
    for samples in range(len(means), most + 1):
        best = max(arms, key=lambda a: noisy[a])
        ahead = [
            (noisy[best] - noisy[a]) ** 2 / (2 / last[best] + 2 / last[a])
            >= threshold(last[best], last[a], max(phases[best], phases[a]), len(means), rule)
            for a in arms
            if a != best
        ]
        if all(ahead):
            return samples, best
        log = math.log(sum(pulls))
        leader = max(arms, key=lambda a: noisy[a] + log / (policy.epsilon * last[a]) + math.sqrt(log / (2 * last[a])))
        counts = [pulls[a] + len(since[a]) for a in arms]
        slack = 1 / (1 + math.sqrt(sum(pulls)))
        rivals = [a for a in arms if a != leader]
        rival = min(
            rivals, key=lambda a: (noisy[leader] - noisy[a] + slack) / math.sqrt(1 / counts[leader] + 1 / counts[a])
        )
        arm = leader if rng.random() < 0.5 else rival
        since[arm].append(float(rng.random() < means[arm]))
        if len(since[arm]) == pulls[arm]:
            last[arm], pulls[arm], phases[arm] = len(since[arm]), 2 * pulls[arm], phases[arm] + 1
            noisy[arm] = float(np.mean(since[arm])) + rng.laplace(scale=1 / (policy.epsilon * last[arm]))
            since[arm] = []
    return most, -1


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["proved", "plotted"])
def test_the_loop_and_plain_steps_agree_in_law(rule, failure):
    policy, instance, runs = AdaPTT(1.0, 0.3, rule), Bernoulli((1.0, 0.2, 0.0)), 60
    fast = [policy.simulate(instance, 10**6, stream("fast", run)) for run in range(runs)]
    plain = [plain_steps(instance.mean_rewards, 10**6, policy, stream("plain", run)) for run in range(runs)]
    assert_same_law([(found.samples, found.arm) for found in fast], plain, failure)


@pytest.mark.slow
def test_the_best_arm_is_found_as_often_as_promised(failure):
    policy = AdaPTT(0.3, 0.1)
    assert_rarely(lambda run: policy.simulate(C2(4), 10**8, stream("right", run)).arm != 0, True, 0.1, 200, failure)


def test_every_phase_costs_epsilon():
    policy = AdaPTT(0.7, 0.1)
    found = policy.release_costs(3, 1000, Domain.UNIT)
    assert all(math.isclose(of.epsilon.kept, 0.7) for of in found)  # the first, of one reward, too
    assert policy.release_cost(3, 1000, Domain.UNIT).verdict(policy.guarantee) is AuditVerdict.TIGHT


def test_a_run_that_ends_early_returns_no_arm():
    found = AdaPTT(1.0, 0.01).simulate(C2(3), 50, stream("short", 0))
    assert (found.samples, found.arm, found.expired) == (50, None, True)
    found = AdaPTT(1.0, 0.01).simulate(C2(3), 2, stream("shorter", 0))
    assert (found.samples, found.arm) == (2, None)  # not even every arm once


def test_a_cell_records_pulls_and_the_arm():
    cell = IdentificationCell(C2(3), AdaPTT(1.0, 0.1), 1000)
    assert KINDS["identification"] is IdentificationCell
    rows = {"samples": np.array([900, 1000, 700]), "arm": np.array([0, -1, 2])}
    footer = {"columns": {"horizon": 1000, "arms": 3}}
    cell.check(rows, footer)
    assert cell.quantities["wrong_arm"].measure(cell, rows).tolist() == [False, True, True]
    assert cell.quantities["identification_samples"].measure(cell, rows).tolist() == [900, 1000, 700]
    found = cell.replicate(0)
    assert found == {"samples": cell.replicate(0)["samples"], "arm": cell.replicate(0)["arm"]}
    rows["arm"][0] = -1
    with pytest.raises(ValueError, match="end early without an arm"):
        cell.check(rows, footer)
    with pytest.raises(ParameterError, match="horizon: must be at least the number of arms, 3"):
        IdentificationCell(C2(3), AdaPTT(1.0, 0.1), 2)


def test_what_is_refused():
    with pytest.raises(ParameterError, match="beta: must be a number in"):
        AdaPTT(1.0, 0.0)
    with pytest.raises(ParameterError, match=r"instance: .* Bernoulli"):
        AdaPTT(1.0, 0.1).check(Beta((0.5, 0.4), 2.0))


def test_rewards_pass_the_proved_threshold_rarely():
    """exp(-2 c) over all pairs of phases and arms, c the threshold without noise at its least, n = n_a = 1."""
    phases = range(1, 2000)
    for arms, beta in [(2, 0.999), (2, 0.01), (5, 0.5), (100, 0.999)]:
        rule = TopTwo(1e90, beta, proved=True)
        pairs = sum((2 * k - 1) * (arms - 1) * math.exp(-2 * threshold(1, 1, k, arms, rule)) for k in phases)
        assert pairs < beta / 100
