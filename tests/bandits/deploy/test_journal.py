"""Journals: damage and concurrent use are refused in one line, and a review finds inconsistencies."""

import gc
import io
import itertools
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import pytest

from bandits.deploy import JournalError, Server, Session, replay, session
from bandits.deploy.journal import Journal, JournalRow, _checksum
from bandits.deploy.replay import review
from bandits.policies.batched_index import AdaPKLUCB, AdaPUCB
from bandits.policies.lazy import LazyDPTS
from bandits.policies.local_bits import KLUCBCF
from experiments.config.compose import REPOSITORY
from tests.bandits.deploy.killed_service import PAGE

pytest.importorskip("opendp")
POLICY = AdaPUCB(1.0)


def opened(path, policy=POLICY):
    return Session(policy, 2, 100, (0.0, 1.0), path, patience=3, contributions=2)


@pytest.fixture(autouse=True)
def _no_noise(monkeypatch):
    """No noise, so that journals are always the same."""
    monkeypatch.setattr(session, "add_noise", lambda steps, sensitivity, epsilon: steps)


@pytest.fixture
def path(tmp_path):
    """The journal of a session that had 24 tickets, of which every fifth had no reward."""
    path = tmp_path / "journal"
    with opened(path) as begun:
        for _ in range(24):
            (ticket,) = begun.select()
            if ticket.number % 5:
                begun.update(ticket.number, 0.5)
    return path


def change(path, *statements):
    """Change a journal directly in its file."""
    with closing(sqlite3.connect(path)) as file, file:
        for trigger in ("rows_stay", "rows_are_fixed"):
            file.execute(f"DROP TRIGGER {trigger}")
        for statement in statements:
            file.execute(statement)


def test_rows_are_only_appended(path):
    file = sqlite3.connect(path)
    for statement in ("DELETE FROM journal", "UPDATE journal SET body = ''"):
        with pytest.raises(sqlite3.DatabaseError, match="rows are only appended"):
            file.execute(statement)
    file.close()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE journal SET body = replace(body, '[', '[ ') WHERE row = 3", "row 3 of journal is damaged"),
        ("UPDATE journal SET kind = 'wait' WHERE row = 2", "row 2 of journal is damaged"),
        ("DELETE FROM journal WHERE row = 4", "row 4 of journal is damaged"),
        ("DELETE FROM journal WHERE row = 1", "row 1 of journal is damaged"),
        ("UPDATE journal SET row = 400 WHERE row = 5", "row 5 of journal is damaged"),
        ("UPDATE journal SET row = row + 5 WHERE row = (SELECT max(row) FROM journal)", "row [0-9]+ of journal is dam"),
        ("INSERT INTO journal VALUES (2000, 'pull', '{}', '')", "row [0-9]+ of journal is damaged"),
        ("DELETE FROM journal WHERE row = (SELECT max(row) FROM journal)", "row [0-9]+ of journal is missing"),
        ("UPDATE secret_rewards SET steps = steps + 1 WHERE ticket = 24", "ticket 24 of secret_rewards is damaged"),
        ("INSERT INTO journal VALUES (-1, 'pull', '{}', '')", "row 1 of journal is damaged"),
        ("DELETE FROM last", "table last is damaged"),
    ],
)
def test_damage_is_told_with_file_and_row(path, statement, said):
    change(path, statement)
    for read in (opened, review):
        with pytest.raises(JournalError, match=rf"^{path}: {said}[^\n]*$"):
            read(path)


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        ("pull", {"arms": [[0, 1000]]}, "does not fit the policy"),
        ("pull", {"arms": [[7, 1]]}, "does not fit the policy: \\(7, 1\\) is no pair of one of 2 arms"),
        ("release", {"arms": [0], "steps": [1], "missing": 0}, r"does not fit the policy: arms \[0\] are released, "),
        ("wait", {"arms": [[1, 1]]}, "does not fit the policy"),
        ("nonsense", {}, "does not fit the policy"),
    ],
)
def test_rows_that_this_policy_does_not_write_are_refused(path, kind, body, said):
    with Journal(path) as journal:
        last = len(list(journal.rows())) + 1
        journal.write([JournalRow(kind, body)])
    for read in (opened, review):
        with pytest.raises(JournalError, match=rf"^{path}: row {last} of journal {said}[^\n]*$"):
            read(path)


