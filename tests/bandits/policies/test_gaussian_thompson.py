"""TS-Gaussian(b, c) and DP-TS-UCB: constants, levels, and what an epoch or a decision costs."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from bandits import ParameterError, Scope
from bandits.audit.costs import AuditVerdict
from bandits.audit.ledger import Domain
from bandits.environments.bernoulli import C2
from bandits.loops.perturbed_values import GAUSS, Constants
from bandits.mechanisms.gaussian import gaussian_delta, gaussian_level
from bandits.policies.gaussian_thompson import DPTSUCB, ThompsonGDP
from bandits.policies.perturbed_leader import ThompsonGauss
from bandits.seeds import stream


def test_constants_by_hand():
    # c0 = 8.26439; T = 10^6: log T = 13.81551; alpha = 1: ceil(114.18) draws, sqrt(115 / 13.81551) = 2.8851
    paper = DPTSUCB(1.0, level=3.02)
    assert (paper.draws(10**6), paper.first_epoch(10**6)) == (115, 1)
    assert math.isclose(paper.spread(10**6), 13.81551, rel_tol=1e-6)
    assert DPTSUCB(1.0, level=2.88).first_epoch(10**6) == 2
    # 115 / 13.81551 / 0.0625 = 133.18
    assert DPTSUCB(1.0, level=0.25).first_epoch(10**6) == 134
    # alpha = 0: c0 x 1000 x 13.81551^1.5 = 8265.46 x 51.35119
    assert math.isclose(DPTSUCB(1.0, level=3.0, alpha=0.0).draws(10**6), 8265.46 * 51.35119, rel_tol=1e-5)
    assert DPTSUCB(1.0, level=3.0, alpha=0.0).spread(10**6) == 1.0
    assert ThompsonGDP(1.0, variance=2.0, start_pulls=7).level == 0.25
    assert ThompsonGDP(1.0, variance=2.0, start_pulls=7).law(100) == (GAUSS, Constants(prior=1.0, variance=2.0))
    assert math.isclose(ThompsonGDP(1.0, delta=0.01, start_pulls=3).spread, gaussian_level(1.0, 0.01) ** -2 / 4)


def test_the_level_of_an_epoch_by_hand():
    first, second, *_ = DPTSUCB(1.0, level=3.02).ledger(2, 10**6)
    assert math.isclose(first.level, 2.885129, rel_tol=1e-5)  # sqrt(115 / 13.81551)
    assert math.isclose(second.level, 2.885129 / math.sqrt(2), rel_tol=1e-5)
    assert math.isclose(first.delta(1.0, Domain.UNIT).kept, gaussian_delta(2.885129, 1.0), rel_tol=1e-5)
    assert first.cost(Domain.UNIT).shown == math.inf  # never pure


def test_one_of_the_draws_is_optimistic():
    """From sqrt(log T / n) below the mean, all draws miss with probability at most 1 / T."""
    for alpha, horizon in itertools.product([0.0, 0.3, 1.0], [3, 100, 10**6, 10**15]):
        policy = DPTSUCB(1.0, level=1.0, alpha=alpha)
        chance = norm.sf(math.sqrt(math.log(horizon) / policy.spread(horizon)))
        assert policy.draws(horizon) * math.log1p(-chance) <= -math.log(horizon)


def test_the_draws_of_an_epoch_keep_the_level():
    for level, alpha, horizon in itertools.product([0.1, 1.0, 5.0], [0.0, 1.0], [2, 3, 50, 10**6]):
        policy = DPTSUCB(0.5, level=level, alpha=alpha)
        for release in policy.ledger(2, horizon):
            assert release.level <= level * (1 + 1e-12)
        found = policy.release_cost(2, horizon, Domain.UNIT)
        assert found.verdict(policy.guarantee) in (AuditVerdict.KEPT, AuditVerdict.TIGHT)
        first = policy.first_epoch(horizon)
        needed = policy.draws(horizon) / policy.spread(horizon) / level**2
        assert first == 1 or first - 1 < needed  # not one reward more than necessary


@pytest.mark.slow
def test_a_decision_keeps_its_delta():
    for policy in (ThompsonGDP(1.0, delta=0.01), ThompsonGDP(0.2, variance=1.0, start_pulls=1)):
        found = policy.decision_cost(2, 1000, Domain.BINARY)
        assert found.verdict(policy.guarantee) is not AuditVerdict.VIOLATED
        assert found.delta.kept <= policy.guarantee.delta * (1 + 1e-9)
        assert policy.guarantee.scope is Scope.DECISION
        with pytest.raises(ParameterError, match="GDP is purely epsilon-private for no epsilon"):
            _ = policy.guarantee.pure
    assert found.delta.shown > 0.1 * found.delta.kept  # with little noise the choice between two arms shows much of it


def test_without_a_start_and_with_variance_one_it_is_thompson_sampling():
    plain, same = ThompsonGauss(), ThompsonGDP(1.0, variance=1.0, start_pulls=0)
    checkpoints = np.arange(1, 501)
    for run in range(3):
        first, second = (policy.simulate(C2(3), 500, checkpoints, stream("same", run)) for policy in (plain, same))
        assert (first == second).all()


def test_first_epochs_that_are_never_left_are_a_caveat():
    policy = DPTSUCB(1.0, level=0.01)
    assert "never left" in policy.caveats(C2(3), 10_000)[0]
    assert DPTSUCB(1.0, level=4.0).caveats(C2(3), 10_000) == ()


def test_what_is_refused():
    for make in (lambda: DPTSUCB(1.0), lambda: ThompsonGDP(1.0)):
        with pytest.raises(ParameterError, match=r"delta: must be a number in \(0, 1\), or .* given"):
            make()
    with pytest.raises(ParameterError, match="level: must be null where delta is given"):
        DPTSUCB(1.0, 0.1, 1.0)
    with pytest.raises(ParameterError, match="level: must be a finite number > 0"):
        DPTSUCB(1.0, level=math.nan)
    with pytest.raises(ParameterError, match=r"alpha: must be a number in \[0, 1\]"):
        DPTSUCB(1.0, level=1.0, alpha=1.5)
    with pytest.raises(ParameterError, match="start_pulls: must be a whole number >= 0"):
        ThompsonGDP(1.0, 0.1, start_pulls=-1)
