"""Simulate whole experiments again from nothing, and compare them with what is stored: `make reproduce`."""

import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from experiments.again.comparison import Agreement, Comparison, Replayed, compare, difference
from experiments.cells import Cell
from experiments.config.command_line import CommandLine, read_command_line
from experiments.config.folders import folder
from experiments.config.plan import Plan, merge
from experiments.errors import UserError
from experiments.progress import readable_duration
from experiments.simulate import look_up
from experiments.simulate.complete import runner_of
from experiments.simulate.provenance import machine
from experiments.store import Store, stored_cells
from experiments.store.stored import Cells, Replications, Stored

IDENTICAL = "every bit is the same"
EXPENSIVE = 20  # policies that `reproduce` names with their time


def reproduce() -> None:
    """Entry point of `python -m experiments.reproduce`: simulate everything again; exit code 1 if a number differs.

    Cells whose bits may differ are compared by `compare`, as in `check`. With `reproduce_dir` a command that was
    stopped resumes where it stopped.
    """
    command = read_command_line()
    if not command.jobs:
        return
    began = time.perf_counter()
    plans = command.plans()
    requests = merge(request for planned in plans for request in planned.requests)
    stored = {stored.cell.key: stored for stored in Cells.of(map(stored_cells, plans))}  # all that any plan reads of it
    folder_of = {request.cell.key: _folder(planned) for planned in reversed(plans) for request in planned.requests}
    took = dict.fromkeys(map(_folder, plans), 0.0)
    of_policy: dict[str, float] = defaultdict(float)  # seconds
    different = rounded = 0
    with scratch_store(command) as scratch:
        runner_of(plans).run(look_up(requests, scratch), scratch)
        for cell, seconds, said in _compared([stored[request.cell.key] for request in requests], scratch):
            took[folder_of[cell.key]] += seconds
            of_policy[cell.policy.name] += seconds
            rounded += said.agreement is Agreement.SAME and said.evidence != IDENTICAL
            if said.agreement is not Agreement.SAME:
                different += 1
                print(f"{cell.identity} ({cell.key}): {said.evidence}")
    expensive = sorted(of_policy.items(), key=lambda item: -item[1])[:EXPENSIVE]
    for names, spent in [("on one core", took.items()), ("most expensive policies", expensive)]:
        print(f"{names}: " + ", ".join(f"{name} {readable_duration(seconds)}" for name, seconds in spent))
    print(
        f"{len(requests)} cells simulated again in {readable_duration(time.perf_counter() - began)}: "
        f"{len(requests) - different - rounded} identical, "
        f"{rounded} the same but for rounding, {different} different"
    )
    sys.exit(1 if different else 0)


def _compared(stored: Iterable[Stored], scratch: Store) -> Iterator[tuple[Cell, float, Comparison]]:
    """Each cell, the seconds that it took to simulate it again, and whether it is the same. Raises `UserError`."""
    for before in stored:
        after = scratch.read(before.cell)
        if after is None:
            raise UserError(f"{scratch.root}: has no results of the jobs; reproduce_dir= must be on all machines")
        yield before.cell, sum(run["seconds"] for run in after.footer["runs"]), same_again(before, after)


def same_again(before: Stored, after: Stored) -> Comparison:
    """Whether all replications `before` are the same when they are simulated again: bit by bit, else as in `check`."""
    apart = difference(before, after)
    if not apart:
        return Comparison(Agreement.SAME, IDENTICAL)
    rounded = _rounded(before, after)
    if rounded is not None and rounded.agreement is Agreement.SAME:
        return rounded
    evidence = f": {rounded.evidence}" if rounded else ""
    return Comparison(Agreement.DIFFERENT, f"{apart}{_other_platform(before)}{evidence}")


@contextmanager
def scratch_store(command: CommandLine) -> Iterator[Store]:
    """Where cells are simulated again: the `reproduce_dir`, else a temporary folder."""
    if command.config.reproduce_dir is not None:
        store = Store(folder(command.config, "reproduce_dir"))
        store.check_writable()
        yield store
        return
    with tempfile.TemporaryDirectory(prefix="reproduce-") as temporary:
        yield Store(Path(temporary))


def _folder(planned: Plan) -> str:
    """The folder of the experiment, which is its paper; a cell that several have counts for the first."""
    return planned.experiment.partition("/")[0] if planned.experiment else "no experiment"


def _rounded(before: Stored, after: Stored) -> Comparison | None:
    """The comparison of a cell whose bits may differ; None if they may not."""
    elsewhere = before.footer["runs"][-1]["platform"] != machine()
    if before.cell.repeatable and before.cell.instance.portable and not elsewhere:
        return None
    return compare(before.cell, Replayed(before.rows, after.rows), before.headline, True)


def _other_platform(stored: Replications) -> str:
    platform = stored.footer["runs"][-1]["platform"]
    return "" if platform == machine() else f" (stored on {platform}, this is {machine()})"
