"""Devices that cut rewards off at the bound of a ticket, and the server of elimination in epochs."""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from bandits import ParameterError
from bandits.deploy import JournalError, Outcome, Server, TruncatingClient, TruncatingLaplaceClient, clients
from bandits.deploy.clients import MOST_STEPS, truncated
from bandits.deploy.journal import Journal, JournalRow
from bandits.deploy.replay import review
from bandits.deploy.reports import EpochReports
from bandits.deploy.tickets import Ticket
from bandits.environments.heavy_tails import Pareto
from bandits.mechanisms.deployable import GRID
from bandits.policies.heavy_tailed import LDPRSE, BoxedLDPRSE, Moment
from bandits.policies.local_bits import KLUCBCF
from bandits.policies.robust_elimination import RobustBitSE
from bandits.seeds import stream
from tests.bandits.two_samples import assert_same_law


class QuickBits(RobustBitSE):
    """With an eighth of the thresholds, so that arms are removed soon, and not always in the same epoch."""

    def epoch_of(self, moment, viable, epoch, horizon):
        found = super().epoch_of(moment, viable, epoch, horizon)
        return replace(found, threshold=found.threshold / 8)


POLICIES = [LDPRSE(2.0, constants="custom", confidence_scale=0.02), QuickBits(3.0)]
PARETO = Pareto((0.9, 0.5), 0.9)
MOMENT = Moment(2.0, 0.9)
CLIENTS = [TruncatingClient(1.0), TruncatingLaplaceClient(1.0)]