def test_an_arm_that_does_not_follow_from_the_releases_is_refused(path):
    """For example an arm chosen by another version of the policy."""
    rows = opened(path)
    rows.close()
    with Journal(path) as journal:
        known = list(journal.rows())
    forged = path.with_name("forged")
    with Journal(forged) as journal:
        number = next(i for i, row in enumerate(known) if row.kind == "pull" and i > 8)
        arm, count = known[number].body["arms"][0]
        journal.write([*known[:number], JournalRow("pull", {"arms": [[1 - arm, count]]})])
    with pytest.raises(JournalError, match=rf"row {number + 1} of journal does not fit the policy: arm {1 - arm} was"):
        opened(forged)


def test_a_row_in_the_place_of_another_is_damage(path):
    """Its own checksum fits, but not what came before it."""
    other = path.with_name("other")
    with Journal(path) as journal, Journal(other) as copy:
        first, _, *rest = journal.rows()
        copy.write([first, JournalRow("pull", {"arms": [[1, 1]]}), *rest])
    with closing(sqlite3.connect(other)) as file, file:
        (row,) = file.execute("SELECT * FROM journal WHERE row = 2").fetchall()
    change(path, "DELETE FROM journal WHERE row = 2")
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("INSERT INTO journal VALUES (?, ?, ?, ?)", row)
    with pytest.raises(JournalError, match=rf"^{path}: row 3 of journal is damaged"), Journal(path) as journal:
        list(journal.rows())


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_what_is_written_is_synchronised_before_it_is_told(tmp_path):
    """After the last change of the file, and before `write` returns, a call waits for the disk."""
    script = """
import os, sys
from bandits.deploy.journal import Journal, JournalRow
journal = Journal(sys.argv[1])
for number in range(3):
    journal.write([JournalRow("pull", {})], {number: 1})
    os.write(1, b"told")
"""
    trace, calls = tmp_path / "trace", "trace=write,pwrite64,ftruncate,fsync,fdatasync,unlink"
    words = [
        "strace",
        "-f",
        "-y",
        "-o",
        str(trace),
        "-e",
        calls,
        sys.executable,
        "-c",
        script,
        str(tmp_path / "journal"),
    ]
    ended = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if "ptrace" in ended.stderr:
        pytest.skip(f"processes cannot be traced here: {ended.stderr}")
    assert not ended.returncode, ended.stderr
    names = [
        name + ("!" if "told" in line else "")
        for line in trace.read_text().splitlines()
        for name in re.findall(r"^\d+ +(\w+)\(", line)
        if "journal" in line or "told" in line
    ]
    told = [place for place, name in enumerate(names) if name == "write!"]
    assert len(told) == 3
    assert all(names[place - 1] in ("fsync", "fdatasync") for place in told)
    assert all({"pwrite64", "ftruncate"} <= set(names[a:b]) for a, b in itertools.pairwise(told))


def test_flipped_bytes_are_noticed_or_change_nothing(path):
    """Whichever byte of the file: the session is refused in a line, or is the same as before."""
    whole, rng = path.read_bytes(), random.Random(1)
    with opened(path) as begun:
        state = begun.state()
    refused = []
    for _ in range(150):
        place = rng.randrange(len(whole))
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << rng.randrange(8)]) + whole[place + 1 :])
        try:
            with opened(path) as begun:
                assert begun.state() == state
        except JournalError as error:
            refused.append(str(error))
    assert len(refused) > 10
    assert all(said.startswith(f"{path}: ") and "\n" not in said for said in refused)


@pytest.mark.parametrize("content", [b"rewards\n" * 1000, b"SQLite format 3\x00" + bytes(200)])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(JournalError, match=rf"^{path}: [^\n]*$"):
        opened(path)
    assert path.read_bytes() == content


def test_databases_of_others_and_of_other_formats_are_refused(tmp_path, path):
    other = tmp_path / "other"
    with closing(sqlite3.connect(other)) as file, file:
        file.execute("CREATE TABLE journal (row INTEGER)")
    with pytest.raises(JournalError, match=rf"^{other}: is a database of something else, not a journal$"):
        opened(other)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA user_version=2")
    with pytest.raises(JournalError, match=rf"^{path}: has format 2, this version of bandits reads 1$"):
        opened(path)
    with pytest.raises(JournalError, match=r"cannot be opened: there is no folder \S+no$"):
        opened(tmp_path / "no" / "journal")
    with pytest.raises(JournalError, match=rf"^{tmp_path}: is a folder, not a journal$"):
        opened(tmp_path)


def test_a_journal_has_one_writer(path):
    with opened(path) as first:
        for read in (opened, review):
            with pytest.raises(JournalError, match=rf"^{path}: is in use by another session$"):
                read(path)
        first.select()
    opened(path).close()


