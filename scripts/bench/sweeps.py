"""Measure the overhead of a long sweep beside simulation: planning, cells, replications, looks and `load()`.

python -m scripts.bench.sweeps     (also a part of python -m scripts.bench)

Times are CPU seconds, which other programs disturb less than wall time; looks and `load()` have both, since they
wait for the file system. The replications of one cell are measured several times, each time right after simulation
alone, and the median of the differences counts: the speed of a machine changes.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

from experiments.config.command_line import exit_on_user_error, help_alone
from experiments.config.compose import Composer
from experiments.config.plan import merge, plan
from experiments.config.request import Request
from experiments.simulate import look_up, run_jobs, simulate_block
from experiments.store import Store
from experiments.upkeep.packing import pack

CELLS = 10_000  # cells that are planned
TINY = 1_000  # cells of one replication
REPLICATIONS = 5_000  # replications of one cell
REPEATS = 5
LOAD = """
import time, experiments
from scripts.bench.memory import own_peak
experiments.load()
print(time.process_time(), own_peak())
"""
SMALL = ("policy=dp_se", "horizon=100", "recorded=1")


def cpu_seconds(action: Callable[[], object]) -> float:
    """CPU seconds of this process for `action`."""
    began = time.process_time()
    action()
    return time.process_time() - began


def planned(cells: int) -> list[Request]:
    """Requests for cells that differ in their budget, with one replication each."""
    jobs = [[*SMALL, "replications=1", f"budget.epsilon={number / cells}"] for number in range(1, cells + 1)]
    return merge(request for one in plan(jobs, Composer()) for request in one.requests)


def overhead_of_cells(requests: Sequence[Request], store: Store) -> Iterator[str]:
    """Measure the overhead per cell, and the time to look up a stored cell."""

    def simulate() -> None:
        for request in requests:
            simulate_block(request.cell, 0, 1)

    simulate()
    bare = cpu_seconds(simulate)
    jobs = look_up(requests, store)
    more = cpu_seconds(lambda: run_jobs(jobs, store, workers=1)) - bare
    yield f"each of {len(requests)} cells of one replication, beside simulation: {1e3 * more / len(requests):.2f} ms"
    again = cpu_seconds(lambda: look_up(requests, store))
    yield f"looking up a cell that is stored: {1e3 * again / len(requests):.2f} ms"


def of_replications(folder: Path) -> Iterator[str]:
    """Measure the overhead per replication of one cell."""
    requests = plan([[*SMALL, f"replications={REPLICATIONS}"]], Composer())[0].requests
    cell = requests[0].cell

    def replicate() -> None:
        for number in range(REPLICATIONS):
            cell.replicate(number)

    differences = []
    for repeat in range(REPEATS):
        jobs = look_up(requests, store := Store(folder / str(repeat)))
        bare = cpu_seconds(replicate)
        whole = cpu_seconds(lambda: run_jobs(jobs, store, workers=1))  # noqa: B023  # it is called at once
        differences.append(whole - bare)
    more = median(differences) / REPLICATIONS
    yield f"each of {REPLICATIONS} replications of one cell, beside simulation: {1e6 * more:.0f} microseconds"


def of_looks(store: Store) -> Iterator[str]:
    """Measure a look at the cells of `store`, in results files and then in a pack, which is opened again."""
    for kind in ("results files", "packs"):
        began = time.perf_counter()
        cpu = cpu_seconds(store.look)
        taken = time.perf_counter() - began
        yield f"a look at {TINY} cells in {kind}: {taken:.2f} s, {cpu:.2f} s of the processor"
        list(pack(store.root))


def of_load() -> str:
    """Measure `load()` of all results in its own process, imports included."""
    began = time.perf_counter()
    output = subprocess.run([sys.executable, "-c", LOAD], check=True, stdout=subprocess.PIPE, text=True).stdout
    took = time.perf_counter() - began
    cpu, peak = map(float, output.split())
    return f"load() of everything: {took:.2f} s, {cpu:.2f} s of the processor, at most {peak:.0f} MB"


def measure() -> Iterator[str]:
    """All measurements, one line for each."""
    yield of_load()
    plan([[*SMALL]], Composer())[0]  # warm up: imports modules and reads configs
    yield f"planning {CELLS} cells: {cpu_seconds(lambda: planned(CELLS)):.2f} s"
    with tempfile.TemporaryDirectory() as name:
        store = Store(Path(name) / "cells")
        yield from overhead_of_cells(planned(TINY), store)
        yield from of_looks(store)
        yield from of_replications(Path(name))


def main() -> None:
    """Entry point of `python -m scripts.bench.sweeps`."""
    if help_alone(__doc__):
        return
    for line in measure():
        print(line, flush=True)


if __name__ == "__main__":
    exit_on_user_error(main)