@pytest.mark.parametrize(
    ("reward", "bound", "steps"),
    [
        (0.5, 2.0, GRID // 4),
        (-2.0, 2.0, -GRID),
        (2.0, 2.0, GRID),
        (math.nextafter(2.0, 3.0), 2.0, 0),
        (-0.0, 2.0, 0),
        (math.inf, 2.0, 0),
        (-(10**400), 2.0, 0),
        (np.int8(-128), np.int8(127), 0),  # whose size overflows in 8 bits
        (np.int8(-100), 100, -GRID),
        (np.float16(3), np.float16(4), 3 * GRID // 4),
        (Fraction(1, 3), 1, round(GRID / 3)),
        (5e-324, 5e-324, GRID),
        (-5e-324, 1e-323, -GRID // 2),
        (1e308, 1.7e308, round(GRID / 1.7)),
    ],
)
def test_rewards_in_steps_of_the_bound_by_hand(reward, bound, steps):
    assert truncated(reward, bound) == steps


@pytest.mark.parametrize("bound", [5e-324, 1e-300, 0.3, 1.0, 7, 1e300, 1.7976931348623157e308, np.float32(0.1)])
def test_epsilon_is_kept_whatever_the_bound(bound, monkeypatch):
    """The server may be hostile. All that a device does with a reward is in -GRID..GRID; the rest is the same."""
    asked = []
    monkeypatch.setattr(clients, "bernoulli", lambda chance: asked.append(chance) or False)
    monkeypatch.setattr(clients, "discrete_laplace", lambda scale: asked.append(scale) or 0)
    size = float(bound)
    rewards = [x for y in (0.0, 1.0, 0.5, 1 - 2**-53, 1 + 2**-52, 3.0) for x in (size * y, -size * y)]
    for reward in [*rewards, 5e-324, -5e-324, 1e-300, 1e308, -1e308, math.inf, -math.inf]:
        TruncatingClient(1.0).message(reward, bound)
        message = TruncatingLaplaceClient(1.0).message(reward, bound)
        chance, scale = asked
        asked.clear()
        assert 0 <= chance <= 1
        assert abs(message) <= GRID
        assert scale == 2 * GRID  # two rewards differ by at most this: epsilon = 1


@pytest.mark.parametrize(
    "bad", [0.0, -1.0, math.inf, math.nan, None, "1", True, 10**400, Decimal(1), 1j, np.array(1.0)]
)
def test_a_bound_that_no_ticket_has_is_refused(bad):
    for client in CLIENTS:
        with pytest.raises(ParameterError, match=r"^bound: must be that of a ticket: a finite number > 0, got "):
            client.message(0.5, bad)


@pytest.mark.parametrize("bad", [math.nan, None, "1", True, np.True_, Decimal(1), 1j, np.float32("nan")])
def test_a_reward_that_is_no_number_is_not_sent(bad):
    for client in CLIENTS:
        with pytest.raises(ParameterError, match=r"^reward: must be a number, got "):
            client.message(bad, 1.0)


@pytest.mark.parametrize("cls", [TruncatingClient, TruncatingLaplaceClient])
@pytest.mark.parametrize("epsilon", [0.0, -1.0, 701.0, math.nan, "1", None])
def test_a_budget_that_no_client_has_is_refused(cls, epsilon):
    with pytest.raises(ParameterError, match=r"^epsilon: "):
        cls(epsilon)


def test_messages_end_at_their_bounds(monkeypatch):
    monkeypatch.setattr(clients, "discrete_laplace", lambda scale: 10**20)
    assert TruncatingLaplaceClient(1.0).message(0.5, 1.0) == MOST_STEPS


@pytest.mark.parametrize("reward", [-2.0, 0.5, 2.0, 2.1])
def test_bits_have_the_law_of_the_policy(reward, failure):
    """1/2 + tanh(epsilon / 2) x / 2, x the reward in units of the bound, 0 beyond it."""
    client, x = TruncatingClient(1.5), reward / 2 if abs(reward) <= 2 else 0.0
    seen = [client.message(reward, 2.0) for _ in range(3000)]
    assert set(seen) <= {0, 1}
    assert stats.binomtest(sum(seen), 3000, 0.5 + math.tanh(0.75) * x / 2).pvalue > failure


@pytest.mark.parametrize("reward", [-2.0, 0.5, 2.1])
def test_reports_have_the_law_of_the_policy(reward, failure):
    """Lap(2 B / epsilon), up to half a step."""
    client, kept = TruncatingLaplaceClient(1.5), reward if abs(reward) <= 2 else 0.0
    seen = np.array([client.message(reward, 2.0) for _ in range(3000)]) * 2.0 / GRID
    assert stats.kstest(seen, stats.laplace(kept, 2 * 2.0 / 1.5).cdf).pvalue > failure


def messages(policy, rng):
    """Messages for tickets, as their devices would draw them, by a seed; the law is tested above."""

    def drawn(reward, bound):
        steps = truncated(reward, bound)
        if isinstance(policy, RobustBitSE):
            return int(rng.random() < 0.5 + policy.contrast * steps / GRID / 2)
        return steps + round(rng.laplace(scale=2 * GRID / policy.epsilon))

    return drawn


def opened(policy, arms, horizon, path=":memory:", **given):
    return Server(policy, arms, horizon, path, moment=MOMENT, **given)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_arms_are_those_of_the_policy_if_no_message_is_late(policy):
    """By the pseudo-code: rounds over the viable arms, means of what was sent, and those that trail are removed."""
    horizon, rng = 30_000, np.random.default_rng(3)
    draw, instance = messages(policy, rng), Pareto((0.9, 0.5, 0.5), 0.9)
    with opened(policy, 3, horizon) as server:
        viable, number, t = [0, 1, 2], 1, 0
        while len(viable) > 1:
            epoch = policy.epoch_of(MOMENT, len(viable), number, horizon)
            sums = dict.fromkeys(viable, 0.0)
            for _ in range(epoch.rounds):
                for arm in viable:
                    t += 1
                    (ticket,) = server.select()
                    assert (ticket.number, ticket.arm, ticket.bound) == (t, arm, epoch.truncation)
                    message = draw(instance.sample(arm, rng), ticket.bound)
                    assert server.update(t, message) is Outcome.COUNTED
                    bits = isinstance(policy, RobustBitSE)
                    sums[arm] += (2 * message - 1) / policy.contrast if bits else message / GRID
            means = {arm: total * epoch.truncation / epoch.rounds for arm, total in sums.items()}
            best = max(means.values())
            viable = [arm for arm in viable if best - means[arm] <= epoch.threshold]
            number += 1
            assert (server.state()["viable"], server.state()["epoch"]) == (viable, number)
        (ticket,) = server.select()
        assert (ticket.arm, ticket.bound) == (viable[0], None)  # nothing is asked of its user
        assert server.update(ticket.number, 1) is Outcome.UNUSED
        assert number > 2


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_the_law_is_that_of_simulate(policy, failure):
    """Pulls of servers on messages of devices, without a journal, and of `simulate`."""
    horizon, runs, moment = 1500, 150, Moment(PARETO.moment, PARETO.v)

    def served(run):
        rng, pulls = stream("served", run), np.zeros(2)
        draw, reports = messages(policy, rng), EpochReports(policy, 2, horizon, moment)
        for _ in range(horizon):
            ticket = reports.pull(reports.next_arm(rng))
            pulls[ticket.arm] += 1
            if ticket.bound is not None:
                reports.report(ticket.number, draw(PARETO.sample(ticket.arm, rng), ticket.bound))
        return pulls

    checkpoints = np.array([horizon])
    simulated = [policy.simulate(PARETO, horizon, checkpoints, stream("simulated", run))[0] for run in range(runs)]
    assert_same_law([served(run) for run in range(runs)], simulated, failure)


def test_late_messages_and_surplus_ones_are_not_used():
    """By hand: batches of 2, 4, ... of each arm."""
    policy = RobustBitSE(1.0)
    with opened(policy, 2, 99) as server:
        first, second = (policy.epoch_of(MOMENT, 2, number, 99).truncation for number in (1, 2))
        assert [ticket.arm for ticket in server.select(6)] == [
            0,
            1,
            0,
            1,
            0,
            1,
        ]
        assert [server.update(number, 1) for number in (1, 5, 3)] == [Outcome.COUNTED, Outcome.COUNTED, Outcome.UNUSED]
        assert [ticket.arm for ticket in server.select(2)] == [1, 1]
        assert [server.update(number, 0) for number in (8, 8)] == [Outcome.COUNTED, Outcome.REPEATED]
        assert server.state()["reports"] == [2, 1]
        assert server.select() == [Ticket(9, 1, first)]
        assert server.update(2, 1) is Outcome.COUNTED  # the epoch ends
        assert (server.state()["epoch"], server.state()["reports"]) == (2, [0, 0])
        assert server.select() == [Ticket(10, 0, second)]
        assert server.update(3, 1) is Outcome.UNUSED
        assert server.update(9, 1) is Outcome.UNUSED  # it was cut off at another bound
        assert [server.update(number, 1) for number in (1, 10)] == [Outcome.REPEATED, Outcome.COUNTED]
        assert (server.state()["reports"], server.spent().releases) == ([1, 0], 5)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_a_server_whose_messages_are_late_or_never_come_goes_on_after_a_restart(policy, tmp_path):
    path, rng = tmp_path / "journal", np.random.default_rng(1)
    draw, waiting, counted, given = messages(policy, rng), {}, 0, []
    for _ in range(40):
        with opened(policy, 2, 2000, path, contributions=2) as server:
            given += server.select(10)
            waiting |= {ticket.number: ticket for ticket in given[-10:]}
            for number in rng.permutation(list(waiting))[:9].tolist():
                ticket = waiting.pop(number)
                if ticket.bound is not None and rng.random() < 0.9:
                    message = draw(PARETO.sample(ticket.arm, rng), ticket.bound)
                    counted += server.update(number, message) is Outcome.COUNTED
            state, spent = server.state(), server.spent()
    assert (spent.epsilon, spent.releases) == (2 * policy.epsilon, counted)
    with opened(policy, 2, 2000, path, contributions=2) as server:
        assert (server.state(), server.spent()) == (state, spent)
    found = review(path, policy)
    assert (list(found.transcript), found.rewards, found.spent) == (given, counted, spent)
    assert state["epoch"] > 1
    assert len({ticket.bound for ticket in given}) > 1  # a reviewer sees every bound that a device was sent


@pytest.mark.parametrize("ticket", [1, 5, 9])  # one that has a report, one that its arm does not need, none
def test_a_journal_with_a_report_that_did_not_count_is_refused(ticket, tmp_path):
    path = tmp_path / "journal"
    with opened(RobustBitSE(1.0), 2, 99, path) as server:
        server.select(6)
        server.update(1, 1)
        server.update(3, 1)
    with Journal(path) as journal:
        journal.write([JournalRow("report", {"ticket": ticket, "message": 1})])
    for read in (lambda: opened(RobustBitSE(1.0), 2, 99, path), lambda: review(path)):
        with pytest.raises(
            JournalError, match=rf"row 5 of journal does not fit the policy: ticket {ticket} takes no rep"
        ):
            read()


@pytest.mark.parametrize(
    "bad", [None, 1.0, (1.0,), (0.0, 1.0), (1.0, 0.0), (1.0, 10.1), (math.inf, 1.0), ("1", 1.0), "11"]
)
def test_a_moment_that_is_none_is_refused(bad):
    with pytest.raises(ParameterError, match=r"^moment: must be two numbers u > 0 and v in \(0, 10\] with E "):
        Server(RobustBitSE(1.0), 2, 9, ":memory:", moment=bad)


def test_high_moments_are_for_bits():
    Server(RobustBitSE(1.0), 2, 9, ":memory:", moment=(1.0, 1.1)).close()
    with pytest.raises(ParameterError, match=r"^moment: must be two numbers u > 0 and v in \(0, 1\] with E "):
        Server(LDPRSE(1.0), 2, 9, ":memory:", moment=(1.0, 1.1))


def test_what_does_not_fit_the_policy_is_refused(tmp_path):
    path = tmp_path / "journal"
    with pytest.raises(ParameterError, match=r"^moment: must be left out: klucb_cf needs rewards in a domain, got "):
        Server(KLUCBCF(1.0), 2, 9, path, moment=MOMENT)
    with pytest.raises(ParameterError, match=r"^moment: must be with u = 3.0, that of the policy, got "):
        Server(RobustBitSE(1.0, u=3.0), 2, 9, path, moment=MOMENT)
    for policy, words in ((RobustBitSE(1.0), "a TruncatingClient: 0 or 1"), (BoxedLDPRSE(1.0), "a TruncatingLaplace")):
        with Server(policy, 2, 9, ":memory:", moment=(np.float32(1), 1)) as server:
            server.select()
            for bad in (-1.5, 2**52 + 1, True, None):
                with pytest.raises(ParameterError, match=rf"^message: must be that of {words}"):
                    server.update(1, bad)
    opened(RobustBitSE(1.0), 2, 9, path).close()
    with pytest.raises(JournalError, match=r"is of another session: moment is \[2.0, 0.9\], not \[2.0, 1.0\]$"):
        Server(RobustBitSE(1.0), 2, 9, path, moment=(2.0, 1.0))
