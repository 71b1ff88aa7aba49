"""Rewards of a user are counted in open batches, by a hash that goes with them; rewards by the name of an arm."""

import hashlib
import itertools
import math
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bandits import ParameterError
from bandits.deploy import JournalError, Outcome, Server, Session, on_same_users
from bandits.deploy.journal import APPLICATION
from bandits.deploy.replay import review
from bandits.deploy.spending import changed_at_once
from bandits.mechanisms.concentrated import rho_of_discrete_laplace
from bandits.mechanisms.deployable import GRID
from bandits.policies.batched_index import DPKLUCB, ZCDPKLUCB
from bandits.policies.halving import DPHalving
from bandits.policies.lazy import AnytimeLazyUCB
from bandits.policies.local_bits import KLUCBCF
from bandits.policies.local_halving import LDPHalving
from bandits.policies.robust_elimination import RobustBitSE

pytest.importorskip("opendp")
KEY = bytes(range(32))
NAMES = ["control", "new page"]


def opened(path, *, arms=2, **more):
    return Session(AnytimeLazyUCB(1.0), arms, 1000, (0.0, 1.0), path, **{"contributions": 2, "user_key": KEY} | more)


def users_in(path):
    with closing(sqlite3.connect(path)) as file, file:
        return file.execute("SELECT ticket, user FROM secret_users ORDER BY ticket").fetchall()


def until_batch(session, size):
    """Tickets of an open batch of at least so many pulls of one arm; all others are answered."""
    while True:
        tickets = session.select(size)
        open_now = [one.number for one in tickets if session._progress.open.arm_of(one.number) is not None]
        of_arms = {one.arm for one in tickets}
        if len(open_now) == size and len(of_arms) == 1 and not session._progress.run.due:
            return tickets
        for number, one in enumerate(tickets):
            session.update(one.number, 0.5, f"filler {one.number} {number}")


def test_a_user_counts_as_often_as_is_promised_until_the_batch_is_released(tmp_path):
    path = tmp_path / "journal"
    with opened(path) as session:
        tickets = until_batch(session, 5)
        outcomes = [session.update(ticket.number, 1.0, "alice") for ticket in tickets[:3]]
        assert outcomes == [Outcome.COUNTED, Outcome.COUNTED, Outcome.EXCESS]
        assert session.update(tickets[0].number, 1.0, "alice") is Outcome.REPEATED
        assert session.update(tickets[2].number, 1.0, "bob") is Outcome.COUNTED
    expected = hashlib.blake2b(b"alice", key=KEY, digest_size=16).hexdigest()
    assert [user for _, user in users_in(path)].count(expected) == 2
    with opened(path) as session:  # a restart forgets nothing
        assert session.update(tickets[3].number, 1.0, "alice") is Outcome.EXCESS
        released = session.spent().releases
        while session.spent().releases == released:
            (ticket,) = session.select()
            session.update(ticket.number, 0.5, f"other {ticket.number}")
            session.close_batches()
        assert expected not in [user for _, user in users_in_memory(session)]
        fresh = until_batch(session, 2)
        assert session.update(fresh[0].number, 1.0, "alice") is Outcome.COUNTED
        assert "with at most 2 rewards in batches that are open together" in session.spent().words
    assert "alice" not in path.read_bytes().decode("latin1")
    assert review(path).spent.most == 1000.0  # a reward in each pull


def visits(path, policy, horizon, contributions=1, arms=2):
    """Every reward is of the same user, and batches close at once; the rewards that counted, and what is spent."""
    counted = 0
    with Session(
        policy, arms, horizon, (0.0, 1.0), path, contributions=contributions, patience=0, user_key=KEY
    ) as session:
        while session.state()["pulls"] < horizon:
            (ticket,) = session.select()
            counted += session.update(ticket.number, 1.0, "alice") is Outcome.COUNTED
        session.close_batches()
        return counted, session.spent(), session.state()["releases"], session.would_exceed(horizon - 0.5)


def test_a_user_who_comes_back_in_every_batch_is_counted_in_each(tmp_path):
    """DP-KLUCB releases one arm a time; DP-Halving four and then two at once, and the user has one reward in each."""
    path = tmp_path / "klucb"
    counted, spent, releases, exceeds = visits(path, DPKLUCB(1.0), 200)
    assert counted - 1 <= releases == spent.epsilon <= counted  # the last batch may be open
    assert (spent.most, exceeds) == (200.0, True)
    assert spent.rho == pytest.approx(releases * math.exp(-1))
    assert spent.most_rho == pytest.approx(200 * math.exp(-1))
    assert f"so far {releases}-differentially private" in spent.words
    with Session(DPKLUCB(1.0), 2, 200, (0.0, 1.0), path, patience=0, user_key=KEY) as again:
        assert again.spent() == spent
        assert on_same_users(again.spent(), again.spent()).epsilon == 2 * spent.epsilon
    assert review(path).spent == spent
    counted, spent, releases, _ = visits(tmp_path / "halving", DPHalving(1.0, 100), 100, arms=4)
    assert (counted, releases, spent.epsilon) == (2, 4 + 2, 2.0)


