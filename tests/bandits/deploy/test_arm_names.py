"""Arms with names: in tickets, in the header of the journal, and in its review; and servers that expect a row."""

import json
import shutil

import pytest

from bandits import ParameterError
from bandits.deploy import JournalError, Server, Session
from bandits.deploy.journal import Journal, JournalRow
from bandits.deploy.replay import main as replay_main
from bandits.deploy.replay import review
from bandits.policies.batched_index import AdaPUCB
from bandits.policies.local_bits import KLUCBCF

NAMES = ["control", "new page"]


def session(path, arms=NAMES):
    return Session(AdaPUCB(1.0), arms, 100, (0.0, 1.0), path, patience=3)


def server(path, arms=NAMES, **more):
    return Server(KLUCBCF(1.0), arms, 100, path, **more)


@pytest.mark.parametrize("opened", [session, server])
def test_tickets_have_the_names_of_their_arms(opened, tmp_path, capsys, monkeypatch):
    """The same arms as without names; rewards are given by the number of a ticket, as ever."""
    path = tmp_path / "journal"
    with opened(path) as begun:
        given = [ticket for _ in range(6) for ticket in begun.select(2)]
        assert {begun.update(ticket.number, 1) for ticket in given[-1:]} <= {"counted", "unused"}
    assert all(ticket.name == NAMES[ticket.arm] for ticket in given)
    assert {ticket.name for ticket in given} == set(NAMES)
    with opened(path) as again:
        assert again.select()[0].name in NAMES
    found = review(path)
    assert found.header["names"] == NAMES
    assert found.header["arms"] == 2
    assert found.transcript[: len(given)] == tuple(given)
    monkeypatch.setattr("sys.argv", ["replay", str(path), "--transcript"])
    replay_main()
    assert f"ticket 1: arm {given[0].name}\n" in capsys.readouterr().out
    with opened(tmp_path / "plain", 2) as plain:
        assert plain.select()[0].name is None
    assert "names" not in review(tmp_path / "plain").header


@pytest.mark.parametrize("opened", [session, server])
@pytest.mark.parametrize(
    ("begun", "later", "said"),
    [
        (NAMES, ["control", "old page"], r"names is \['control', 'new page'\], not \['control', 'old page'\]"),
        (NAMES, NAMES[::-1], r"names is \['control', 'new page'\], not \['new page', 'control'\]"),
        (NAMES, 2, r"names is \['control', 'new page'\], not None"),
        (2, NAMES, r"names is None, not \['control', 'new page'\]"),
        (NAMES, [*NAMES, "third"], "arms is 2, not 3"),
    ],
)
def test_a_journal_of_other_names_is_refused_in_a_line(opened, begun, later, said, tmp_path):
    path = tmp_path / "journal"
    opened(path, begun).close()
    with pytest.raises(JournalError, match=rf"^{path}: is of another session: {said}$"):
        opened(path, later)
    opened(path, begun).close()


@pytest.mark.parametrize("opened", [session, server])
@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a", "a"], "arms: must be different names, got 'a' twice"),
        (["a", ""], "arms: must be names of 1 to 100 printable characters, got ''"),
        (["a", "b" * 101], "arms: must be names of 1 to 100 printable characters, got 'bbb"),
        (["a", "b\nc"], r"arms: must be names of 1 to 100 printable characters, got 'b\\nc'"),
        (["a", 1], "arms: must be names of 1 to 100 printable characters, got 1"),
        (["a"], "arms: must be a whole number >= 2, got 1"),
        ("ab", "arms: must be a whole number >= 2, got 'ab'"),
    ],
)
def test_what_are_no_names(opened, names, said, tmp_path):
    with pytest.raises(ParameterError) as refused:
        opened(tmp_path / "journal", names)
    assert str(refused.value).startswith(said.replace(r"\\n", r"\n"))
    assert not (tmp_path / "journal").exists()


@pytest.mark.parametrize("opened", [session, server])
@pytest.mark.parametrize("names", ['["a"]', '["a", "a"]', '["a", "b", "c"]', '"ab"', "2", "[1, 2]", "null", '{"a": 1}'])
def test_forged_names_are_refused_in_a_line(opened, names, tmp_path):
    """Checksums fit, as anybody can compute them; a header without the number of arms, too."""
    path = tmp_path / "journal"
    with opened(path) as begun:
        begun.select()
    with Journal(path) as journal:
        rows = list(journal.rows())
    for body in (rows[0].body | {"names": json.loads(names)}, {k: v for k, v in rows[0].body.items() if k != "arms"}):
        forged = tmp_path / f"forged {len(body)}"
        with Journal(forged) as journal:
            journal.write([JournalRow("header", body), *rows[1:]])
        with pytest.raises(JournalError, match=r"row 1 of journal is not the header of a session: [^\n]*$"):
            review(forged)


def test_a_server_expects_the_row_that_was_written_down(tmp_path):
    path, copy = tmp_path / "journal", tmp_path / "copy"
    with server(path) as begun:
        begun.select()
    shutil.copy(path, copy)
    with server(path) as begun:
        begun.update(1, 1)
        head = begun.head()
    server(path, expect=head).close()
    with pytest.raises(JournalError, match=rf"^{copy}: does not contain the expected row {head}: an older copy"):
        server(copy, expect=head)
    server(copy).close()
    with pytest.raises(JournalError, match=rf"no such file, and row {head} is expected in it$"):
        server(tmp_path / "none", expect=head)
    assert not (tmp_path / "none").exists()
    with pytest.raises(ParameterError, match=r"^expect: must be what `head\(\)` returned, got 3$"):
        server(path, expect=3)
