"""LDP-UCB-B and LDP-UCB-L (Ren et al. 2020)."""

import math

import numpy as np
import pytest
from scipy.stats import ks_2samp, norm

from bandits import ParameterError
from bandits.environments.bernoulli import Bernoulli
from bandits.environments.heavy_tails import S1
from bandits.environments.resampling import Beta
from bandits.loops.local_ucb import free_steps, neglected
from bandits.policies.local_ucb import LDPUCBB, LDPUCBL
from bandits.seeds import stream


def test_constants_by_hand():
    # e^log 3 = 3: a reward of 1/2 is sent as (1.5 + 0.5) / 4, and gaps shrink by tanh(log(3) / 2) = 1/2
    policy = LDPUCBB(math.log(3))
    assert np.allclose(policy.chance(np.array([0.0, 0.5, 1.0])), [0.25, 0.5, 0.75], rtol=1e-15)
    assert LDPUCBL(0.5).width == 9.0  # sqrt(2) + sqrt(32) / 0.5 = 9 sqrt(2)
    state = LDPUCBL(0.5).start(2, 10)
    state.pulls[:], state.sums[:] = [30, 60], [30.0, 30.0]
    # log 50 = 3.912: both have more than 4 x 3.93 pulls; 1 + 9 x 0.5107 = 5.597 against 0.5 + 9 x 0.3611 = 3.75
    assert LDPUCBL(0.5).select(state, 50, stream("unused", 0)) == 0
    state.pulls[:] = [16, 15]  # 4 log 51 = 15.73
    assert LDPUCBL(0.5).select(state, 50, stream("unused", 0)) == 1


@pytest.mark.parametrize("policy", [LDPUCBB(0.1), LDPUCBB(3.0), LDPUCBL(0.1), LDPUCBL(3.0)], ids=repr)
def test_a_report_costs_epsilon(policy):
    (release,) = policy.ledger(2, 100)
    found = release.cost(policy.domain)
    assert math.isclose(found.kept, policy.epsilon, rel_tol=1e-12)
    assert math.isclose(found.shown, policy.epsilon, rel_tol=1e-12)


def test_reports_have_the_declared_means(failure):
    rng = stream("reports", 0)
    for policy, mean in ((LDPUCBB(1.0), float(LDPUCBB(1.0).chance(0.3))), (LDPUCBL(1.0), 0.3)):
        reports = np.array([policy.report(0.3, rng) for _ in range(20_000)])
        spread = math.sqrt(mean * (1 - mean)) if isinstance(policy, LDPUCBB) else math.sqrt(2)
        assert abs(reports.mean() - mean) < norm.isf(failure / 2) * spread / math.sqrt(len(reports))


def test_which_arms_come_first():
    assert neglected(np.array([100, 14, 13]), 30) == 2  # 4 log 31 = 13.74
    assert neglected(np.array([100, 14, 14]), 30) == -1
    # a rival with 14 pulls is forced once 4 log(t + 1) >= 14, at t = ceil(e^3.5 - 1) = 33
    assert free_steps(np.array([100, 14, 20]), 0, 30) == 3
    assert free_steps(np.array([14, 100, 200]), 0, 30) > 10**9  # its own pulls grow faster than the need


INSTANCES = [Bernoulli((0.9, 0.8, 0.5, 0.5)), Beta((0.8, 0.5), 2.0)]


@pytest.mark.slow
@pytest.mark.parametrize("policy", [LDPUCBB(1.0), LDPUCBL(1.0), LDPUCBL(20.0)], ids=repr)
@pytest.mark.parametrize("instance", INSTANCES, ids=repr)
def test_fast_and_step_by_step_agree_in_law(policy, instance, failure):
    """Final pulls of the best arm over 200 runs of 600 steps each; the steps are those of the class."""
    horizon, runs = 600, 200
    checkpoints = np.array([horizon // 2, horizon])
    fast = [policy.simulate(instance, horizon, checkpoints, stream("fast", run)) for run in range(runs)]
    steps = [
        super(type(policy), policy).simulate(instance, horizon, checkpoints, stream("steps", run))
        for run in range(runs)
    ]
    for row in range(2):
        for arm in range(len(instance.mean_rewards)):
            first, second = ([pulls[row, arm] for pulls in found] for found in (fast, steps))
            assert ks_2samp(first, second).pvalue > failure


def test_a_local_policy_needs_rewards_in_the_unit_interval():
    for policy in (LDPUCBB(1.0), LDPUCBL(1.0)):
        with pytest.raises(ParameterError, match=r"instance: .* needs rewards in \[0, 1\]"):
            policy.check(S1(0.9))
    with pytest.raises(ParameterError, match="epsilon: must be at most 700"):
        LDPUCBB(1000.0)