def test_a_user_has_no_more_rewards_than_pulls(tmp_path):
    """Three pulls by hand: no more than 3 rewards of a user, which cost 2 x 3 x rho if 2 may be in one batch."""
    _, spent, releases, _ = visits(tmp_path / "journal", ZCDPKLUCB(0.02), 3, contributions=2)
    assert releases == 3
    assert spent.rho == pytest.approx(2 * 3 * 0.02)
    assert spent.most_rho == pytest.approx(2 * 3 * 0.02)
    with opened(tmp_path / "once") as session:
        assert (session.spent().epsilon, session.spent().rho) == (0.0, 0.0)


def users_in_memory(session):
    return session._journal.users()


def beside(path):
    """The file in which sqlite keeps what it may have to restore."""
    return path.with_name(f"{path.name}-journal")


def bytes_of(path):
    return path.read_bytes() + (beside(path).read_bytes() if beside(path).exists() else b"")


def released(session):
    """The hashes of users who were in open batches, once all of these were released."""
    hashes = set()
    for number in range(40):
        for ticket in session.select():
            session.update(ticket.number, 1.0, f"user {number}")
        hashes |= {user for _, user in session._journal.users()}
    while session._journal.users():
        session.close_batches() or session.select()
    assert len(hashes) > 20
    return hashes


def test_what_was_removed_is_in_neither_file_while_the_session_is_open(tmp_path):
    path = tmp_path / "journal"
    with opened(path) as session:
        hashes = released(session)
        assert beside(path).exists()
        assert not [user for user in hashes if user.encode() in bytes_of(path)]
    assert not [user for user in hashes if user.encode() in bytes_of(path)]
    assert not beside(path).exists()


def test_what_was_removed_is_in_neither_file_after_a_kill(tmp_path):
    path, said = tmp_path / "journal", tmp_path / "said"
    child = os.fork()
    if child == 0:
        try:
            said.write_text(" ".join(released(opened(path))))
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    hashes = said.read_text().split()
    assert len(hashes) > 20
    assert not [user for user in hashes if user.encode() in bytes_of(path)]


def test_what_an_earlier_version_left_beside_the_journal_is_removed_when_it_is_opened(tmp_path):
    """With its mode sqlite made nothing but the first bytes of that file empty."""
    path = tmp_path / "journal"
    with opened(path) as session:
        (ticket,) = session.select()
        session.update(ticket.number, 1.0, "alice")
        ((_, user),) = session._journal.users()
        state = session.state()
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA secure_delete=ON")
        file.execute("DELETE FROM secret_users")
    beside(path).write_bytes(bytes(512) + user.encode() * 100)
    with opened(path) as session:
        assert user.encode() not in bytes_of(path)
        assert session.state() == state


def test_a_transaction_that_was_not_finished_is_undone(tmp_path):
    """The file beside it is then needed, and is empty afterwards."""
    path, copy = tmp_path / "journal", tmp_path / "copy"
    with opened(path) as session:
        (ticket,) = session.select()
        session.update(ticket.number, 1.0, "alice")
        session.close_batches()
        state, before = session.state(), path.read_bytes()
        file = session._journal._file
        file.execute("PRAGMA cache_size=5")  # pages, so that some are written before the end
        file.execute("BEGIN EXCLUSIVE")
        for number in range(5000):
            file.execute("INSERT INTO secret_users VALUES (?, ?)", (100 + number, "0" * 32))
        assert beside(path).stat().st_size > 512
        copy.write_bytes(path.read_bytes())
        beside(copy).write_bytes(beside(path).read_bytes())
        file.execute("ROLLBACK")
    assert copy.read_bytes() != before
    with opened(copy) as session:
        assert (session.state(), session._journal.users()) == (state, [])
        assert beside(copy).stat().st_size == 0


