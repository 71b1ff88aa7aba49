import json

import numpy as np
import pytest
from scipy import stats

from bandits import ParameterError
from bandits.environments.bernoulli import C1
from bandits.environments.heavy_tails import S1
from bandits.environments.resampling import Beta, Resampled
from bandits.policies.elimination import DPSE
from bandits.policies.perturbed_leader import DPFTPLNew
from bandits.seeds import stream
from experiments.cells.regret import RegretCell

BETA = Beta((0.8, 0.3), 3.0)


def test_rewards_have_their_law(failure):
    rng = stream("beta", 0)
    samples = [BETA.sample(1, rng) for _ in range(20_000)]
    assert stats.kstest(samples, stats.beta(0.9, 2.1).cdf).pvalue > failure
    sums = np.array([BETA.sums(np.array([1, 0]), 40, rng) for _ in range(4_000)])
    variance = 40 * np.array([0.3 * 0.7, 0.8 * 0.2]) / 4
    assert (np.abs(sums.mean(axis=0) - [12, 32]) < 7 * np.sqrt(variance / 4_000)).all()
    np.testing.assert_allclose(sums.var(axis=0), variance, rtol=0.15)


def test_resampling_keeps_means_and_knows_zeros_and_ones_only():
    instance = Resampled(BETA)
    rng = stream("resampled", 0)
    assert instance.mean_rewards.tolist() == [0.8, 0.3]
    assert {instance.sample(0, rng) for _ in range(100)} == {0.0, 1.0}
    pulls = DPFTPLNew(1.0, 0.01).simulate(instance, 1_000, np.array([1_000]), rng)
    assert pulls.sum() == 1_000


def test_which_policies_take_resampled_rewards():
    DPSE(1.0).check(BETA)
    with pytest.raises(ParameterError, match="Bernoulli rewards only"):
        DPFTPLNew(1.0, 0.01).check(BETA)
    DPFTPLNew(1.0, 0.01).check(Resampled(BETA))
    with pytest.raises(ParameterError, match="inner"):
        Resampled(S1(0.5))


def test_the_inner_instance_is_part_of_what_a_cell_is():
    cell, other = (RegretCell(Resampled(inner), DPSE(1.0), 100) for inner in (BETA, C1(2)))
    described = json.loads(cell.identity)["instance"]
    assert described == {
        "class": "bandits:resampled",
        "inner": {"class": "bandits:beta", "concentration": 3.0, "means": [0.8, 0.3]},
    }
    assert cell.key != other.key
    assert cell.columns["inner"] == "beta"
    assert cell.columns["concentration"] == 3.0
    assert cell.columns["instance"] == "resampled"


def test_from_the_shell(call, tmp_path):
    asked = ["policy=dp_ftpl_new", "budget.delta=0.01", "horizon=1e3", "replications=1", "runner.workers=1"]
    asked.append(f"results_dir={tmp_path}")
    assert call("instance=resampled", "instance.inner.means=[0.9,0.1]", *asked).code == 0
    outcome = call("instance=resampled", "instance.inner.means=[0.9,1.1]", *asked)
    assert outcome.code == 2
    assert "inner.means" in outcome.err
    outcome = call("instance=beta", *asked)
    assert outcome.code == 2
    assert "Bernoulli rewards only" in outcome.err
