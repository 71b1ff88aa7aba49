"""Sessions: the arms and sums of the policy, with late and missing rewards, and one release of each batch."""

import math
import sys
import threading
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from bandits import Guarantee, ParameterError
from bandits.audit.ledger import Domain
from bandits.deploy import JournalError, Outcome, Session, on_disjoint_users, on_same_users, session
from bandits.deploy.journal import JournalRow
from bandits.deploy.replay import review
from bandits.deploy.tickets import Ticket
from bandits.mechanisms import deployable
from bandits.mechanisms.concentrated import concentrated_delta, rho_of_discrete_laplace
from bandits.mechanisms.deployable import GRID
from bandits.policies.base import Policy
from bandits.policies.batched import play_batches
from bandits.policies.batched_index import DPKLUCB, ZCDPKLUCB, AdaPKLUCB, AdaPUCB
from bandits.policies.distributed import DistDPSE
from bandits.policies.elimination import DPSE
from bandits.policies.halving import DPHalving
from bandits.policies.lazy import AnytimeLazyUCB
from bandits.policies.local_ucb import LDPUCBB
from bandits.policies.ucb import UCB1
from tests.bandits.policies.test_batched import NAMES, POLICIES

pytest.importorskip("opendp")

QUICK = DPSE(1e4, beta=0.99)  # with two arms its first epoch has 2 x 358 pulls
UNIT = (0.0, 1.0)


class Noise:
    """A stand-in for OpenDP: seeded noise, or none; it records the sums that it gets."""

    def __init__(self, seed=None):
        self.rng = None if seed is None else np.random.default_rng(seed)
        self.sums = []

    def __call__(self, steps, sensitivity, epsilon):
        self.sums.append(steps)
        return steps + (0 if self.rng is None else round(self.rng.laplace(scale=sensitivity / epsilon)))

    def normal(self, steps, sensitivity, rho):
        self.sums.append(steps)
        return steps + (0 if self.rng is None else round(self.rng.normal(scale=sensitivity / math.sqrt(2 * rho))))


@pytest.fixture
def noise(monkeypatch):
    """Install a stand-in for the noise."""

    def install(seed=None):
        made = Noise(seed)
        monkeypatch.setattr(session, "add_noise", made)
        monkeypatch.setattr(session, "add_normal_noise", made.normal)
        return made

    return install


def play(opened, pulls, reward):
    """Arms of a session whose rewards come immediately."""
    arms = []
    for _ in range(pulls):
        (ticket,) = opened.select()
        arms.append(ticket.arm)
        assert opened.update(ticket.number, reward(ticket)) in (Outcome.COUNTED, Outcome.UNUSED)
    return arms


def one_by_one(opened, pulls):
    """Tickets of as many calls, each of which may close a batch; no reward comes."""
    return [ticket for _ in range(pulls) for ticket in opened.select()]


class NoDataclass(Policy):
    name = "no_dataclass"

    def __repr__(self):
        return "NoDataclass()"  # in the name of a test, which must not have an address: workers compare these names

    @property
    def guarantee(self):
        return Guarantee(1.0)

    def simulate(self, instance, horizon, checkpoints, rng):
        raise NotImplementedError


def coin(ticket):
    """A reward in {0, 1} that depends on the ticket alone."""
    return float(np.random.default_rng(ticket.number).random() < (0.9, 0.5, 0.2)[ticket.arm])


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_arms_are_those_of_the_run_with_the_same_noise(policy, noise):
    """Whose law is that of `simulate` (tests/bandits/policies/test_batched.py)."""
    arms, horizon = 3, 2600 if isinstance(policy, DPSE) else 700
    noise(1)
    with Session(policy, arms, horizon, UNIT, ":memory:") as opened:
        opened._rng = np.random.default_rng(2)
        played = play(opened, horizon, coin)
        assert opened.state()["releases"] >= 2
    same, run = Noise(1), policy.batched_run(arms, horizon)
    draw = same if run.rho is None else same.normal
    draw(0, GRID, 1.0)  # as a session asks once whether there is noise

    def released(sums):
        return [draw(round(total * run.grid), run.grid, run.rho or run.epsilon) / run.grid for total in sums]

    steps = play_batches(run, released, np.random.default_rng(2))
    expected = [next(steps)]
    while len(expected) < horizon:
        expected.append(steps.send(coin(Ticket(len(expected), expected[-1]))))
    assert played == expected


