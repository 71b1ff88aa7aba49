"""The cache of footers chooses files; damage to it never changes what is read."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import UserError, load, load_pulls
from experiments.config.compose import REPOSITORY, Composer
from experiments.config.plan import merge, plan
from experiments.growing_table import GrowingTable, repeated
from experiments.simulate import look_up, run
from experiments.store import Store, complete_places, index
from experiments.store.index import CACHE, index_of_folders, index_of_places
from experiments.store.packs import packed
from experiments.store.place import Place
from experiments.store.results_file import bytes_of, read_file, schema_of_piece
from tests.forked import python

WORDS = [
    ["instance=c1", "policy=dp_se"],
    ["instance=c1", "policy=dp_ucb", "budget.epsilon=0.5"],
    ["instance=c2", "policy=ucb1"],
    ["instance=bernoulli", "instance.means=[0.9,0.2]", "policy=dp_se"],
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    store, composer = Store(tmp_path_factory.mktemp("results")), Composer()
    small = ["horizon=500", "replications=2"]
    requests = [request for words in WORDS for request in plan([*words, *small], composer).requests]
    run(look_up(merge(requests), store), store, workers=1)
    for path in store.root.rglob("*.parquet"):
        os.utime(path, (1e9, 1e9))  # old enough to be cached
    return store.root


@pytest.fixture
def results(made, tmp_path):
    return shutil.copytree(made, tmp_path / "results", ignore=shutil.ignore_patterns(CACHE), copy_function=shutil.copy2)


@pytest.fixture
def read(monkeypatch):
    """Record the files whose footers are read."""
    found = []
    places = index.places_in
    monkeypatch.setattr(index, "places_in", lambda path: found.append(path.name) or places(path))
    return found


def test_values_by_hand():
    """Each kind of column of two cells, the first with three rows and the second with two."""
    counts = np.array([3, 2])
    assert repeated([1, 2], counts).tolist() == [1, 1, 1, 2, 2]
    assert repeated([1, 0.5], counts).tolist() == [1.0, 1.0, 1.0, 0.5, 0.5]
    assert repeated([True, False], counts).dtype == bool
    missing = pd.Series(repeated([None, 0.25], counts))
    assert missing.isna().tolist() == [True] * 3 + [False] * 2
    assert missing.sum() == 0.5
    assert isinstance(missing.dtype, pd.SparseDtype)
    texts = pd.Series(repeated(["b", "a"], counts))
    assert texts.tolist() == list("bbbaa")
    assert list(texts.cat.categories) == ["a", "b"]
    mixed = pd.Series(repeated([True, None], counts))
    assert (mixed == True).tolist() == [True] * 3 + [False] * 2  # noqa: E712
    assert repeated([[0.9, 0.2], None], counts).tolist()[2] == "[0.9, 0.2]"


def test_a_footer_is_read_once(results, read):
    first = index_of_folders([results])
    assert len(read) == len(first.files) == 4
    second = index_of_folders([results])
    assert len(read) == 4
    assert second.files == first.files
    assert [second.cell(row) for row in range(4)] == [first.cell(row) for row in range(4)]
    assert second.sizes.tolist() == [Path(file).stat().st_size for file in second.files]
    assert second.replications.tolist() == [2] * 4
    assert second.cell(0)["means"] == [0.9, 0.2]
    assert second.cell(0)["record"] == "regret"


@pytest.mark.parametrize("change", ["size", "time", "name", "gone"])
def test_a_file_that_changed_is_read_again(results, read, change):
    before = index_of_folders([results])
    read.clear()
    path = results / os.path.relpath(before.files[1], results)
    if change == "size":
        path.write_bytes(path.read_bytes()[:-1])
        os.utime(path, (1e9, 1e9))
    elif change == "time":
        os.utime(path, (1e9, 1e9 + 1e-6))
    elif change == "name":
        path.rename(path.with_name("dp_se-0123456789abcdef.parquet"))
    else:
        path.unlink()
    after = index_of_folders([results])
    assert len(read) == (change != "gone")
    assert len(after.files) == (4 if change == "time" else 3)
    assert len(after.damaged) == (change in ("size", "name"))


def test_a_file_that_may_change_within_a_tick_of_the_clock_is_not_kept(results, read):
    path = next(results.rglob("ucb1-*.parquet"))
    os.utime(path)
    for _ in range(2):
        index_of_folders([results])
    assert read.count(path.name) == 2
    assert len(read) == 5


def test_a_plan_asks_for_its_own_files_and_leaves_what_is_known_of_others(results, read):
    asked = plan(
        [*WORDS[0], "horizon=500", "replications=2", f"results_dir={results}", "published_dir=null"], Composer()
    )
    (place,) = complete_places(asked)
    file = place.file
    assert read == [file.name]
    assert complete_places(asked) == [place]
    assert index_of_places([place]).replications.tolist() == [2]
    assert read == [file.name], "read again"
    assert len(index_of_folders([results]).files) == 4
    assert len(read) == 4, "what was known of the first is used"
    os.utime(file, (1e9, 1e9 + 1))
    assert complete_places(asked) == [place]
    index_of_folders([results])
    assert read[4:] == [file.name], "what was known of the others is kept"


def test_files_keep_the_order_in_which_they_are_asked_for(results):
    places = index_of_folders([results]).places
    assert index_of_places(places[::-1]).places == places[::-1]
    assert index_of_places([]).places == []
    gone = Place(results / "c1" / "gone-0123456789abcdef.parquet", "c1/gone-0123456789abcdef")
    assert index_of_places([*places[1:], gone]).places == places[1:]


def test_of_two_files_the_one_with_the_requested_replications_is_read(results, tmp_path):
    """As `Store.place` chooses: the first if it has the requested replications, else the one with the most."""
    shutil.copytree(results, tmp_path / "first")
    asked = plan([*WORDS[0], "horizon=500", "replications=4", f"results_dir={results}"], Composer()).requests
    run(look_up(asked, Store(results)), Store(results), workers=1)
    store, (request,) = Store(results, tmp_path / "first"), asked
    chosen = []
    for replications in (1, 2, 3, 4, 5):
        found = store.index_of([replace(request, replications=replications)])
        assert found.files == [str(store.place(request.cell, replications))]
        chosen.append(int(found.replications[0]))
    assert chosen == [2, 2, 4, 4, 4]


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 10, 32, 40, -20, -1])
def test_a_damaged_cache_is_rebuilt_silently(results, read, place):
    whole = load(results_dir=results)
    content = bytearray((results / CACHE).read_bytes())
    content[place] ^= 1
    (results / CACHE).write_bytes(content)
    read.clear()
    pd.testing.assert_frame_equal(load(results_dir=results), whole)
    assert len(read) == 4
    for broken in (b"", bytes(content[:50])):
        (results / CACHE).write_bytes(broken)
        pd.testing.assert_frame_equal(load(results_dir=results), whole)


def test_a_cache_with_wrong_cells_changes_no_label(results):
    """A wrong cache chooses the wrong file, but the content of that file shows that it is not the requested one."""
    load(results_dir=results)
    table = index.read_cache(results / CACHE)
    policies = table.column("cell.policy").take([0, 2, 1, 3])
    exchanged = table.set_column(table.column_names.index("cell.policy"), "cell.policy", policies)
    index.write_cache(results / CACHE, exchanged)
    assert index_of_folders([results]).cell(2)["policy"] == "dp_se"  # here the cache is trusted
    assert set(load(results_dir=results, policy="dp_ucb").policy) <= {"dp_ucb"}
    assert set(load(results_dir=results, policy="dp_se").policy) == {"dp_se"}


READ_FROM_MEMORY = """
import os
import sys
from pathlib import Path
from experiments.store.results_file import piece_in
from experiments.store.index import read_cache
from experiments.store.packs import pack_of

