"""`python -m experiments.store` lists, verifies, merges, exports and tidies results, and loses nothing."""

import io
import json
import os
import shutil
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bandits.environments.bernoulli import C1
from experiments import UserError, load, load_pulls
from experiments.cells.regret import RegretCell
from experiments.config.compose import Composer
from experiments.config.folders import RESULTS
from experiments.config.plan import plan
from experiments.simulate import look_up, run_jobs
from experiments.store import Store
from experiments.store.place import files_in
from experiments.store.results_file import read_file, write_file
from experiments.upkeep import verify
from experiments.upkeep.command import main
from experiments.upkeep.export import _plain

WORDS = ["horizon=300"]


def store_cells(root, *words, replications=2):
    store = Store(root)
    requests = plan([[*WORDS, *words, f"replications={replications}"]], Composer())[0].requests
    run_jobs(look_up(requests, store), store, workers=1)
    return store.path(requests[0].cell)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    for policy in ("dp_se", "ucb1"):
        store_cells(folder, f"policy={policy}")
    store_cells(folder, "instance=c2", "policy=dp_se", "budget.epsilon=0.5")
    return folder


@pytest.fixture
def results(made, tmp_path):
    return shutil.copytree(made, tmp_path / "results")


@pytest.fixture
def store(call, results):
    def store(command, *words):
        return call(command, *words, f"results_dir={results}", main=main)

    return store


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.parquet")}


def edited(path, **rows):
    """Write the file of a cell with other numbers and a correct checksum."""
    stored = read_file(path)
    cell = plan([[*WORDS, f"policy={stored.footer['columns']['policy']}"]], Composer())[0].requests[0].cell
    from experiments.store.stored import Stored

    return write_file(path, Stored({**stored.rows, **rows}, stored.footer, cell))


def test_list(store):
    lines = store("list").out.splitlines()
    assert lines[0].split() == ["instance", "policy", "epsilon", "delta", "horizon", "replications", "bytes", "file"]
    assert [line.split()[:6] for line in lines[1:4]] == [
        ["c1", "dp_se", "0.25", "0", "300", "2"],
        ["c1", "ucb1", "inf", "0", "300", "2"],
        ["c2", "dp_se", "0.5", "0", "300", "2"],
    ]
    assert lines[4].startswith("3 cells, 6 replications, 0.0 MB")
    assert store("list", "policy=dp_se", "epsilon=0.5,1e9").err.startswith("error: epsilon=1000000000.0: no stored")
    assert len(store("list", "policy=dp_se,ucb1", "instance=c1").out.splitlines()) == 4


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "required: COMMAND"),
        (("lst",), "invalid choice: 'lst'"),
        (("list", "polcy=dp_se"), "polcy=dp_se: unknown filter; did you mean policy?"),
        (("list", "dp_se"), "dp_se: must be key=value"),
        (("verify", "policy=dp_se"), "policy: unknown key"),
        (("export",), "one of the arguments --csv --crate is required"),
        (("export", "--csv", "table=nothing"), "table=nothing: unknown table"),
        (("gc", "remove=perhaps"), "remove: must be true or false, got perhaps"),
        (("merge",), "required: OTHER"),
        (("merge", "/nothing"), "/nothing: no such folder"),
        (("list", "results_dir=/nothing"), "results_dir=/nothing: no such folder"),
    ],
)
def test_bad_words_end_in_one_line(call, words, problem):
    outcome = call(*words, main=main)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")
    assert problem in outcome.err
    assert outcome.err.count("\n") == 1


