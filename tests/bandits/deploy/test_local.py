"""Clients and servers: the law of messages, the arms of the policy, and a journal that holds bits alone."""

import math
import random

import numpy as np
import pytest
from scipy import stats

from bandits import ParameterError
from bandits.deploy import Client, JournalError, Outcome, Server
from bandits.deploy.journal import Journal, Row
from bandits.deploy.replay import review
from bandits.policies.elimination import DPSE
from bandits.policies.local_bits import KLUCBCF, TSCF
from bandits.policies.local_ucb import LDPUCBB

POLICIES = [KLUCBCF(1.0), TSCF(1.0), LDPUCBB(1.0)]


@pytest.mark.parametrize("reward", [-1.0, 0.2, 1.0])
def test_messages_have_the_law_of_reports(reward, failure):
    client, unit = Client(1.5, (-1.0, 1.0)), (reward + 1) / 2
    seen = [client.message(reward) for _ in range(3000)]
    assert set(seen) == {0, 1}
    assert stats.binomtest(sum(seen), 3000, float(KLUCBCF(1.5).chance(unit))).pvalue > failure


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, math.inf, "1", None])
def test_a_reward_outside_the_domain_is_not_sent(bad):
    with pytest.raises(ParameterError, match=r"^reward: "):
        Client(1.0).message(bad)


def test_what_a_client_refuses_and_clamps():
    for epsilon in (0.0, -1.0, 701.0, math.nan, "1", None):
        with pytest.raises(ParameterError, match=r"^epsilon: "):
            Client(epsilon)
    for domain in ((1.0, 0.0), (0.0, math.inf), (-math.inf, 0.0), (-1e308, 1e308), 1.0):
        with pytest.raises(ParameterError, match=r"^domain: "):
            Client(1.0, domain)
    sure = Client(700.0, clamp=True)
    assert [sure.message(reward) for reward in (-5, 0, 1, 5)] == [0, 0, 1, 1]
    with pytest.raises(ParameterError, match=r"^reward: "):
        sure.message(math.nan)


def bit_of(ticket):
    return int(np.random.default_rng(ticket.number).random() < (0.7, 0.5, 0.3)[ticket.arm])


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_arms_are_those_of_the_policy_if_no_bit_is_late(policy):
    """Its `select` and `update`, given the bits themselves."""
    with Server(policy, 3, 300, ":memory:") as server:
        server._rng = np.random.default_rng(1)
        state, rng = policy.start(3, 300), np.random.default_rng(1)
        for t in range(1, 301):
            (ticket,) = server.select()
            assert ticket == (t, policy.select(state, t, rng))
            bit = bit_of(ticket)
            assert server.update(ticket.number, bit) is Outcome.COUNTED
            state.pulls[ticket.arm] += 1
            state.sums[ticket.arm] += bit
        with pytest.raises(ParameterError, match=r"^horizon: all 300 pulls were given out"):
            server.select()


def test_arms_without_a_bit_come_first_in_turn():
    with Server(LDPUCBB(1.0), 3, 300, ":memory:") as server:
        assert [ticket.arm for ticket in server.select(7)] == [0, 1, 2, 0, 1, 2, 0]
        server.update(2, 1)
        assert [ticket.arm for ticket in server.select(3)] == [2, 0, 2]
        server.update(1, 0)
        server.update(3, 0)
        assert server.select()[0].arm == 1  # the best


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_bits_late_twice_or_never_and_sessions_that_end(policy, tmp_path):
    path, rng = tmp_path / "journal", random.Random(1)
    waiting, told = {}, {}
    server = Server(policy, 3, 150, path, contributions=2)
    assert server.spent().epsilon == 0
    for _ in range(60):
        waiting |= {ticket.number: ticket.arm for ticket in server.select(2)}
        for number in rng.sample(sorted(waiting), min(2, len(waiting))):
            bit = rng.randrange(2)
            outcome = server.update(number, bit)
            assert outcome is (Outcome.REPEATED if number in told else Outcome.COUNTED)
            told.setdefault(number, (waiting[number], bit))
            if rng.random() < 0.7:
                del waiting[number]
        if rng.random() < 0.1:
            state = server.state()
            server.close()
            server = Server(policy, 3, 150, path, contributions=2)
            assert server.state() == state
    bits = [[bit for arm, bit in told.values() if arm == one] for one in range(3)]
    assert (server.state()["reports"], server.state()["sums"]) == ([len(of) for of in bits], [sum(of) for of in bits])
    assert server.spent().epsilon == 2.0
    assert [server.would_exceed(epsilon) for epsilon in (1.9, 2.0)] == [True, False]
    spent = server.spent()
    server.close()
    found = review(path)
    assert (len(found.transcript), found.rewards, found.spent) == (120, len(told), spent)


@pytest.mark.parametrize("bad", [2, -1, 0.5, 1.0, True, "1", None, [1]])
def test_no_other_message_than_a_bit_is_taken(bad, tmp_path):
    with Server(KLUCBCF(1.0), 2, 9, tmp_path / "journal") as server:
        server.select()
        with pytest.raises(ParameterError, match=r"^bit: must be the message of a Client: 0 or 1, got [^\n]*$"):
            server.update(1, bad)
        with pytest.raises(ParameterError, match=r"^ticket: "):
            server.update(2, 1)
        assert server.update(1, 1) is Outcome.COUNTED


def test_what_a_server_refuses(tmp_path):
    path = tmp_path / "journal"
    with pytest.raises(ParameterError, match=r"^policy: dp_se does not learn from bits: take klucb_cf, ts_cf or"):
        Server(DPSE(1.0), 2, 9, path)
    with pytest.raises(ParameterError, match=r"^policy: .* does not learn from bits"):
        Server("klucb_cf", 2, 9, path)
    for given in ({"arms": 1}, {"horizon": 0}, {"contributions": 0}, {"arms": 2.5}, {"contributions": 1.5}):
        with pytest.raises(ParameterError, match=f"^{next(iter(given))}: "):
            Server(**{"policy": KLUCBCF(1.0), "arms": 2, "horizon": 9, "journal": path} | given)
    with Server(KLUCBCF(1.0), 2, 9, path) as server, pytest.raises(ParameterError, match=r"^epsilon: must be a number"):
        server.would_exceed(math.nan)
    with pytest.raises(JournalError, match="is of another session: horizon is 9, not 10"):
        Server(KLUCBCF(1.0), 2, 10, path)
    with Journal(path) as journal:
        journal.write([Row("pull", {"arms": [[1, 1]]})])
    with pytest.raises(
        JournalError, match=r"row 2 of journal does not fit the policy: arm 1 was pulled, and this policy"
    ):
        Server(KLUCBCF(1.0), 2, 9, path)