cache, piece, pack = map(Path, sys.argv[1:4])
content = {path: path.read_bytes() for path in (piece, pack)}
threads = [len(os.listdir("/proc/self/task"))]
assert read_cache(cache).num_rows == 4
threads.append(len(os.listdir("/proc/self/task")))
assert piece_in(content[piece]).replications == 2
threads.append(len(os.listdir("/proc/self/task")))
assert pack_of(pack, content[pack]).read(sys.argv[4]).replications == 2
threads.append(len(os.listdir("/proc/self/task")))
print(*threads)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts the threads of Linux")
def test_threads_of_arrow_never_hold_memory_of_python(results, tmp_path):
    """If such a thread releases it while the process ends, the process sometimes aborts (arrow 34314)."""
    load(results_dir=results)
    file = next(results.rglob("*.parquet"))
    contents = read_file(file)
    piece, pack = tmp_path / "piece", tmp_path / "regret.parquet"
    log = {"replication": np.arange(2), "seconds": np.ones(2)}
    piece.write_bytes(bytes_of(replace(contents, log=log), schema_of_piece(contents.kind)))
    pack.write_bytes(packed({file.stem: contents}))
    words = ["-c", READ_FROM_MEMORY, str(results / CACHE), str(piece), str(pack), file.stem]
    process = python(words, REPOSITORY)
    assert process.returncode == 0, process.stderr
    assert len(set(process.stdout.split())) == 1, process.stdout  # a read from memory starts no thread