def test_a_batch_waits_for_late_rewards_and_its_sum_has_each_once(noise):
    made = noise()
    with Session(AdaPUCB(1.0), 2, 100, UNIT, ":memory:", patience=5) as opened:
        assert opened.select(3) == [Ticket(1, 0), Ticket(2, 0), Ticket(3, 0)]  # one pull, and two that wait
        assert opened.update(2, 0.5) is Outcome.UNUSED
        assert opened.state()["waiting"]
        assert opened.update(1, 0.75) is Outcome.COUNTED
        assert opened.update(1, 0.5) is Outcome.REPEATED
        assert opened.select() == [Ticket(4, 1)]
        assert made.sums[1:] == [0.75 * GRID]
        assert opened.update(1, 0.25) is Outcome.REPEATED  # whoever lost the answer learns that the reward counts
        assert opened.update(2, 0.25) is Outcome.UNUSED


def test_a_reward_that_does_not_come_counts_as_missing_once_the_batch_has_waited(noise):
    made = noise()
    with Session(AdaPUCB(1.0), 2, 100, (-1.0, 1.0), ":memory:", patience=5, missing=0.5) as opened:
        assert [ticket.arm for ticket in one_by_one(opened, 7)] == [0] * 6 + [1]
        assert made.sums[1:] == [0.75 * GRID]
        assert opened.update(1, 1.0) is Outcome.UNUSED  # late
        assert opened.update(7, 0.0) is Outcome.COUNTED
        one_by_one(opened, 10)
        assert made.sums[1:3] == [0.75 * GRID, 0.5 * GRID]


def test_with_wait_always_arms_do_not_depend_on_which_rewards_came(noise):
    played = []
    for came in (True, False):
        noise()
        with Session(AdaPUCB(1.0), 2, 40, UNIT, ":memory:", patience=3, wait_always=True) as opened:
            played.append(play(opened, 40, lambda ticket: 0.0) if came else [t.arm for t in one_by_one(opened, 40)])
            assert [row.kind for row in rows_of(opened)].count("release") > 2
            assert all("missing" not in row.body for row in rows_of(opened) if row.kind == "release")
    assert played[0] == played[1]
    assert played[0][:9] == [0, 0, 0, 0, 1, 1, 1, 1, played[0][8]]


def test_with_wait_always_no_batch_closes_before_its_patience_but_at_the_horizon(tmp_path):
    """The last round of DP-Halving is due with the last pull: nothing else could close it, and a review takes it."""
    path = tmp_path / "journal"
    with Session(DPHalving(1.0, explored=40), 2, 40, UNIT, path, wait_always=True, patience=10) as opened:
        for ticket in opened.select(40):
            opened.update(ticket.number, 1.0 - ticket.arm)
        with pytest.raises(ParameterError, match=r"^horizon: "):
            opened.select()
        assert opened.close_batches()
        assert (opened.state()["releases"], opened.state()["waiting"], opened.close_batches()) == (2, False, False)
    assert review(path).spent.releases == 2
    with Session(AdaPUCB(1.0), 2, 40, UNIT, tmp_path / "waits", wait_always=True, patience=2) as opened:
        for _ in range(2):
            opened.select()
            with pytest.raises(ParameterError, match=r"^wait_always: must be False to close batches before they have"):
                opened.close_batches()
        opened.select()
        assert opened.close_batches()


def test_a_release_before_the_patience_of_wait_always_is_refused(noise, tmp_path):
    """It would tell who has sent a reward."""
    noise()
    given = (AdaPUCB(1.0), 2, 40, UNIT, tmp_path / "journal")
    with Session(*given, wait_always=True, patience=2) as opened:
        opened.select(2)
        opened._journal.write([JournalRow("release", {"arms": [0], "steps": [5]})])
    with pytest.raises(JournalError, match=r"the batches of arms \[0\] waited for 1 tickets alone$"):
        Session(*given, wait_always=True, patience=2)


