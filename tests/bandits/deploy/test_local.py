"""Clients and servers: the law of messages, the arms of the policy, and a journal that holds only messages."""

import math
import random
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats

from bandits import ParameterError
from bandits.deploy import Client, JournalError, LaplaceClient, Outcome, Server, Ticket
from bandits.deploy.clients import MOST_STEPS
from bandits.deploy.journal import Journal, JournalRow
from bandits.deploy.replay import review
from bandits.deploy.reports import StepReports
from bandits.environments.bernoulli import Bernoulli
from bandits.mechanisms.deployable import GRID
from bandits.policies.elimination import DPSE
from bandits.policies.local_bits import KLUCBCF, TSCF
from bandits.policies.local_ucb import LDPUCBB, LDPUCBL
from bandits.seeds import stream
from tests.bandits.two_samples import assert_same_law

POLICIES = [KLUCBCF(1.0), TSCF(1.0), LDPUCBB(1.0), LDPUCBL(1.0)]


@pytest.mark.parametrize("reward", [-1.0, 0.2, 1.0])
def test_messages_have_the_law_of_reports(reward, failure):
    client, unit = Client(1.5, (-1.0, 1.0)), (reward + 1) / 2
    seen = [client.message(reward) for _ in range(3000)]
    assert set(seen) == {0, 1}
    assert stats.binomtest(sum(seen), 3000, float(KLUCBCF(1.5).chance(unit))).pvalue > failure


@pytest.mark.parametrize("reward", [-1.0, 0.2, 1.0])
def test_messages_of_laplace_clients_have_the_law_of_reports(reward, failure):
    """On steps of 2^-20 that of r + Lap(1 / epsilon), up to half a step: far less than 3,000 messages tell apart."""
    client, unit = LaplaceClient(1.5, (-1.0, 1.0)), (reward + 1) / 2
    seen = np.array([client.message(reward) for _ in range(3000)])
    assert stats.kstest(seen / GRID, stats.laplace(unit, 1 / 1.5).cdf).pvalue > failure


def test_messages_of_laplace_clients_end_at_their_bounds(monkeypatch):
    asked = []
    monkeypatch.setattr("bandits.deploy.clients.discrete_laplace", lambda scale: asked.append(scale) or 10**20)
    client = LaplaceClient(0.5)
    assert client.message(0.25) == MOST_STEPS == 2**52
    assert asked == [2**21]  # 2^20 / epsilon
    monkeypatch.setattr("bandits.deploy.clients.discrete_laplace", lambda scale: -3)
    assert client.message(0.25) == 2**18 - 3
    monkeypatch.setattr("bandits.deploy.clients.discrete_laplace", lambda scale: -(10**20))
    assert client.message(0.25) == -(2**52)


SMALL_TYPES = [
    ((-100, 100), np.int8(100), 1.0),
    ((-(2**31), 2**31 - 1), np.int32(2**31 - 1), 1.0),
    ((0, 100_000), np.float16(60_000), 0.6),
    ((-1, 255), np.uint8(3), 4 / 256),
    ((np.int8(-100), np.int8(100)), 50, 0.75),
    ((0, 1), 10**400, 1.0),
    ((0, 1), -(10**400), 0.0),
]


@pytest.mark.parametrize(("domain", "reward", "unit"), SMALL_TYPES)
def test_rewards_of_small_types_do_not_overflow(domain, reward, unit, monkeypatch):
    """A difference of 8-bit numbers wraps around: the reward would be outside [0, 1], and epsilon not kept."""
    monkeypatch.setattr("bandits.deploy.clients.discrete_laplace", lambda scale: 0)
    assert LaplaceClient(1.0, domain, clamp=True).message(reward) == round(unit * GRID)


@pytest.mark.parametrize("client", [Client(1.0), LaplaceClient(1.0)])
@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, math.inf, "1", None, True, np.True_, 1j, Decimal(1)])
def test_a_reward_outside_the_domain_is_not_sent(client, bad):
    with pytest.raises(ParameterError, match=r"^reward: "):
        client.message(bad)


def test_what_a_client_refuses_and_clamps():
    for epsilon in (0.0, -1.0, 701.0, math.nan, "1", None):
        with pytest.raises(ParameterError, match=r"^epsilon: "):
            Client(epsilon)
    for domain in (
        (1.0, 0.0),
        ("0", "1"),
        (False, True),
        (0, 1, "a"),
        (0, 10**400),
        (0.0, math.inf),
        (-math.inf, 0.0),
        (-1e308, 1e308),
        1.0,
    ):
        with pytest.raises(ParameterError, match=r"^domain: "):
            Client(1.0, domain)
    sure = Client(700.0, clamp=True)
    assert [sure.message(reward) for reward in (-5, 0, 1, 5)] == [0, 0, 1, 1]
    with pytest.raises(ParameterError, match=r"^reward: "):
        sure.message(math.nan)


