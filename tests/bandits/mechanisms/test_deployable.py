"""Noise of OpenDP: it has the right law, uses no floats, and its absence is an error of one line."""

import itertools
import math
import sys

import numpy as np
import pytest
from scipy import stats

from bandits import ParameterError
from bandits.environments.bernoulli import Bernoulli
from bandits.environments.streams import SignedBernoulli
from bandits.mechanisms import deployable
from bandits.mechanisms.deployable import GRID, add_noise, add_normal_noise, on_grid
from bandits.policies.deployable import DeployableDPSE, DeployableRun
from bandits.policies.elimination import DPSE
from bandits.policies.identification import identify
from bandits.policies.stopping_rules import DPNAS, DPExponentialNAS

pytest.importorskip("opendp")


@pytest.mark.slow
def test_noise_has_the_law_of_discrete_laplace(failure):
    """Of scale 4 / 2 steps: Pr[k] = (1 - r) / (1 + r) r^|k|, r = e^(-1/2)."""
    draws = np.array([add_noise(7, 4, 2.0) for _ in range(4000)]) - 7
    r = math.exp(-0.5)
    places = np.arange(-4, 5)
    chances = (1 - r) / (1 + r) * r ** np.abs(places)
    seen = [(draws == place).sum() for place in places]
    rest = len(draws) - sum(seen)
    assert stats.chisquare([*seen, rest], 4000 * np.append(chances, 1 - chances.sum())).pvalue > failure


@pytest.mark.slow
def test_noise_has_the_law_of_the_discrete_normal(failure):
    """Sensitivity 4, rho 2: deviation 4 / 2 steps, Pr[k] proportional to e^(-k^2 / 8)."""
    draws = np.array([add_normal_noise(7, 4, 2.0) for _ in range(4000)]) - 7
    places = np.arange(-4, 5)
    chances = np.exp(-(places**2) / 8) / np.exp(-(np.arange(-60, 61) ** 2) / 8).sum()
    seen = [(draws == place).sum() for place in places]
    rest = len(draws) - sum(seen)
    assert stats.chisquare([*seen, rest], 4000 * np.append(chances, 1 - chances.sum())).pvalue > failure


@pytest.mark.parametrize("budget", [0.1, 1 / 3, 0.7])
def test_opendp_proves_what_is_promised(budget):
    for normal in (False, True):
        assert deployable._mechanism(GRID, budget, normal).map(GRID) <= budget


def test_values_keep_to_their_range_on_the_grid():
    assert [on_grid(value) for value in (0.0, 1.0, 0.5, 1 / GRID, 0.3 / GRID)] == [0, GRID, GRID // 2, 1, 0]


def test_one_line_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    deployable._mechanism.cache_clear()
    with pytest.raises(ParameterError, match=r"^noise: .*pip install opendp$"):
        add_noise(0, 1, 1.0)


@pytest.mark.slow
def test_regret_keeps_its_law(failure):
    """Pulls of the best arm near a threshold, with OpenDP's noise and simulated."""
    instance, horizon, runs = Bernoulli((0.9, 0.775, 0.775)), 2000, 400
    pulls = []
    for number, policy in enumerate((DPSE(100.0, beta=0.9), DeployableDPSE(100.0, beta=0.9))):
        rng = np.random.default_rng(number)
        runs_of = [policy.simulate(instance, horizon, np.array([horizon]), rng)[0, 0] for _ in range(runs)]
        pulls.append(runs_of)
    assert np.unique(pulls[0]).size > 1
    assert stats.ks_2samp(*pulls, method="asymp").pvalue > failure


def test_a_learner_eliminates_and_identifies():
    policy = DeployableDPSE(50.0, beta=0.1)
    table = np.vstack([np.ones(4000), np.zeros(4000)])
    arms = policy.play(table, 4000, np.random.default_rng(1))
    assert (arms[-100:] == 0).all()
    assert set(arms) == {0, 1}
    found = identify(Bernoulli((1.0, 0.0)), policy, 4000, np.random.default_rng(1))
    assert found.arm == 0
    run = policy.choices(2, 10, np.random.default_rng(1))
    next(run)
    with pytest.raises(ParameterError, match=r"reward: dp_se_deployable needs rewards in \[0, 1\]"):
        run.send(1.5)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [DPExponentialNAS(5.0, 0.5, 0.1)], ids=str)
def test_stopping_keeps_its_law(rule, failure):
    """Samples and estimates over fresh values, with OpenDP's noise and simulated."""
    stream, runs, most = SignedBernoulli(0.7), 150, 2**14
    rng = np.random.default_rng(1)
    simulated = [rule.simulate(stream, most, rng) for _ in range(runs)]
    found = []
    for _ in range(runs):
        run = DeployableRun(rule, 1.0)
        values = stream.draw(most, rng)
        found.append(next(filter(None, map(run.update, values)), None))
    samples = [[0 if end is None or end.samples == most else end.samples for end in of] for of in (simulated, found)]
    assert stats.ks_2samp(*samples, method="asymp").pvalue > failure  # the exact p-value fails for some ties
    estimates = [end.value for end in found if end is not None]
    assert len(estimates) > runs / 2
    assert abs(np.median(estimates) / stream.mean - 1) < 0.5


def test_a_run_that_halted_takes_no_more():
    run = DeployableRun(DPNAS(100.0, 0.9, 0.5), 2.0)
    with pytest.raises(ParameterError, match="x: must be a number in"):
        run.update(2.1)
    estimate = next(filter(None, map(run.update, itertools.repeat(2.0, 5000))))
    assert estimate.value == pytest.approx(2.0, rel=0.5)
    steps = estimate.value * estimate.samples / 2.0 * GRID
    assert steps == pytest.approx(round(steps), abs=1e-4)  # an integer number of grid steps
    with pytest.raises(RuntimeError, match="has halted"):
        run.update(2.0)