@pytest.mark.parametrize("how", ["removed", "replaced", "moved"])
def test_a_file_that_is_not_in_its_place_any_more_is_refused(how, path):
    """A reward would be acknowledged that the next session cannot know, and its releases would be drawn again."""
    older = path.with_name("older")
    shutil.copy(path, older)
    with opened(path) as begun:
        begun.select()
        state = begun.state()
        match how:
            case "removed":
                path.unlink()
            case "replaced":
                older.replace(path)
            case "moved":
                path.rename(path.with_name("elsewhere"))
        for asked in (begun.select, lambda: begun.update(state["tickets"], 0.5)):
            with pytest.raises(JournalError, match=rf"^{path}: (was moved, removed or replaced|an earlier error)"):
                asked()


def test_no_other_tool_reads_or_writes_a_journal_that_is_open(path):
    tool = sqlite3.connect(path, timeout=0, isolation_level=None)
    with opened(path):
        for statement in ("SELECT * FROM journal", "DELETE FROM snapshot"):
            with pytest.raises(sqlite3.OperationalError, match="database is locked"):
                tool.execute(statement)
    tool.execute("BEGIN EXCLUSIVE")
    with pytest.raises(JournalError, match=rf"^{path}: is in use by another session$"):
        opened(path)
    tool.close()
    opened(path).close()


OPEN = """
import sys
from tests.bandits.deploy.test_journal import opened
try:
    opened(sys.argv[1])
except Exception as error:
    print(error)
"""


@pytest.mark.slow
def test_a_copy_made_by_the_service_itself_does_not_let_another_in(path):
    """Whoever closes a file loses all locks of sqlite on it: both sessions would draw noise for the same batch."""
    with opened(path) as begun:
        begun.select()
        shutil.copy(path, path.with_name("copy"))
        words = [sys.executable, "-c", OPEN, str(path)]
        told = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
        assert told == f"{path}: is in use by another session\n"
        begun.select()


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "x/" * 3000 + "x"], ids=["long", "zero", "deep"])
def test_names_that_no_file_has_are_refused_in_a_line(name, tmp_path):
    for read in (opened, review, lambda path: Session(POLICY, 2, 100, (0.0, 1.0), path, expect="1-a")):
        with pytest.raises(JournalError, match=r"^[^\n]{1,400}: cannot be opened: [^\n]{1,200}$"):
            read(f"{tmp_path}/{name}")


@pytest.mark.parametrize("text", [b"CREATE TABLE journal", b'"patience"'])
def test_bytes_that_are_no_text_are_refused_in_a_line(text, path):
    content = bytearray(path.read_bytes())
    content[content.find(text) + 3] |= 0x80
    path.write_bytes(content)
    for read in (opened, review):
        with pytest.raises(JournalError, match=rf"^{path}: [^\n]*$"):
            read(path)


def test_a_file_that_may_not_be_opened_is_told(path, monkeypatch):
    def refuse(*words):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(JournalError, match=rf"^{path}: cannot be opened: Permission denied$"):
        opened(path)


def test_a_file_with_two_names_is_refused(path):
    other = path.with_name("other")
    other.hardlink_to(path)
    for name in (path, other):
        with pytest.raises(JournalError, match=rf"^{name}: has another name \(a hard link\): remove one of them$"):
            opened(name)
    other.unlink()
    link = path.with_name("link")
    link.symlink_to(path)
    with opened(link), pytest.raises(JournalError, match="is in use by another session"):
        opened(path)


def test_a_reward_of_a_batch_that_is_closed_is_looked_at_by_a_review_alone(path):
    change(path, "UPDATE secret_rewards SET steps = steps + 1 WHERE ticket = 1")
    opened(path).close()  # it enters no sum any more
    with pytest.raises(JournalError, match=rf"^{path}: ticket 1 of secret_rewards is damaged: its checksum is wrong$"):
        review(path)


def refused_after_a_fork(held, path):
    """What a child does with the session of its parent, and then without."""
    for call in ("select", "state", "close_batches", "ledger", "spent"):
        with pytest.raises(JournalError, match=rf"^{path}: was opened before this process was forked; open it after"):
            getattr(held[0], call)()
    with pytest.raises(JournalError, match="forked"):
        held[0].update(24, 0.5)
    held[0].close()
    held.clear()
    gc.collect()


def test_a_session_does_not_pass_through_a_fork(path):
    """Servers fork workers: the parent and each of them would draw its own noise for one release."""
    held = [opened(path)]
    held[0].select()
    state = held[0].state()
    beside = path.with_name("journal-journal")
    held[0]._journal._file.execute("BEGIN EXCLUSIVE")  # as another thread may have
    held[0]._journal._file.execute("UPDATE last SET row = row + 1")
    needed = beside.read_bytes()
    assert needed
    child = os.fork()
    if child == 0:
        code = 1
        try:
            refused_after_a_fork(held, path)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert beside.read_bytes() == needed  # the child has not undone what the parent does, nor removed what it needs
    held[0]._journal._file.execute("ROLLBACK")
    assert held[0].state() == state
    held[0].select()
    held[0].close()
    opened(path).close()


