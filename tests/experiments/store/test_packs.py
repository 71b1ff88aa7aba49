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
import pyarrow.parquet as pq
import pytest

from bandits.environments.bernoulli import C1, C2
from bandits.policies.elimination import DPSE
from bandits.policies.ucb import UCB1
from experiments import UserError, load, load_identified, load_outcomes, load_pulls
from experiments.again import replayed
from experiments.cells.regret import RegretCell
from experiments.config.compose import REPOSITORY, Composer
from experiments.config.plan import Request, plan
from experiments.simulate import look_up, run
from experiments.store import Store, complete_places, name_of, packs
from experiments.store.index import index_of_folders
from experiments.store.packs import opened
from experiments.store.place import Place, files_in, read_each
from experiments.store.results_file import DamagedFileError, read_file, write_file
from experiments.upkeep.command import main
from experiments.upkeep.packing import pack
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
    run(look_up(wanted, store), store, workers=1)


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
    file.write_bytes(packs.packed({name: replace(held, footer={**held.footer, "columns": columns})}))
    with pytest.raises(UserError, match=r"c2/regret.parquet: damaged: its column arms is 9, but its key is that of 3"):
        load(policy="ucb1", results_dir=folder)
    with pytest.raises(DamagedFileError, match=r"^its column arms is 9, "):
        Place(file, f"c2/{name}").read()


def test_a_pack_for_each_instance_and_record(folder):
    assert sorted(contents(folder)) == sorted({f"{cell.instance.name}/{cell.record}.parquet" for cell in EVERY})
    assert sorted(index_of_folders([folder]).names) == sorted(map(name_of, EVERY))


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
    """A row group holds one cell, in the order of the names."""
    (example,) = re.findall(r"```py\n(.*?)```", (REPOSITORY / "docs" / "reference.md").read_text(), re.DOTALL)
    assert "results/c1/regret.parquet" in example
    namespace = {}
    exec(example.replace("results/c1", f"{folder}/c1"), namespace)  # what the reference says
    assert namespace["file"].metadata.num_row_groups == 2
    for group, footer in enumerate(map(json.loads, namespace["footers"])):
        cell = next(cell for cell in SIMULATED if cell.key == footer["key"])
        table = namespace["file"].read_row_group(group)
        assert table == namespace["first"] or group == 1
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


def test_one_cell_is_read_without_the_others(folder, monkeypatch):
    read, read_whole = [], pq.ParquetFile.read

    def counted(groups_of):
        return lambda *of, **how: read.append(np.size(of[1])) or groups_of(*of, **how)

    def read_no_pack(file, **how):
        assert packs.CELLS not in file.metadata.metadata
        return read_whole(file, **how)

    for name in ("read_row_group", "read_row_groups"):
        monkeypatch.setattr(pq.ParquetFile, name, counted(getattr(pq.ParquetFile, name)))
    monkeypatch.setattr(pq.ParquetFile, "read", read_no_pack)
    Store(folder).read(SIMULATED[0])
    load_pulls(results_dir=folder, policy="dp_se", instance="c1")
    assert read == [1, 1]


def test_several_cells_are_read_in_the_order_that_is_asked_for(folder, monkeypatch):
    """For any number of cells per read, and any files that hold them."""
    monkeypatch.setattr(packs, "TOGETHER", 2)
    places = index_of_folders([folder]).places
    asked = [*places, *reversed(places), *places[:1] * 3]
    for place, found in zip(asked, read_each(asked), strict=True):
        alone = place.read()
        assert found.footer == alone.footer
        for name, values in alone.rows.items():
            np.testing.assert_array_equal(found.rows[name], values)


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
    from experiments.store.leases import Leases

    shutil.copytree(made, folder, dirs_exist_ok=True)
    leases = Leases(folder / ".leases")
    assert leases.take("pack")
    with pytest.raises(UserError, match="another process"):
        list(pack(folder))
    leases.release("pack")
    assert len(list(pack(folder))) == len(contents(folder))


def flip(file, place):
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


def group_of(file, cell):
    """The offset of the rows of a cell in a pack."""
    place = opened(file).groups[f"{cell.policy.name}-{cell.key}"]
    group = pq.ParquetFile(file).metadata.row_group(place)
    return group.column(group.num_columns - 1).data_page_offset


def test_damage_to_one_cell_is_reported_and_leaves_the_others(folder, call):
    (bad, good, _), store = SIMULATED, Store(folder)
    file = folder / "c1" / "regret.parquet"
    flip(file, group_of(file, bad) + 40)
    place = f"{file}: {bad.policy.name}-{bad.key}"
    with pytest.raises(DamagedFileError):
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


def test_a_damaged_cell_is_computed_again_beside_the_pack_and_put_in_its_place(folder, loose, capsys):
    (bad, *_), store = SIMULATED, Store(folder)
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
def test_flipped_bits_are_found_or_change_nothing(folder, loose):
    """Anywhere in a pack: each cell is damaged or unchanged."""
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
    asked = Store(folder).index_of([Request(SIMULATED[2], 1, {})])
    assert asked.sound().names == [name_of(SIMULATED[2])], "the packs of other cells are not asked"


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
        assert index_of_folders([root]).damaged == {}
        list(pack(root))
        assert contents(root) == contents(wanted), point
        point += 1
    assert point > 20


def test_a_plan_reads_packs(folder, made):
    words = ["instance=c1", "instance.arms=3", "policy=dp_se", "budget.epsilon=1", "horizon=300"]
    asked = plan([*words, f"replications={REPLICATIONS}", f"results_dir={folder}", "published_dir=null"], Composer())
    (place,) = complete_places(asked)
    assert place == Place(folder / "c1" / "regret.parquet", name_of(SIMULATED[1]))
    own = plan([*words, "replications=1", "results_dir=nothing", f"published_dir={folder}"], Composer())
    assert complete_places(own) == [place]


def test_the_digest_of_a_cell_changes_with_its_rows_alone(folder):
    file = folder / "c1" / "regret.parquet"
    first, second = (Place(file, name_of(cell)) for cell in SIMULATED[:2])
    before = first.digest(), second.digest()
    flip(file, group_of(file, SIMULATED[0]) + 40)
    assert first.digest() != before[0]
    assert second.digest() == before[1]


def test_replay_of_a_packed_cell(call, folder):
    configured = ["instance=c1", "instance.arms=3", "policy=ucb1", "horizon=200", "replications=2", "runner.workers=1"]
    root = folder / "more"
    assert call(*configured, f"results_dir={root}").code == 0
    list(pack(root))
    (place,) = index_of_folders([root]).places
    outcome = call(f"key={place.key}", "replication=1", f"results_dir={root}", main=replayed.replay)
    assert "every number is as it is stored" in outcome.out
    assert f"as in {place.file}" in outcome.out


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
    assert [name for name in index_of_folders([folder]).names if "ucb1" in name] == []
    assert Store(folder).read(replace(SIMULATED[1])).replications == REPLICATIONS
    assert cell.policy.name == "ucb1"


def test_files_from_before_checksums_have_one_in_a_pack(loose):
    from tests.experiments.store.test_results_file import rewrite

    path = Store(loose).path(SIMULATED[0])
    footer = read_file(path).footer
    rewrite(path, {**{key: value for key, value in footer.items() if key != "rows"}, "format": 1}, keep=False)
    assert read_file(path).footer["format"] == 1
    list(pack(loose))
    assert Store(loose).read(SIMULATED[0]).footer == footer


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
