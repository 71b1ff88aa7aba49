"""A knockout: pairs, differences, releases and costs by hand. Laws are compared in test_fast_and_plain.py."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binomtest, laplace, norm

from bandits import ParameterError
from bandits.audit.ledger import Domain
from bandits.audit.transcripts import Convention
from bandits.deploy import Session
from bandits.deploy.replay import review
from bandits.environments.bernoulli import Bernoulli
from bandits.exact.two_arms import TwoArms
from bandits.policies.knockout import DPKnockout, DPKnockoutGauss, Pairing, pairings_of, winners
from bandits.seeds import stream

LAPLACE, NORMAL = DPKnockout(0.3, 40), DPKnockoutGauss(0.05, 40)


def test_pairs_by_hand():
    """Of 5 arms two pairs, of the 3 left one, then one: a third of 300 users each."""
    assert pairings_of(5, 300) == [Pairing(2, 25), Pairing(1, 50), Pairing(1, 50)]
    assert pairings_of(8, 240) == [Pairing(4, 10), Pairing(2, 20), Pairing(1, 40)]
    assert pairings_of(2, 51) == [Pairing(1, 25)]
    assert DPKnockout(1.0).pairings(2, 1000) == [Pairing(1, 50)]  # 1000^(2/3) users
    with pytest.raises(ParameterError, match=r"^explored: must be at least 12, one user for each paired arm"):
        pairings_of(5, 11)


def test_the_first_of_a_pair_stays_unless_it_is_behind():
    assert winners([4, 1, 7, 2, 9], [0.0, -0.5]) == [4, 2, 9]
    assert winners([4, 1], [-1e-9]) == [1]


def test_what_is_promised():
    policy = DPKnockout(0.5, 60)
    assert policy.guarantee.epsilon == 0.5
    assert [release.scale for release in policy.ledger(5, 100)] == [2.0] * 3
    assert DPKnockoutGauss(0.02, 60).guarantee.least_rho == pytest.approx(0.02)
    rhos = [release.rho(Domain.UNIT) for release in DPKnockoutGauss(0.02, 60).ledger(5, 100)]
    assert rhos == pytest.approx([0.02] * 3)


@pytest.mark.parametrize(("policy", "budget"), [(LAPLACE, {"epsilon": 0.3}), (NORMAL, {"rho": 0.05})])
def test_two_arms_have_the_exact_law_of_one_noisy_difference(policy, budget, failure):
    wrong = TwoArms((0.4, 0.6), **budget).wrong(20)
    runs = [policy.simulate(Bernoulli((0.6, 0.4)), 100, np.array([100]), stream("pair", run))[0] for run in range(4000)]
    assert {tuple(pulls) for pulls in runs} == {(80, 20), (20, 80)}
    assert binomtest(sum(int(pulls[1] > 50) for pulls in runs), 4000, wrong).pvalue > failure


def test_the_arm_named_costs_epsilon_by_quadrature():
    """Two users each: of all pairs of sums one apart, the largest ratio of the chances that the first arm stays."""

    def first(lead):
        return quad(laplace.pdf, -lead, 0)[0] + 0.5 if lead > 0 else quad(laplace.pdf, -lead, 60)[0]

    ratios = [abs(math.log(first(lead + 1) / first(lead))) for lead in range(-2, 2)]
    cost = DPKnockout(1.0, 4).transcript_cost(2, 6, Domain.UNIT, Convention.STREAM).epsilon
    assert (cost.kept, cost.shown) == (1, 1)
    assert max(ratios) == pytest.approx(1, rel=1e-6)
    nothing = DPKnockout(1.0, 4).transcript_cost(2, 4, Domain.UNIT, Convention.STREAM).epsilon
    assert (nothing.kept, nothing.shown) == (0, 0)


def test_normal_noise_shows_the_delta_of_the_best_lead():
    """At rho = .5 the level is 1 and epsilon too: Phi(x + 1) - e Phi(x) is largest at x = -1.5, between -2 and -1."""
    cost = DPKnockoutGauss(0.5, 20).decision_cost(2, 30, Domain.UNIT).delta
    leads = [norm.cdf(lead + 1) - math.e * norm.cdf(lead) for lead in (-2, -1)]
    assert cost.shown == pytest.approx(max(leads))
    assert cost.kept == pytest.approx(norm.cdf(-0.5) - math.e * norm.cdf(-1.5))
    assert DPKnockoutGauss(0.5, 20).decision_cost(2, 20, Domain.UNIT).delta.shown == 0


def test_a_session_releases_one_difference(tmp_path):
    """The journal has one noisy number of two arms: .25 of 4 users less .75 of 4; it is reviewed."""
    pytest.importorskip("opendp")
    path, released = tmp_path / "users.journal", []
    for part in (5, 5):
        with Session(DPKnockout(1e4, 8), ["a", "b"], 10, (0.0, 1.0), path, patience=0) as session:
            for _ in range(part):
                (ticket,) = session.select()
                session.update(ticket.number, {"a": 0.25, "b": 0.75}[ticket.name])
            released.append(session.state()["releases"])
    assert released == [0, 1]
    seen = review(path)
    assert [ticket.name for ticket in seen.transcript] == ["a", "b"] * 4 + ["b"] * 2
    assert len(seen.ledger) == 1
    assert seen.spent.epsilon == 1e4
