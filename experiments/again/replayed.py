"""Simulate one replication again, of a cell that failed or is stored: `python -m experiments.replay`."""

import sys
import traceback
from collections.abc import Iterable, Mapping
from typing import Any

from experiments.again.comparison import difference
from experiments.cells import Cell
from experiments.config.command_line import read_command_line
from experiments.config.folders import folder, published_folder
from experiments.config.request import MOST_REPLICATIONS
from experiments.errors import UserError, whole_in
from experiments.simulate import simulate_block
from experiments.simulate.failures import Failures
from experiments.simulate.playing import playing
from experiments.simulate.second_play import play_again, require_same, stop_plays
from experiments.store import Store
from experiments.store.place import trusted_rows
from experiments.store.rebuilt import Known, cell_of
from experiments.store.stored import Replications, Stored


def record_of(key: str, store: Store) -> Known:
    """What is recorded of the cell with a key: a failure, else stored results. Raises `UserError` if neither is."""
    failures = Failures(store.root)
    failed = failures.read(key)
    if failed is not None:
        return Known.of_failure(failures.path(key), failed)
    place = store.find(key)
    if place is not None:
        return Known.of_stored(place.file, trusted_rows(place))
    raise UserError(f"key={key}: no cell with this key failed or is stored in {store.root}")


def _replayed(cell: Cell, config: Mapping[str, Any], replication: int, stored: Replications | None) -> Iterable[str]:
    """Simulate a replication and describe the result, line by line. Raises whatever the policy raises."""
    with playing(cell):
        block = simulate_block(cell, replication, replication + 1)
    if cell.own:
        again = play_again(cell, config, [replication + 1, replication])
        try:
            require_same(cell, block.rows, [replication], again.result())
        finally:
            stop_plays([again])
    headline = Stored(block.rows, {}, cell).headline[0]
    yield f"replication {replication}: {cell.headline} {headline:.10g}, in {block.seconds[0]:.3g} s"
    if stored is not None and replication < stored.replications:
        apart = difference(stored.at(slice(replication, replication + 1)), block)
        yield apart or "every number is as it is stored"
        if apart:
            sys.exit(1)


def replay() -> None:
    """Entry point of `python -m experiments.replay`; exit code 1 if the replication fails or differs.

    The cell is one that failed (`failures/KEY.json` beside the results) or one that is stored.
    """
    command = read_command_line("replay")
    for job in command.jobs:
        key, given = _key(job), {"replication": command.value(job, "replication")}
        replication = whole_in(given, "replication", 0, MOST_REPLICATIONS - 1)
        recorded = record_of(key, Store(folder(command.config, "results_dir"), published_folder(command.config)))
        cell = cell_of(key, recorded)
        print(f"{cell.identity}, as in {recorded.file}")
        try:
            for line in _replayed(cell, recorded.config, replication, recorded.contents):
                print(line, flush=True)
        except Exception:  # the error of the policy is what the user wants to see
            traceback.print_exc()
            sys.exit(1)


def _key(job: list[str]) -> str:
    """The key as it was typed, as some keys look like numbers. Raises `UserError`."""
    key = next((text.partition("=")[2] for text in job if text.startswith("key=")), "")
    if not (len(key) == 16 and set(key) <= set("0123456789abcdef")):
        raise UserError(
            f"key={key}: must be the key of a cell, 16 hexadecimal digits, as at the end of the name of its file"
        )
    return key
