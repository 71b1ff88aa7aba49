import math

import numpy as np
import pytest
from scipy import stats

from bandits import ParameterError, regret
from bandits.environments.bernoulli import C1, Linear9, Linear101
from bandits.loops.perturbed_values import BETA, GAUSS, Constants, beta_above, exceeding, normal_above, parameters
from bandits.policies.perturbed_leader import (
    DPFTPLBeta,
    DPFTPLGauss,
    DPFTPLNew,
    GDPElimNew,
)
from bandits.seeds import stream


def test_parameters_by_hand():
    assert parameters(GAUSS, Constants(prior=0.0, variance=2.0), 8, 4.0) == (0.5, 0.5)
    assert parameters(GAUSS, Constants(prior=1.0, variance=1.0), 3, 2.0) == (0.5, 0.5)
    assert parameters(BETA, Constants(mirrored=1.0), 16, 5.0) == (5 + 1 + 3, 11 + 1 + 3)
    assert parameters(BETA, Constants(mirrored=0.0), 16, 5.0) == (6, 12)
    _, constants = DPFTPLNew(1.0, 0.01).law(10**5)
    center, spread = parameters(2, constants, 50, 20.0)
    growth = math.e - 1
    lift = math.log((1e5 * growth + 2e5 * 0.01) / (2 * growth + 2e5 * 0.01))
    assert math.isclose(center, 0.4 + math.sqrt(math.log(1e5) / 50) + lift / 50, rel_tol=1e-12)
    assert spread == 1 / 50


def test_phases_of_gdp_elim_new_by_hand():
    policy, horizon = GDPElimNew(1.0, 0.01), 10**5
    growth = math.e - 1
    second = 4 / 0.5 * math.log((1e10 * growth + 1e10 * 0.01) / (2 * growth + 1e10 * 0.01))
    assert policy.phase_length(1, horizon) == math.ceil(max(32 * math.log(1e5) / 0.25, second))
    assert policy.phase_length(1, 10**5) == 1474
    small = GDPElimNew(1e-3, 1e-9)
    growth = math.expm1(1e-3)
    second = 4 / 0.5 / 1e-3 * math.log((1e10 * growth + 10) / (2 * growth + 10))
    assert small.phase_length(1, horizon) == math.ceil(second)


@pytest.mark.slow
@pytest.mark.parametrize("low", [-1.0, 0.3, 0.8, 3.0, 9.0])
def test_normal_above(low, failure):
    rng = stream("normal above", 0)
    values = [normal_above(low, rng) for _ in range(20_000)]
    assert min(values) > low
    assert stats.kstest(values, lambda x: 1 - np.exp(stats.norm.logsf(x) - stats.norm.logsf(low))).pvalue > failure


@pytest.mark.slow
@pytest.mark.parametrize(
    ("a", "b", "bar"), [(3.0, 5.0, 0.6), (80.0, 120.0, 0.45), (1.0, 1.0, 0.9), (500.0, 20.0, 0.985)]
)
def test_beta_above_is_exact(a, b, bar, failure):
    rng, repeats = stream("beta above", 0), 40_000
    values = np.array([beta_above(a, b, bar, rng) for _ in range(repeats)])
    kept = values[np.isfinite(values)]
    assert kept.min() > bar
    law = stats.beta(a, b)
    assert stats.kstest(kept, lambda x: (law.cdf(x) - law.cdf(bar)) / law.sf(bar)).pvalue > failure
    chance = law.sf(bar) / exceeding(BETA, Constants(), a, b, bar)
    assert 0 < chance <= 1
    assert stats.binomtest(len(kept), repeats, chance).pvalue > failure


def test_start_phase_pulls_one_arm_after_another():
    policy, instance = DPFTPLGauss(1.0, 0.01), Linear9()
    assert policy.start == 8
    pulls = policy.simulate(instance, 100, np.arange(1, 101), stream("start", 0))
    for t in range(1, 73):
        expected = [min(max(t - 8 * arm, 0), 8) for arm in range(9)]
        assert pulls[t - 1].tolist() == expected


def test_a_horizon_within_the_start_phase_is_a_caveat():
    policy = DPFTPLBeta(1.0, 0.01)
    assert policy.caveats(Linear9(), 9 * 592) == ("the start phase needs 5,328 steps and was never left",)
    assert policy.caveats(Linear9(), 9 * 592 + 1) == ()
    pulls = policy.simulate(Linear9(), 1_000, np.array([1_000]), stream("short", 0))
    assert pulls[-1].tolist() == [592, 408, 0, 0, 0, 0, 0, 0, 0]


def test_budgets_that_cannot_be_kept():
    for make, parameter, message in [
        (lambda: DPFTPLNew(0.0, 0.0), "epsilon", "both"),
        (lambda: DPFTPLNew(1.0, 1.0), "delta", "[0, 1)"),
        (lambda: DPFTPLNew(-1.0, 0.1), "epsilon", ">= 0"),
        (lambda: DPFTPLGauss(1.0, 0.0), "delta", "dp_ftpl_new"),
        (lambda: DPFTPLBeta(1.0, 0.0), "delta", "dp_ftpl_new"),
        (lambda: GDPElimNew(0.0, 0.0), "epsilon", "both"),
    ]:
        with pytest.raises(ParameterError, match=parameter) as error:
            make()
        assert message in str(error.value)


def test_scopes():
    assert DPFTPLNew(1.0, 0.01).guarantee.scope == "decision"
    assert GDPElimNew(1.0, 0.01).guarantee.scope == "transcript"
    assert DPFTPLGauss(1.0, 0.01).guarantee.delta == 0.01


# Means and standard deviations of 20 runs, measured independently of this code (spec/figures.md); T = 1e5, Instance 1.
REFERENCE = [
    (DPFTPLGauss(1.0, 0.01), 862, 78),
    (DPFTPLBeta(1.0, 0.01), 1091, 22),
    (DPFTPLNew(1.0, 0.01), 630, 47),
    (DPFTPLNew(1.0, 0.0), 754, 58),
]


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "mean", "deviation"), REFERENCE, ids=repr)
def test_reference_values(policy, mean, deviation, failure):
    instance, runs = Linear9(), 40
    final = [
        regret(policy.simulate(instance, 100_000, np.array([100_000]), stream("reference", j)), instance.gaps)[-1]
        for j in range(runs)
    ]
    error = math.sqrt(deviation**2 / 20 + np.var(final, ddof=1) / runs)
    assert abs(np.mean(final) - mean) < stats.norm.isf(failure / 2) * error


def test_gdp_elim_new_exploits_the_best_arm():
    for replication in range(5):
        pulls = GDPElimNew(1.0, 0.01).simulate(C1(2), 10**8, np.array([10**8]), stream("gdp", replication))
        assert pulls[-1].argmax() == 0
        assert pulls[-1, 1] < 10**7


def test_instances_of_the_paper():
    np.testing.assert_allclose(Linear9().mean_rewards, [0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7])
    np.testing.assert_allclose(Linear101().mean_rewards[[0, 1, 100]], [0.3, 0.304, 0.7])
