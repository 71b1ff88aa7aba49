import dataclasses
import json
from dataclasses import replace

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bandits import ParameterError, StepwisePolicy
from bandits.environments.bernoulli import C1
from bandits.environments.streams import SignedBernoulli
from bandits.guarantees import NOT_PRIVATE
from bandits.policies.elimination import DPSE
from bandits.policies.private_ucb import DPUCB
from bandits.policies.stopping_rules import DPExponentialNAS
from bandits.policies.ucb import UCB1
from bandits.seeds import stream
from experiments.cells.regret import RegretCell
from experiments.cells.stopping import StoppingCell
from experiments.config.request import Request
from experiments.errors import UserError
from experiments.simulate import CellJob, PolicyError, look_up, run_jobs
from experiments.simulate.sweep import without_damage
from experiments.store import Store
from experiments.store.results_file import FOOTER, DamagedFileError, read_file

CELL = RegretCell(C1(3), UCB1(), 2_000)  # cells whose replications differ


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


def simulate(store, cell=CELL, replications=4):
    jobs = look_up([Request(cell, replications, {"horizon": cell.horizon})], store)
    run_jobs(jobs, store, workers=1)
    return store.read(cell)


def test_what_is_written_is_read(store):
    result = simulate(store)
    assert result.replications == 4
    assert result.regret.shape == (4, len(CELL.checkpoints))
    assert (result.pulls.sum(axis=1) == 2_000).all()
    np.testing.assert_allclose(result.regret[:, -1], result.pulls @ CELL.instance.gaps)


def test_footer_records_provenance(store):
    footer = simulate(store).footer
    assert footer["key"] == CELL.key
    assert footer["identity"] == CELL.identity
    assert footer["revisions"] == {"instance": 1, "policy": 1}
    assert footer["config"] == {"horizon": 2_000}
    assert int(footer["seed_entropy"]) > 2**200
    (only,) = footer["runs"]
    assert only["replications"] == [0, 4]
    assert {"seconds", "versions", "platform", "commit", "dirty"} <= set(only)
    assert {"python", "numpy", "numba"} <= set(only["versions"])


def test_more_replications_run_only_the_new_ones(store, monkeypatch):
    before = simulate(store, replications=3)
    jobs = look_up([Request(CELL, 8, {})], store)
    assert jobs[0].missing == 5
    run_jobs(jobs, store, workers=1)
    after = store.read(CELL)
    assert after.replications == 8
    assert (after.regret[:3] == before.regret).all()
    assert [entry["replications"] for entry in after.footer["runs"]] == [[0, 3], [3, 8]]
    monkeypatch.setattr("experiments.simulate.runners.attempt", lambda *_: pytest.fail("simulated again"))
    run_jobs(look_up([Request(CELL, 8, {}), Request(CELL, 2, {})], store), store, workers=1)


def test_extended_results_are_those_of_one_run(store, tmp_path):
    simulate(store, replications=3)
    extended = simulate(store, replications=12)
    at_once = simulate(Store(tmp_path / "other"), replications=12)
    assert (extended.regret == at_once.regret).all()
    assert len({row.tobytes() for row in at_once.regret}) == 12
    for replication in range(12):
        pulls = CELL.policy.simulate(CELL.instance, 2_000, CELL.checkpoints, stream(CELL.identity, replication))
        assert (pulls[-1] == at_once.pulls[replication]).all()


def test_fewer_replications_never_replace_more(store):
    few, many = simulate(store, replications=3), simulate(store, replications=8)
    store.write(few)  # as by a run that began before the other one and ended after it
    kept = store.read(CELL)
    assert kept.replications == 8
    assert (kept.regret == many.regret).all()
    store.write(many)
    assert [entry["replications"] for entry in store.read(CELL).footer["runs"]] == [[0, 3], [3, 8]]


def test_two_runs_of_a_cell_at_once_lose_nothing(store):
    slow, quick = (look_up([Request(CELL, count, {})], store) for count in (5, 40))
    run_jobs(quick, store, workers=1)
    run_jobs(slow, store, workers=1)
    assert store.read(CELL).replications == 40