def sums_of_a_closing(sent, contributions):
    """The sums of one closing of two arms, whose tickets 1 to 4 alice has; she sends rewards of 1 for some of them."""
    policy = DPHalving(1.0, explored=8)
    with Session(
        policy, 2, 100, (0.0, 1.0), ":memory:", contributions=contributions, user_key=KEY, wait_always=True
    ) as session:
        session.select(8)
        for ticket in sent:
            assert session.update(ticket, 1.0, "alice") in (Outcome.COUNTED, Outcome.EXCESS)
        for ticket in range(5, 9):
            assert session.update(ticket, 1.0, f"other {ticket}") is Outcome.COUNTED
        return [session._sums[arm] / GRID for arm in range(2)], session


@pytest.mark.parametrize("contributions", [1, 2])
def test_a_user_who_sends_other_rewards_changes_no_more_than_is_told(contributions):
    """Any two ways to send, in any order: with `wait_always` that is protected, too."""
    ways = [way for size in range(5) for way in itertools.permutations(range(1, 5), size)]
    sums = [sums_of_a_closing(way, contributions)[0] for way in ways]
    most = max(sum(abs(a - b) for a, b in zip(one, other, strict=True)) for one in sums for other in sums)
    assert most == changed_at_once({"users": "", "wait_always": True, "contributions": contributions})


def test_what_is_spent_of_users_who_may_be_absent(tmp_path):
    """Twice as much a closing as of values alone, and no more to the end: no reward is in two sums."""
    path = tmp_path / "journal"
    given = {"contributions": 2, "wait_always": True, "patience": 0, "user_key": KEY}
    with Session(AnytimeLazyUCB(0.5), 2, 100, (0.0, 1.0), path, **given) as session:
        for _ in range(30):
            session.select()
        closings = session.state()["releases"]
        spent = session.spent()
        assert (spent.epsilon, spent.most) == (0.5 * min(4 * closings, 30), 50.0)
        assert {release.high for release in session.ledger()} == {4.0}
        assert spent.most_rho == pytest.approx(100 * rho_of_discrete_laplace(4 * 0.5, 4 * GRID) / 4)
        assert "at most 2 rewards in batches that are open together" in spent.words
        with pytest.raises(ParameterError, match=r"^wait_always: must be False, or there is no user_key"):
            session.update_arm(0, 1.0, "alice")
    reviewed = review(path)
    assert (reviewed.spent.epsilon, {release.high for release in reviewed.ledger}) == (spent.epsilon, {4.0})
    with Session(AnytimeLazyUCB(0.5), 2, 100, (0.0, 1.0), ":memory:", wait_always=True) as session:
        session.select()
        assert session.update_arm(0, 1.0) is Outcome.COUNTED


def test_a_journal_of_an_earlier_version_goes_on(tmp_path):
    """It has batches that were closed in the middle of a call, a snapshot, and a user who may be absent."""
    path = tmp_path / "journal"
    with closing(sqlite3.connect(path)) as file:
        file.executescript((Path(__file__).parent / "journal_of_before.sql").read_text())
        file.execute(f"PRAGMA application_id={APPLICATION}")
        file.execute("PRAGMA user_version=1")
    assert len(review(path).transcript) == 24
    given = {"patience": 2, "wait_always": True, "user_key": KEY, "expect": "21-1100112c3b1f2231ef70071222dbbdf4"}
    with Session(DPKLUCB(1.0), 2, 1000, (0.0, 1.0), path, **given) as session:
        state = session.state()
        assert (state["tickets"], state["pulls"], state["releases"], state["counts"]) == (24, 12, 6, [2.0, 8.0])
        assert session.spent().epsilon == 12.0  # no more than the pulls, where each closing may cost 2
        assert session.update(23, 0.5, "another") is Outcome.REPEATED
        for _ in range(12):
            session.select(3)
        assert session.state()["releases"] > 8
    assert len(review(path).transcript) == 60


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"user_key": bytes(32)}, "users is "),
        ({"user_key": None}, "users is "),
        ({"contributions": 3}, "contributions is"),
    ],
)
def test_a_session_with_another_key_is_another_session(tmp_path, more, said):
    opened(tmp_path / "journal").close()
    with pytest.raises(JournalError, match=said):
        opened(tmp_path / "journal", **more)


@pytest.mark.parametrize("key", ["text", b"short", bytes(65), 7])
def test_a_key_is_random_bytes(tmp_path, key):
    with pytest.raises(ParameterError, match="user_key: must be 16 to 64 random bytes") as refused:
        opened(tmp_path / "journal", user_key=key)
    assert "short" not in str(refused.value)  # a key is secret


