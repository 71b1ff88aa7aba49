"""A restart from a snapshot is the same as one from the first row, and no snapshot is trusted that is damaged."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from bandits.deploy import JournalError, Server, Session, session, tickets
from bandits.deploy.journal import Journal, _checksum
from bandits.deploy.replay import review
from bandits.deploy.tickets import OpenTickets, SessionProgress, Ticket
from bandits.policies.batched_index import AdaPUCB
from bandits.policies.elimination import DPSE
from bandits.policies.heavy_tailed import LDPRSE
from bandits.policies.lazy import AnytimeLazyUCB
from bandits.policies.local_bits import KLUCBCF, TSCF
from bandits.policies.local_halving import LDPHalving
from bandits.policies.local_ucb import LDPUCBB, LDPUCBL
from bandits.policies.robust_elimination import RobustBitSE
from tests.bandits.policies.test_batched import NAMES, POLICIES

pytest.importorskip("opendp")
HEAVY = [RobustBitSE(2.0), LDPRSE(2.0, constants="custom", confidence_scale=0.01)]
LOCAL = [KLUCBCF(1.0), TSCF(1.0), LDPUCBB(1.0), LDPUCBL(1.0), LDPHalving(1.0, 60), *HEAVY]
FEW = 7  # tickets between two snapshots


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    """Snapshots are frequent, and noise follows from the sum, so that two sessions with the same sums are the same."""
    monkeypatch.setattr(tickets, "EVERY", FEW)

    def noisy(steps, sensitivity, epsilon):
        return steps + round(np.random.default_rng(abs(steps)).laplace(scale=sensitivity / epsilon))

    monkeypatch.setattr(session, "add_noise", noisy)
    monkeypatch.setattr(session, "add_normal_noise", noisy)


def opened_session(policy, path):
    horizon = 3000 if isinstance(policy, DPSE) else 400
    return Session(policy, 3, horizon, (0.0, 1.0), path, patience=2)


def opened_server(policy, path):
    return Server(policy, 3, 400, path, moment=(1.0, 1.0) if policy in HEAVY else None)


def play(opened, number, several=1):
    """One visit: tickets, of which some get a reward at once, some late, some never; what was seen."""
    opened._rng = rng = np.random.default_rng(number)
    given = opened.select(several)
    for ticket in given:
        late = max(1, ticket.number - int(rng.integers(0, 4)))
        if rng.random() < 0.9:
            opened.update(late, int(rng.integers(0, 2)))
    return given, opened.state(), opened.spent()


def public(opened):
    return opened._progress if isinstance(opened, Session) else opened._reports


@pytest.mark.parametrize("policy", [*POLICIES, *LOCAL], ids=[*NAMES, *(policy.name for policy in LOCAL)])
def test_a_restart_from_a_snapshot_is_the_same_as_no_restart(policy, tmp_path):
    """Arms, releases, what is known and what was spent; and the state is that of a replay from the first row."""
    opened = opened_server if policy in LOCAL else opened_session
    visits, several = (60, 40) if isinstance(policy, DPSE) else (90, 3)
    with opened(policy, ":memory:") as undisturbed:
        expected = [play(undisturbed, number, several) for number in range(visits)]
        saved = public(undisturbed).saved()
    path, seen = tmp_path / "journal", []
    for number in range(visits):
        with opened(policy, path) as part:
            assert public(part).unsaved < FEW  # it followed no more
            seen.append(play(part, number, several))
    assert seen == expected
    with opened(policy, path) as part:
        assert public(part).saved() == saved
    with closing(sqlite3.connect(path)) as file, file:
        assert file.execute("SELECT count(*) FROM snapshot").fetchall() == [(1,)]
    found = review(path)
    assert (len(found.transcript), found.spent) == (expected[-1][1]["tickets"], expected[-1][2])
    change(path, "DELETE FROM snapshot")
    with opened(policy, path) as part:
        assert json.dumps(public(part).saved()) == json.dumps(saved)


def change(path, *statements):
    with closing(sqlite3.connect(path)) as file, file:
        for trigger in ("rows_stay", "rows_are_fixed"):
            file.execute(f"DROP TRIGGER IF EXISTS {trigger}")
        for statement in statements:
            file.execute(statement)


def adap(path):
    return Session(AdaPUCB(1.0), 2, 100, (0.0, 1.0), path, patience=3)


@pytest.fixture
def path(tmp_path):
    """A journal with a snapshot that is not at its end."""
    path = tmp_path / "journal"
    with adap(path) as begun:
        for number in range(25):
            play(begun, number)
        assert begun._progress.unsaved > 0
    return path


def test_a_restart_reads_no_row_before_the_snapshot_and_a_review_reads_all(path):
    with adap(path) as begun:
        state = begun.state()
    change(path, "UPDATE journal SET body = '{}' WHERE row = 3")
    with adap(path) as begun:
        assert begun.state() == state
    with pytest.raises(JournalError, match=rf"^{path}: row 3 of journal is damaged"):
        review(path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE snapshot SET state = replace(state, '1', '2')",
        "UPDATE snapshot SET row = row - 1",
        "UPDATE snapshot SET row = row + 1000",
        "UPDATE snapshot SET last = ''",
        "UPDATE snapshot SET checksum = ''",
        "UPDATE snapshot SET row = row - 1, last = (SELECT checksum FROM journal j WHERE j.row = snapshot.row - 1)",
        "INSERT INTO snapshot SELECT * FROM snapshot",
    ],
)
def test_a_damaged_snapshot_is_refused_in_a_line_and_nothing_is_lost_without_it(statement, path):
    with adap(path) as begun:
        state = begun.state()
    change(path, statement)
    for read in (adap, review):
        with pytest.raises(JournalError, match=rf"^{path}: table snapshot is damaged: [^\n]* \(DELETE FROM snapshot\)"):
            read(path)
    change(path, "DELETE FROM snapshot")
    with adap(path) as begun:
        assert begun.state() == state


def test_the_row_of_the_snapshot_is_checked(path):
    change(path, "UPDATE journal SET checksum = '' WHERE row = (SELECT row FROM snapshot)")
    with pytest.raises(JournalError, match=rf"^{path}: table snapshot is damaged: "):
        adap(path)


def test_a_snapshot_is_written_with_every_so_many_tickets_and_not_more_often(tmp_path):
    seen = []
    with adap(tmp_path / "journal") as begun:
        for _ in range(4 * FEW):
            begun.select()
            found = begun._journal.snapshot()
            seen.append(0 if found is None else found.state["issued"])
    assert seen == [number // FEW * FEW for number in range(1, 4 * FEW + 1)]


def test_rows_after_the_snapshot_are_checked(path):
    change(path, "UPDATE journal SET body = '{}' WHERE row = (SELECT max(row) FROM journal)")
    with pytest.raises(JournalError, match=rf"^{path}: row [0-9]+ of journal is damaged"):
        adap(path)
    change(path, "DELETE FROM journal WHERE row = (SELECT max(row) FROM journal)")
    with pytest.raises(JournalError, match=rf"^{path}: row [0-9]+ of journal is missing"):
        adap(path)


def forge(path, state):
    """A snapshot whose checksums fit."""
    text = json.dumps(state, sort_keys=True, separators=(",", ":"))
    with closing(sqlite3.connect(path)) as file, file:
        ((row, last),) = file.execute("SELECT row, last FROM snapshot").fetchall()
        checksum = _checksum(last, row, "snapshot", text)
        file.execute("UPDATE snapshot SET state = ?, checksum = ?", (text, checksum))


def test_a_review_finds_a_snapshot_that_does_not_follow_from_the_rows(path):
    with Journal(path) as journal:
        state = journal.snapshot().state
    review(path)
    forge(path, {**state, "released": state["released"] + 1})
    with pytest.raises(JournalError, match=rf"^{path}: table snapshot does not follow from the [0-9]+ rows before it$"):
        review(path)


@pytest.mark.parametrize("bad", [{}, {"run": {}}, {"run": {"pulls": [1, 2, 3]}}, {"run": None}])
def test_a_snapshot_of_another_version_of_the_policy_is_refused(bad, path):
    forge(path, bad)
    with pytest.raises(JournalError, match=rf"^{path}: table snapshot does not fit the policy: [^\n]*$"):
        adap(path)


def test_a_journal_without_a_table_of_snapshots_gets_one(path):
    """Those of earlier versions have none."""
    with adap(path) as begun:
        state = begun.state()
    change(path, "DROP TABLE snapshot")
    with adap(path) as begun:
        assert begun.state() == state
        begun.select(FEW)
    with Journal(path) as journal:
        assert journal.snapshot() is not None


def test_a_snapshot_tells_nothing_of_rewards_nor_which_came(tmp_path):
    """With `wait_always` the presence of a reward is protected, too."""
    found = []
    for number, reward in enumerate((None, 0.0, 1.0)):
        path = tmp_path / str(number)
        with Session(AnytimeLazyUCB(1.0), 2, 100, (0.0, 1.0), path, patience=9, wait_always=True) as begun:
            begun.select(1)
            if reward is not None:
                begun.update(1, reward)
            begun.select(FEW)
        with closing(sqlite3.connect(path)) as file, file:
            found.append(file.execute("SELECT * FROM snapshot").fetchall())
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 1


def test_a_policy_that_does_not_save_its_runs_starts_from_the_first_row(tmp_path, monkeypatch):
    monkeypatch.setattr("bandits.policies.batched_index.IndexRun.saved", lambda self: None)
    path = tmp_path / "journal"
    for number in range(30):
        with adap(path) as begun:
            state = play(begun, number)[1]
    with adap(path) as begun:
        assert begun.state() == state
        assert begun._progress.unsaved == 30
    with Journal(path) as journal:
        assert journal.snapshot() is None


def test_open_tickets_by_hand():
    known = OpenTickets()
    for number, arm in ((1, 0), (2, 1), (5, 0)):
        known.add(Ticket(number, arm))
    assert [known.arm_of(number) for number in range(7)] == [None, 0, 1, None, None, 0, None]
    assert (list(known.of(0)), list(known.of(2)), len(known), sorted(known)) == ([1, 5], [], 3, [1, 2, 5])
    known.remove(1, 0)
    assert (known.arm_of(1), known.saved()) == (None, [(0, [5]), (1, [2])])
    known.close(1)
    assert (known.arm_of(2), len(known)) == (None, 1)


def test_what_is_open_takes_no_more_memory_than_its_numbers():
    """8 bytes a ticket and room to grow: of 10^5 tickets less than 2 MB."""
    progress = SessionProgress(AdaPUCB(1.0).batched_run(2, 10**6), 2, 10**6, 1000)
    assert len(progress.open) == 0
    for number in range(10**5):
        progress.open.add(Ticket(number, 0))
    assert progress.open._of[0].itemsize == 8
    assert progress.open._of[0].__sizeof__() < 2e6