def test_other_numbers_of_a_cell_are_kept_beside_it_and_are_an_error(store):
    before = simulate(store)
    changed = before.regret.copy()
    changed[1, -1] = np.nextafter(changed[1, -1], np.inf)
    for stored in (before.first(3), before):
        with pytest.raises(UserError, match=r"two runs of this cell .* kept as .*\.conflict\d\. Raise the revision"):
            store.write(replace(stored, rows={**stored.rows, "regret": changed[: stored.replications]}))
    assert (store.read(CELL).regret == before.regret).all()
    assert len(list(store.root.rglob("*.conflict*"))) == 2
    assert [copy.place.file for copy in store.look().copies] == [store.path(CELL)]


def test_missing_estimates_of_two_runs_agree(store):
    cell = StoppingCell(SignedBernoulli(0.62), DPExponentialNAS(1.0, 0.5, 0.05), 512)
    stored = simulate(store, cell, 20)
    assert stored.rows["expired"].any()
    store.write(stored)


def _store_often(root, replications):
    for _ in range(20):
        simulate(Store(root), replications=replications)
        stored = Store(root).read(CELL)
        Store(root).write(stored.first(2))


@pytest.mark.slow
def test_processes_that_write_at_once_lose_nothing(store):
    joblib.Parallel(n_jobs=4)(joblib.delayed(_store_often)(store.root, count) for count in (3, 5, 7, 9))
    assert store.read(CELL).replications == 9
    assert not list(store.root.rglob("*.conflict*"))


def test_a_file_is_replaced_and_never_written_to(store):
    simulate(store, replications=1)
    before = store.path(CELL).stat().st_ino
    simulate(store, replications=2)
    assert store.path(CELL).stat().st_ino != before


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_a_byte_of_data(path):
    content = bytearray(path.read_bytes())
    content[200] ^= 0xFF
    path.write_bytes(bytes(content))


def write_another_schema(path):
    pq.write_table(pa.table({"regret": [1.0]}), path)


def change_footer(path, **changes):
    table = pq.read_table(path)
    footer = {**json.loads(table.schema.metadata[FOOTER]), **changes}
    pq.write_table(table.replace_schema_metadata({FOOTER: json.dumps(footer)}), path)


def lose_pulls(path):
    table = pq.read_table(path)
    pulls = [[number - 1 for number in row] for row in table.column("pulls").to_pylist()]
    pq.write_table(table.set_column(3, table.schema.field("pulls"), pa.array(pulls, pa.list_(pa.int64()))), path)


def drop_a_row(path):
    table = pq.read_table(path)
    pq.write_table(table.slice(1), path)