def test_users_are_given_with_a_key_and_only_then(tmp_path):
    with opened(tmp_path / "with") as session:
        (ticket,) = session.select()
        for wrong in (None, "", 7, "x" * 1001, "\ud800"):
            with pytest.raises(ParameterError, match="user: must be a text of 1 to 1000"):
                session.update(ticket.number, 1.0, wrong)
        assert session.update(ticket.number, 1.0, "alice") is Outcome.COUNTED
    with opened(tmp_path / "without", user_key=None) as session:
        (ticket,) = session.select()
        with pytest.raises(ParameterError, match="user: must be left out"):
            session.update(ticket.number, 1.0, "alice")
        assert session.update(ticket.number, 1.0) is Outcome.COUNTED
        assert "open together" not in session.spent().words
    assert "users" not in review(tmp_path / "without").header


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO secret_users VALUES (999, '00000000000000000000000000000000')",
        "UPDATE secret_users SET user = 'alice'",
        "UPDATE secret_users SET ticket = ticket + 500",
    ],
)
def test_users_that_nobody_wrote_are_refused(tmp_path, change):
    path = tmp_path / "journal"
    with opened(path) as session:
        (ticket,) = session.select()
        session.update(ticket.number, 1.0, "alice")
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(change)
    with pytest.raises(JournalError, match="secret_users is damaged"):
        opened(path)


def test_rewards_by_the_name_of_the_arm(tmp_path):
    with opened(tmp_path / "journal", arms=NAMES, user_key=None) as session:
        tickets = until_batch_of_names(session)
        name = tickets[0].name
        assert session.update(tickets[0].number, 1.0) is Outcome.COUNTED
        assert session.update_arm(name, 0.25) is Outcome.COUNTED
        assert session.update(tickets[1].number, 1.0) is Outcome.REPEATED  # it was the oldest without a reward
        assert [session.update_arm(name, 0.25) for _ in tickets[2:]] == [Outcome.COUNTED] * (len(tickets) - 2)
        assert session.update_arm(name, 0.25) is Outcome.UNUSED
        for wrong in ("old page", 0, None, np.array([1, 2])):
            with pytest.raises(ParameterError, match="arm: must be one of the names"):
                session.update_arm(wrong, 1.0)
    with opened(tmp_path / "plain", user_key=None) as session:
        (ticket,) = session.select()
        assert session.update_arm(ticket.arm, 1.0) is Outcome.COUNTED
        for wrong in (2, -1, True, "control"):
            with pytest.raises(ParameterError, match="arm: must be the number of one of the 2 arms"):
                session.update_arm(wrong, 1.0)
    assert review(tmp_path / "journal").rewards > 0


def until_batch_of_names(session):
    """All open tickets of the arm that has the most, at least four."""
    while True:
        tickets = session.select(4)
        arm = tickets[0].arm
        if {one.arm for one in tickets} == {arm} and list(session._progress.open.of(arm)) == [
            t.number for t in tickets
        ]:
            return tickets
        for one in tickets:
            session.update(one.number, 0.5)


def test_messages_by_the_name_of_the_arm(tmp_path):
    """Other than for a session a ticket stays open; a policy whose tickets have bounds needs the ticket."""
    path = tmp_path / "journal"
    with Server(KLUCBCF(1.0), NAMES, 1000, path) as server:
        tickets = [ticket for _ in range(3) for ticket in server.select(2)]
        of_arm = [ticket.number for ticket in tickets if ticket.name == NAMES[0]]
        assert server.update(of_arm[1], 1) is Outcome.COUNTED
        assert server.update_arm(NAMES[0], 1) is Outcome.COUNTED
        assert server.update(of_arm[0], 1) is Outcome.REPEATED  # it was the oldest without a message
        assert [server.update_arm(NAMES[0], 1) for _ in of_arm[2:]] == [Outcome.COUNTED] * (len(of_arm) - 2) != []
        assert server.update_arm(NAMES[0], 1) is Outcome.UNUSED
        assert server.state()["reports"] == [len(of_arm), 0]
        for arm, message, said in (("old page", 1, "arm: must be one of the names"), (NAMES[0], 2, "message")):
            with pytest.raises(ParameterError, match=said):
                server.update_arm(arm, message)
    assert review(path).transcript == tuple(tickets)
    bounded = Server(RobustBitSE(1.0), 2, 1000, tmp_path / "bounded", moment=(2.0, 1.0))
    for server in (bounded, Server(LDPHalving(1.0), 2, 1000, tmp_path / "rounds")):
        with server:
            (ticket,) = server.select()
            with pytest.raises(ParameterError, match="policy: must be one without epochs or rounds"):
                server.update_arm(ticket.arm, 1)