def test_verify(store, results):
    assert store("verify").out == "3 cells: 3 sound; 0 damaged\n"
    path = next(results.glob("*/ucb1-*"))
    whole = path.read_bytes()
    path.write_bytes(whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    found = store("verify")
    assert found.code == 1
    assert found.out.startswith(f"{path}: damaged: ")
    assert found.out.endswith("\n3 cells: 2 sound; 1 damaged\n")


def test_regret_that_its_pulls_do_not_cost_is_damage(store, results):
    """Its checksums are right: whoever changes a number can write others. The gaps of C1 are 0.25 and 0."""
    path = next(results.glob("*/ucb1-*"))
    rows = read_file(path).rows
    changed = rows["regret"].copy()
    changed[1, -1] += 0.25
    edited(path, regret=changed)
    assert read_file(path).rows["regret"].tolist() == changed.tolist()
    found = store("verify")
    assert found.code == 1
    due = float(rows["pulls"][1] @ C1(5).gaps)
    assert found.out.splitlines() == [
        f"{path}: damaged: replication 1 has regret {due + 0.25!r} at the horizon, and its pulls cost {due!r}",
        "3 cells: 2 sound; 1 damaged",
    ]


def test_regret_that_decreases_is_damage_with_right_checksums_too(store, results, monkeypatch):
    path = next(results.glob("*/ucb1-*"))
    changed = read_file(path).rows["regret"].copy()
    changed[1, 0] = changed[1, -1] + 1
    with monkeypatch.context() as unchecked:
        unchecked.setattr(RegretCell, "check", lambda rows, footer: None)
        edited(path, regret=changed)
    assert store("verify").out.splitlines()[0] == f"{path}: damaged: its pseudo-regret decreases"


@pytest.mark.slow
def test_the_regret_of_published_cells_is_that_of_their_pulls(monkeypatch):
    """Few cells are left out, whose instance had another name when they were stored."""
    asked = []
    known = verify._gaps

    def gaps(*given):
        asked.append(known(*given))
        return asked[-1]

    monkeypatch.setattr(verify, "_gaps", gaps)
    files = list(files_in(RESULTS))[::7]
    assert verify.verify(files).damaged == {}
    assert len(asked) > 500
    assert sum(gaps is None for gaps in asked) < 0.1 * len(asked)


def test_verify_finds_columns_of_another_cell(store, results):
    path = next(results.glob("c1/ucb1-*"))
    stored = read_file(path)
    write_file(
        path, replace(stored, footer={**stored.footer, "columns": {**stored.footer["columns"], "instance": "c3"}})
    )
    found = store("verify")
    assert found.code == 1
    assert found.out.startswith(f"{path}: damaged: its column instance is c3, but its key is that of c1\n")
    with pytest.raises(UserError, match=r"ucb1-\w+.parquet: damaged: its column instance is c3, but its key is"):
        load(policy="ucb1", results_dir=results)


def test_verify_finds_two_files_of_a_cell_that_differ(store, results):
    path = next(results.glob("c1/ucb1-*"))
    copy = results / "c2" / path.name
    shutil.copy(path, copy)
    assert store("verify").out == "4 cells: 4 sound; 0 damaged\n"
    stored = read_file(copy)
    write_file(copy, replace(stored, rows={**stored.rows, "regret": stored.rows["regret"] + 1}))
    found = store("verify")
    assert found.code == 1
    assert found.out.startswith(f"{copy}: damaged: its numbers are not those of the same cell in {path}\n")


def test_merge_takes_what_is_not_there_and_what_has_more(store, results, tmp_path):
    other = tmp_path / "other"
    more = store_cells(other, "policy=ucb1", replications=5)
    new = store_cells(other, "policy=dp_ucb")
    store_cells(other, "policy=dp_se", replications=1)  # fewer
    before = contents(results)
    outcome = store("merge", other)
    assert (outcome.code, outcome.out) == (0, f"3 cells in {other}: 1 stored already, 2 taken\n")
    after = contents(results)
    for path in (more, new):
        assert after[path.relative_to(other)] == path.read_bytes()
    assert {path for path in before if after[path] != before[path]} == {more.relative_to(other)}
    assert store("merge", other).out == f"3 cells in {other}: 3 stored already, 0 taken\n"


@pytest.mark.parametrize("harm", ["other numbers", "damaged"])
def test_merge_refuses_and_writes_nothing(store, results, tmp_path, harm):
    other = tmp_path / "other"
    bad = store_cells(other, "policy=dp_se")
    store_cells(other, "policy=dp_ucb")
    if harm == "damaged":
        bad.write_bytes(bad.read_bytes()[:-9])
    else:
        edited(bad, regret=np.nextafter(read_file(bad).regret, np.inf))
    before = contents(results)
    outcome = store("merge", other)
    assert outcome.code == 1
    first, last = outcome.out.splitlines()
    mine = results / bad.relative_to(other)
    assert first.startswith(f"{bad}: {'damaged: ' if harm == 'damaged' else f'has other numbers than {mine}'}")
    assert last == f"2 cells in {other}: 0 stored already, 1 refused, and nothing was written"
    assert contents(results) == before


def test_merge_sets_a_damaged_file_of_ours_aside(store, results, made):
    path = next(results.glob("*/ucb1-*"))
    path.write_bytes(b"nothing")
    assert store("merge", made).out == f"3 cells in {made}: 2 stored already, 1 taken\n"
    assert contents(results) == contents(made)
    assert path.with_name(f"{path.name}.damaged1").read_bytes() == b"nothing"


def test_merge_into_itself_is_refused(store, results):
    assert "would be merged into" in store("merge", f"{results}/").err


def test_csv_has_every_bit(store, results):
    exported = pd.read_csv(io.StringIO(store("export", "--csv").out))
    table = load(results_dir=results)
    assert set(exported) == set(table)
    for name in ("t", "regret", "epsilon", "replication", "beta"):
        np.testing.assert_array_equal(exported[name], np.asarray(table[name], dtype=float))
    assert exported.policy.tolist() == table.policy.tolist()
    pulls = pd.read_csv(io.StringIO(store("export", "--csv", "table=pulls", "policy=ucb1").out))
    assert pulls.pulls.tolist() == load_pulls(results_dir=results, policy="ucb1").pulls.tolist()


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
def test_csv_holds_no_formula(text):
    assert _plain(text) == f"'{text}"
    assert _plain("dp_se") == "dp_se"
    assert _plain(-1.5) == -1.5


def test_crate_describes_each_file(store, results):
    pytest.importorskip("rocrate")
    assert store("export", "--crate").out == f"{results}/ro-crate-metadata.json: written\n"
    graph = {item["@id"]: item for item in json.loads((results / "ro-crate-metadata.json").read_text())["@graph"]}
    for path in results.glob("*/*.parquet"):
        of_file = graph[path.relative_to(results).as_posix()]
        assert of_file["@type"] == "File"
        assert of_file["contentSize"] == str(path.stat().st_size)
        assert of_file["name"] == f"{path.name.rpartition('-')[0]} on {path.parent.name}"
        assert of_file["description"].startswith("2 replications until 300; epsilon = ")
    assert len(graph["./"]["hasPart"]) == 3


def test_crate_names_the_extra_that_it_needs(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "rocrate.rocrate", None)
    outcome = store("export", "--crate")
    assert outcome.code == 2
    assert "extra crate" in outcome.err


def test_gc_lists_and_removes_only_what_nothing_reads(store, results, monkeypatch):
    from bandits.policies.ucb import UCB1

    kept = contents(results)
    paths = {path.name.partition("-")[0]: path for path in results.glob("c1/*.parquet")}
    aside = paths["dp_se"].with_name(f"{paths['dp_se'].name}.damaged1")
    conflict = paths["dp_se"].with_name(f"{paths['dp_se'].name}.conflict12")
    orphan, young, own = (
        results / "c1" / "dp_se-1.tmp",
        results / "c1" / "dp_se-2.tmp",
        results / "c1" / "notes.damaged1",
    )
    for path in (aside, conflict, orphan, young, own):
        path.write_text("x")
    os.utime(orphan, (1e9, 1e9))
    assert store("gc").out.splitlines()[-1] == "3 files, 0.0 MB, could be removed; remove=true does it"
    assert orphan.exists()
    monkeypatch.setattr(UCB1, "revision", UCB1.revision + 1)
    listed = store("gc", "remove=true").out.splitlines()
    assert f"{paths['ucb1']}: of revision 1 of its policy, which has revision 2 now" in listed
    assert [path.exists() for path in (aside, conflict, orphan, young, own, paths["ucb1"])] == [
        *(False, False, False, True, True),
        False,
    ]
    left = {path: of for path, of in kept.items() if not path.name.startswith("ucb1")}
    assert contents(results) == left