def test_a_cache_that_cannot_be_written_is_done_without(results, monkeypatch):
    whole = load(results_dir=results)
    (results / CACHE).unlink()

    def refuse(*_, **__):
        raise PermissionError

    monkeypatch.setattr(index, "put", refuse)
    pd.testing.assert_frame_equal(load(results_dir=results), whole)
    assert not (results / CACHE).exists()


@pytest.mark.slow
def test_two_processes_write_the_cache_at_once(results):
    whole = load(results_dir=results)
    (results / CACHE).unlink()
    code = f"""
from pathlib import Path
from experiments.store.index import CACHE, index_of_folders
folder = Path({str(results)!r})
for turn in range(30):
    (folder / CACHE).unlink(missing_ok=True)
    assert len(index_of_folders([folder]).files) == 4, turn
"""
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [process.wait(timeout=100) for process in processes] == [0, 0]
    pd.testing.assert_frame_equal(load(results_dir=results), whole)
    assert [path.name for path in results.iterdir() if path.suffix == ".tmp"] == []


def test_of_two_folders_the_one_with_more_replications_is_read(results, tmp_path):
    other = tmp_path / "other"
    (other / "c1").mkdir(parents=True)
    path = next((results / "c1").glob("dp_se-*"))
    shutil.copy(path, other / "c1")
    found = index_of_folders([results, other])
    assert str(path) in found.files
    assert len(found.files) == 4
    path.write_bytes(b"damaged")
    again = index_of_folders([results, other])
    assert str(other / "c1" / path.name) in again.files
    assert again.damaged == {}


def test_only_some_columns(results):
    table = load(results_dir=results, columns=["regret", "policy", "means"])
    assert list(table) == ["regret", "policy", "means"]
    pd.testing.assert_frame_equal(table, load(results_dir=results)[["regret", "policy", "means"]])
    assert list(load_pulls(results_dir=results, columns=("arm",), policy="ucb1").arm) == [0, 1, 2, 3, 4] * 2
    with pytest.raises(UserError, match=r"columns=polcy: unknown column; did you mean policy\?"):
        load(results_dir=results, columns=["polcy"])


def test_a_table_has_the_rows_of_all_cells_in_order():
    table = GrowingTable(["t", "replication"])
    for cell in range(7):
        columns = {"cell": cell, "arms": 2, **({"gamma": cell / 2} if cell in (1, 2, 4) else {})}
        table.add(columns, {"t": np.arange(4) + 10 * cell, "replication": np.arange(4, dtype=np.int32), "other": 0})
    made = table.finish(["cell", "t", "replication", "arms", "gamma"])
    assert made.t.tolist() == [10 * cell + t for cell in range(7) for t in range(4)]
    assert made.cell.tolist() == [cell for cell in range(7) for _ in range(4)]
    plain = [cell / 2 if cell in (1, 2, 4) else np.nan for cell in range(7) for _ in range(4)]
    np.testing.assert_array_equal(made.gamma.astype(float), plain)
    assert isinstance(made.gamma.dtype, pd.SparseDtype)
    assert (made.arms == 2).all()
    assert made.replication.tolist() == [*range(4)] * 7
    assert [made[name].dtype for name in ("cell", "t", "arms", "replication")] == ["int64", "int64", "int32", "int32"]
