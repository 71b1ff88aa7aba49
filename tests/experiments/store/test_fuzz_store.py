"""No stored result is lost and no wrong one is read, wherever a writer is killed and however a file is damaged.

CASES=10000 in the environment tries that many instead of 300: writers that are killed, files that are damaged, cells.
"""

import json
import os
import random
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from experiments.config.compose import REPOSITORY
from experiments.store import Store
from experiments.store.place import look
from experiments.store.results_file import DamagedFileError, read_file, write_file
from tests.experiments.store.killed_writer import CELL, MOST, stored
from tests.test_fuzz import is_fine

CASES = int(os.environ.get("CASES", "300"))
KILLED, DAMAGED, CELLS = CASES * 4 // 10, CASES // 2, CASES // 10
pytestmark = pytest.mark.slow


class Writers:
    """Processes that write a cell, and are killed."""

    def __init__(self):
        command = [sys.executable, "-m", "tests.experiments.store.killed_writer"]
        self.server = subprocess.Popen(
            command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def write(self, root, replications, call=-1, byte=0, changed=False):
        case = {"root": str(root), "replications": replications, "call": call, "byte": byte, "changed": changed}
        self.server.stdin.write(json.dumps(case) + "\n")
        return json.loads(self.server.stdout.readline())


@pytest.fixture(scope="module")
def writers():
    writers = Writers()
    yield writers
    writers.server.stdin.close()
    assert writers.server.wait(timeout=60) == 0
    writers.server.stdout.close()


@pytest.fixture(scope="module")
def numbers():
    """The rows of each number of replications."""
    return {count: stored(count) for count in range(1, MOST + 1)}


def same(contents, expected):
    return all(np.array_equal(contents.rows[name], expected.rows[name]) for name in expected.rows)


def calls_of_a_write(writers, folder):
    """The number of system calls of an undisturbed write."""
    *_, count = writers.write(folder / "counted", 2)["answer"]
    return int(count)


def test_killed_writers_lose_nothing(writers, numbers, tmp_path):
    """There are no or some replications, and a writer of others is killed: the old or the new ones are there."""
    seed = random.Random(1)
    most = 2 * calls_of_a_write(writers, tmp_path) + 2
    ends = Counter()
    for case in range(KILLED):
        root, before, after = tmp_path / str(case), seed.randint(0, MOST), seed.randint(1, MOST)
        store, changed = Store(root), before > 0 and seed.random() < 0.2
        if before:
            store.write(numbers[before])
        kept = {path: path.read_bytes() for path in root.rglob("*.parquet")}
        at_call = seed.random() < 0.6
        where = {"call": seed.randrange(most)} if at_call else {"byte": seed.randint(1, 7_000)}
        end = writers.write(root, after, changed=changed, **where)
        ends["killed" if end["signal"] else "finished"] += 1
        found = store.read(CELL)
        if before:
            assert found is not None, (case, where)
            assert found.replications in ({before} if changed else {before, max(before, after)}), (case, where)
        if found is not None:
            assert same(found, numbers[found.replications]), (case, where)
        elif not end["signal"]:
            raise AssertionError(f"{case} {where}: it ended well, and nothing is stored")
        if found is not None and found.replications == before:
            assert all(path.read_bytes() == content for path, content in kept.items()), (case, where)
        store.write(numbers[MOST])  # the next run resumes
        assert same(store.read(CELL), numbers[MOST])
        assert look([root]).damaged == {}
    print(f"{KILLED} writers, {ends['killed']} of them killed; 0 results lost")
    assert ends["killed"] > KILLED // 3
    assert ends["finished"] > 0


def test_every_call_of_a_write_is_a_point_to_be_killed_at(writers, numbers, tmp_path):
    """A kill at each call in turn, until a write ends well."""
    for point in range(200):
        root = tmp_path / str(point)
        store = Store(root)
        store.write(numbers[2])
        end = writers.write(root, 5, call=point)
        found = store.read(CELL)
        assert found.replications in (2, 5)
        assert same(found, numbers[found.replications])
        if not end["signal"]:
            break
    assert point > 10
    assert found.replications == 5


def damaged(content, seed):
    """A file that is truncated, or has bits flipped, or bytes zeroed, moved, or duplicated."""
    how = seed.choice(["cut", "flip", "flip", "flip", "zero", "repeat", "drop", "end"])
    begin = seed.randrange(len(content))
    end = min(len(content), begin + seed.choice([1, 8, 512]))
    if how == "cut":
        return content[:begin]
    if how == "zero":
        return content[:begin] + bytes(end - begin) + content[end:]
    if how == "repeat":
        return content[:end] + content[begin:]
    if how == "drop":
        return content[:begin] + content[end:]
    if how == "end":  # the footer and its length
        begin = max(0, len(content) - 1 - seed.randrange(64))
    changed = bytearray(content)
    for place in [begin, *(seed.randrange(len(content)) for _ in range(seed.choice([0, 0, 1, 7])))]:
        changed[place] ^= 1 << seed.randrange(8)
    return bytes(changed)


def test_damaged_files_are_refused_or_the_same(tmp_path, numbers):
    seed = random.Random(2)
    path = Store(tmp_path).path(CELL)
    write_file(path, numbers[4])
    content, whole = path.read_bytes(), read_file(path)
    ends = Counter()
    for case in range(DAMAGED):
        harmed = damaged(content, seed)
        path.write_bytes(harmed)
        try:
            found = read_file(path)
        except DamagedFileError:
            ends["refused"] += 1
            continue
        assert same(found, whole), case
        assert found.footer == whole.footer, case
        ends["the same"] += 1
    print(f"{DAMAGED} damaged files: {dict(ends)}; 0 served with other numbers")
    assert ends["refused"] > DAMAGED // 2


def test_a_column_whose_name_is_no_text_is_damage(tmp_path, numbers):
    path = Store(tmp_path).path(CELL)
    write_file(path, numbers[1])
    path.write_bytes(path.read_bytes().replace(b"regret", b"re\xe1ret"))
    with pytest.raises(DamagedFileError, match="not a readable parquet file"):
        read_file(path)


BERNOULLI = st.one_of(
    st.tuples(st.sampled_from(["c1", "c2", "c3", "c4"]), st.integers(2, 9)).map(
        lambda of: [f"instance={of[0]}", f"instance.arms={of[1]}"]
    ),
    st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), min_size=2, max_size=6).map(
        lambda means: ["instance=bernoulli", f"instance.means={means}".replace(" ", "")]
    ),
    st.just(["instance=linear9"]),
)
PRIVATE = st.sampled_from(["dp_se", "dp_ucb", "dp_ucb_tossou", "dp_ucb_bound", "ldprse", "dprse", "dp_ftpl_gauss"])
BUDGETS = st.sampled_from([0.01, 0.1, 0.5, 1, 3.7, 1e3])
POLICIES = st.one_of(
    st.tuples(PRIVATE, BUDGETS).map(lambda of: [f"policy={of[0]}", f"budget.epsilon={of[1]}"]),
    st.sampled_from(["ucb1", "successive_elimination", "thompson_beta"]).map(lambda name: [f"policy={name}"]),
)
HORIZONS = st.one_of(st.integers(1, 40), st.integers(41, 3_000))
WRONG = st.sampled_from(
    [
        *("horizon=0", "horizon=-7", "horizon=1.5", "horizon=nan", "replications=0", "replications=x", "recorded=0"),
        *("budget.epsilon=-1", "budget.epsilon=nan", "policy=nothing", "instance=nothing", "instance.nothing=1"),
        *("policy.nothing=1", "policy._target_=os.system", "instance._target_=bandits.policies.ucb.UCB1"),
        *("exact=perhaps", "runner.workers=0"),
    ]
)
CELL_CASES = settings(
    max_examples=CELLS,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@CELL_CASES
@given(BERNOULLI, POLICIES, HORIZONS, st.one_of(st.none(), st.none(), WRONG))
def test_cells_keep_what_holds_for_all_or_end_in_one_line(call, tmp_path_factory, instance, policy, horizon, wrong):
    results = tmp_path_factory.mktemp("cells")
    asked = [*instance, *policy, f"horizon={horizon}", "replications=2", "runner.workers=1", "published_dir=null"]
    words = [*asked, *([wrong] if wrong else []), f"results_dir={results}"]
    outcome = call(*words)
    is_fine(outcome, words)
    files = list(results.rglob("*.parquet"))
    if outcome.code != 0:
        assert files == []
        return
    has_budget = any(word.startswith("budget.") for word in policy)  # the others read no budget, right or wrong
    assert wrong is None or (wrong.startswith("budget.") and not has_budget)
    (file,) = files
    contents = read_file(file)
    columns = contents.footer["columns"]
    assert (contents.replications, columns["horizon"], contents.t[-1]) == (2, horizon, horizon)
    assert (np.diff(contents.regret, axis=1) >= 0).all()
    assert (contents.regret >= 0).all()
    assert (contents.pulls >= 0).all()
    assert (contents.pulls.sum(axis=1) == horizon).all()
    assert (contents.regret[:, -1] <= horizon).all()
    before = file.read_bytes()
    assert "1 stored already, 0 simulated" in call(*words).out
    assert file.read_bytes() == before