def test_a_call_for_many_tickets_closes_no_batch_that_it_gave_out(noise):
    """However many: their rewards can come after it alone. One release a call, at its beginning."""
    made = noise()
    with Session(DPKLUCB(1.0), 3, 100_000, UNIT, ":memory:", patience=5) as opened:
        for number in range(1, 4):
            tickets = opened.select(500)
            assert {opened.update(ticket.number, 1.0) for ticket in tickets[:1]} == {Outcome.COUNTED}
            assert {opened.update(ticket.number, 1.0) for ticket in tickets[1:]} == {Outcome.UNUSED}
            assert (opened.state()["releases"], opened.state()["tickets"]) == (number - 1, 500 * number)
        assert made.sums[1:] == [GRID, GRID]


def test_a_call_for_more_tickets_than_a_session_has_is_for_its_horizon(noise, tmp_path):
    """So no row has more tickets than a restart believes."""
    noise()
    given = (AdaPUCB(1.0), 2, 10, UNIT, tmp_path / "journal")
    with Session(*given, patience=2) as opened:
        assert [len(opened.select(1000)) for _ in range(2)] == [10, 10]
        state = opened.state()
    with Session(*given, patience=2) as opened:
        assert opened.state() == state


def test_the_least_number_of_64_bits_is_a_noisy_sum(noise, tmp_path, monkeypatch):
    """OpenDP ends there: a restart must take what was written."""
    monkeypatch.setattr(session, "add_noise", lambda steps, *given: -(2**63))
    given = (AdaPUCB(1.0), 2, 10, UNIT, tmp_path / "journal")
    with Session(*given, patience=0) as opened:
        one_by_one(opened, 3)
    Session(*given, patience=0).close()


def rows_of(opened):
    """The rows of an open journal, as they are in its file."""
    return list(opened._journal.rows())


def test_batches_are_closed_by_a_rule_of_the_caller(noise):
    made = noise()
    with Session(AdaPUCB(1.0), 2, 100, UNIT, ":memory:") as opened:
        assert not opened.close_batches()
        opened.select()
        assert opened.close_batches()
        assert made.sums[1:] == [0]
        assert opened.select()[0].arm == 1


def test_bad_rewards_are_refused_in_a_line_and_the_session_goes_on(noise):
    made = noise()
    with Session(AdaPUCB(1.0), 2, 100, (0.0, 2.0), ":memory:") as opened:
        (ticket,) = opened.select()
        for bad in (-0.1, 2.1, math.inf, math.nan):
            with pytest.raises(ParameterError, match=r"^reward: must be a number in \[0, 2\], got [^\n]*$"):
                opened.update(ticket.number, bad)
        for bad in (True, np.True_, "1", None, 1j):
            with pytest.raises(ParameterError, match=r"^reward: must be a number, got [^\n]*$"):
                opened.update(ticket.number, bad)
        for unknown in (0, 2, -1, True):
            with pytest.raises(ParameterError, match=r"^ticket: "):
                opened.update(unknown, 1.0)
        opened.update(ticket.number, 1.5)
        opened.select()
        assert made.sums[1:] == [0.75 * GRID]


@pytest.mark.parametrize(("given", "steps"), [(-7.0, 0), (math.inf, GRID), (0.3, round(0.3 * GRID))])
def test_rewards_are_clamped_if_asked(given, steps, noise):
    made = noise()
    with Session(AdaPUCB(1.0), 2, 100, UNIT, ":memory:", clamp=True) as opened:
        (ticket,) = opened.select()
        with pytest.raises(ParameterError, match=r"^reward: "):
            opened.update(ticket.number, math.nan)
        opened.update(ticket.number, given)
        opened.select()
        assert made.sums[1:] == [steps]


def test_no_reward_can_leave_the_grid():
    """Whatever the domain, or rounding in doubles: the noise is made for steps in 0..grid."""
    for low, high in ((-1e-300, 1.0), (0.1, 0.3), (-1e300, 1e7), (1e-320, 2e-320)):
        opened = Session(AdaPUCB(1.0), 2, 100, (low, high), ":memory:")
        for reward in (low, high, np.nextafter(high, low), np.nextafter(low, high)):
            assert 0 <= opened._steps(opened._domain.unit(float(reward))) <= GRID
        opened.close()


def test_rewards_are_rounded_at_random_on_a_grid_of_the_policy(noise, failure):
    """DistDPSE(1.0) has batches of 2 with a grid of 2: 0.3 becomes 0 or 1 of 2 steps, 1 with probability 0.6."""
    noise()
    with Session(DistDPSE(1.0), 2, 100, UNIT, ":memory:") as opened:
        assert opened._progress.run.grid == 2
        seen = np.array([opened._steps(0.3) for _ in range(4000)])
        assert set(seen) == {0, 1}
        assert stats.binomtest(int(seen.sum()), 4000, 0.6).pvalue > failure
        assert [opened._steps(unit) for unit in (0.0, 0.5, 1.0)] == [0, 1, 2]


