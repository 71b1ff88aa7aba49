"""Packs hold all that results files held: every number, footer and message, even after kills and damage."""

import json
import os
import random
import re
import shutil
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from bandits.environments.bernoulli import C1, C2
from bandits.policies.elimination import DPSE
from bandits.policies.ucb import UCB1
from experiments import UserError, load, load_identified, load_outcomes, load_pulls
from experiments.again import replayed
from experiments.cells.regret import RegretCell
from experiments.config.compose import REPOSITORY, Composer
from experiments.config.plan import plan
from experiments.config.request import Request
from experiments.simulate import look_up, run_jobs
from experiments.store import Store, name_of, packs, places_of_plan
from experiments.store.locks import Locks
from experiments.store.packs import opened
from experiments.store.place import Place, files_in, in_order, look, places_in
from experiments.store.results_file import DamagedFileError, read_file, write_file
from experiments.upkeep.command import main
from experiments.upkeep.packing import pack
from experiments.upkeep.verify import verify
from tests.experiments.cells.test_cells import CELLS
from tests.experiments.store.killed_writer import kill_at
from tests.experiments.store.test_fuzz_store import damaged

SIMULATED = [RegretCell(C1(3), UCB1(), 300), RegretCell(C1(3), DPSE(1.0), 300), RegretCell(C2(3), UCB1(), 400)]
REPLICATIONS = 3
EVERY = [*SIMULATED, *(cell for kind, cell in CELLS.items() if kind != "worst_profile")]
TABLES = (load, load_pulls, load_outcomes, load_identified)
FLIPPED = 150  # packs


def simulate(store, cells, replications=REPLICATIONS):
    wanted = [Request(cell, replications if cell.repeatable else 1, {}) for cell in cells]
    run_jobs(look_up(wanted, store), store, workers=1)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("loose"))
    simulate(store, EVERY)
    return store.root


@pytest.fixture
def loose(made, tmp_path):
    return shutil.copytree(made, tmp_path / "loose")


@pytest.fixture
def folder(made, tmp_path):
    """The same cells in packs."""
    folder = shutil.copytree(made, tmp_path / "packed")
    list(pack(folder))
    return folder


def contents(folder):
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files_in(folder)}


def test_a_cell_in_a_pack_with_columns_of_another_is_damaged(folder):
    file = folder / "c2" / "regret.parquet"
    (name,) = (cell for cell in opened(file).footers if cell.startswith("ucb1-"))
    held = opened(file).read(name)
    columns = {**held.footer["columns"], "arms": 9}
    file.write_bytes(packs.packed([replace(held, footer={**held.footer, "columns": columns})]))
    with pytest.raises(
        UserError, match=r"c2/regret.parquet: .*: damaged: its column arms is 9, but its key is that of 3"
    ):
        load(policy="ucb1", results_dir=folder)
    with pytest.raises(DamagedFileError, match=r"^its column arms is 9, "):
        Place(file, f"c2/{name}").read()


def test_a_pack_for_each_instance_and_record(folder):
    assert sorted(contents(folder)) == sorted({f"{cell.instance.name}/{cell.record}.parquet" for cell in EVERY})
    assert sorted(copy.place.name for copy in look([folder]).copies) == sorted(map(name_of, EVERY))


def test_every_cell_is_what_it_was(folder, loose):
    for cell in EVERY:
        before, now = Store(loose).read(cell), Store(folder).read(cell)
        assert now.footer == before.footer
        assert list(now.rows) == list(before.rows)
        for name, values in before.rows.items():
            np.testing.assert_array_equal(now.rows[name], values)
            assert now.rows[name].dtype == values.dtype


@pytest.mark.parametrize("table", TABLES)
def test_tables_are_equal(folder, loose, table):
    pd.testing.assert_frame_equal(table(results_dir=folder), table(results_dir=loose))


