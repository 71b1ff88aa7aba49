"""Interrupted runs resume and end with the same bits; failures are reported; processes share work."""

import math
import os
import re
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from submitit.slurm.slurm import SlurmExecutor

from bandits.environments.bernoulli import C1
from bandits.policies.elimination import DPSE
from bandits.policies.ucb import UCB1
from bandits.seeds import entropy
from experiments.cells.regret import RegretCell
from experiments.config.command_line import jobs_of
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.config.request import Request
from experiments.own_code.fan_out import Shipped
from experiments.simulate import CellJob, PolicyError, look_up, run_jobs, runners, simulate_block, slurm, sweep
from experiments.simulate import job as job_module
from experiments.simulate.complete import why_again
from experiments.simulate.failures import Failures
from experiments.simulate.job import begun_in
from experiments.simulate.runners import Threads
from experiments.simulate.status import is_running, sweeps
from experiments.store import Store
from experiments.store.locks import Locks
from experiments.store.results_file import write_file

CELL = RegretCell(C1(3), UCB1(), 2_000)


@pytest.fixture(autouse=True)
def ctrl_c():
    """Ctrl-C as on a terminal, even if these tests run in the background, where it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


def simulate(store, cell=CELL, replications=20):
    run_jobs(look_up([Request(cell, replications, {})], store), store, workers=1)
    return store.read(cell)


def same(one, other):
    return all((values == other.rows[name]).all() for name, values in one.rows.items())


def interrupted(monkeypatch, blocks):
    """Simulate until Ctrl-C after this number of blocks."""
    left = iter(range(blocks))

    def attempt(task):
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGINT)
        return runners_attempt(task)

    runners_attempt = runners.attempt
    monkeypatch.setattr(runners, "attempt", attempt)


@pytest.mark.parametrize("seconds", [-1.0, 1e6], ids=["saved all along", "saved at the end"])
def test_what_was_simulated_before_an_interruption_is_not_simulated_again(store, tmp_path, monkeypatch, seconds):
    whole = simulate(Store(tmp_path / "whole"))
    monkeypatch.setattr(sweep, "SAVE", seconds)
    monkeypatch.setattr(job_module, "SECONDS", 1e9)  # blocks are of 1, 2, 4 replications
    if seconds < 0:
        monkeypatch.setattr(sweep.Sweep, "end", lambda self: self._locks.release_all())
    with monkeypatch.context() as patch:
        interrupted(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            simulate(store)
    assert store.read(CELL) is None
    (job,) = look_up([Request(CELL, 20, {})], store)
    assert (job.missing, job.left) == (20, 13)
    assert [number for task in job.tasks() for number in task.numbers] == [*range(7, 20)]
    run_jobs([job], store, workers=1)
    assert same(store.read(CELL), whole)
    assert [run["replications"] for run in store.read(CELL).footer["runs"]] == [[0, 7], [7, 20]]
    assert not begun_in(store).path(CELL).exists()


def test_a_cell_is_saved_after_seconds_and_a_share_of_the_time_spent_on_it(store, monkeypatch):
    """Blocks of one replication that take a second each, for 400 s: saved after 6 s, and then less and less often."""
    seconds, saved = iter(range(1000)), []
    monkeypatch.setattr(sweep, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    monkeypatch.setattr(job_module, "SECONDS", 0.0)
    monkeypatch.setattr(sweep, "write_file", lambda path, stored: saved.append(stored.replications))
    simulate(store, RegretCell(C1(3), UCB1(), 10), 400)
    assert saved[:4] == [6, 12, 18, 24]
    gaps = np.diff(saved)
    assert (np.diff(gaps) >= 0).all()
    assert gaps[-1] == math.floor(5 + 0.05 * saved[-2]) + 1


def test_a_block_takes_about_two_seconds_or_is_one_replication():
    for seconds, lengths in [
        (lambda number: 3600.0, [1] * 20),
        (lambda number: 0.5, [1, 2, 4, 4, 4, 4, 1]),
        (lambda number: 1e-4, [1, 2, 4, 8, 5]),
        (lambda number: 0.5 if number < 7 else 2.5, [1, 2, 4, 4, *[1] * 9]),
    ]:
        job, found = CellJob(Request(CELL, 20, {}), None), []
        for task in job.tasks():
            found.append(len(task.numbers))
            block = simulate_block(CELL, task.numbers.start, task.numbers.stop)
            took = np.array([seconds(number) for number in task.numbers])
            job.blocks.append(replace(block, log={**block.log, "seconds": took}))
        assert found == lengths
        assert job.left == 0


def begin(store, replications, cell=CELL):
    """Leave the first replications of a cell as a run that was stopped does."""
    job = CellJob(Request(cell, replications + 1, {}), None, blocks=[simulate_block(cell, 0, replications)])
    write_file(begun_in(store).path(cell), job.joined_so_far())


def test_blocks_of_other_code_are_recorded_as_such():
    blocks = [simulate_block(CELL, start, start + 4) for start in (8, 0, 4)]  # in the order in which they finish
    blocks[2] = replace(blocks[2], footer={**blocks[2].footer, "origin": {"commit": "before"}})
    runs = CellJob(Request(CELL, 12, {}), None, blocks=blocks).joined_so_far().footer["runs"]
    assert [run["replications"] for run in runs] == [[0, 4], [4, 8], [8, 12]]
    assert [run["commit"] == "before" for run in runs] == [False, True, False]
    assert runs[1]["seconds"] == pytest.approx(blocks[2].seconds.sum())


def test_replications_behind_one_that_is_missing_are_not_saved():
    job = CellJob(
        Request(CELL, 12, {}), None, blocks=[simulate_block(CELL, start, start + 2) for start in (4, 0, 8, 2)]
    )
    assert (job.left, job.joined_so_far().replications) == (4, 6)
    assert CellJob(Request(CELL, 2, {}), None, blocks=[simulate_block(CELL, 1, 2)]).joined_so_far() is None


@pytest.mark.parametrize(("stored", "begun", "left"), [(0, 5, 4), (3, 5, 4), (5, 3, 4), (0, 12, 0)])
def test_of_what_is_stored_and_begun_the_longer_counts(store, tmp_path, stored, begun, left):
    whole = simulate(Store(tmp_path / "whole"), replications=12)
    if stored:
        simulate(store, replications=stored)
    begin(store, begun)
    (job,) = look_up([Request(CELL, 9, {})], store)
    assert (job.missing, job.left) == (9 - stored, left)
    run_jobs([job], store, workers=1)
    assert store.read(CELL).replications == max(9, begun)
    assert same(store.read(CELL), whole.first(max(9, begun)))
    assert not begun_in(store).path(CELL).exists()


def test_what_a_killed_writer_left_of_a_cell_that_was_begun_goes_with_it(store, tmp_path, monkeypatch):
    """SIGKILL during a save leaves a temporary file, which nothing else would ever remove."""
    begin(store, 5)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda *_: signal.raise_signal(signal.SIGINT))
        patch.setattr(Path, "unlink", lambda *_, **__: None)  # the process is dead before it can
        with pytest.raises(KeyboardInterrupt):
            begin(store, 6)
    folder = begun_in(store).path(CELL).parent
    assert len(list(folder.iterdir())) == 2
    other = folder / "of-another-cell.tmp"
    other.touch()
    simulate(store, replications=9)
    assert list(folder.iterdir()) == [other]


def test_a_damaged_file_of_a_cell_that_was_begun_counts_as_not_there(store):
    begin(store, 5)
    path = begun_in(store).path(CELL)
    whole = path.read_bytes()
    assert look_up([Request(CELL, 9, {})], store)[0].left == 4
    for place in range(0, len(whole), 97):
        path.write_bytes(whole[:place])
        assert look_up([Request(CELL, 9, {})], store)[0].left == 9
    run_jobs(look_up([Request(CELL, 9, {})], store), store, workers=1)
    assert not path.exists()


class Broken(UCB1):
    name = "broken"
    works = False

    def simulate(self, instance, horizon, checkpoints, rng):
        pulls = super().simulate(instance, horizon, checkpoints, rng)
        if not self.works and pulls[-1, 0] % 7 == 3:
            raise RuntimeError("it is <broken>")
        return pulls


def test_a_failure_is_recorded_with_seed_and_traceback_until_the_cell_succeeds(store, monkeypatch):
    monkeypatch.setattr(RegretCell, "own", ())  # it is played in this process, where it is repaired
    cell = RegretCell(C1(3), Broken(), 2_000)
    with pytest.raises(PolicyError, match=r"RuntimeError: it is <broken>.*replication \d+") as raised:
        simulate(store, cell, 60)
    record = Failures(store.root).read(cell.key)
    assert record["seed_entropy"] == str(entropy(cell.identity))
    assert record["traceback"][-1] == "RuntimeError: it is <broken>"
    assert any("in simulate" in line for line in record["traceback"])
    assert f"replication {record['replication']}" in str(raised.value)
    assert f" key={cell.key} replication={record['replication']}" in str(raised.value)
    assert "python -m experiments.replay " in str(raised.value)
    with pytest.raises(RuntimeError, match="broken"):
        cell.replicate(record["replication"])
    assert all(cell.replicate(number) for number in range(record["replications"][0], record["replication"]))
    assert store.read(cell) is None
    monkeypatch.setattr(Broken, "works", True)
    monkeypatch.setattr("experiments.simulate.sweep.require_same", lambda *_: None)  # not patched elsewhere
    assert simulate(store, cell, 60).replications == 60
    assert Failures(store.root).keys() == set()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda regret: regret * np.nan, "not a finite number"),
        (lambda regret: regret[::-1], "decreases"),
    ],
)
def test_impossible_numbers_are_a_failure_of_their_replication(store, monkeypatch, wrong, why):
    regret = RegretCell.replicate
    monkeypatch.setattr(
        RegretCell,
        "replicate",
        lambda cell, number: {
            **(row := regret(cell, number)),
            "regret": wrong(row["regret"]) if number == 7 else row["regret"],
        },
    )
    monkeypatch.setattr(job_module, "SECONDS", 1e9)  # blocks are of 1, 2, 4, 8, 8 replications
    with pytest.raises(PolicyError, match=rf"{why}.*replication 7"):
        simulate(store)
    (job,) = look_up([Request(CELL, 20, {})], store)
    assert [number for task in job.tasks() for number in task.numbers] == [*range(7, 20)]  # those before are kept


def test_threads_give_the_same_bits(store, tmp_path):
    whole = simulate(Store(tmp_path / "whole"))
    Threads(3).run([CellJob(Request(CELL, 20, {}), None)], store)
    assert same(store.read(CELL), whole)


def test_a_cell_that_another_process_simulates_is_waited_for(store, monkeypatch, capsys):
    others, good = Locks(store.root), RegretCell(C1(3), DPSE(0.5), 2_000)
    others.take(CELL.key)

    def other_process(_):
        assert store.read(good).replications == 20  # complete by now
        simulate(Store(store.root / "apart"))
        store.write(Store(store.root / "apart").read(CELL))
        others.release(CELL.key)
        monkeypatch.setattr(runners, "attempt", lambda _: pytest.fail("simulated again"))

    monkeypatch.setattr("experiments.simulate.sweep.time.sleep", other_process)
    run_jobs(look_up([Request(cell, 20, {}) for cell in (CELL, good)], store), store, workers=1)
    assert store.read(CELL).replications == 20
    assert capsys.readouterr().err == "waiting for 1 cells that other processes simulate\n"


def test_status_reports_a_killed_process(store):
    simulate(store)
    (text,) = sweeps(store.root)
    assert re.fullmatch(r"done, last heard \d s ago: .*\n  process \d+ on .*\n  1 of 1 cells, 20 of 20 repl.*", text)
    (file,) = (store.root / ".status").iterdir()
    file.write_text(file.read_text().replace("done", "running", 1))
    assert sweeps(store.root)[0].startswith("running, last heard 0 s ago: ")
    assert is_running(store.root)
    os.utime(file, (0, time.time() - 21))
    assert not is_running(store.root)
    assert sweeps(store.root)[0].startswith("killed, or its machine stopped; the same command resumes it, last heard ")
    simulate(store, replications=21)
    assert len(sweeps(store.root)) == 1, "those of sweeps that have ended are removed"


def test_status_tells_a_command_whose_bytes_are_not_utf_8(store, monkeypatch):
    monkeypatch.setattr(sys, "orig_argv", ["python", "results_dir=caf\udce9"])
    simulate(store)
    (text,) = sweeps(store.root)
    assert ": python 'results_dir=caf\\udce9'\n" in text


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["runner=dask"], "runner.scheduler: must be the address of a Dask scheduler"),
        (["runner=slurm", "runner.jobs=0"], "runner.jobs: must be above 0"),
        (["runner=slurm", "runner.array_parallelism=0"], "runner.array_parallelism: must be above 0"),
        (["hydra/launcher=joblib"], "use runner=slurm or runner=dask"),
    ],
)
def test_a_wrong_option_of_a_runner_is_one_line(call, tmp_path, words, answer):
    outcome = call("horizon=100", "replications=1", f"results_dir={tmp_path}", *words)
    assert outcome.code == 2
    assert answer in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_missing_library_names_its_extra(call, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    words = ["runner=dask", "runner.scheduler=tcp://127.0.0.1:1"]
    outcome = call("horizon=100", "replications=1", f"results_dir={tmp_path}", *words)
    assert outcome.code == 2
    assert "pip install --editable '.[dask]'" in outcome.err


def work_of(store, *cells, replications=6):
    return slurm.Work(Shipped([Request(cell, replications, {}) for cell in cells]), store)


@pytest.mark.slow
def test_a_job_of_an_array_stores_its_cells_and_returns_what_failed(store):
    bad = RegretCell(C1(3), Broken(), 2_000)
    failures = work_of(store, bad, CELL, replications=60)()
    assert {failure.key for failure in failures} == {bad.key}
    assert failures[0].why.startswith("RuntimeError: it is <broken>")
    assert Failures(store.root).keys() == {bad.key}
    assert store.read(CELL).replications == 60


class Ended:
    """A job of an array that has ended."""

    def __init__(self, work, error):
        self._error = error
        self._failures = None if error else work()

    def done(self):
        return True

    def exception(self):
        return self._error

    def result(self):
        return self._failures


def on_cluster(monkeypatch, store, jobs, work_before_it_is_killed):
    """Simulate `CELL` and three others by jobs that are killed after the work of their array; the cells of each."""
    arrays = []

    def submit(works):
        arrays.append([[request.cell for request in work.requests.open()] for work in works])
        kill = work_before_it_is_killed(len(arrays))
        return [Ended(work, kill and kill(work)) for work in works]

    monkeypatch.setattr(slurm.Slurm, "_executor", lambda *_: SimpleNamespace(submit_array=submit))
    cells = [CELL, *(RegretCell(C1(3), DPSE(epsilon), 2_000) for epsilon in (0.5, 1.0, 2.0))]
    requests = [Request(cell, 6, {}) for cell in cells]
    try:
        slurm.Slurm(cluster="local", jobs=jobs).run(look_up(requests, store), store)
    finally:
        assert [store.read(cell) is not None for cell in cells].count(False) == len(Failures(store.root).keys())
    return arrays, cells


def test_what_killed_jobs_did_not_complete_is_submitted_again(store, monkeypatch):
    def stores_one(work):
        work_of(store, work.requests.open()[0].cell)()
        return RuntimeError("killed")

    arrays, cells = on_cluster(monkeypatch, store, 2, lambda array: stores_one if array == 1 else None)
    assert arrays == [[cells[::2], cells[1::2]], [[cells[2]], [cells[3]]]]
    assert "  4 of 4 cells, 24 of 24 replications" in sweeps(store.root)[0]


def test_a_job_that_is_killed_again_without_a_gain_has_failed_at_its_first_cell(store, monkeypatch):
    with pytest.raises(PolicyError) as raised:
        on_cluster(monkeypatch, store, 4, lambda array: lambda work: RuntimeError("a log\nTIMEOUT"))
    why = "the job that simulated it ended, as one before: TIMEOUT"
    assert [(failure.why, failure.replication, failure.died) for failure in raised.value.failures] == [
        (why, 0, True)
    ] * 4


def test_a_job_that_gets_on_may_be_killed_as_often_as_it_likes(store, monkeypatch):
    def saves_one_more(work):
        for request in work.requests.open():
            begin(store, look_up([request], store)[0].kept_until + 1, request.cell)
        return RuntimeError("TIMEOUT")

    arrays, _ = on_cluster(monkeypatch, store, 1, lambda array: saves_one_more if array < 6 else None)
    assert len(arrays) == 6


def test_options_of_a_cluster_reach_submitit(tmp_path, monkeypatch):
    def script(**options):
        return slurm.Slurm(**options)._executor(tmp_path)._executor._make_submission_file_text("x", "y")

    monkeypatch.setattr(SlurmExecutor, "affinity", classmethod(lambda cls: 2))  # as if SLURM were installed
    whole = script(account="me", qos="long", jobs=8, minutes=240)
    assert {"#SBATCH --account=me", "#SBATCH --qos=long", "#SBATCH --signal=USR2@90"} <= set(whole.splitlines())
    assert "#SBATCH --signal=USR2@12" in script(minutes=2).splitlines()
    assert "account" not in script()
    assert slurm.Slurm(array_parallelism=3)._executor(tmp_path).parameters["array_parallelism"] == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["instance=c1,c2", "policy=dp_se,dp_ucb", "budget.epsilon=0.1,0.25", "horizon=1e3,2e3", "replications=2,3"],
        ["instance=dtol_deterministic", "policy=rnm_ftnl", "profile=one_gap,uniform", "profile.arms=3,4,5"],
        ["policy=dp_se", "results_dir=a,b", "policy.epsilon=1,2"],
        ["policy=dp_se", "+experiment=sajed2019/fig01", "horizon=1e4,2e4"],
    ],
)
def test_a_sweep_is_planned_at_once_as_job_by_job(words):
    composer = Composer()
    jobs = jobs_of(words, several=True, composer=composer)
    assert len(jobs) > 1
    for job, asked in zip(jobs, plan(jobs, composer), strict=True):
        alone = plan([job], composer)[0]
        assert (asked.requests, asked.overrides, asked.results) == (alone.requests, alone.overrides, alone.results)
        assert asked.composed.given == alone.composed.given


def test_a_run_says_why_cells_are_simulated_again(store, monkeypatch):
    few, damaged = RegretCell(C1(3), DPSE(0.5), 2_000), RegretCell(C1(3), DPSE(1.0), 2_000)
    for cell in (CELL, few, damaged):
        simulate(store, cell, 3)
    store.path(damaged).write_bytes(b"")
    monkeypatch.setattr(UCB1, "revision", 2)
    later = RegretCell(C1(3), UCB1(), 2_000)
    begin(store, 2, later)
    new = RegretCell(C1(3), DPSE(2.0), 2_000)
    jobs = look_up([Request(cell, 5, {}) for cell in (later, few, damaged, new)], store)
    assert list(why_again(jobs, store)) == [
        "1 cell stored with fewer replications: 2 more are simulated",
        "1 cell computed again: damaged files",
        "1 cell begun before: 2 replications are taken from there",
        "1 cell computed again: ucb1 has revision 2, stored numbers are of 1",
    ]
