"""Remaining time is estimated from the seconds of similar cells, not from the number of replications left."""

import math
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from bandits.environments.bernoulli import C1
from bandits.policies.elimination import DPSE
from bandits.policies.ucb import UCB1
from experiments.cells.regret import RegretCell
from experiments.config.plan import Request
from experiments.config.progress import Progress
from experiments.simulate import Job, complete, simulate_block
from experiments.simulate.work import Work
from experiments.store import Store
from experiments.store.costs import Costs
from experiments.store.index import Coded, Index

SHORT, LONG, OTHER = (
    RegretCell(C1(5), UCB1(), 1_000),
    RegretCell(C1(5), UCB1(), 100_000),
    RegretCell(C1(5), DPSE(1.0), 10),
)


def job(cell, replications):
    return Job(Request(cell, replications, {}), None)


def index(*cells, seconds):
    """An index of these cells."""
    columns = {
        name: Coded(np.arange(len(cells)), [cell.columns[name] for cell in cells])
        for name in ("policy", "arms", "horizon")
    }
    counts = np.ones(len(cells), int)
    names = [str(cell) for cell in cells]
    return Index(names, names, counts, counts, np.array(seconds), columns, {})


@pytest.fixture
def stored(monkeypatch):
    """Let a store hold the cells that a test gives."""

    def say(*cells, seconds=()):
        monkeypatch.setattr(Store, "index", lambda self: index(*cells, seconds=seconds))

    say()
    return say


def test_seconds_are_estimated_from_similar_cells(stored, tmp_path):
    stored(SHORT, LONG, LONG, LONG, seconds=[0.5, 4.0, 5.0, 100.0])
    costs = Costs(Store(tmp_path).index)
    assert costs.of(SHORT) == 0.5
    assert costs.of(LONG) == 5.0
    assert costs.of(RegretCell(C1(5), UCB1(), 25_000)) == pytest.approx(2.5), "as the root of the nearest horizon"
    assert costs.of(RegretCell(C1(5), UCB1(), 4_000)) == pytest.approx(1.0)
    assert costs.of(RegretCell(C1(4), UCB1(), 1_000)) == 0.5, "as with the nearest number of arms"
    assert costs.of(OTHER) is None


def test_the_nearest_number_of_arms_is_by_ratio(stored, tmp_path):
    stored(RegretCell(C1(2), UCB1(), 1_000), RegretCell(C1(50), UCB1(), 1_000), seconds=[1.0, 9.0])
    costs = Costs(Store(tmp_path).index)
    assert costs.of(RegretCell(C1(8), UCB1(), 1_000)) == 1.0
    assert costs.of(RegretCell(C1(20), UCB1(), 1_000)) == 9.0
    costs.measure(RegretCell(C1(16), UCB1(), 500), 1, 3.0)
    assert costs.of(RegretCell(C1(20), UCB1(), 1_000)) == 6.0


@pytest.mark.parametrize(
    ("seconds", "longer"), [([1.0, 1.0], 1.0), ([2.0, 1.0], 1.0), ([1.0, 1e9], 1e19), ([0.0, 1.0], 1e10)]
)
def test_seconds_grow_at_most_in_proportion_to_the_horizon_and_never_fall(seconds, longer):
    ten_billion_times = RegretCell(C1(5), UCB1(), 10**15)
    assert Costs(lambda: index(SHORT, LONG, seconds=seconds)).of(ten_billion_times) == pytest.approx(longer)


def test_a_single_known_horizon_shows_no_growth():
    assert Costs(lambda: index(SHORT, seconds=[0.5])).of(LONG) == pytest.approx(50.0)


def test_a_policy_may_say_that_its_time_does_not_grow():
    far = RegretCell(C1(5), DPSE(1.0), 10**15)
    assert Costs(lambda: index(OTHER, seconds=[0.5])).of(far) == 0.5
    measured = Costs(lambda: index(OTHER, RegretCell(C1(5), DPSE(1.0), 1_000), seconds=[0.5, 5.0]))
    assert measured.of(far) == pytest.approx(0.5 * 1e14**0.5), "what was measured outranks what it says"


