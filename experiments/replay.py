"""Run one replication of a cell alone, in this process, with the whole traceback if it fails.

    python -m experiments.replay key=0123456789abcdef replication=7

The cell is one that failed (`failures/KEY.json` beside the results) or one that is stored; of the latter, the numbers
are compared with what is stored. Exit code 1 if the replication fails or differs.
"""

import json
import pkgutil
import sys
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from omegaconf import OmegaConf

import bandits
from bandits.environments.gap_profiles import GapProfile
from bandits.learner import Environment, Learner
from experiments.cells import KINDS, RECORDED, Cell
from experiments.cells.regret import RegretCell
from experiments.config.build import build
from experiments.config.command_line import CommandLine, exit_on_user_error, read_command_line
from experiments.config.plan import folder, published_folder
from experiments.config.values import whole_number
from experiments.errors import UserError
from experiments.own_code import playing
from experiments.reproduce import difference
from experiments.second_play import SecondPlays, require_same
from experiments.simulate import simulate_block
from experiments.simulate.failures import Failures
from experiments.store import Store
from experiments.store.place import trusted
from experiments.stored import Replications, Stored


@dataclass(frozen=True)
class Known:
    """A cell that is known by its key: what a file tells of it.

    Attributes
    ----------
    told_in: the file.
    config: the resolved parts of the config that the cell came from.
    identity: what the cell says of itself.
    horizon, record: as the cell has them.
    recorded: how many checkpoints may have been asked for.
    contents: what is stored of it, if anything.
    """

    told_in: Path
    config: dict[str, Any]
    identity: dict[str, Any]
    horizon: int
    record: str
    recorded: tuple[int, ...]
    contents: Replications | None

    @classmethod
    def told(cls, told_in: Path, told: Mapping[str, Any], *recorded: int, contents: Replications | None = None) -> Self:
        """What the record of a failure or the footer of a results file tells."""
        identity, horizon = json.loads(told["identity"]), told["columns"]["horizon"]
        return cls(
            told_in, told["config"], identity, horizon, told.get("record", RegretCell.record), recorded, contents
        )


def known(key: str, store: Store) -> Known:
    """What is told of the cell with a key, as a failure or as a result. Raises `UserError`."""
    failures = Failures(store.root)
    failed = failures.read(key)
    if failed is not None:
        return Known.told(failures.path(key), failed, failed["recorded"])
    place = store.find(key)
    if place is not None:
        contents = trusted(place)
        checkpoints = [len(contents.t)] if "t" in contents.rows else []
        return Known.told(place.file, contents.footer, RECORDED, 1, *checkpoints, contents=contents)
    raise UserError(f"key={key}: no cell with this key failed or is stored in {store.root}")


def cell_of(key: str, of: Known) -> Cell:
    """The cell itself. Raises `UserError` if what the files say now is another cell."""
    config = OmegaConf.create(_with_classes_of_today(of.config, of.identity))
    files = dict.fromkeys(("instance", "policy"), of.told_in)
    instance: Environment = build(config, "instance", files, Environment)  # type: ignore[type-abstract]
    policy: Learner[Any] = build(config, "policy", files, Learner)
    cells = [KINDS[of.record](instance, policy, of.horizon, recorded) for recorded in of.recorded]
    found = next((cell for cell in cells if cell.key == key), None)
    if found is None:
        raise UserError(
            f"key={key}: the code makes another cell of it now, {cells[0].key}: a revision was raised, or a parameter "
            "was added"
        )
    return found


def _with_classes_of_today(node: Any, identity: Any) -> Any:
    """A config with each class of `bandits` where it is now: since the cell was stored it may have moved.

    `identity` is what the cell says of the same part; its names stay.
    """
    if not isinstance(node, dict):
        return node
    parts = identity if isinstance(identity, dict) else {}
    package, _, name = parts.get("class", "").partition(":")
    moved = {"_target_": _ours()[name]} if package == "bandits" else {}
    return {key: _with_classes_of_today(value, parts.get(key)) for key, value in node.items()} | moved


@cache
def _ours() -> dict[str, str]:
    """The module and class of every instance, policy and gap profile of `bandits`, by its name."""
    modules = [import_module(item.name) for item in pkgutil.walk_packages(bandits.__path__, "bandits.")]
    classes = [value for module in modules for value in vars(module).values() if isinstance(value, type)]
    parts = [of for of in classes if issubclass(of, Environment | Learner | GapProfile) and hasattr(of, "name")]
    return {of.name: f"{of.__module__}.{of.__qualname__}" for of in parts if of.__module__.startswith("bandits.")}


def replay(cell: Cell, replication: int, stored: Replications | None) -> Iterable[str]:
    """Run a replication and say what came out, line by line. Raises whatever the policy raises."""
    with playing(cell):
        block = simulate_block(cell, replication, replication + 1)
    if cell.own:
        plays = SecondPlays()
        try:
            again = plays.ask(cell, [replication + 1, replication]).result()
        finally:
            plays.close()
        require_same(cell, block.rows, [replication], again)
    headline = Stored(block.rows, {}, cell).headline[0]
    yield f"replication {replication}: {cell.headline} {headline:.10g}, in {block.seconds[0]:.3g} s"
    if stored is not None and replication < stored.replications:
        found = difference(stored.at(slice(replication, replication + 1)), block)
        yield found or "every number is as it is stored"
        if found:
            sys.exit(1)


def main() -> None:
    """Entry point of `python -m experiments.replay`."""
    command = read_command_line("replay")
    for job in command.jobs:
        key, replication = _key(job), _replication(command, job)
        of = known(key, Store(folder(command.config, "results_dir"), _published(command)))
        cell = cell_of(key, of)
        print(f"{cell.identity}, as {of.told_in} tells")
        try:
            for line in replay(cell, replication, of.contents):
                print(line, flush=True)
        except Exception:  # of the policy, which is what the user came for
            traceback.print_exc()
            sys.exit(1)


def _key(job: list[str]) -> str:
    """The key as it was typed, for some look like numbers. Raises `UserError`."""
    key = next((text.partition("=")[2] for text in job if text.startswith("key=")), "")
    if not (len(key) == 16 and set(key) <= set("0123456789abcdef")):
        raise UserError(f"key={key}: must be the key of a cell, 16 of 0-9 and a-f: the end of the name of its file")
    return key


def _replication(command: CommandLine, job: list[str]) -> int:
    value = command.value(job, "replication")
    try:
        number = whole_number(value)
    except ValueError as error:
        raise UserError(f"replication: must be {error}") from None
    if number < 0:
        raise UserError(f"replication: must be at least 0, got {number}")
    return number


def _published(command: CommandLine) -> Path | None:
    return published_folder(command.config)


if __name__ == "__main__":
    exit_on_user_error(main)