def test_a_reader_of_parquet_reads_a_cell_as_the_reference_says(folder):
    """It finds the rows of a cell by its key, and its footer."""
    (example,) = re.findall(r"```py\n(.*?)```", (REPOSITORY / "docs" / "results.md").read_text(), re.DOTALL)
    assert "results/c1/regret.parquet" in example
    namespace = {}
    exec(example.replace("results/c1", f"{folder}/c1"), namespace)  # what the reference says
    whole = namespace["file"].read()
    for footer in map(json.loads, namespace["footers"]):
        cell = next(cell for cell in SIMULATED if cell.key == footer["key"])
        table = whole.filter(pc.equal(whole["key"], cell.key))
        assert table == namespace["first"] or footer != json.loads(namespace["footers"][0])
        assert table.column("replication").to_pylist() == list(range(REPLICATIONS))
        assert table.column("pulls").to_pylist()[1] == cell.replicate(1)["pulls"].tolist()


def test_the_same_cells_are_the_same_bytes(folder, loose, tmp_path):
    """Whether they were packed at once or one after the other."""
    slowly = tmp_path / "slowly"
    for file in sorted(files_in(loose), reverse=True):
        (slowly / file.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(file, slowly / file.parent.name)
        list(pack(slowly))
    assert contents(slowly) == contents(folder)


def test_packing_again_changes_nothing(folder):
    versions = {file: file.stat().st_ino for file in files_in(folder)}
    assert list(pack(folder)) == []
    assert {file: file.stat().st_ino for file in files_in(folder)} == versions


def test_row_groups_are_small_and_read_once(loose, monkeypatch):
    """Neighbours are read together, and a cell without those of other row groups."""
    monkeypatch.setattr(packs, "CELLS", 2)
    simulate(Store(loose), cells := [RegretCell(C1(3), DPSE(epsilon), 300) for epsilon in (0.5, 2.0, 4.0)])
    before = [Store(loose).read(cell) for cell in cells]
    list(pack(loose))
    file = loose / "c1" / "regret.parquet"
    assert [pq.ParquetFile(file).metadata.row_group(group).num_rows for group in range(3)] == [2 * REPLICATIONS, 6, 3]
    os.utime(file, (1e9, 1e9))
    read, read_row_group = [], pq.ParquetFile.read_row_group
    monkeypatch.setattr(
        pq.ParquetFile, "read_row_group", lambda pack, at, **how: read.append(at) or read_row_group(pack, at, **how)
    )
    for earlier, cell in zip(before, cells, strict=True):
        for name, values in Store(loose).read(cell).rows.items():
            np.testing.assert_array_equal(values, earlier.rows[name])
    assert read == [0, 1]  # by epsilon: 0.5 and 1, then 2 and 4; then UCB1
    monkeypatch.setattr(packs, "ROWS", REPLICATIONS)
    assert list(packs._groups([3, 1, 2, 3, 9])) == [[0], [1, 2], [3], [4]], "few rows in a group, but whole cells"


def test_cells_are_read_in_the_order_of_their_packs(folder):
    """A results file is as good as a pack of one."""
    places = [place for file in files_in(folder) for place in places_in(file)]
    assert len(places) > len(files_in(folder)), "some pack has several"
    mixed = random.Random(1).sample(places, len(places))
    assert in_order(mixed) == sorted(places, key=lambda place: place.file) != mixed


def test_a_pack_is_opened_once(folder, monkeypatch):
    for file in files_in(folder):
        os.utime(file, (1e9, 1e9))
    file = folder / "c1" / "regret.parquet"
    assert opened(file) is opened(file)
    os.utime(file, (1e9, 1e9 + 1))
    before = opened(file)
    os.utime(file)
    assert opened(file) is not before
    assert opened(file) is not opened(file), "it may change again within a tick of the clock"


def test_more_replications_take_the_place_of_the_packed_ones(folder, made):
    store, (cell, *_) = Store(folder), SIMULATED
    simulate(store, [cell], replications=5)
    assert store.path(cell).exists()
    assert store.place(cell, 5).file == store.path(cell)
    assert [entry["replications"] for entry in store.read(cell).footer["runs"]] == [[0, 3], [3, 5]]
    (renewed,) = pack(folder)
    assert renewed == (folder / "c1" / "regret.parquet", 2, 1, 0)
    assert not store.path(cell).exists()
    assert store.read(cell, 5).replications == 5
    shutil.copy(made / f"{name_of(cell)}.parquet", store.path(cell))  # the old file again, with fewer
    before = contents(folder)[f"c1/{cell.record}.parquet"]
    (renewed,) = pack(folder)
    assert renewed.taken_in == 0
    assert contents(folder)[f"c1/{cell.record}.parquet"] == before
    assert not store.path(cell).exists()


def test_what_is_in_a_pack_is_not_simulated_again(folder):
    (job,) = look_up([Request(SIMULATED[0], REPLICATIONS, {})], Store(folder))
    assert job.missing == 0
    Store(folder).write(job.stored)
    assert not Store(folder).path(SIMULATED[0]).exists(), "the pack has it"


def test_other_numbers_are_refused_and_nothing_is_lost(folder, made):
    cell = SIMULATED[0]
    file = Store(folder).path(cell)
    stored = read_file(made / f"{name_of(cell)}.parquet")
    write_file(file, replace(stored, rows={**stored.rows, "regret": np.nextafter(stored.regret, np.inf)}))
    before = contents(folder)
    with pytest.raises(UserError, match=f"{file}: has other numbers than {folder}/c1/regret.parquet"):
        list(pack(folder))
    assert contents(folder) == before
    file.unlink()
    changed = replace(Store(folder).read(cell), rows={**stored.rows, "pulls": stored.pulls[:, [1, 0, 2]]})
    with pytest.raises(UserError, match="different numbers"):
        Store(folder).write(changed)


def test_a_file_that_changes_while_it_is_packed_is_not_removed(made, tmp_path, monkeypatch):
    folder, cell = shutil.copytree(made, tmp_path / "busy"), SIMULATED[0]
    from experiments.upkeep import packing

    write = packing._write

    def meanwhile(file, cells):
        write(file, cells)
        if f"{cell.policy.name}-{cell.key}" in cells:
            simulate(Store(folder), [cell], replications=4)

    monkeypatch.setattr(packing, "_write", meanwhile)
    list(pack(folder))
    assert read_file(Store(folder).path(cell)).replications == 4
    assert sum("-" in name for name in contents(folder)) == 1


def test_only_one_process_packs_at_a_time(folder, made):
    shutil.copytree(made, folder, dirs_exist_ok=True)
    locks = Locks(folder)
    assert locks.take("pack")
    with pytest.raises(UserError, match="another process"):
        list(pack(folder))
    locks.release("pack")
    assert len(list(pack(folder))) == len(contents(folder))


def flip(file, place):
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


def group_of(file, cell):
    """The offset of the rows of a cell in a pack."""
    place, _ = opened(file).begins[f"{cell.policy.name}-{cell.key}"]
    group = pq.ParquetFile(file).metadata.row_group(place)
    return group.column(group.num_columns - 1).data_page_offset


@pytest.fixture
def alone(loose, monkeypatch):
    """The same cells in packs, each in a row group of its own."""
    monkeypatch.setattr(packs, "CELLS", 1)
    list(pack(loose))
    return loose


def test_damage_to_one_row_group_is_reported_and_leaves_the_others(alone, call):
    (bad, good, _), store, folder = SIMULATED, Store(alone), alone
    file = folder / "c1" / "regret.parquet"
    flip(file, group_of(file, bad) + 40)
    place = f"{file}: {bad.policy.name}-{bad.key}"
    with pytest.raises(UserError, match=f"^{place}: damaged: "):
        store.read(bad)
    assert store.read(good).replications == REPLICATIONS
    found = call("verify", f"results_dir={folder}", main=main)
    assert found.code == 1
    assert [line.partition(": damaged: ")[0] for line in found.out.splitlines()[:-1]] == [place]
    assert found.out.endswith(f"{len(EVERY)} cells: {len(EVERY) - 1} sound; 1 damaged\n")
    with pytest.raises(UserError, match=f"{place}: damaged: "):
        load(results_dir=folder)
    assert len(load(results_dir=folder, policy="dp_se", instance="c1"))
    with pytest.raises(UserError, match=f"{place}: damaged: "):
        list(pack(folder, [good.key]))
    assert store.read(good).replications == REPLICATIONS, "nothing is lost"


def test_a_damaged_cell_is_computed_again_beside_the_pack_and_put_in_its_place(alone, made, capsys):
    (bad, *_), store, folder, loose = SIMULATED, Store(alone), alone, made
    file = folder / "c1" / "regret.parquet"
    whole = file.read_bytes()
    flip(file, group_of(file, bad) + 40)
    simulate(store, [bad])
    assert "left where it is, recomputing" in capsys.readouterr().err
    assert (store.read(bad).regret == Store(loose).read(bad).regret).all()
    assert (load(results_dir=folder).regret == load(results_dir=loose).regret).all()
    list(pack(folder))
    assert len(file.read_bytes()) == pytest.approx(len(whole), abs=100)  # its seconds differ
    assert store.read(bad).replications == REPLICATIONS


@pytest.mark.slow
def test_flipped_bits_are_found_or_change_nothing(alone, made):
    """Anywhere in a pack: each cell is damaged or unchanged."""
    folder, loose = alone, made
    seed, ends = random.Random(4), Counter()
    file = folder / "c1" / "regret.parquet"
    content, cells = file.read_bytes(), SIMULATED[:2]
    wholes = [Store(loose).read(cell) for cell in cells]
    for case in range(FLIPPED):
        file.write_bytes(damaged(content, seed))
        sound = 0
        for cell, whole in zip(cells, wholes, strict=True):
            try:
                found = Place(file, name_of(cell)).read()
            except DamagedFileError:
                continue
            sound += 1
            assert found.footer == whole.footer, case
            assert all(np.array_equal(found.rows[name], values) for name, values in whole.rows.items()), case
        ends[sound] += 1
    assert min(ends[0], ends[1]) > 10, ends
    assert sum(ends.values()) == FLIPPED


@pytest.mark.parametrize("harm", ["cut", "metadata", "name", "record", "empty"])
def test_a_pack_that_cannot_be_opened_is_named(folder, harm, call):
    file = folder / "c1" / "regret.parquet"
    content = file.read_bytes()
    if harm == "name":
        (folder / "c2" / "exact.parquet").write_bytes(content)
        file = folder / "c2" / "exact.parquet"
    elif harm == "record":
        table = pq.read_table(file)
        pq.write_table(table.replace_schema_metadata(), file)
    else:
        flip(file, -400) if harm == "metadata" else file.write_bytes(b"" if harm == "empty" else content[:-30])
    with pytest.raises(UserError, match=f"{file}: damaged: "):
        load(results_dir=folder)
    with pytest.raises(UserError, match=f"{file}: damaged: "):
        list(pack(folder))
    assert f"{file}: damaged: " in call("verify", f"results_dir={folder}", main=main).out
    ((place, _),) = Store(folder).look([Request(SIMULATED[2], 1, {})]).sound()
    assert place.name == name_of(SIMULATED[2]), "the packs of other cells are not asked"


def killed_while_packing(folder, point):
    """Pack in a process that is killed at this system call; return whether it was."""
    child = os.fork()
    if child == 0:
        kill_at(point)
        list(pack(folder))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0


@pytest.mark.slow
def test_packing_that_is_killed_at_any_call_loses_nothing(made, tmp_path):
    """Every cell is still there, and packing again gives the packs of an undisturbed run."""
    names = ("c1", "c2")
    wanted = tmp_path / "wanted"
    for name in names:
        shutil.copytree(made / name, wanted / name)
    list(pack(wanted))
    point, killed = 0, True
    while killed:
        root = tmp_path / "killed" / str(point)
        for name in names:
            shutil.copytree(made / name, root / name)
        killed = killed_while_packing(root, point)
        cells = [*SIMULATED, CELLS["identification"]]
        for cell in cells:
            assert Store(root).read(cell).replications == REPLICATIONS, point
        assert look([root]).damaged == {}
        list(pack(root))
        assert contents(root) == contents(wanted), point
        point += 1
    assert point > 20


def test_a_plan_reads_packs(folder, made):
    words = ["instance=c1", "instance.arms=3", "policy=dp_se", "budget.epsilon=1", "horizon=300"]
    asked = plan([[*words, f"replications={REPLICATIONS}", f"results_dir={folder}", "published_dir=null"]], Composer())[
        0
    ]
    (place,) = places_of_plan(asked)
    assert place == Place(folder / "c1" / "regret.parquet", name_of(SIMULATED[1]))
    own = plan([[*words, "replications=1", "results_dir=nothing", f"published_dir={folder}"]], Composer())[0]
    assert places_of_plan(own) == [place]


def test_the_digest_of_a_cell_changes_with_its_rows_alone(folder):
    file = folder / "c1" / "regret.parquet"
    first, second = (Place(file, name_of(cell)) for cell in SIMULATED[:2])
    before = first.digest(), second.digest()
    others, changed = second.read(), first.read()
    changed.rows["regret"] = np.nextafter(changed.regret, np.inf)
    file.write_bytes(packs.packed([changed, others]))
    assert first.digest() != before[0]
    assert second.digest() == before[1]


def test_replay_of_a_packed_cell(call, folder):
    configured = ["instance=c1", "instance.arms=3", "policy=ucb1", "horizon=200", "replications=2", "runner.workers=1"]
    root = folder / "more"
    assert call(*configured, f"results_dir={root}").code == 0
    list(pack(root))
    ((place, _),) = look([root]).copies
    outcome = call(f"key={place.key}", "replication=1", f"results_dir={root}", main=replayed.replay)
    assert "every number is as it is stored" in outcome.out
    assert f"as in {place.file}" in outcome.out
    for given, problem in (
        ("-1", "at least 0, got -1"),
        ("1e9", "at most 999999999, got 1000000000"),  # they are counted in 32 bits
        ("x", "a whole number, got x"),
    ):
        outcome = call(f"key={place.key}", f"replication={given}", f"results_dir={root}", main=replayed.replay)
        assert outcome.err == f"error: replication: must be {problem}\n"


def test_list_pack_diff_and_take_out(call, folder, loose):
    def store(*words):
        return call(*words, main=main)

    listed = store("list", f"results_dir={folder}", "instance=c1").out.splitlines()
    assert sum("regret.parquet: ucb1-" in line for line in listed) == 1
    on_c1 = [cell for cell in EVERY if cell.instance.name == "c1"]
    assert listed[-1].startswith(f"{len(on_c1)} cells, {REPLICATIONS * len(on_c1)} replications")
    outcome = store("diff", loose, f"results_dir={folder}")
    assert (outcome.code, outcome.out) == (0, f"0 cells of {folder} and {loose} differ\n")
    key, name = SIMULATED[0].key, name_of(SIMULATED[0])
    outcome = store("pack", f"without={key}", f"results_dir={folder}")
    assert outcome.out == (
        f"{folder}/c1/regret.parquet: 1 cells, 0 taken in, 1 taken out\n1 packs renewed in {folder}\n"
    )
    outcome = store("diff", loose, f"results_dir={folder}")
    assert (outcome.code, outcome.out.splitlines()[0]) == (1, f"{name}: only in {loose}")
    assert f"without={key}: {folder} has no cell" in store("pack", f"without={key}", f"results_dir={folder}").err
    more = SIMULATED[2]
    simulate(Store(loose), [more], replications=4)
    assert f"{name_of(more)}: 3 replications, and 4" in store("diff", loose, f"results_dir={folder}").out
    stored = read_file(Store(loose).path(SIMULATED[1]))
    write_file(Store(loose).path(SIMULATED[1]), replace(stored, footer={**stored.footer, "source": "another"}))
    printed = store("diff", loose, f"results_dir={folder}").out
    assert f"{name_of(SIMULATED[1])}: the same numbers, with another source" in printed


def test_the_last_cell_takes_its_pack_along(folder):
    list(pack(folder, [SIMULATED[2].key]))
    assert not (folder / "c2" / "regret.parquet").exists()
    assert (folder / "c2" / "identification.parquet").exists()


def test_merge_from_and_into_packs(call, folder, loose, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    printed = call("merge", folder, f"results_dir={empty}", main=main).out
    assert printed == f"{len(EVERY)} cells in {folder}: 0 stored already, {len(EVERY)} taken\n"
    assert contents(empty) == contents(loose)
    printed = call("merge", loose, f"results_dir={folder}", main=main).out
    assert printed == f"{len(EVERY)} cells in {loose}: {len(EVERY)} stored already, 0 taken\n"


def test_cells_of_old_revisions_are_garbage(call, folder, monkeypatch):
    monkeypatch.setattr(UCB1, "revision", UCB1.revision + 1)
    printed = call("gc", f"results_dir={folder}", main=main).out.splitlines()
    cell = SIMULATED[0]
    old = [line.partition(": of revision 1")[0] for line in printed[:-1]]
    assert len(old) == 2
    assert all("regret.parquet: ucb1-" in line for line in old)
    assert printed[-1].startswith("0 files and 2 cells of packs, ")
    call("gc", "remove=true", f"results_dir={folder}", main=main)
    assert [place.name for place, _ in look([folder]).copies if "ucb1" in place.name] == []
    assert Store(folder).read(replace(SIMULATED[1])).replications == REPLICATIONS
    assert cell.policy.name == "ucb1"


def test_a_removed_cell_is_removed_from_its_file_and_from_the_pack(call, folder):
    simulate(Store(folder), SIMULATED[:1], replications=5)
    chosen = ("policy=ucb1", "instance=c1", f"results_dir={folder}")
    name = f"{SIMULATED[0].policy.name}-{SIMULATED[0].key}"
    paths = [f"{folder}/c1/{name}.parquet", f"{folder}/c1/regret.parquet: {name}"]
    printed = call("remove", "remove=true", *chosen, main=main).out.splitlines()
    assert [line for line in printed if name in line] == [os.path.relpath(path) for path in paths]
    assert Store(folder).place(SIMULATED[0], 1) is None
    assert Store(folder).read(SIMULATED[1]).replications == REPLICATIONS


def test_a_cell_that_a_sweep_simulates_is_not_removed(call, folder):
    listing = ("remove", "policy=ucb1", "instance=c1", f"results_dir={folder}")
    words = (*listing, "remove=true")
    sweep = Locks(folder)
    assert sweep.take(SIMULATED[0].key)
    assert SIMULATED[0].key in call(*listing, main=main).out, "a list needs no lock"
    name = f"c1/{SIMULATED[0].policy.name}-{SIMULATED[0].key}"
    printed = call(*words, main=main)
    assert f"warning: {name}: not removed, as a sweep simulates it" in printed.err
    assert SIMULATED[0].key not in printed.out
    assert Store(folder).place(SIMULATED[0], 1) is not None
    sweep.release_all()
    assert SIMULATED[0].key in call(*words, main=main).out
    assert Store(folder).place(SIMULATED[0], 1) is None


def test_a_cell_beside_a_damaged_pack_is_removed(call, folder):
    simulate(Store(folder), SIMULATED[:1], replications=5)
    (folder / "c1" / "regret.parquet").write_bytes(b"")
    printed = call("remove", "policy=ucb1", "instance=c1", "remove=true", f"results_dir={folder}", main=main)
    assert printed.out.splitlines()[-1].startswith("1 results, ")
    assert "regret.parquet: damaged: " in printed.err
    assert not Store(folder).path(SIMULATED[0]).exists()


def test_the_crate_describes_packs_and_their_cells(call, folder):
    pytest.importorskip("rocrate")
    call("export", "--crate", f"results_dir={folder}", main=main)
    graph = {item["@id"]: item for item in json.loads((folder / "ro-crate-metadata.json").read_text())["@graph"]}
    assert {item["@id"] for item in graph["./"]["hasPart"]} == set(contents(folder))
    of_pack = graph["c1/regret.parquet"]
    assert of_pack["contentSize"] == str((folder / "c1" / "regret.parquet").stat().st_size)
    assert of_pack["name"] == "regret on c1"
    parts = {item["@id"] for item in of_pack["hasPart"]}
    assert parts == {f"c1/regret.parquet#{name_of(cell).partition('/')[2]}" for cell in SIMULATED[:2]}
    assert all(graph[part]["description"].startswith("3 replications until 300; epsilon = ") for part in parts)


def asked_of_raw_files(folder):
    """Mean final regret by policy and epsilon, from the columns of packs alone, with pyarrow."""
    tables = [pq.read_table(file, columns=["policy", "epsilon", "regret"]) for file in folder.glob("*/regret.parquet")]
    rows = pa.concat_tables(tables)
    curves = rows["regret"].combine_chunks()
    rows = rows.set_column(2, "final", curves.values.take(pc.subtract(curves.offsets[1:], 1)))
    means = rows.group_by(["policy", "epsilon"]).aggregate([("final", "mean")])
    return {(row["policy"], row["epsilon"]): row["final_mean"] for row in means.to_pylist()}


def asked_of_load(folder):
    table = load(results_dir=folder, record="regret")
    final = table[table.t == table.horizon]
    return final.groupby(["policy", "epsilon"], observed=True).regret.mean().to_dict()


def test_packs_answer_alone(loose):
    """As with polars, duckdb and R: parameters are plain columns, of the types that they have in `load`."""
    simulate(Store(loose), [RegretCell(C2(3), DPSE(epsilon), 300) for epsilon in (0.25, 1.0)], 7)
    list(pack(loose))
    raw, due = asked_of_raw_files(loose), asked_of_load(loose)
    assert {("dp_se", 0.25), ("dp_se", 1.0), ("ucb1", np.inf)} <= raw.keys() == due.keys()
    assert all(raw[group] == pytest.approx(due[group], rel=1e-12) for group in raw)
    table = pq.read_table(loose / "c2" / "regret.parquet")
    assert table.schema.names[:9] == list(packs.FIRST)
    assert [str(table.schema.field(name).type) for name in packs.FIRST[3:]] == [
        *("int64", "string", "double", "double", "string", "int64")
    ]
    group = pq.ParquetFile(loose / "c2" / "regret.parquet").metadata.row_group(0)
    assert "RLE_DICTIONARY" in group.column(table.schema.names.index("policy")).encodings


def test_the_type_of_a_parameter_is_that_of_its_values():
    assert packs._array([None, 2]).type == pa.int64()
    assert packs._array([1, 0.5]).to_pylist() == [1.0, 0.5]
    assert packs._array([True, None]).to_pylist() == [True, None]
    assert packs._array(["proved", [0.9, 0.2]]).to_pylist() == ["proved", "[0.9, 0.2]"]
    assert packs._array([2**70, 1]).to_pylist() == [str(2**70), "1"]


def test_columns_that_a_footer_does_not_say_are_damage(folder, call):
    """Whoever changes a column for other programs changes no number that `load` gives; `verify` says it."""
    file, cell = folder / "c1" / "regret.parquet", SIMULATED[1]
    name, held = f"{cell.policy.name}-{cell.key}", opened(file)
    assert held.wrong_columns() == {}
    held.footers[name]["columns"]["epsilon"] = 2.0
    assert held.wrong_columns() == {name: "its column epsilon is not what its footer says"}
    whole = pq.read_table(file)
    at = whole.schema.names.index("policy")
    renamed = pa.array(["ucb1"] * len(whole))
    pq.write_table(whole.set_column(at, "policy", renamed).replace_schema_metadata(whole.schema.metadata), file)
    printed = call("verify", f"results_dir={folder}", main=main)
    assert printed.code == 1
    assert printed.out.splitlines()[0] == f"{file}: {name}: damaged: its column policy is not what its footer says"
    assert set(load(results_dir=folder, epsilon=1).policy) >= {"dp_se"}


def test_other_numbers_in_another_folder_are_named(folder, made):
    """Of one key, in `runs` and in `results`."""
    cell, other = SIMULATED[0], Store(folder / "more")
    stored = read_file(made / f"{name_of(cell)}.parquet")
    write_file(other.path(cell), replace(stored, rows={**stored.rows, "pulls": stored.pulls[:, [1, 0, 2]]}))
    result = verify([*files_in(folder), *files_in(other.root)])
    (reason,) = result.damaged.values()
    assert (
        reason == f"its numbers are not those of the same cell in {Place(folder / 'c1/regret.parquet', name_of(cell))}"
    )