def test_a_cell_without_a_column_is_ignored():
    whole = index(SHORT, LONG, seconds=[1.0, np.nan])
    whole.columns["policy"] = Coded(np.array([-1, 0]), ["ucb1"])
    assert Costs(lambda: whole).of(SHORT) is None


def test_the_share_is_of_time(stored, tmp_path):
    stored(SHORT, LONG, seconds=[0.5, 8.0])
    work = Work([job(SHORT, 8), job(LONG, 12)], Store(tmp_path))
    assert work.share() == 0
    work.after(SHORT, 8, seconds=80.0)  # on a slow machine: both count with their stored seconds
    assert work.share() == 4 / 100
    work.after(LONG, 6)
    assert work.share() == 52 / 100
    work.after(LONG, 6, seconds=1.0)
    assert work.share() == 1


def test_what_is_not_stored_is_measured_on_the_way(stored, tmp_path):
    work = Work([job(SHORT, 10), job(LONG, 10), job(OTHER, 10)], Store(tmp_path))
    assert work.took(SHORT) == math.inf
    work.after(SHORT, 2, seconds=2.0)
    assert work.took(SHORT) == 1.0
    assert work.share() == 2 / (10 + 10 * 100 + 10 * 50.5), "one in proportion to the horizon, the other as the mean"
    work.after(LONG, 2, seconds=6.0)
    assert work.share() == (2 * 1 + 2 * 3) / (10 * 1 + 10 * 3 + 10 * 2)
    stored(SHORT, seconds=[100.0])
    assert work.share() < 0.2, "what is stored is read once"


def test_a_measured_cell_outranks_an_extrapolation(stored, tmp_path):
    """A run of 11 minutes once showed "1,961 h left", extrapolated from a stored horizon 10^9 times shorter."""
    stored(SHORT, seconds=[0.5])
    far, between = RegretCell(C1(5), UCB1(), 10**12), RegretCell(C1(5), UCB1(), 10**6)
    costs = Costs(Store(tmp_path).index)
    assert costs.of(far) == pytest.approx(0.5e9)
    costs.measure(far, 2, 16.0)
    assert costs.of(far) == 8.0
    assert costs.of(between) == pytest.approx(0.5 * 16 ** (1 / 3)), "16 times as long at 10^9 times the steps"
    costs.measure(SHORT, 1, 7.0)
    assert costs.of(SHORT) == 0.5, "in seconds of one machine, as the others that are stored"


def test_stored_replications_are_no_measurement(tmp_path):
    work = Work([job(SHORT, 10)], Store(tmp_path))
    work.after(SHORT, 0, seconds=3.0)
    assert work.took(SHORT) == math.inf


def test_a_store_that_cannot_be_read_is_no_reason_to_stop(tmp_path, monkeypatch):
    def refuse(self):
        raise PermissionError("not yours")

    monkeypatch.setattr(Store, "index", refuse)
    work = Work([job(SHORT, 4)], Store(tmp_path))
    work.after(SHORT, 1)
    assert work.share() == 0.25


def test_nothing_to_do_is_done(stored, tmp_path):
    assert Work([], Store(tmp_path)).share() == 1


def test_a_thread_may_ask_for_the_share_while_cells_are_done(stored, tmp_path):
    cells = [RegretCell(C1(5), UCB1(), horizon) for horizon in range(1_000, 1_300)]
    work = Work([job(cell, 1) for cell in cells], Store(tmp_path))
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(1) as other:
            shares = other.submit(lambda: [work.share() for _ in range(60)])
            for cell in cells:
                work.after(cell, 1, seconds=1.0)
            assert all(0 <= share <= 1 for share in shares.result())
    finally:
        sys.setswitchinterval(before)


def test_progress_estimates_the_time_left_from_the_share():
    now = [0.0]
    made = Progress("simulating", {"replications": 100}, share=lambda: 0.2, clock=lambda: now[0])
    now[0] = 10.0
    assert "left" not in str(made), "nothing is done yet"
    made.after(None, replications=50)
    assert str(made) == "simulating: 50 of 100 replications, after 10 s, 5 replications a second, about 40 s left"


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