def test_a_missing_reward_is_rounded_as_any_other(noise, failure):
    """DistDPSE(0.5) begins with a grid of 1: of two missing rewards of 0.49 each is 1 with probability 0.49."""
    made, sums = noise(), []
    for _ in range(300):
        with Session(DistDPSE(0.5), 2, 100, UNIT, ":memory:", patience=0, missing=0.49) as opened:
            assert opened._progress.run.grid == 1
            one_by_one(opened, 5)
            sums += made.sums[-2:]
    assert set(sums) == {0, 1, 2}
    assert stats.binomtest(sum(sums), 1200, 0.49).pvalue > failure


def test_elimination_ends_with_pulls_whose_rewards_are_not_kept(noise):
    made = noise()
    with Session(QUICK, 2, 2000, UNIT, ":memory:") as opened:
        arms = play(opened, 720, lambda ticket: 1.0 - ticket.arm)
        assert len(made.sums) == 3  # the first only asks whether there is noise
        assert opened.state()["viable"] == [0]
        assert arms[:4] == [0, 1, 0, 1]
        (ticket,) = opened.select()
        assert (ticket.arm, opened.update(ticket.number, 1.0)) == (0, Outcome.UNUSED)


def test_nothing_is_released_at_the_horizon(noise):
    """No later arm would depend on it."""
    made = noise()
    with Session(AdaPUCB(1.0), 2, 2, UNIT, ":memory:", patience=0) as opened:
        assert len(opened.select()) == 1
        assert len(opened.select(9)) == 1
        for _ in range(2):
            with pytest.raises(ParameterError, match=r"^horizon: all 2 pulls were given out"):
                opened.select()
        assert len(made.sums) == 2


def test_the_rho_of_a_coarse_grid_is_that_of_one_step():
    """The grids of distributed policies grow from batch to batch: a ledger says what holds for each of them."""
    progress = SimpleNamespace(run=SimpleNamespace(epsilon=1.0, rho=None, grid=7), released=1)
    (release,) = session.ledger_of(progress, 1)
    assert release.rho(Domain.UNIT) == pytest.approx(math.tanh(0.5))


def test_what_is_spent(noise):
    noise()
    with Session(AdaPUCB(0.5), 2, 9, UNIT, ":memory:", contributions=3, patience=0) as opened:
        assert (opened.spent().epsilon, opened.spent().most, opened.ledger()) == (0.0, 1.5, ())
        one_by_one(opened, 4)
        found = opened.spent()
        assert (found.epsilon, found.releases) == (1.5, 3)
        assert "1.5-differentially private for one user with at most 3 rewards" in found.words
        assert [opened.would_exceed(epsilon) for epsilon in (1.4, 1.5)] == [True, False]
        costs = [release.cost(Domain.UNIT).kept for release in opened.ledger()]
        assert costs == [1.5] * 3  # what the audit makes of the ledger
        assert {release.rho(Domain.UNIT) for release in opened.ledger()} == {rho_of_discrete_laplace(1.5, 3 * GRID)}
        planned = AdaPUCB(0.5).release_cost(2, 9, Domain.UNIT).epsilon.kept
        assert planned * 3 == found.epsilon
    with Session(AdaPUCB(2.0), 2, 9, UNIT, ":memory:") as fresh:
        assert on_same_users(found, fresh.spent()).most == 3.5
        assert on_same_users(found, fresh.spent()).epsilon == 1.5
        assert on_disjoint_users(found, fresh.spent()).most == 2.0
        assert "with one reward" in fresh.spent().words
        assert fresh.would_exceed(10**400) is False
        for bad in (math.nan, "1", -1.0, None):
            with pytest.raises(ParameterError, match=r"^epsilon: must be a number >= 0, got "):
                fresh.would_exceed(bad)
        with pytest.raises(ParameterError, match=r"^n: must be a whole number >= 1, got '3'$"):
            fresh.select("3")
        assert fresh.would_exceed(math.inf) is False
        with pytest.raises(ParameterError, match=r"^sessions: must be what `spent\(\)` of each session returns"):
            on_same_users(found, fresh)
    with pytest.raises(ParameterError, match=r"^sessions: "):
        on_same_users()