@pytest.mark.parametrize("made", [opened, lambda path: Server(KLUCBCF(1.0), 2, 100, path)], ids=["session", "server"])
def test_a_fork_while_another_thread_is_in_a_call_does_not_wait_for_ever(made, tmp_path):
    """In the child nobody ends that call."""
    held, inside, ended = made(tmp_path / "journal"), threading.Event(), threading.Event()

    def call():
        with held._alone():
            inside.set()
            ended.wait()

    thread = threading.Thread(target=call)
    thread.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(20)
            for call_ in (held.select, held.head, held.spent):
                with pytest.raises(JournalError, match="was opened before this process was forked"):
                    call_()
            held.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    ended.set()
    thread.join()
    held.select()
    held.close()


CALLS = ("select", "close_batches", "state", "head", "spent", "ledger")


@pytest.mark.parametrize("call", CALLS)
def test_a_call_in_the_middle_of_another_is_refused_and_changes_nothing(call, path, monkeypatch):
    """Such as one of a signal handler: both calls would release the same sum."""
    told, begun = [], opened(path)

    def handler():
        with pytest.raises(JournalError, match="was called in the middle of another call: let a signal handler set"):
            getattr(begun, call)()
        told.append(call)

    monkeypatch.setattr(session, "add_noise", lambda steps, *given: handler() or steps)
    while not told:
        begun.select()
    begun.select()
    state = begun.state()
    begun.close()
    monkeypatch.undo()
    with opened(path) as again:
        assert again.state() == state
    review(path)


def test_a_signal_handler_that_closes_batches_or_the_session_destroys_no_journal(path, monkeypatch):
    """Its error, or what it closed, ends the call that it interrupts; nothing of that is on disk."""
    for call, said in (("close_batches", "in the middle of another call"), ("close", "closed")):
        begun = opened(path)
        while not begun.state()["waiting"]:
            begun.select()
        before, state = review_of_open(begun), begun.state()
        signal.signal(signal.SIGUSR1, lambda *_, call=call, begun=begun: getattr(begun, call)())
        monkeypatch.setattr(session, "add_noise", lambda steps, *given: signal.raise_signal(signal.SIGUSR1) or steps)
        try:
            with pytest.raises(JournalError, match=said):
                begun.close_batches()
        finally:
            signal.signal(signal.SIGUSR1, signal.SIG_DFL)
            monkeypatch.setattr(session, "add_noise", lambda steps, *given: steps)
        begun.close()
        with opened(path) as again:
            assert (review_of_open(again), again.state()) == (before, state)
            assert again.close_batches()


def review_of_open(begun):
    return list(begun._journal.rows())


