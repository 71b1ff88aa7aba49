"""Sequential halving: rounds, draws, ties and releases by hand. Laws are compared in test_fast_and_plain.py."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binomtest, laplace

from bandits import ParameterError
from bandits.audit.ledger import Domain
from bandits.audit.transcripts import Convention
from bandits.deploy import Session
from bandits.environments.bernoulli import C2, Bernoulli
from bandits.environments.heavy_tails import S1
from bandits.policies.halving import DPHalving, DPHalvingGauss, Round, SequentialHalving, leading, rounds_of
from bandits.policies.identification import identify
from bandits.seeds import stream


def test_rounds_by_hand():
    assert rounds_of(5, 300, "halving") == [Round(5, 20, 3), Round(3, 33, 2), Round(2, 50, 1)]
    assert rounds_of(8, 240, "halving") == [Round(8, 10, 4), Round(4, 20, 2), Round(2, 40, 1)]
    assert rounds_of(9, 36, "halving") == [Round(9, 1, 5), Round(5, 1, 3), Round(3, 3, 2), Round(2, 4, 1)]
    assert rounds_of(5, 304, "uniform") == [Round(5, 60, 1)]
    assert rounds_of(2, 51, "uniform") == rounds_of(2, 51, "halving") == [Round(2, 25, 1)]


def test_by_default_so_many_explore():
    assert SequentialHalving().rounds(5, 10**6) == rounds_of(5, 10**4, "halving")
    assert SequentialHalving().rounds(5, 7) == rounds_of(5, 15, "halving")  # 3 rounds of 5 arms, though T is 7
    assert SequentialHalving(300).rounds(5, 10**6) == rounds_of(5, 300, "halving")


@pytest.mark.parametrize(("policy", "least"), [(DPHalving(1.0, 14), 15), (DPHalving(1.0, 4, "uniform"), 5)], ids=repr)
def test_too_few_users_are_refused(policy, least):
    for refused in (policy.check, lambda instance: policy.batched_run(instance.number_of_arms, 100)):
        with pytest.raises(ParameterError, match=f"explored.*at least {least}, one user for each of 5 arms"):
            refused(C2(5))
    with pytest.raises(ParameterError, match="explored"):
        DPHalving(1.0, 0)
    with pytest.raises(ParameterError, match="rewards in"):
        DPHalving(1.0).check(S1(0.9))


def test_the_leading_arms_stay_in_their_order():
    assert leading([4, 7, 1, 2], [0.5, -2.0, 3.0, 0.5], 2) == [4, 1]
    assert leading([4, 7, 1, 2], [0.0, 9.0, 3.0, 9.5], 3) == [7, 1, 2]


@pytest.mark.parametrize("policy", [DPHalving(0.5, 60), DPHalvingGauss(0.02, 60)], ids=repr)
def test_a_run_number_by_number(policy):
    """Five arms, R = 3: 4, 6 and 10 pulls; sums and noise are scripted, so that arms 1 and 3 are last and 3 wins."""
    given = iter([([0, 1, 2, 3, 4], 4), ([1, 3, 4], 6), ([1, 3], 10)])
    noises = iter([[0.0, 2.0, 0.0, 5.0, 3.0], [1.0, 2.0, 0.0], [3.0, 3.5]])

    class Scripted(Bernoulli):
        def sums(self, arms, rounds, rng):
            assert (arms.tolist(), rounds) == next(given)
            return np.array([1.0] * len(arms))

    class Noise:
        def laplace(self, scale, size):
            assert scale == 2
            return np.array(next(noises)[:size])

        def normal(self, scale, size):
            assert scale == pytest.approx(5)  # 1 / (2 rho) = 25
            return np.array(next(noises)[:size])

    pulls = policy.simulate(Scripted((0.5,) * 5), 100, np.array([3, 20, 23, 38, 41, 58, 100]), Noise())
    assert pulls.tolist() == [
        [1, 1, 1, 0, 0],
        [4, 4, 4, 4, 4],
        [4, 5, 4, 5, 5],
        [4, 10, 4, 10, 10],
        [4, 12, 4, 11, 10],
        [4, 20, 4, 20, 10],
        [4, 20, 4, 62, 10],
    ]


def test_equal_sums_are_decided_by_a_coin(failure):
    runs = [
        SequentialHalving(6).simulate(Bernoulli((1.0, 1.0)), 100, np.array([100]), stream("coin", run))[0]
        for run in range(2000)
    ]
    assert binomtest(sum(int(pulls[0] > 50) for pulls in runs), 2000, 0.5).pvalue > failure


def test_the_arm_that_is_named_shows_in_the_pulls():
    found = identify(Bernoulli((0.0, 0.0, 1.0)), SequentialHalving(31), 100, stream("named", 0))
    assert (found.arm, found.samples) == (2, 3 * 5 + 2 * 7)
    assert identify(Bernoulli((0.0, 0.0, 1.0)), SequentialHalving(31), 29, stream("named", 0)).expired


def test_what_is_promised():
    policy = DPHalving(0.5, 60)
    assert policy.guarantee.epsilon == 0.5
    assert [release.scale for release in policy.ledger(5, 100)] == [2.0] * 3
    assert DPHalvingGauss(0.02, 60).guarantee.least_rho == pytest.approx(0.02)
    assert [release.rho(Domain.UNIT) for release in DPHalvingGauss(0.02, 60).ledger(5, 100)] == pytest.approx(
        [0.02] * 3
    )
    assert not SequentialHalving().guarantee.private
    assert DPHalving(1.0, 60, "uniform").legend() == "DP-Halving (uniform allocation)"
    assert DPHalvingGauss(1.0, 60, "uniform").legend() == "DP-Halving-Gauss (uniform allocation, ρ-zCDP)"


def test_the_arm_named_costs_what_its_law_says():
    """Two arms of two users each at epsilon = 1: 1 + log(1.5) - log(2), and by quadrature of all pairs of sums."""

    def ahead(lead):
        inner = [-lead, 0.0] if lead > 0 else [0.0, -lead]
        sides = [(-40.0, inner[0]), (inner[0], inner[1]), (inner[1], 40.0)]
        return sum(quad(lambda x: laplace.pdf(x) * laplace.sf(x - lead), *side)[0] for side in sides)

    ratios = [abs(math.log(ahead(lead + 1) / ahead(lead))) for lead in range(-2, 2)]
    cost = DPHalving(1.0, 4).transcript_cost(2, 6, Domain.UNIT, Convention.STREAM).epsilon
    assert cost.kept == cost.shown == pytest.approx(1 + math.log(1.5) - math.log(2))
    assert cost.shown == pytest.approx(max(ratios), rel=1e-6)
    nothing = DPHalving(1.0, 4).transcript_cost(2, 4, Domain.UNIT, Convention.STREAM).epsilon
    assert (nothing.kept, nothing.shown) == (0, 0)
    before = DPHalving(1.0, 60).transcript_cost(5, 40, Domain.UNIT, Convention.STREAM).epsilon
    assert (before.kept, before.shown) == (1, 0)  # two rounds of three have ended
    several = DPHalving(1.0, 60).transcript_cost(5, 59, Domain.UNIT, Convention.STREAM).epsilon
    assert (several.kept, several.shown) == (1, pytest.approx(1 + math.log(1 + 9 / 2) - math.log(1 + 10 / 2)))


def test_a_session_names_the_arm_at_the_end_of_its_users(tmp_path):
    """12 users of three arms: 2 for each, then 3 for each of two; the journal is opened again within a round."""
    pytest.importorskip("opendp")
    given = {"policy": DPHalving(1e4, 12), "arms": ["a", "b", "c"], "horizon": 12, "domain": (0.0, 1.0)}
    for part in (5, 7):
        with Session(**given, journal=tmp_path / "users.journal", patience=0) as session:
            for _ in range(part):
                (ticket,) = session.select()
                session.update(ticket.number, 1.0 if ticket.name == "b" else 0.4)
            if part == 7:
                assert session.close_batches()
                assert session.state()["viable"] == [1]
                assert session.spent().epsilon == 1e4