def test_what_is_spent_of_a_rho(noise, tmp_path):
    """Three rewards of one user: 9 rho. The noise of epsilon 2 has 1 + e^-2; an epsilon is never known of zCDP."""
    noise()
    path = tmp_path / "journal"
    with Session(ZCDPKLUCB(0.02), 2, 9, UNIT, path, contributions=3, patience=0) as opened:
        assert (opened.spent().rho, opened.spent().most_rho) == (0.0, pytest.approx(0.18))
        one_by_one(opened, 4)
        found = opened.spent()
        assert (found.rho, found.epsilon, opened.would_exceed(1e9)) == (pytest.approx(0.18), math.inf, True)
        assert "are 0.18-zCDP for one user with at most 3 rewards" in found.words
        assert [release.rho(Domain.UNIT) for release in opened.ledger()] == pytest.approx([0.18] * 3)
        assert {release.steps for release in opened.ledger()} == {3 * GRID}
        cost = opened.ledger()[0].delta(1.0, Domain.UNIT)
        assert (cost.kept, cost.shown) == (concentrated_delta(opened.ledger()[0].zcdp, 1.0), 0.0)
    reviewed = review(path)
    assert (reviewed.spent.rho, len(reviewed.ledger)) == (found.rho, 3)
    with Session(AdaPUCB(2.0), 2, 9, UNIT, ":memory:") as fresh:
        both = on_same_users(found, fresh.spent())
        assert (both.rho, both.most_rho) == (found.rho, pytest.approx(1.18 + math.exp(-2)))
        assert on_disjoint_users(found, fresh.spent()).most_rho == pytest.approx(1 + math.exp(-2))
        assert "together are 1.31534-zCDP" in both.words


def test_the_rho_of_laplace_noise_is_that_of_all_rewards_in_one_sum():
    """Three rewards at epsilon 1/2: 1/2 + e^-1.5. On a grid of the policy's own one step a reward is known, no more."""
    with Session(AdaPUCB(0.5), 2, 9, UNIT, ":memory:", contributions=3) as opened:
        assert opened.spent().most_rho == pytest.approx(0.5 + math.exp(-1.5))
    with Session(DistDPSE(0.5), 2, 9, UNIT, ":memory:", contributions=3) as opened:
        assert opened.spent().most_rho == pytest.approx(rho_of_discrete_laplace(1.5, 3))


def test_a_run_that_costs_more_rho_than_is_promised_is_refused(noise, monkeypatch):
    noise()
    monkeypatch.setattr(ZCDPKLUCB, "guarantee", Guarantee.gaussian(0.1, 0.1))
    with pytest.raises(ParameterError, match=r"^policy: must be one whose releases cost at most 0.005, got 0.02$"):
        Session(ZCDPKLUCB(0.02), 2, 9, UNIT, ":memory:")


def test_a_whole_number_may_be_written_with_an_exponent(noise, tmp_path):
    """1e6 is one; a journal goes on with 1_000_000."""
    noise()
    for horizon in (1e6, 1_000_000):
        with Session(AdaPUCB(1.0), 2, horizon, UNIT, tmp_path / "journal") as opened:
            assert repr(opened.state()["horizon"]) == "1000000"


def test_a_restored_session_is_the_same(noise, tmp_path):
    """At any point: same state, same open rewards, and it goes on like one that was never closed."""
    horizon = 45
    for policy in (AdaPUCB(1.0), AnytimeLazyUCB(1.0), DistDPSE(4.0)):
        noise(7)
        given = (policy, 3, horizon, UNIT)
        with Session(*given, ":memory:", patience=4) as whole:
            expected = play(whole, horizon, coin)
            ended = whole.state()
        made = noise(7)
        path = tmp_path / f"{policy.name}.journal"
        arms = []
        while len(arms) < horizon:
            made.sums, before = [], len(made.sums)
            state = made.rng.bit_generator.state
            with Session(*given, path, patience=4) as part:
                if before:
                    made.rng.bit_generator.state = state  # only the question whether there is noise
                arms += play(part, min(11, horizon - len(arms)), coin)
                last = part.state()
        assert arms == expected
        assert last == ended


