"""A look at folders finds every copy of a cell, and one that counts; tables have the rows of all cells."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import UserError, load, load_cells, load_pulls
from experiments.config.compose import REPOSITORY, Composer
from experiments.config.plan import merge, plan
from experiments.library.frames import GrowingTable, per_row
from experiments.simulate import look_up, run_jobs
from experiments.store import Store
from experiments.store.packs import packed
from experiments.store.place import look
from experiments.store.results_file import read_file, write_file
from experiments.upkeep.packing import pack
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
    requests = [request for words in WORDS for request in plan([[*words, *small]], composer)[0].requests]
    run_jobs(look_up(merge(requests), store), store, workers=1)
    return store.root


@pytest.fixture
def results(made, tmp_path):
    return shutil.copytree(made, tmp_path / "results")


def test_values_by_hand():
    """Each kind of column of two cells, the first with three rows and the second with two."""
    counts = np.array([3, 2])
    assert per_row({0: 1, 1: 2}, counts).tolist() == [1, 1, 1, 2, 2]
    assert per_row({0: 1, 1: 0.5}, counts).tolist() == [1.0, 1.0, 1.0, 0.5, 0.5]
    assert per_row({0: True, 1: False}, counts).dtype == bool
    missing = pd.Series(per_row({1: 0.25}, counts))
    assert missing.isna().tolist() == [True] * 3 + [False] * 2
    assert missing.sum() == 0.5
    assert isinstance(missing.dtype, pd.SparseDtype)
    texts = pd.Series(per_row({0: "b", 1: "a"}, counts))
    assert texts.tolist() == list("bbbaa")
    assert list(texts.cat.categories) == ["a", "b"]
    mixed = pd.Series(per_row({0: True}, counts))
    assert (mixed == True).tolist() == [True] * 3 + [False] * 2  # noqa: E712
    assert per_row({0: [0.9, 0.2]}, counts).tolist()[2] == "[0.9, 0.2]"
    assert per_row({0: 1, 1: 1, 2: 3}, np.array([3, 0, 2])).tolist() == [1, 1, 1, 3, 3]
    assert per_row({0: 1, 1: 3}, np.array([0, 0])).tolist() == []


def test_a_look_has_what_each_footer_says(results):
    copies, damaged = look([results])
    assert damaged == {}
    assert [copy.replications for copy in copies] == [2] * 4
    assert [copy.columns["policy"] for copy in copies] == ["dp_se", "dp_se", "dp_ucb", "ucb1"], "in order of instances"
    assert copies[0].columns["means"] == [0.9, 0.2]
    assert {copy.columns["record"] for copy in copies} == {"regret"}


def test_a_damaged_file_counts_if_no_other_has_its_cell(results, tmp_path):
    other = shutil.copytree(results, tmp_path / "other")
    broken = look([results]).copies[1].place
    broken.file.write_bytes(b"")
    copies, damaged = look([results])
    assert len(copies) == 3
    assert list(damaged) == [broken.file]
    assert look([results], {copy.place.name: ("regret", 2) for copy in copies}).damaged == {}, "nobody asks for it"
    assert list(look([results], {broken.name: ("regret", 2)}).damaged) == [broken.file]
    assert look([results, other], {broken.name: ("regret", 2)}).damaged == {}, "another copy has it"


def test_of_two_files_the_one_with_the_requested_replications_is_read(results, tmp_path):
    """As `Store.place` chooses: the first if it has the requested replications, else the one with the most."""
    shutil.copytree(results, tmp_path / "first")
    asked = plan([[*WORDS[0], "horizon=500", "replications=4", f"results_dir={results}"]], Composer())[0].requests
    run_jobs(look_up(asked, Store(results)), Store(results), workers=1)
    store, (request,) = Store(results, tmp_path / "first"), asked
    chosen = []
    for replications in (1, 2, 3, 4, 5):
        (copy,) = store.look([replace(request, replications=replications)]).copies
        assert copy.place == store.place(request.cell, replications)
        chosen.append(copy.replications)
    assert chosen == [2, 2, 4, 4, 4]


def test_of_two_folders_the_one_with_more_replications_is_read(results, tmp_path):
    other = tmp_path / "other"
    (other / "c1").mkdir(parents=True)
    path = next((results / "c1").glob("dp_se-*"))
    shutil.copy(path, other / "c1")
    files = [copy.place.file for copy in look([results, other]).copies]
    assert path in files
    assert len(files) == 4
    path.write_bytes(b"damaged")
    copies, damaged = look([results, other])
    assert other / "c1" / path.name in [copy.place.file for copy in copies]
    assert damaged == {}


def test_copies_of_a_cell_with_other_numbers_are_refused_wherever_they_are_read(call, results):
    """A results file beside a pack: more replications are no contradiction, other numbers are one."""
    words = [*WORDS[0], "horizon=500", f"results_dir={results}", "published_dir=null"]
    path = next((results / "c1").glob("dp_se-*"))
    first = read_file(path)
    list(pack(results))
    assert not path.exists()
    more = call(*words, "replications=4", "runner.workers=1")
    assert (more.code, more.err) == (0, "")
    assert path.exists()
    both = read_file(path)
    assert len(load(results_dir=results, instance="c1", policy="dp_se", t=500)) == 4
    rows = dict(both.rows) | {"regret": both.regret * 1.5}
    write_file(path, replace(both, rows=rows))
    said = (
        f"{path}: has other numbers than {path.with_name('regret.parquet')}: {path.stem}; remove the one that is wrong"
    )
    for replications in (2, 4, 6):
        refused = call(*words, f"replications={replications}", "runner.workers=1")
        assert (refused.code, refused.out, refused.err) == (2, "", f"error: {said}\n")
    with pytest.raises(UserError) as wrong:
        load(results_dir=results, policy="ucb1")
    assert str(wrong.value) == said
    write_file(path, first)  # the same cell twice
    assert len(load(results_dir=results, instance="c1", policy="dp_se", t=500)) == 2


def test_a_copy_in_the_folder_of_another_instance_is_compared(results):
    """Nothing writes one there; somebody who sorts files may."""
    path = next((results / "c1").glob("dp_se-*"))
    copy = results / "c2" / path.name
    shutil.copy(path, copy)
    assert len(load(results_dir=results, policy="dp_se", instance="c1", t=500)) == 2
    stored = read_file(copy)
    write_file(copy, replace(stored, rows={**stored.rows, "regret": stored.regret + 1}))
    with pytest.raises(UserError, match=rf"^{path}: has other numbers than {copy}; remove the one that is wrong$"):
        load(results_dir=results, policy="dp_se")


READ_FROM_MEMORY = """
import os
import sys
from pathlib import Path
from experiments.store.packs import pack_of

