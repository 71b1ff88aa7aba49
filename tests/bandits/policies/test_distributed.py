"""Distributed DP-SE: its noise, its sums modulo m, its constants; simulation by users and by batches agree in law."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chi2, ks_2samp, skellam

from bandits import ParameterError, Scope
from bandits.audit.costs import AuditVerdict
from bandits.audit.ledger import Domain
from bandits.environments.bernoulli import C2
from bandits.environments.resampling import Beta
from bandits.mechanisms.modular_sums import DiscreteLaplace, Skellam, decoded, renyi_epsilon, skellam_renyi
from bandits.policies.distributed import DistDPSE, DistRDPSE
from bandits.seeds import stream

POLICIES = [DistDPSE(0.5), DistRDPSE(0.5, 1e-6), DistDPSE(2.0, batch_base=4), DistRDPSE(1.0, 0.01, 100.0)]


def test_constants_by_hand():
    # batch 3 of Dist-DP-SE(1/2): l = 8, g = ceil(sqrt(2)) = 2, tau = ceil(4 log 2000) = ceil(30.40) = 31
    batch = DistDPSE(0.5).batch(4, 3, 1000)
    assert (batch.rounds, batch.grid, batch.margin, batch.modulus) == (8, 2, 31, 79)
    # sums in -31..47 modulo 79, divided by 2 x 8
    assert [batch.mean(seen) for seen in (0, 47, 48, 78)] == [0, 47 / 16, -31 / 16, -1 / 16]
    assert DistDPSE(0.5).noise(2).scale == 4
    log = math.log(2 * 4 * 9 * 1000)  # 11.184421
    beta = math.sqrt((log + math.log(2)) / 16) + (2 * math.sqrt(2) * math.sqrt(log) + 2 * log) / 8
    assert math.isclose(beta, 0.861557 + 3.978510, rel_tol=1e-5)
    assert math.isclose(batch.threshold, 2 * beta, rel_tol=1e-12)
    # Renyi: g = ceil(10 x 0.5 x sqrt 8) = 15, tau = ceil(60 sqrt(log 2000) + 1.41421 log 2000) = ceil(165.42 + 10.75)
    batch = DistRDPSE(0.5, 0.01).batch(4, 3, 1000)
    assert (batch.grid, batch.margin) == (15, 177)
    assert DistRDPSE(0.5, 0.01).noise(15).variance == 900
    # what is declared is that of the first batch: g = ceil(5 sqrt 2) = 8, variance (8 / 0.5)^2
    assert DistRDPSE(0.5, 0.01).guarantee.epsilon == renyi_epsilon(8, 256.0, 0.01)
    assert DistRDPSE(0.5, 0.01, batch_base=4).guarantee.epsilon == renyi_epsilon(10, 400.0, 0.01)
    sigma, h = 4 + math.sqrt(2) / 5, 1 / 5
    beta = math.sqrt((log + math.log(2)) / 16) + (sigma * math.sqrt(log) + h * log) / 8
    assert math.isclose(batch.threshold, 2 * beta, rel_tol=1e-12)
    assert DistDPSE(1.0, batch_base=4).batch(2, 3, 1000).rounds == 64


def test_variances_by_hand():
    assert math.isclose(DiscreteLaplace(1 / math.log(2)).variance, 4.0, rel_tol=1e-12)  # q = 1/2: 2 q / (1 - q)^2
    assert DistRDPSE(0.5, 0.01).noise(15).variance == 900.0  # (g / epsilon)^2


def test_the_bound_on_the_renyi_divergence_by_hand():
    # 2 / 0.2 + min(9 / 0.04, 3 / 0.2), and 12 / 20 + min((5 x 4 + 12) / 400, 6 / 20)
    assert math.isclose(skellam_renyi(1, 0.1, 2), 10 + 15)
    assert math.isclose(skellam_renyi(2, 10, 3), 0.6 + 0.08)


def test_a_residue_is_the_nearest_sum():
    # sums in -2..7 modulo 10
    assert [decoded(total % 10, 10, 7) for total in range(-2, 8)] == list(range(-2, 8))


def variance_within(values, variance, failure):
    """Whether the sample variance of about normal values can be this one: sums of 400 shares."""
    total = float(np.sum(np.square(values))) / variance
    return chi2.ppf(failure / 2, len(values)) < total < chi2.isf(failure / 2, len(values))


@pytest.mark.parametrize("noise", [DiscreteLaplace(3.0), DiscreteLaplace(40.0), Skellam(50.0)], ids=repr)
def test_the_shares_of_users_add_up_to_the_noise_of_a_batch(noise, failure):
    rng, users, size = stream("shares", 0), 8, 4000
    sums = np.array([sum(noise.share(users, users, rng)) for _ in range(size)], dtype=float)
    assert ks_2samp(sums, noise.draw(size, rng)).pvalue > failure
    grouped = sums.reshape(-1, 40).sum(axis=1)  # about normal
    assert variance_within(grouped, 40 * noise.variance, failure)


def test_what_a_residue_costs_by_enumeration():
    noise, modulus, change = DiscreteLaplace(2.5), 19, 4
    spread = np.arange(-3000, 3001)
    masses = np.exp(-np.abs(spread) / 2.5)
    law = np.bincount(spread % modulus, weights=masses / masses.sum(), minlength=modulus)
    worst = max(float(np.abs(np.log(law / np.roll(law, moved))).max()) for moved in range(1, change + 1))
    assert math.isclose(noise.wrapped_cost(change, modulus), worst, rel_tol=1e-9)
    assert worst < change / 2.5
    assert math.isclose(noise.wrapped_cost(4, 10**6), 4 / 2.5, rel_tol=1e-12)
    around = float(np.abs(np.log(law / np.roll(law, 17))).max())  # 17 up are 2 down
    assert math.isclose(noise.wrapped_cost(17, modulus), around, rel_tol=1e-9)


@pytest.mark.parametrize(("variance", "change", "epsilon"), [(1.0, 1, 1.0), (50.0, 5, 0.8), (900.0, 30, 2.0)])
def test_skellam_delta_against_another_library(variance, change, epsilon):
    k = np.arange(-2000, 2001)
    first, second = skellam.pmf(k - change, variance / 2, variance / 2), skellam.pmf(k, variance / 2, variance / 2)
    expected = np.maximum(first - math.exp(epsilon) * second, 0).sum()
    assert math.isclose(Skellam(variance).delta(change, epsilon), expected, rel_tol=1e-8)


def test_skellam_masses_for_large_variances():
    below, above = Skellam(0.999e6), Skellam(1.001e6)
    assert math.isclose(above.masses(12_000).sum(), 1.0, rel_tol=1e-12)
    k = np.arange(-12_000, 12_001.0)
    assert math.isclose(above.masses(12_000) @ k**2, 1.001e6, rel_tol=1e-11)
    assert math.isclose(above.delta(1000, 0.5), below.delta(1000, 0.5), rel_tol=0.01)


@pytest.mark.parametrize(("change", "epsilon"), [(1, 0.05), (3, 1.0), (15, 1.0), (15, 2.0)])
def test_the_bound_on_the_renyi_divergence_holds(change, epsilon):
    noise = Skellam((change / epsilon) ** 2)
    masses = noise.masses(change + math.ceil(25 * math.sqrt(noise.variance)) + 40)
    logs = np.log(masses[masses > 0])
    first, second = logs[change:], logs[:-change]
    for order in (2, 3, 4):
        exact = float(logsumexp(order * first + (1 - order) * second)) / (order - 1)
        bound = skellam_renyi(change, noise.variance, order)
        assert exact <= bound
        assert exact > 0.6 * order * epsilon**2 / 2  # the Gaussian part is nearly attained


def test_the_declared_epsilon_is_kept():
    for change, variance, delta in [(15, 225.0, 1e-6), (2, 16.0, 0.01), (150, 1e6, 1e-3)]:
        epsilon = renyi_epsilon(change, variance, delta)
        exact = Skellam(variance).delta(change, epsilon)
        assert exact <= delta
        assert exact > delta / 300


def test_the_ledger_keeps_the_guarantee():
    for policy in POLICIES:
        found = policy.release_cost(2, 3000, Domain.UNIT)
        assert policy.guarantee.scope is Scope.DISTRIBUTED
        assert found.verdict(policy.guarantee) in (AuditVerdict.KEPT, AuditVerdict.TIGHT)
        if isinstance(policy, DistDPSE):
            assert found.verdict(policy.guarantee) is AuditVerdict.TIGHT


def test_every_user_adds_one_of_as_many_shares_as_its_batch_has_users(monkeypatch):
    asked, share = Counter(), DiscreteLaplace.share
    monkeypatch.setattr(DiscreteLaplace, "share", lambda noise, *of: asked.update([of[:2]]) or share(noise, *of))
    DistDPSE(0.5).play(np.zeros((2, 61)), 61, stream("asked", 0))  # batches of 2, 4, 8 and 16 users for each arm
    assert asked == {(2, 1): 4, (4, 1): 8, (8, 1): 16, (16, 1): 32}


def test_arms_are_pulled_one_after_another():
    pulls = DistDPSE(1.0).simulate(C2(3), 20, np.arange(1, 21), stream("order", 0))
    arms = np.diff(pulls, axis=0, prepend=0).argmax(axis=1)
    assert arms[:18].tolist() == [0, 0, 1, 1, 2, 2] + [0] * 4 + [1] * 4 + [2] * 4


def test_what_is_refused():
    with pytest.raises(ParameterError, match="delta: must be a number in"):
        DistRDPSE(1.0, 0.0)
    with pytest.raises(ParameterError, match=r"precision: must be a number in 1\.\.1000"):
        DistDPSE(1.0, precision=0.5)
    with pytest.raises(ParameterError, match=r"instance: .* Bernoulli"):
        DistDPSE(1.0).check(Beta((0.5, 0.4), 2.0))
