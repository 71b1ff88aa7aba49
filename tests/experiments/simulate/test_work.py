"""What a sweep knows of the time and memory of its cells."""

import math
import re
import sys
import time
from pathlib import Path

import pytest

from bandits.environments.bernoulli import C1
from bandits.policies.ucb import UCB1
from experiments.cells.regret import RegretCell
from experiments.config.plan import Request
from experiments.simulate import complete, simulate_block
from experiments.simulate.job import FIRST, Job
from experiments.simulate.runners import Runner
from experiments.simulate.sweep import run_on
from experiments.store import Store


class Here(Runner):
    """Simulates in this process, and notes the length of each block."""

    def __init__(self):
        self.lengths = []

    def executor(self):
        raise NotImplementedError

    def outcomes(self, tasks, wanted):
        for task in tasks:
            self.lengths.append((task.cell.horizon, len(task.numbers)))
            block = simulate_block(task.cell, task.numbers.start, task.numbers.stop)
            block.seconds[:] = 1e-6
            yield block


def test_first_blocks_are_longer_where_similar_cells_are_known_to_be_quick(tmp_path):
    """One replication of a new kind may take hours; those of a cell like one that was simulated do not."""
    cells = [RegretCell(C1(5), UCB1(), horizon, recorded) for horizon, recorded in ((100, 5), (100, 6), (200, 5))]
    runner = Here()
    run_on(runner, [Job(Request(cell, 20, {}), None) for cell in cells], Store(tmp_path))
    first = {}
    for number, (horizon, length) in enumerate(runner.lengths):
        first.setdefault((horizon, sum(done for _, done in runner.lengths[:number]) // 20), length)
    assert first == {(100, 0): 1, (100, 1): FIRST, (200, 2): 1}
    assert math.fsum(length for _, length in runner.lengths) == 60


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux says of a process")
def test_memory_is_reported_in_megabytes():
    """The peak memory of this process, which the system reports in kB."""
    (most,) = re.findall(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), flags=re.MULTILINE)
    assert complete._megabytes([]) == pytest.approx(int(most) / 1024, rel=0.05)


def test_seconds_are_those_of_the_processor_not_of_the_clock(monkeypatch):
    """On a busy machine a replication waits; what it then took by the clock would mislead every later estimate."""
    cell, replicate = RegretCell(C1(3), UCB1(), 100), RegretCell.replicate
    simulate_block(cell, 0, 1)  # compiles

    def delayed(self, replication):
        time.sleep(0.5)
        return replicate(self, replication)

    monkeypatch.setattr(RegretCell, "replicate", delayed)
    (seconds,) = simulate_block(cell, 0, 1).seconds
    assert 0 < seconds < 0.5
