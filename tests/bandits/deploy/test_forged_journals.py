"""Journals whose checksums fit, as anybody can compute them, and whose content no session has written."""

import copy
import json
import os
import sqlite3
import stat
import sys

import pytest

from bandits import ParameterError
from bandits.deploy import JournalError, Server, Session, replay, session, tickets
from bandits.deploy.journal import Journal, JournalRow, _checksum
from bandits.deploy.replay import review
from bandits.policies.batched_index import AdaPUCB
from bandits.policies.lazy import LazyDPTS
from bandits.policies.local_bits import KLUCBCF, TSCF
from bandits.policies.robust_elimination import RobustBitSE

pytest.importorskip("opendp")
DEEP = "[" * 100_000 + "]" * 100_000
# Instead of any value of any row; as JSON, which has no NaN, but Python reads it.
WRONG = ["-5", "-1", "-0.5", "0.25", "1e300", "1e999", "NaN", "-Infinity", "9" * 5000, str(2**64), str(10**12)]
WRONG += ["null", "true", '"x"', "[]", "{}", "[[1]]", '{"a": 1}', DEEP]


def a_session(path, policy=None):
    return Session(policy or AdaPUCB(1.0), 2, 100, (0.0, 1.0), path, patience=3, contributions=2)


def a_session_that_draws(path):
    return a_session(path, LazyDPTS(1.0))


def a_server(path):
    return Server(KLUCBCF(1.0), 2, 100, path)


def a_server_that_draws(path):
    return Server(TSCF(1.0), 2, 100, path)


def a_server_of_epochs(path):
    return Server(RobustBitSE(2.0), 2, 100, path, moment=(1.0, 1.0))


OPENERS = [a_session, a_session_that_draws, a_server, a_server_that_draws, a_server_of_epochs]


# What a session may have written all the same: these values are in the range of their field.
LARGE = str(10**12)
POSSIBLE = {
    *(("release", f"('steps', 0) = {text}") for text in ("-5", "-1", LARGE)),
    *(("header", f"('{field}',) = {LARGE}") for field in ("contributions", "horizon", "patience")),
    *(("header", f"('{field}',) = true") for field in ("wait_always", "local")),
    *(("header", f"('policy', 'fields', 'epsilon') = {text}") for text in ("0.25", LARGE)),
    *(("header", f"('policy', 'fields', '{field}') = true") for field in ("cap",)),
    *(("header", f"('policy', 'fields', '{field}') = 0.25") for field in ("c", "corruption")),
    ("header", f"('policy', 'fields', 'alpha') = {LARGE}"),
    ("header", "('policy', 'fields', 'u') = null"),
    *(("header", f"('moment', 0) = {text}") for text in ("0.25", "1e300")),
    ("header", "('moment', 1) = 0.25"),
    ("header", "('domain', 0) = -0.5"),
    *(("header", f"('domain', 1) = {text}") for text in ("0.25", "1e300")),
    ("header", "('missing',) = 0.25"),
}


@pytest.fixture(autouse=True)
def _no_noise(monkeypatch):
    monkeypatch.setattr(session, "add_noise", lambda steps, sensitivity, epsilon: steps)
    monkeypatch.setattr(tickets, "EVERY", 5)


def played(opened, path):
    """The rows of a short journal, with every kind of row that this opener writes."""
    with opened(path) as begun:
        for _ in range(24):
            (ticket,) = begun.select()
            if ticket.number % 5:
                begun.update(ticket.number, 1)
    with Journal(path) as journal:
        return list(journal.rows())


def forged(path, empty, texts):
    """A journal with right checksums of these texts of bodies."""
    path.write_bytes(empty)
    file = sqlite3.connect(path, isolation_level=None)
    file.execute("PRAGMA synchronous=OFF")  # of a test alone: there are thousands of journals
    file.execute("BEGIN")
    checksum = ""
    for number, (kind, body) in enumerate(texts, 1):
        checksum = _checksum(checksum, number, kind, body)
        file.execute("INSERT INTO journal VALUES (?, ?, ?, ?)", (number, kind, body, checksum))
    file.execute("UPDATE last SET row = ?, checksum = ?", (len(texts), checksum))
    file.execute("COMMIT")
    file.close()


def places(body, before=()):
    """The place of every value in it, at any depth; () is the whole."""
    yield before
    inside = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for key, value in inside:
        yield from places(value, (*before, key))


def with_another(body, place, text):
    """The JSON of `body` with `text` in a place."""
    if not place:
        return text
    changed = copy.deepcopy(body)
    inside = changed
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = "@@"
    return json.dumps(changed).replace('"@@"', text)


def outcome(read, path):
    """What reading ends with: a line that names the file, or what was believed."""
    try:
        believed = read(path)
    except JournalError as error:
        said = str(error)
    else:
        return None, believed
    assert said.startswith(f"{path}: ")
    assert "\n" not in said
    assert len(said) < 500 + len(str(path))
    return said, None


def every_change(rows):
    """One row of every kind, each value of it in turn instead of a wrong one, and each key left out or added."""
    firsts = {row.kind: number for number, row in reversed(list(enumerate(rows)))}
    for kind, number in firsts.items():
        body = json.loads(json.dumps(rows[number].body))
        for place in places(body):
            for text in WRONG:
                yield number, kind, f"{place} = {text[:20]}", with_another(body, place, text)
        for key in body:
            left = {one: value for one, value in body.items() if one != key}
            yield number, kind, f"no {key}", json.dumps(left)
        yield number, kind, "another key", json.dumps(body | {"another": 1})


