"""Halving on bits: rounds, ties, what is promised, and servers. Laws are compared in test_fast_and_plain.py."""

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from bandits import ParameterError
from bandits.audit.ledger import Domain
from bandits.deploy import Client, Outcome, Server, Session
from bandits.deploy.replay import review
from bandits.environments.bernoulli import Bernoulli
from bandits.environments.heavy_tails import S1
from bandits.environments.resampling import Beta
from bandits.exact.two_arms import TwoArms
from bandits.guarantees import Scope
from bandits.policies.identification import identify
from bandits.policies.local_halving import LDPHalving
from bandits.seeds import stream
from experiments.cells.regret import RegretCell

LOG3 = math.log(3)  # a reward r is sent as 1 with probability 1/4 + r/2


def test_a_run_number_by_number():
    """Five arms, R = 3: 4, 6 and 10 bits each; of equal sums the first arms stay, so that arm 4 leaves."""
    given = iter([([0, 1, 2, 3, 4], 4), ([0, 1, 3], 6), ([0, 3], 10)])
    sums = iter([[2, 4, 1, 2, 2], [3, 1, 3], [5, 6]])
    means = np.array([0.5, 1.0, 0.0, 0.4, 0.9])

    class Scripted:
        def binomial(self, bits, chances):
            arms, pulls = next(given)
            assert bits == pulls
            assert chances == pytest.approx(1 / 4 + means[arms] / 2)
            return np.array(next(sums))

    pulls = LDPHalving(LOG3, 60).simulate(Bernoulli(tuple(means)), 100, np.array([20, 38, 58, 100]), Scripted())
    assert pulls.tolist() == [[4, 4, 4, 4, 4], [10, 10, 4, 10, 4], [20, 10, 4, 20, 4], [20, 10, 4, 62, 4]]


def test_two_arms_in_random_order_have_the_exact_law(failure):
    """Cells put arms into a random order, so that ties fall as a coin does: by hand with 2 bits of each arm."""
    chances = [1 / 4 + mean / 2 for mean in (0.2, 0.8)]
    worse, better = ([binom.pmf(ones, 2, chance) for ones in range(3)] for chance in chances)
    wrong = sum(worse[i] * better[j] * (1 if i > j else 0.5 if i == j else 0) for i in range(3) for j in range(3))
    assert TwoArms((chances[0], chances[1])).wrong(2) == pytest.approx(wrong)
    cell = RegretCell(Bernoulli((0.2, 0.8)), LDPHalving(LOG3, 4), 8, recorded=1)
    found = [cell.replicate(number)["pulls"].argmax() == 0 for number in range(4000)]
    assert binomtest(sum(found), 4000, wrong).pvalue > failure


def test_what_is_promised_and_refused():
    policy = LDPHalving(LOG3, 60)
    assert (policy.guarantee.epsilon, policy.guarantee.scope) == (LOG3, Scope.LOCAL)
    (bit,) = policy.ledger(5, 100)
    assert (bit.cost(Domain.UNIT).kept, bit.cost(Domain.UNIT).shown) == (pytest.approx(LOG3),) * 2
    assert LDPHalving(1.0, 60, "uniform").legend() == "LDP-Halving (uniform allocation)"
    for make, said in (
        (lambda: LDPHalving(0.0), "epsilon: must be a finite number > 0"),
        (lambda: LDPHalving(701.0), "epsilon: must be at most 700"),
        (lambda: LDPHalving(1.0, 0), "explored: "),
        (lambda: LDPHalving(1.0, 14).check(Bernoulli((0.5,) * 5)), "explored: must be at least 15"),
        (lambda: LDPHalving(1.0).check(S1(0.9)), "instance: ldp_halving needs rewards in"),
        (lambda: Session(policy, 5, 100, (0.0, 1.0), ":memory:"), "policy: .* open a Server"),
        (lambda: Server(policy, 5, 100, ":memory:", moment=(1.0, 1.0)), "moment: must be left out"),
        (lambda: Server(policy, 21, 100, ":memory:"), "explored: must be at least 105"),
    ):
        with pytest.raises(ParameterError, match=f"^{said}"):
            make()


def test_bits_have_the_means_of_rewards_whatever_their_law(failure):
    """Beta rewards of mean .3 at epsilon = log 3: 1 with probability .4."""
    instance, rng, policy = Beta((0.3, 0.3), 2.0), stream("bits", 0), LDPHalving(LOG3, 4)
    ones = [policy.report(instance.sample(0, rng), rng) for _ in range(4000)]
    assert binomtest(int(sum(ones)), 4000, 0.4).pvalue > failure


def test_the_arm_that_is_named_shows_in_the_pulls():
    found = identify(Bernoulli((0.0, 0.0, 1.0)), LDPHalving(30.0, 31), 100, stream("named", 0))
    assert (found.arm, found.samples) == (2, 3 * 5 + 2 * 7)


def test_a_server_by_hand(tmp_path):
    """Three arms, 12 users: 2 bits of each, then 3 of each of two. Late bits: of a round that ended, of a full arm."""
    given = {"policy": LDPHalving(1.0, 12), "arms": ["a", "b", "c"], "horizon": 16, "journal": tmp_path / "journal"}
    with Server(**given) as server:
        tickets = server.select(7)
        assert [ticket.arm for ticket in tickets] == [0, 1, 2, 0, 1, 2, 0]  # no bit came: a third one of arm 0
        bits = {1: 0, 2: 1, 3: 0, 5: 1, 6: 1, 7: 0}
        assert {server.update(ticket, bit) for ticket, bit in bits.items()} == {Outcome.COUNTED}
        assert server.state()["viable"] == [1, 2]  # 0, 2 and 1 ones
        assert server.update(4, 1) is Outcome.UNUSED  # its round has ended
    with Server(**given) as server:
        assert server.state()["round"] == 2
        later = server.select(6)
        assert [ticket.name for ticket in later] == ["b", "c", "b", "c", "b", "c"]
        for ticket in later[:-1]:
            assert server.update(ticket.number, 1) is Outcome.COUNTED
        assert server.select()[0].arm == 2  # the arm that lacks a bit
        assert server.update(14, 0) is Outcome.COUNTED
        assert server.update(13, 1) is Outcome.UNUSED
        assert server.state()["viable"] == [1]
        assert [ticket.arm for ticket in server.select(9)] == [1, 1]
        assert server.update(15, 1) is Outcome.UNUSED
        assert server.spent().epsilon == 1.0
    found = review(tmp_path / "journal")
    assert (len(found.transcript), found.rewards) == (16, 12)


def test_equal_sums_of_a_server_keep_the_first_arm(tmp_path):
    with Server(LDPHalving(1.0, 4), 2, 9, ":memory:") as server:
        for ticket in server.select(4):
            server.update(ticket.number, 1)
        assert server.state()["viable"] == [0]


def test_clients_and_server_name_the_best_arm():
    with Server(LDPHalving(5.0, 90), 3, 100, ":memory:") as server:
        for _ in range(90):
            (ticket,) = server.select()
            server.update(ticket.number, Client(5.0).message(float(ticket.arm == 1)))
        assert server.state()["viable"] == [1]