pack = Path(sys.argv[1])
content = pack.read_bytes()
threads = [len(os.listdir("/proc/self/task"))]
assert pack_of(pack, content).read(sys.argv[2]).replications == 2
threads.append(len(os.listdir("/proc/self/task")))
print(*threads)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts the threads of Linux")
def test_threads_of_arrow_never_hold_memory_of_python(results, tmp_path):
    """If such a thread releases it while the process ends, the process sometimes aborts (arrow 34314)."""
    file = next(results.rglob("*.parquet"))
    pack = tmp_path / "regret.parquet"
    pack.write_bytes(packed([read_file(file)]))
    words = ["-c", READ_FROM_MEMORY, str(pack), file.stem]
    process = python(words, REPOSITORY)
    assert process.returncode == 0, process.stderr
    assert len(set(process.stdout.split())) == 1, process.stdout  # a read from memory starts no thread


def test_only_some_columns(results):
    table = load(results_dir=results, columns=["regret", "policy", "means"])
    assert list(table) == ["regret", "policy", "means"]
    pd.testing.assert_frame_equal(table, load(results_dir=results)[["regret", "policy", "means"]])
    assert list(load_pulls(results_dir=results, columns=("arm",), policy="ucb1").arm) == [0, 1, 2, 3, 4] * 2
    with pytest.raises(UserError, match=r"columns=polcy: unknown column; did you mean policy\?"):
        load(results_dir=results, columns=["polcy"])


def test_rows_are_joined_with_their_cells(results):
    """A table of the keys of cells alone, and the parameters of each cell once, say what the whole table says."""
    whole, cells = load(results_dir=results), load_cells(results_dir=results)
    rows = load(results_dir=results, columns=["cell", "replication", "t", "regret"])
    assert "cell" not in whole
    assert cells["cell"].is_unique
    joined = rows.merge(cells.drop(columns="replications"), on="cell", how="left", validate="many_to_one")
    for name in whole:
        one, other = ([None if pd.isna(value) else value for value in table[name]] for table in (whole, joined))
        assert one == other, name
    runs = rows.drop_duplicates(["cell", "replication"]).groupby("cell", observed=True).size()
    assert cells.set_index("cell")["replications"].to_dict() == runs.to_dict()


def test_cells_are_filtered_as_rows_are(results):
    assert set(load_cells(results_dir=results, policy="ucb1")["policy"]) == {"ucb1"}
    with pytest.raises(UserError, match="polcy=ucb1: unknown filter"):
        load_cells(results_dir=results, polcy="ucb1")


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