@pytest.mark.slow
@pytest.mark.parametrize("opened", OPENERS, ids=lambda opened: opened.__name__)
def test_no_value_out_of_range_is_believed_in_any_row(opened, tmp_path):
    """A review refuses it in a line. Values that a session could have written may be believed: then all fits."""
    rows = played(opened, tmp_path / "journal")
    believed, tried = [], 0
    texts = [(row.kind, json.dumps(row.body)) for row in rows]
    path = tmp_path / "forged"
    Journal(path).close()
    empty = path.read_bytes()
    for number, kind, what, text in every_change(rows):
        forged(path, empty, [*texts[:number], (kind, text), *texts[number + 1 :]])
        said, review_ = outcome(review, path)
        tried += 1
        if said is None:
            believed.append((kind, what))
            assert review_.header["contributions"] >= 1
            assert 0 < review_.spent.most < float("inf")
        elif kind != "header":
            assert outcome(lambda path: opened(path).close(), path)[0] is not None, (kind, what)
    assert tried > 300
    assert {(kind, what) for kind, what in believed} - POSSIBLE == set()


@pytest.mark.parametrize("policy", ["batched.defaultdict", "base.Policy", "lazy.require"])
def test_a_review_makes_nothing_but_a_policy(policy, tmp_path):
    """A name in a file calls no other function."""
    path = tmp_path / "journal"
    with Journal(path) as journal:
        journal.write([JournalRow("header", {"policy": {"class": f"bandits.policies.{policy}", "fields": {}}})])
    said, _ = outcome(review, path)
    assert said.startswith(f"{path}: row 1 of journal names no policy: ")


def test_contributions_out_of_range_end_the_command_with_2_and_a_line(tmp_path, monkeypatch, capsys):
    rows = played(a_session, tmp_path / "journal")
    path = tmp_path / "forged"
    with Journal(path) as journal:
        journal.write([JournalRow("header", rows[0].body | {"contributions": -5}), *rows[1:]])
    monkeypatch.setattr(sys, "argv", ["replay", str(path)])
    with pytest.raises(SystemExit, match="2"):
        replay.main()
    said = "row 1 of journal is not the header of a session: contributions: must be a whole number >= 1, got -5"
    assert capsys.readouterr() == ("", f"error: {path}: {said}\n")


@pytest.mark.parametrize("steps", [-5, 2**20 + 1])
def test_a_reward_outside_its_domain_is_refused(tmp_path, steps):
    """Whatever its checksum: it would move a sum by more than the noise hides."""
    path = tmp_path / "journal"
    with a_session(path, AdaPUCB(1.0)) as begun:
        begun.select()
    with Journal(path) as journal:
        journal.write(rewards={1: steps})
    for read in (a_session, review):
        said, _ = outcome(read, path)
        assert said == f"{path}: ticket 1 of secret_rewards is damaged: {steps} of 1048576 steps"


def test_a_snapshot_out_of_range_is_refused(tmp_path):
    for opened in OPENERS:
        for key in ("issued", "pulls", "waited", "released", "received"):
            path = tmp_path / f"{opened.__name__}_{key}"
            rows = played(opened, path)
            with Journal(path) as journal:
                state = dict(journal.snapshot().state)
                if key not in state:
                    continue
                journal.write(state=state | {key: -1})
            said, _ = outcome(opened, path)
            assert said.startswith(f"{path}: table snapshot does not fit the policy: its numbers of tickets"), rows


def test_a_journal_is_for_its_owner_alone(tmp_path):
    """Whatever the umask: it holds rewards. So is the file beside it while a transaction is written."""
    before = os.umask(0)
    try:
        for opened in (a_session, a_server):
            path = tmp_path / opened.__name__
            with opened(path) as begun:
                begun.select()
                modes = [stat.S_IMODE(file.stat().st_mode) for file in tmp_path.glob(f"{path.name}*")]
            assert set(modes) == {0o600}
    finally:
        os.umask(before)


def expecting(path, head):
    return Session(AdaPUCB(1.0), 2, 100, (0.0, 1.0), path, patience=3, contributions=2, expect=head)


def test_an_older_copy_of_the_journal_is_refused(tmp_path):
    """It would draw other noise for the same sums. One that only goes on from the head is taken."""
    path, heads = tmp_path / "journal", []
    for _ in range(3):
        with a_session(path) as begun:
            begun.select()
            heads.append(begun.head())
        path.with_name(f"copy{len(heads)}").write_bytes(path.read_bytes())
    assert [head.partition("-")[0] for head in heads] == sorted({head.partition("-")[0] for head in heads})
    for head in heads:
        expecting(path, head).close()
    older = path.with_name("copy2")
    expecting(older, heads[1]).close()
    wrong = heads[1].partition("-")[0] + "-" + heads[0].partition("-")[2]
    for head in (heads[2], wrong, "", "x", "2"):
        with pytest.raises(JournalError, match=rf"^{older}: does not contain the expected row {head}: an older copy"):
            expecting(older, head)
    a_session(older).close()  # it is not locked, and nothing was written
    gone = path.with_name("gone")
    with pytest.raises(JournalError, match=rf"^{gone}: no such file, and row {heads[0]} is expected in it$"):
        expecting(gone, heads[0])
    assert not gone.exists()
    gone.touch()
    with pytest.raises(JournalError, match=rf"^{gone}: does not contain the expected row"):
        expecting(gone, heads[0])
    with pytest.raises(ParameterError, match="expect"):
        expecting(path, 3)


def test_what_a_session_cannot_know_without_a_head_is_told(tmp_path):
    path, said = tmp_path / "journal", "that is not known without expect="
    with a_session(path) as begun:
        head = begun.head()
        assert begun.spent().words.endswith(said)
    assert review(path).spent.words.endswith(said)
    with expecting(path, head) as begun:
        assert said not in begun.spent().words