def unit_of(policy):
    """Messages of one report of 1."""
    return GRID if isinstance(policy, LDPUCBL) else 1


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
            assert ticket == Ticket(t, policy.select(state, t, rng))
            bit = bit_of(ticket)
            assert server.update(ticket.number, bit) is Outcome.COUNTED
            state.pulls[ticket.arm] += 1
            state.sums[ticket.arm] += bit / unit_of(policy)
        with pytest.raises(ParameterError, match=r"^horizon: all 300 pulls were given out"):
            server.select()


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_the_law_is_that_of_simulate(policy, failure):
    """Pulls of servers on messages that nothing delays, and of `simulate`; messages have their law by tests above."""
    instance, horizon, runs = Bernoulli((0.9, 0.6, 0.2)), 100, 100

    def served(run):
        rng, pulls = stream("served", run), np.zeros(3)
        reports = StepReports(policy, 3, horizon)
        for _ in range(horizon):
            ticket = reports.pull(reports.next_arm(rng))
            pulls[ticket.arm] += 1
            report = policy.report(instance.sample(ticket.arm, rng), rng)
            reports.report(ticket.number, round(report * unit_of(policy)))
        return pulls

    checkpoints = np.array([horizon])
    simulated = [policy.simulate(instance, horizon, checkpoints, stream("simulated", run))[0] for run in range(runs)]
    assert_same_law([served(run) for run in range(runs)], simulated, failure)


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
    sums = [sum(of) / unit_of(policy) for of in bits]
    assert (server.state()["reports"], server.state()["sums"]) == ([len(of) for of in bits], sums)
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
        with pytest.raises(ParameterError, match=r"^message: must be that of a Client: 0 or 1, got [^\n]*$"):
            server.update(1, bad)
        with pytest.raises(ParameterError, match=r"^ticket: "):
            server.update(2, 1)
        assert server.update(1, 1) is Outcome.COUNTED


@pytest.mark.parametrize("bad", [2**52 + 1, -(2**52) - 1, 0.5, 1.0, True, math.inf, "1", None, [1]])
def test_no_other_report_than_whole_steps_is_taken(bad):
    with Server(LDPUCBL(1.0), 2, 9, ":memory:") as server:
        server.select()
        with pytest.raises(ParameterError, match=r"^message: must be that of a LaplaceClient: a whole [^\n]*$"):
            server.update(1, bad)
        with pytest.raises(ParameterError, match=r"^ticket: "):
            server.update(True, 1)
        assert server.update(1, np.int64(-(2**52))) is Outcome.COUNTED
        assert server.state()["sums"] == [-(2.0**32), 0.0]


def test_arms_of_ldp_ucb_l_by_hand():
    """At step t the first arm with at most 4 log(t + 1) reports; late reports: arms without one, in turn."""
    with Server(LDPUCBL(1.0), 2, 99, ":memory:") as server:
        arms = []
        for _ in range(8):
            (ticket,) = server.select()
            arms.append(ticket.arm)
            server.update(ticket.number, 0)
        assert arms == [0] * 8  # 4 log(8) = 8.3 at the last step
    with Server(LDPUCBL(1.0), 2, 99, ":memory:") as server:
        assert [ticket.arm for ticket in server.select(4)] == [0, 1, 0, 1]


def test_what_a_server_refuses(tmp_path):
    path = tmp_path / "journal"
    with pytest.raises(ParameterError, match=r"^policy: dp_se has no clients; docs/deploy.md says which have$"):
        Server(DPSE(1.0), 2, 9, path)
    with pytest.raises(ParameterError, match=r"^policy: .* has no clients"):
        Server("klucb_cf", 2, 9, path)
    for given in (
        {"arms": 1},
        {"horizon": 0},
        {"contributions": 0},
        {"arms": 2.5},
        {"horizon": 10**400},
        {"contributions": 1.5},
    ):
        with pytest.raises(ParameterError, match=f"^{next(iter(given))}: "):
            Server(**{"policy": KLUCBCF(1.0), "arms": 2, "horizon": 9, "journal": path} | given)
    for field, value, said in (("cap", "no", "True or False, got 'no'"), ("c", True, "a number, got True")):
        with pytest.raises(ParameterError, match=f"^{field}: must be {said}$"):
            Server(KLUCBCF(1.0, **{field: value}), 2, 9, path)
    assert not path.exists()
    with Server(KLUCBCF(1.0), 2, 9, path) as server, pytest.raises(ParameterError, match=r"^epsilon: must be a number"):
        server.would_exceed(math.nan)
    with pytest.raises(JournalError, match="is of another session: horizon is 9, not 10"):
        Server(KLUCBCF(1.0), 2, 10, path)
    with Journal(path) as journal:
        journal.write([JournalRow("pull", {"arms": [[1, 1]]})])
    with pytest.raises(
        JournalError, match=r"row 2 of journal does not fit the policy: arm 1 was pulled, and this policy"
    ):
        Server(KLUCBCF(1.0), 2, 9, path)