def test_noise_is_drawn_once_for_a_release_and_never_again(noise, tmp_path):
    path = tmp_path / "journal"
    made = noise(1)
    with Session(AdaPUCB(1.0), 2, 100, UNIT, path, patience=0) as opened:
        one_by_one(opened, 20)
        known, drawn = opened.state()["sums"], len(made.sums)
    for _ in range(3):
        with Session(AdaPUCB(1.0), 2, 100, UNIT, path, patience=0) as opened:
            assert opened.state()["sums"] == known
            assert len(made.sums) == (drawn := drawn + 1)  # it asked whether there is noise, and for no more


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"arms": 3}, "arms is 2, not 3"),
        ({"horizon": 200}, "horizon is 100, not 200"),
        ({"policy": AdaPUCB(2.0)}, "policy.epsilon is 1.0, not 2.0"),
        ({"policy": AdaPKLUCB(1.0)}, r"policy is bandits\S*\.AdaPUCB, not bandits\S*\.AdaPKLUCB"),
        ({"domain": (0.0, 2.0)}, "domain is .*, not .*"),
        ({"contributions": 2}, "contributions is 1, not 2"),
        ({"missing": 1.0}, "missing is 0.0, not 1.0"),
        ({"patience": 7}, "patience is 1000, not 7"),
        ({"wait_always": True}, "wait_always is False, not True"),
    ],
    ids=str,
)
def test_a_journal_of_another_session_is_refused(change, said, noise, tmp_path):
    noise()
    path = tmp_path / "journal"
    given = {"policy": AdaPUCB(1.0), "arms": 2, "horizon": 100, "domain": UNIT, "journal": path}
    Session(**given).close()
    with pytest.raises(JournalError, match=rf"^{path}: is of another session: {said}$"):
        Session(**given | change)
    Session(**given).close()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"policy": UCB1()}, "^policy: ucb1 has no batched_run"),
        ({"policy": LDPUCBB(1.0)}, "^policy: ldp_ucb_b learns from messages of clients: open a Server"),
        ({"policy": AdaPUCB}, "^policy: must be a policy, as in "),
        ({"policy": "ada_pucb"}, "^policy: must be a policy, as in .*got 'ada_pucb'$"),
        ({"policy": AdaPUCB(np.int8(1))}, r"^epsilon: must be a finite int or float, a text, or a list, got np.int8"),
        ({"policy": AdaPUCB(Fraction(1, 2))}, r"^epsilon: must be a finite int or float, a text, or a list, got Frac"),
        ({"policy": DPKLUCB(1.0, first_batch=2.5)}, "^first_batch: must be an integer.*, got 2.5$"),
        ({"policy": DPKLUCB(1.0, first_batch=True)}, "^first_batch: must be an integer.*, got True$"),
        ({"policy": DPHalving(1.0, 100.5)}, "^explored: must be an integer.*, got 100.5$"),
        ({"policy": NoDataclass()}, "^policy: must be a dataclass of its parameters, got "),
        ({"wait_always": 1}, "^wait_always: must be True or False, got 1$"),
        ({"clamp": "no"}, "^clamp: must be True or False, got 'no'$"),
        ({"arms": 1}, "^arms: "),
        ({"arms": 2.5}, "^arms: must be a whole number >= 2, got 2.5$"),
        ({"horizon": 0}, "^horizon: "),
        ({"horizon": math.inf}, "^horizon: "),
        ({"domain": (1.0, 1.0)}, "^domain: "),
        ({"domain": 1.0}, "^domain: must be two finite numbers, the lower one first, got 1.0$"),
        ({"domain": "01"}, "^domain: must be two finite numbers, the lower one first, got '01'$"),
        ({"domain": (0.0, math.nan)}, "^domain: "),
        ({"domain": (0.0, math.inf)}, "^domain: "),
        ({"domain": (-1e308, 1e308)}, "^domain: "),
        ({"missing": 2.0}, "^missing: "),
        ({"contributions": 0}, "^contributions: "),
        ({"contributions": 2.5}, "^contributions: must be a whole number >= 1, got 2.5$"),
        ({"patience": -1}, "^patience: "),
        ({"patience": None}, "^patience: must be a whole number >= 0, got None$"),
        ({"journal": None}, "^journal: must be the path of a file, got None$"),
    ],
    ids=str,
)
def test_what_is_refused(change, said, noise):
    noise()
    with pytest.raises(ParameterError, match=said):
        Session(**{"policy": AdaPUCB(1.0), "arms": 2, "horizon": 9, "domain": UNIT, "journal": ":memory:"} | change)


