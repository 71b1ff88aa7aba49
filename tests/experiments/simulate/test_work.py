"""What a sweep knows of the time and memory of its cells."""

import re
import sys
import time
from pathlib import Path

import pytest

from bandits.environments.bernoulli import C1
from bandits.policies.ucb import UCB1
from experiments.cells.regret import RegretCell
from experiments.simulate import complete, simulate_block


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