DAMAGES = {
    "truncated": truncate,
    "empty": lambda path: path.write_bytes(b""),
    "flipped byte": flip_a_byte_of_data,
    "another schema": write_another_schema,
    "no footer": lambda path: pq.write_table(pq.read_table(path).replace_schema_metadata(None), path),
    "another key": lambda path: change_footer(path, key="0" * 16),
    "another format": lambda path: change_footer(path, format=99),
    "missing row": drop_a_row,
    "lost pulls": lose_pulls,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_files_are_set_aside_reported_and_computed_again(store, damage, capsys):
    before = simulate(store)
    path = store.path(CELL)
    damage(path)
    damaged = path.read_bytes()
    with pytest.raises(DamagedFileError):
        read_file(path)
    after = simulate(store)
    assert (after.regret == before.regret).all()
    (aside,) = path.parent.glob("*.damaged1")
    assert aside.read_bytes() == damaged
    message = capsys.readouterr().err
    assert str(path) in message
    assert aside.name in message
    assert message.count("\n") == 1


@pytest.mark.parametrize("replications", [0, 4], ids=["moved", "stored again"])
def test_a_damaged_file_that_another_run_dealt_with_is_left_to_it(store, capsys, replications):
    simulate(store)
    store.path(CELL).write_bytes(b"")
    jobs = look_up([Request(CELL, 4, {})], store)
    without_damage(look_up([Request(CELL, 4, {})], store), store)  # by the other run
    if replications:
        simulate(store)
    capsys.readouterr()
    assert without_damage(jobs, store) == jobs
    assert capsys.readouterr().err == ""
    assert len(list(store.root.rglob("*.damaged*"))) == 1
    run_jobs(jobs, store, workers=1)
    assert store.read(CELL).replications == 4


def test_a_file_under_another_name_is_not_believed(store):
    simulate(store)
    other = RegretCell(C1(3), UCB1(), 2_001)
    store.path(CELL).rename(store.path(other))
    with pytest.raises(UserError, match=f"^{store.path(other)}: damaged: it holds the cell .*, not that of its name"):
        store.read(other)


def test_second_damaged_file_does_not_overwrite_the_first(store):
    for _ in range(2):
        simulate(store)
        truncate(store.path(CELL))
    simulate(store)
    assert len(list(store.root.rglob("*.damaged*"))) == 2


def test_a_full_disk_leaves_the_old_file_and_no_temporary_one(store, monkeypatch):
    before = simulate(store)
    content = store.path(CELL).read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("experiments.store.whole_files.os.fsync", full)
    with pytest.raises(UserError, match=r"results_dir=.*No space left"):
        simulate(store, replications=before.replications + 1)
    assert store.path(CELL).read_bytes() == content
    assert [path.name for path in store.path(CELL).parent.iterdir()] == [store.path(CELL).name]


@pytest.mark.slow
def test_results_are_the_same_bits_on_any_number_of_workers_in_any_order(tmp_path):
    cells = [RegretCell(C1(3), policy, 3_000) for policy in (DPUCB(0.5), UCB1(), DPUCB(5.0))]
    results = {}
    for workers, order in ((1, cells), (2, cells[::-1]), (5, cells[1:] + cells[:1])):
        store = Store(tmp_path / str(workers))
        run_jobs([CellJob(Request(cell, 12, {}), None) for cell in order], store, workers)
        results[workers] = [store.read(cell) for cell in cells]
    for workers in (2, 5):
        for one, other in zip(results[1], results[workers], strict=True):
            assert (one.regret == other.regret).all()
            assert (one.pulls == other.pulls).all()


def raising(*_):
    raise RuntimeError("broken policy")


BROKEN = {
    "raises": (raising, "broken policy"),
    "too few checkpoints": (lambda i, h, c, r: np.zeros((3, 3), int), "of shape"),
    "not whole": (lambda i, h, c, r: np.outer(c, [0.5, 0.5, 0.0]), "whole numbers"),
    "nothing": (lambda i, h, c, r: None, "NoneType"),
    "lost steps": (lambda i, h, c, r: np.outer(c - 1, [1, 0, 0]), "add up"),
    "decreasing": (lambda i, h, c, r: np.stack([c + 5 * (c % 2), -5 * (c % 2), 0 * c], axis=1), "decrease"),
}


@pytest.mark.parametrize(("simulation", "why"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_policy_is_named_and_does_not_stop_the_others(store, simulation, why):
    class Broken(UCB1):
        def simulate(self, *arguments):
            return simulation(*arguments)

    good, bad = RegretCell(C1(3), DPSE(0.5), 2_000), RegretCell(C1(3), Broken(), 2_000)
    with pytest.raises(PolicyError, match=why) as error:
        run_jobs([CellJob(Request(bad, 3, {}), None), CellJob(Request(good, 3, {}), None)], store, workers=1)
    assert f"{bad.identity}, replication 0" in str(error.value)
    assert store.read(good).replications == 3
    assert store.read(bad) is None


def test_a_name_that_could_leave_the_folder_is_refused():
    for name in ["../../evil", "", "Name", "a b", "a" * 101, "ü", 3]:

        class Named(UCB1):
            pass

        Named.name = name
        with pytest.raises(ParameterError, match=r"policy: .* is not a name"):
            RegretCell(C1(3), Named(), 2_000)


@pytest.mark.parametrize("arm", [-1, 3, 10**9])
def test_an_arm_that_does_not_exist_is_an_error(store, arm):
    class Elsewhere(StepwisePolicy):
        name, label, citation, guarantee = "elsewhere", "Elsewhere", "none", NOT_PRIVATE

        def start(self, arms, horizon):
            return None

        def select(self, state, t, rng):
            return arm if t == 5 else 0

        def update(self, state, arm, reward, rng):
            pass

    cell = RegretCell(C1(3), dataclasses.dataclass(frozen=True)(Elsewhere)(), 2_000)
    with pytest.raises(PolicyError, match=rf"select must return an arm in 0\.\.2, got {arm} at step 5"):
        run_jobs([CellJob(Request(cell, 1, {}), None)], store, workers=1)
    assert store.read(cell) is None
