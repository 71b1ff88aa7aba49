"""Forty jobs at once on one folder of results: nothing is lost or corrupt, and little is simulated twice."""

import json
import subprocess
import sys

import numpy as np
import pytest

from experiments.config.compose import REPOSITORY
from experiments.simulate import simulate_block
from experiments.store import Store
from experiments.store.results_file import read_file
from tests.experiments.simulate.many_jobs import CELLS, JOBS, KILLED, REPLICATIONS, requests_of

pytestmark = pytest.mark.slow


def test_forty_jobs_share_a_folder_without_locks_though_some_are_killed(tmp_path):
    command = [sys.executable, "-m", "tests.experiments.simulate.many_jobs", str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    ended = {int(job): tuple(result) for job, result in json.loads(done.stdout).items()}
    survivors = set(range(JOBS)) - set(KILLED)
    assert {job for job, (code, _) in ended.items() if code == 0} >= survivors, done.stderr
    store = Store(tmp_path)
    files = sorted(tmp_path.glob("*/*.parquet"))
    assert len(files) == CELLS
    for request in {of.cell.key: of for job in range(JOBS) for of in requests_of(job)}.values():
        stored, alone = read_file(store.path(request.cell)), simulate_block(request.cell, 0, REPLICATIONS)
        assert all(np.array_equal(stored.rows[name], values) for name, values in alone.rows.items())
    strays = [
        path for path in tmp_path.rglob("*") if path.suffix in (".tmp", ".lease", ".lock", ".conflict1", ".damaged1")
    ]
    assert strays == [path for path in strays if path.suffix == ".tmp"], "locks of jobs that ended"
    assert len(strays) <= len(KILLED), "each of those that were killed may leave a file half written"
    simulated = sum(count for _, count in ended.values())
    needed = CELLS * REPLICATIONS
    assert simulated < 2 * needed, f"{simulated} replications simulated where {needed} were needed"
