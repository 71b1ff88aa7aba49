"""The rho of zCDP that policies promise is that of the noise in their ledgers: no less, and no more."""

import math

import pytest

from bandits.audit.ledger import LaplaceSums
from bandits.audit.releases import LaplaceModularSum, TruncatedValue
from bandits.guarantees import ROUNDING, Scope
from bandits.learner import Learner
from bandits.mechanisms.concentrated import rho_of_discrete_laplace, rho_of_laplace
from experiments.config.compose import Composer
from tests.bandits.test_conformance import VARIANTS, excused, policy_of

ALL = [(name, *more) for name in Composer().choices("policy") for more in VARIANTS.get(name, [[]])]


def laplace(release):
    return isinstance(release, LaplaceSums) or (isinstance(release, TruncatedValue) and release.noise_delta == 0)


@pytest.mark.parametrize("name", ALL, ids=" ".join)
def test_a_policy_promises_the_rho_of_its_noise(name):
    policy = policy_of(*name)
    promised = policy.guarantee
    if promised.scope in (Scope.DECISION, Scope.NONE) or type(policy).ledger is Learner.ledger:
        return
    releases = [release for horizon in (2, 100, 2_000) for release in policy.ledger(2, horizon)]
    released = max(release.rho(policy.domain) for release in releases)
    if math.isfinite(promised.least_rho) and not excused(name[0]):
        assert released <= promised.least_rho * (1 + ROUNDING)
    if promised.delta == 0 and all(map(laplace, releases)):
        add = f"{type(policy).__module__}, guarantee of {type(policy).__name__}: add rho=rho_of_laplace(self.epsilon)"
        assert math.isclose(promised.least_rho, rho_of_laplace(promised.epsilon), rel_tol=1e-12), add
    if promised.delta == 0 and max(release.cost(policy.domain).kept for release in releases) == promised.epsilon:
        assert math.isclose(promised.least_rho, released, rel_tol=1e-9)


def test_the_rho_of_a_tree_is_that_of_its_draws():
    """DP-UCB's tree of T = 100 has 7 levels with epsilon / 7 each: their rho add up to less than is promised."""
    policy = policy_of("dp_ucb", "policy.split_budget=false", "budget.epsilon=1")
    (sums,) = policy.ledger(2, 100)
    assert sums.touches() == 7
    assert 7 * rho_of_laplace(1 / 7) < sums.rho(policy.domain) == pytest.approx(math.exp(-1))


def test_the_rho_of_distributed_noise_is_that_of_its_coarsest_grid():
    policy = policy_of("dist_dp_se", "budget.epsilon=1")
    (first, *_) = policy.ledger(2, 1_000)
    assert isinstance(first, LaplaceModularSum)
    assert (first.change, first.rho(policy.domain)) == (2, pytest.approx(1 - math.exp(-0.5)))  # ceil(sqrt(2)) steps
    assert policy.guarantee.rho == rho_of_discrete_laplace(1.0, 2)
    assert policy.guarantee.scope is Scope.DISTRIBUTED