def test_after_an_error_a_session_refuses_all(path, monkeypatch):
    """The content on disk is then unknown: a release in memory may be unwritten."""
    begun = opened(path)
    monkeypatch.setattr(begun._journal, "write", lambda *rows, **rewards: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        begun.select(10)
    for asked in (begun.select, begun.state, begun.spent, begun.ledger, lambda: begun.update(1, 0.5)):
        with pytest.raises(JournalError, match="an earlier error left it unclear"):
            asked()
    begun.close()
    with pytest.raises(JournalError, match="an earlier error left it unclear"):
        begun.select()


def test_a_session_that_was_closed_says_so(path):
    begun = opened(path)
    begun.close()
    begun.close()
    for asked in (begun.select, begun.state, lambda: begun.update(1, 0.5)):
        with pytest.raises(JournalError, match=rf"^{path}: was closed; open it again$"):
            asked()


def test_what_was_written_is_all_there_or_not_at_all(path):
    journal = Journal(path)
    before = len(list(journal.rows()))
    with pytest.raises(JournalError, match="UNIQUE"):
        journal.write([JournalRow("pull", {"arms": [[0, 1]]})], {1: 5})
    journal.close()
    with Journal(path) as journal:
        assert len(list(journal.rows())) == before


def test_the_public_table_has_no_trace_of_rewards(tmp_path):
    """It is the same whatever the rewards are, until they are in a release."""
    tables = []
    for reward in (0.0, 1.0):
        path = tmp_path / str(reward)
        with Session(POLICY, 2, 100, (0.0, 1.0), path) as begun:
            for _ in range(3):
                begun.select()
            begun.update(1, reward)
        with closing(sqlite3.connect(path)) as file, file:
            tables.append(file.execute("SELECT * FROM journal").fetchall())
            (kept,) = file.execute("SELECT steps FROM secret_rewards").fetchall()
            assert kept == (reward * 2**20,)
    assert tables[0] == tables[1]


def test_nothing_of_a_reward_is_left_in_a_copy_made_as_the_page_says(path):
    """Also if sqlite does not overwrite deleted data, its default; Debian's sqlite does overwrite it."""
    (command,) = re.findall(r"`(DELETE FROM secret_rewards;[^`]*)`", PAGE.read_text())
    with closing(sqlite3.connect(path)) as file, file:
        secret = [checksum.encode() for (checksum,) in file.execute("SELECT checksum FROM secret_rewards")]
    assert any(one in path.read_bytes() for one in secret)
    file = sqlite3.connect(path, isolation_level=None)
    file.execute("PRAGMA secure_delete=OFF")
    file.executescript(command)
    file.close()
    assert not any(one in path.read_bytes() for one in secret)
    assert review(path).rewards == 0


def test_a_review_of_a_sound_journal(path):
    found = review(path)
    assert [ticket.number for ticket in found.transcript] == list(range(1, 25))
    with opened(path) as begun:
        assert (found.spent, found.ledger) == (begun.spent(), begun.ledger())
    assert found.spent.epsilon == 2.0
    assert found.rewards > 5
    change(path, "DELETE FROM secret_rewards")  # a copy to publish
    assert review(path).transcript == found.transcript
    assert review(path).rewards == 0


def test_a_review_finds_rewards_that_are_lost_or_are_in_no_batch(path):
    change(path, "DELETE FROM secret_rewards WHERE ticket = 1")
    with pytest.raises(
        JournalError, match=rf"^{path}: release 1: 0 rewards are missing in it, and 1 are not in secret"
    ):
        review(path)
    change_again = sqlite3.connect(path)
    for ticket in (1, 999):
        steps = 2**19
        entry = (ticket, steps, _checksum("", ticket, "reward", str(steps)))
        change_again.execute("INSERT INTO secret_rewards VALUES (?, ?, ?)", entry)
    change_again.commit()
    change_again.close()
    with pytest.raises(JournalError, match=rf"^{path}: ticket 999 of secret_rewards is in no batch$"):
        review(path)


def test_a_review_of_arms_that_are_drawn(tmp_path):
    path = tmp_path / "journal"
    with opened(path, LazyDPTS(1.0)) as begun:
        given = begun.select(60)
    assert list(review(path).transcript) == given
    opened(path, LazyDPTS(1.0)).close()


def test_the_command_prints_what_was_spent(path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["replay", str(path), "--transcript"])
    replay.main()
    out = capsys.readouterr().out
    assert "spent: 2 of one user, 2 at most: all arms and releases are 2-differentially private" in out
    assert "\nticket 24: arm " in out
    assert "0.5" not in out
    change(path, "DELETE FROM journal WHERE row = 4")
    with pytest.raises(SystemExit, match="2"):
        replay.main()
    assert capsys.readouterr().err == f"error: {path}: row 4 of journal is damaged: its checksum does not fit\n"
    monkeypatch.setattr(sys, "argv", ["replay", str(path.with_name("none"))])
    with pytest.raises(SystemExit, match="2"):
        replay.main()
    assert capsys.readouterr().err == f"error: {path.with_name('none')}: no such file\n"


def test_the_command_ends_silently_when_its_reader_does(path, monkeypatch, capsys):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "argv", ["replay", str(path), "--transcript"])
    monkeypatch.setattr(sys, "stdout", Closed())
    replay.main()
    assert capsys.readouterr().err == ""


def test_a_review_imports_no_module_of_others(tmp_path):
    path = tmp_path / "journal"
    with Journal(path) as journal:
        journal.write([JournalRow("header", {"policy": {"class": "antigravity.Open", "fields": {}}})])
    with pytest.raises(JournalError, match=r"its policy antigravity.Open is not of this package: give it to `review`"):
        review(path)
    assert "antigravity" not in sys.modules


def test_a_review_takes_a_policy_of_ones_own(tmp_path):
    class Own(AdaPKLUCB):
        pass

    path = tmp_path / "journal"
    with opened(path, Own(1.0)) as begun:
        begun.select(9)
    assert len(review(path, Own(1.0)).transcript) == 9
    with pytest.raises(JournalError, match="is not of this package"):
        review(path)
    with pytest.raises(JournalError, match=r"is of another session: policy.epsilon is 1.0, not 2.0$"):
        review(path, Own(2.0))