@pytest.mark.parametrize("missing", [np.float32(0.25), np.float16(0.25), Fraction(1, 4), 0.25])
def test_what_is_missing_may_be_any_number(missing, noise, tmp_path):
    made, path = noise(), tmp_path / "journal"
    for given in (missing, 0.25):
        with Session(AdaPUCB(1.0), 2, 99, UNIT, path, missing=given, patience=0) as opened:
            one_by_one(opened, 2)
    assert GRID // 4 in made.sums


@pytest.mark.parametrize("bad", ["1", None, True])
def test_a_budget_that_is_no_number_is_refused_in_a_line(bad):
    with pytest.raises(ParameterError, match=rf"^epsilon: must be a number, got {bad!r}$"):
        AdaPUCB(bad)


def test_noise_is_that_of_the_policy(monkeypatch):
    """Sensitivity is a reward of 1 on the grid, epsilon that of the policy; of Dist-DP-SE the grid is its own."""
    for policy, expected in ((AdaPUCB(0.25), (GRID, 0.25)), (DistDPSE(1.0), (2, 1.0))):
        asked = []
        monkeypatch.setattr(session, "add_noise", lambda steps, *given, asked=asked: asked.append(given) or steps)
        with Session(policy, 2, 100, UNIT, ":memory:", patience=0) as opened:
            one_by_one(opened, 5)
        assert len(asked) > 2
        assert set(asked) == {expected}


def test_a_policy_that_costs_more_than_it_promises_is_refused(noise):
    class Dear(AdaPUCB):
        @property
        def guarantee(self):
            return Guarantee(self.epsilon / 2)

    noise()
    with pytest.raises(ParameterError, match=r"^policy: must be one whose releases cost at most 0.5"):
        Session(Dear(1.0), 2, 9, UNIT, ":memory:")


def test_without_opendp_there_is_no_session(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    deployable._mechanism.cache_clear()
    with pytest.raises(ParameterError, match=r"^noise: .*pip install opendp$"):
        Session(AdaPUCB(1.0), 2, 9, UNIT, tmp_path / "journal")
    assert not list(tmp_path.iterdir())


def test_threads_share_a_session(noise, tmp_path):
    noise()
    with Session(AdaPUCB(1.0), 2, 10_000, UNIT, ":memory:", patience=10) as opened:
        seen = []

        def serve():
            for _ in range(100):
                for ticket in opened.select(2):
                    seen.append(ticket.number)
                    opened.update(ticket.number, 1.0)

        threads = [threading.Thread(target=serve) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(seen) == list(range(1, 801))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(9))
def test_rewards_in_any_order_late_twice_or_never(seed, noise, tmp_path):
    """Every sum has the rewards that were acknowledged before its batch closed, each once, and no other."""
    rng = np.random.default_rng(seed)
    made = noise(seed)
    policy = [DPKLUCB(1.0, 3, 1.5), AnytimeLazyUCB(1.0), DistDPSE(4.0)][seed % 3]
    patience = int(rng.integers(0, 12))
    given = (policy, 3, 100, UNIT, tmp_path / "journal")
    opened = Session(*given, patience=patience)
    made.sums.clear()
    waiting, kept, released = {}, {}, 0
    while opened.state()["pulls"] < 100:
        due, grid = opened._progress.run.due, opened._progress.run.grid
        tickets = {arm: list(opened._progress.open.of(arm)) for arm in due}
        closes = bool(due) and opened._closes()
        waiting |= {ticket.number: 1.0 for ticket in opened.select(1)}
        if closes:
            expected = [sum(kept.pop(ticket, 0) * grid for ticket in tickets[arm]) for arm in due]
            assert made.sums == expected
            released += len(due)
        assert opened.state()["releases"] == released
        made.sums.clear()
        for number in rng.permutation(list(waiting))[: rng.integers(0, 4)]:
            reward = float(rng.integers(0, 2))
            if opened.update(int(number), reward) is Outcome.COUNTED:
                kept[int(number)] = reward
            if rng.random() < 0.8:
                del waiting[int(number)]
        if rng.random() < 0.05:
            opened.close()
            opened = Session(*given, patience=patience)
            made.sums.clear()
    assert released > 2
    opened.close()
