"""A changed results file is an error; files from before checksums still load."""

import errno
import json
import os
import resource

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bandits.environments.bernoulli import C1
from bandits.policies.ucb import UCB1
from experiments import UserError, load
from experiments.cells.regret import RegretCell
from experiments.config.request import Request
from experiments.simulate import look_up, run_jobs
from experiments.store import Store
from experiments.store.results_file import CHECKSUM, FOOTER, DamagedFileError, checksum, read_file, read_footer
from experiments.upkeep.packing import pack

CELL = RegretCell(C1(3), UCB1(), 2_000)


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "results")
    run_jobs(look_up([Request(CELL, 4, {})], store), store, workers=1)
    return store


def rewrite(path, footer=None, keep=True, **columns):
    """Rewrite the file with another footer, a dictionary or text, and other columns; a right checksum unless `keep`."""
    table = pq.read_table(path)
    metadata = table.schema.metadata
    text = metadata[FOOTER] if footer is None else footer if isinstance(footer, str | bytes) else json.dumps(footer)
    for name, values in columns.items():
        field = table.schema.field(name)
        table = table.set_column(table.schema.get_field_index(name), field, pa.array(values, field.type))
    right = checksum(text if isinstance(text, bytes) else text.encode())
    checked = metadata[CHECKSUM] if keep else right
    pq.write_table(table.replace_schema_metadata({FOOTER: text, CHECKSUM: checked}), path)


def places(node, at=()):
    """Every place in a nested footer."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield (*at, key)
        yield from places(value, (*at, key))


def changed(footer, place, value):
    copy = json.loads(json.dumps(footer))
    node = copy
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    return copy


def test_any_change_of_a_footer_is_damage(store):
    path = store.path(CELL)
    footer, whole = read_footer(path), path.read_bytes()
    everywhere = list(places(footer))
    assert ("columns", "epsilon") in everywhere
    for place in everywhere:
        rewrite(path, changed(footer, place, 0.123))
        with pytest.raises(DamagedFileError):
            read_footer(path)
        path.write_bytes(whole)
    rewrite(path)
    assert read_footer(path) == footer, "the same content under other bytes is no change"


def test_load_says_that_a_column_was_changed(store):
    path = store.path(CELL)
    footer = read_footer(path)
    rewrite(path, {**footer, "columns": {**footer["columns"], "epsilon": 0.5}})
    with pytest.raises(UserError, match=r"\.parquet: damaged: its footer was changed since it was written"):
        load(results_dir=store.root)


@pytest.mark.parametrize("keep", [True, False])
def test_plausible_but_changed_numbers_are_damage(store, keep):
    path = store.path(CELL)
    contents = read_file(path)
    swapped = contents.pulls[:, [0, 2, 1]]  # pulls that still add up
    rewrite(path, keep=keep, pulls=swapped.tolist())
    with pytest.raises(DamagedFileError, match=r"changed|its footer is missing"):
        read_file(path)


def test_rows_that_were_cut_off_are_damage(store):
    path = store.path(CELL)
    table = pq.read_table(path)
    pq.write_table(table.slice(0, 2), path)
    with pytest.raises(DamagedFileError, match="its number of replications"):
        read_footer(path)


BROKEN = {
    "no JSON": "{",
    "a list": "[]",
    "nothing": "null",
    "empty": "{}",
    "without columns": {"format": 2, "key": CELL.key, "runs": [{"replications": [0, 4]}]},
    "columns that are a text": {"format": 2, "key": CELL.key, "columns": "ucb1", "runs": [{"replications": [0, 4]}]},
    "without runs": {"format": 2, "key": CELL.key, "columns": {"policy": "ucb1"}},
    "no runs": {"format": 2, "key": CELL.key, "columns": {"policy": "ucb1"}, "runs": []},
    "a record of no kind": {"format": 2, "key": CELL.key, "columns": {"policy": "ucb1"}, "record": [1]},
    "another format": {"format": [2]},
    "no text": b"\xff\xfe",
}


@pytest.mark.parametrize("footer", BROKEN.values(), ids=BROKEN)
def test_an_incomplete_footer_is_damage(store, footer):
    path = store.path(CELL)
    rewrite(path, footer, keep=False)
    with pytest.raises(DamagedFileError):
        read_footer(path)
    with pytest.raises(UserError, match="damaged"):
        load(results_dir=store.root)


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(store, capsys):
    path = store.path(CELL)
    before = read_file(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UserError, match="damaged: it is not a regular file"):
        load(results_dir=store.root)
    run_jobs(look_up([Request(CELL, 4, {})], store), store, workers=1)
    assert (read_file(path).regret == before.regret).all()
    assert "moved to" in capsys.readouterr().err


def test_a_folder_in_the_place_of_a_file_is_damage(store):
    path = store.path(CELL)
    path.unlink()
    path.mkdir()
    with pytest.raises(UserError, match="damaged: it is not a regular file"):
        load(results_dir=store.root)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EMFILE, errno.ESTALE])
def test_a_file_that_cannot_be_opened_now_is_not_damaged(store, monkeypatch, number, packed):
    if packed:
        list(pack(store.root))

    def refuse(path):
        raise OSError(number, f"Failed to open local file {path}\nDetail: of pyarrow")

    def kept():
        return {path: path.read_bytes() for path in store.root.rglob("*.parquet*")}

    (path,), before = kept(), kept()
    with monkeypatch.context() as failing:
        failing.setattr(pa, "OSFile", refuse)
        with pytest.raises(UserError, match=f"^{path}: cannot be read: {os.strerror(number)}$"):
            run_jobs(look_up([Request(CELL, 4, {})], store), store, workers=1)
    assert kept() == before
    assert store.read(CELL).replications == 4


def test_pyarrow_tells_an_error_of_the_system_from_damage(store):
    path = store.path(CELL)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        with pytest.raises(UserError, match=r"cannot be read: Too many open files$"):
            read_file(path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    path.write_bytes(b"PAR1")
    with pytest.raises(DamagedFileError, match="not a readable parquet file"):
        read_file(path)


@pytest.mark.parametrize("packed", [False, True])
def test_results_are_read_in_a_folder_whose_name_is_not_utf_8(store, packed):
    if packed:
        list(pack(store.root))
    before, root = store.read(CELL), store.root.rename(store.root.with_name("caf\udce9"))
    assert (Store(root).read(CELL).regret == before.regret).all()


def test_missing_estimates_have_one_checksum(store):
    from experiments.cells.stopping import StoppingCell
    from experiments.store.results_file import _checksum_of_rows

    rows = {"samples": np.array([3, 4]), "expired": np.array([True, False]), "estimate": np.array([np.nan, 1.0])}
    other = np.array([0xFFF8000000000001, 0x3FF0000000000000], dtype=np.uint64).view(np.float64)  # another NaN
    assert _checksum_of_rows(StoppingCell, rows) == _checksum_of_rows(StoppingCell, {**rows, "estimate": other})
    assert _checksum_of_rows(StoppingCell, rows) != _checksum_of_rows(StoppingCell, {**rows, "samples": [3, 5]})
