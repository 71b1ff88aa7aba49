import json
import math

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import integrate

from bandits import ParameterError
from bandits.environments.bernoulli import C1
from bandits.environments.heavy_tails import S1, S2, S3, MomentBernoulli, Pareto, TwoPoint
from bandits.policies.elimination import DPSE, SuccessiveElimination
from bandits.policies.heavy_tailed import DPRSE, DPRUCB, LDPRSE, RobustUCB
from bandits.policies.private_ucb import DPUCB
from bandits.policies.ucb import UCB1
from bandits.seeds import stream


@pytest.mark.parametrize(
    ("cls", "means"),
    [
        (S1, [0.9, 0.7, 0.5, 0.3, 0.1]),
        (S2, [0.9, 0.55, 0.3, 0.15, 0.1]),
        (S3, [0.9, 0.85, 0.7, 0.45, 0.1]),
    ],
)
def test_means_are_the_papers(cls, means):
    np.testing.assert_allclose(cls(0.5).mean_rewards, means, rtol=1e-14)


@pytest.mark.parametrize(("v", "u"), [(0.5, 5.595), (0.9, 8.142)])
def test_moment_of_the_papers_instances(v, u):
    assert math.isclose(S1(v).moment, u, rel_tol=1e-4)
    assert S1(v).moment == S2(v).moment == S3(v).moment


@pytest.mark.parametrize("instance", [S3(0.5), Pareto((0.3, 0.8), 0.7, shape=2.5), TwoPoint((0.1, 0.5, 0.3), 0.5)])
def test_means_and_moments_are_those_of_the_rewards(instance):
    if isinstance(instance, TwoPoint):
        mean = instance.prizes * instance.chances
        moment = instance.prizes ** (1 + instance.v) * instance.chances
    else:
        shape = instance.tail_index
        expectation = [
            [integrate.quad(lambda y, p=p, s=s: s**p * shape * y ** (p - shape - 1), 1, math.inf)[0] for p in orders]
            for s in instance.scales
            for orders in [(1, 1 + instance.v)]
        ]
        mean, moment = np.array(expectation).T
    np.testing.assert_allclose(mean, instance.mean_rewards, rtol=1e-6)
    assert math.isclose(moment.max(), instance.moment, rel_tol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("instance", [S1(0.9), TwoPoint((0.1, 0.4), 0.5)], ids=repr)
def test_samples_and_truncated_sums_agree(instance, failure):
    rng = stream("heavy", 0)
    bound, rounds, repeats = 3.0, 40, 3000
    arms = np.arange(len(instance.mean_rewards))
    sums = np.array([instance.truncated_sums(arms, rounds, bound, rng) for _ in range(repeats)])
    rewards = np.array([[instance.sample(arm, rng) for _ in range(20_000)] for arm in arms])
    kept = np.where(rewards <= bound, rewards, 0)
    error = np.sqrt(sums.var(axis=0) / repeats / rounds**2 + kept.var(axis=1) / 20_000)
    assert failure > 3e-12 * len(arms)  # a normal variable beyond 7 standard errors
    assert (np.abs(sums.mean(axis=0) / rounds - kept.mean(axis=1)) <= 7 * error).all()


@pytest.mark.parametrize("instance", [S1(0.9), TwoPoint((0.1, 0.4), 0.5), MomentBernoulli((0.9, 0.2), 0.5)], ids=repr)
def test_sums_are_those_of_all_rewards(instance):
    """They use the same draws, and are the same numbers, as truncated sums with an infinite bound."""
    arms = np.arange(len(instance.mean_rewards))
    sums = instance.sums(arms, 50, stream("sums", 0))
    assert sums.tolist() == instance.truncated_sums(arms, 50, math.inf, stream("sums", 0)).tolist()
    assert (sums > 0).any()
    if isinstance(instance, S1):
        assert (sums >= 50 * instance.scales).all()  # no reward is smaller than the scale of its arm


def test_bad_parameters_are_named():
    for make, parameter in [
        (lambda: S1(0.0), "v"),
        (lambda: S1(1.1), "v"),
        (lambda: S1(math.nan), "v"),
        (lambda: Pareto((0.5, 0.4), 0.5, shape=1.5), "shape"),
        (lambda: Pareto((0.5, -0.4), 0.5), "means"),
        (lambda: Pareto((0.5,), 0.5), "means"),
        (lambda: TwoPoint((0.5, 0.6), 0.5), "means"),
        (lambda: DPRSE(1.0, u=-1.0), "u"),
        (lambda: DPRSE(1.0, "paper", 0.5), "confidence_scale"),
        (lambda: DPRSE(1.0, "custom"), "confidence_scale"),
        (lambda: DPRSE(1.0, "custom", 0.0), "confidence_scale"),
        (lambda: LDPRSE(0.0), "epsilon"),
    ]:
        with pytest.raises(ParameterError) as error:
            make()
        assert error.value.parameter == parameter


def test_policies_for_bounded_rewards_refuse_heavy_tails():
    for policy in [DPSE(1.0), DPUCB(1.0), UCB1(), SuccessiveElimination()]:
        with pytest.raises(ParameterError, match="needs rewards in"):
            policy.check(S1(0.5))


def test_heavy_tailed_policies_need_a_moment():
    for policy in [DPRSE(1.0), LDPRSE(1.0), DPRUCB(1.0), RobustUCB()]:
        with pytest.raises(ParameterError, match="known moment"):
            policy.check(C1(5))


def test_a_moment_that_is_too_small_is_a_caveat():
    assert DPRSE(1.0, u=1.0).caveats(S1(0.5), 100) == (
        "u = 1 is below the moment of the instance, 5.59464: the theorems do not apply",
    )
    assert DPRSE(1.0, u=6.0).caveats(S1(0.5), 100) == ()
    assert DPRSE(1.0).caveats(S1(0.5), 100) == ()


@pytest.mark.slow
def test_a_caveat_is_printed_stored_and_drawn(call, tmp_path):

    asked = ["instance=s1", "policy=dprse", "policy.u=1", "horizon=1e3", "replications=1", "runner.workers=1"]
    asked.append(f"results_dir={tmp_path}")
    outcome = call(*asked)
    assert "warning: dprse: u = 1 is below the moment" in outcome.err
    (file,) = tmp_path.rglob("*.parquet")
    assert "below the moment" in json.loads(pq.read_schema(file).metadata[b"private-bandits"])["caveats"][0]
    assert call(*asked).err == ""
