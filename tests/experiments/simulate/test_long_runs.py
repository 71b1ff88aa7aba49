"""Interrupted runs resume and end with the same bits; failures are reported; processes share work."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from submitit.local.local import LOCAL_REQUEUE_RETURN_CODE
from submitit.slurm.slurm import SlurmExecutor

from bandits.environments.bernoulli import C1
from bandits.policies.elimination import DPSE
from bandits.policies.ucb import UCB1
from bandits.seeds import entropy
from experiments.cells.regret import RegretCell
from experiments.config.command_line import jobs_of
from experiments.config.compose import Composer
from experiments.config.plan import Request, plan, plan_all
from experiments.own_code.fan_out import Shipped
from experiments.simulate import Job, PolicyError, look_up, pieces, run, runners, simulate_block, slurm
from experiments.simulate import job as job_module
from experiments.simulate.block import Failure, Task
from experiments.simulate.complete import why_again
from experiments.simulate.failures import Failures
from experiments.simulate.pieces import Pieces
from experiments.simulate.runners import Threads
from experiments.simulate.status import SweepStatus, sweeps
from experiments.simulate.sweep import run_on
from experiments.store import Store, leases
from experiments.store.leases import Leases

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
    run(look_up([Request(cell, replications, {})], store), store, workers=1)
    return store.read(cell)


def same(one, other):
    return all((values == other.rows[name]).all() for name, values in one.rows.items())


def interrupted(monkeypatch, blocks):
    """Simulate until Ctrl-C after this number of blocks."""
    left = iter(range(blocks))

    def attempt(task):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return runners_attempt(task)

    runners_attempt = runners.attempt
    monkeypatch.setattr(runners, "attempt", attempt)


@pytest.mark.parametrize("seconds", [0.0, 1e6], ids=["pieces all along", "pieces at the end"])
def test_what_was_simulated_before_an_interruption_is_not_simulated_again(store, tmp_path, monkeypatch, seconds):
    whole = simulate(Store(tmp_path / "whole"))
    monkeypatch.setattr(pieces, "SECONDS", seconds)
    monkeypatch.setattr(job_module, "SECONDS", 1e9)  # blocks are of 1, 2, 4 replications
    with monkeypatch.context() as patch:
        interrupted(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            simulate(store)
    assert store.read(CELL) is None
    (job,) = look_up([Request(CELL, 20, {})], store)
    assert (job.missing, job.left) == (20, 13)
    assert [number for task in job.tasks() for number in task.numbers] == [*range(7, 20)]
    run([job], store, workers=1)
    assert same(store.read(CELL), whole)
    assert Pieces(store.root).keys() == set()


def test_a_block_takes_about_two_seconds_or_is_one_replication():
    for seconds_of_similar_cells, seconds, lengths in [
        (math.inf, lambda number: 3600.0, [1] * 20),
        (math.inf, lambda number: 0.5, [1, 2, 4, 4, 4, 4, 1]),
        (math.inf, lambda number: 1e-4, [1, 2, 4, 8, 5]),
        (math.inf, lambda number: 0.5 if number < 7 else 2.5, [1, 2, 4, 4, *[1] * 9]),
        (1e-4, lambda number: 1e-4, [5, 10, 5]),
        (0.9, lambda number: 1e-4, [2, 4, 8, 6]),
        (1e-4, lambda number: 3600.0, [5, *[1] * 15]),
    ]:
        job, found = Job(Request(CELL, 20, {}), None), []
        for task in job.tasks(seconds_of_similar_cells):
            found.append(len(task.numbers))
            block = simulate_block(CELL, task.numbers.start, task.numbers.stop)
            job.add(
                replace(block, log={**block.log, "seconds": np.array([seconds(number) for number in task.numbers])})
            )
        assert found == lengths
        assert job.left == 0


def test_a_resumed_cell_records_where_its_replications_come_from(store, monkeypatch):
    block = simulate_block(CELL, 5, 10)
    before = replace(block, footer={**block.footer, "origin": {"commit": "before"}})
    Pieces(store.root).save([before])
    stored = simulate(store, replications=12)
    assert [run["replications"] for run in stored.footer["runs"]] == [[0, 5], [5, 10], [10, 12]]
    assert [run["commit"] == "before" for run in stored.footer["runs"]] == [False, True, False]
    assert stored.footer["runs"][1]["seconds"] == pytest.approx(before.seconds.sum())


def test_pieces_of_fewer_or_other_replications_than_asked_for_are_used_as_far_as_they_go(store, tmp_path):
    whole = simulate(Store(tmp_path / "whole"), replications=9)
    for start, stop in ((0, 3), (2, 4), (5, 6), (8, 30)):
        Pieces(store.root).save([simulate_block(CELL, start, stop)])
    (job,) = look_up([Request(CELL, 9, {})], store)
    assert [list(task.numbers) for task in job.tasks()] == [[4], [6, 7]]
    run([job], store, workers=1)
    assert same(store.read(CELL), whole)


def test_a_damaged_piece_counts_as_not_there(store):
    saved = Pieces(store.root)
    saved.save([simulate_block(CELL, 0, 5)])
    (path,) = store.root.rglob("*.piece")
    whole = path.read_bytes()
    (block,) = saved.read(CELL)
    assert block.numbers.tolist() == [0, 1, 2, 3, 4]
    for place in range(0, len(whole), 97):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        assert saved.read(CELL) == []
        path.write_bytes(whole[:place])
        assert saved.read(CELL) == []
    path.write_bytes(whole)
    (path.parent / f"other-{path.name}").write_bytes(whole)  # under a wrong name
    assert len(saved.read(CELL)) == 1
    assert saved.read(RegretCell(C1(3), UCB1(), 2_001)) == []


def test_a_piece_is_due_after_seconds_and_a_share_of_what_is_kept():
    assert not Pieces.is_due(2.0, 0.0)
    assert Pieces.is_due(2.01, 0.0)
    assert not Pieces.is_due(11.0, 1000.0)
    assert Pieces.is_due(12.1, 1000.0)


class Broken(UCB1):
    name = "broken"
    works = False

    def simulate(self, instance, horizon, checkpoints, rng):
        pulls = super().simulate(instance, horizon, checkpoints, rng)
        if not self.works and pulls[-1, 0] % 7 == 3:
            raise RuntimeError("it is <broken>")
        return pulls


def test_a_failure_is_recorded_with_seed_and_traceback_until_the_cell_succeeds(store, monkeypatch):
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
    assert [number for task in job.tasks() for number in task.numbers] == [*range(7, 15)]  # the others are kept


def test_threads_give_the_same_bits(store, tmp_path):
    whole = simulate(Store(tmp_path / "whole"))
    run_on(Threads(3), [Job(Request(CELL, 20, {}), None)], store)
    assert same(store.read(CELL), whole)


def test_a_lease_has_one_holder_until_it_is_released(tmp_path):
    one, other = Leases(tmp_path), Leases(tmp_path)
    assert one.take("a")
    assert not other.take("a")
    assert other.take("b")
    other.release("a")  # a lease that it does not hold
    assert not other.take("a")
    with one.renewed():
        pass
    assert other.take("a")


def test_a_lease_says_whose_it_is_from_the_first_moment(tmp_path, monkeypatch):
    """Otherwise a process killed between creating and filling it would make others wait for a minute."""
    linked = []
    link = os.link

    def seen(source, target):
        linked.append(json.loads(Path(source).read_bytes())["pid"])
        link(source, target)

    monkeypatch.setattr(os, "link", seen)
    assert Leases(tmp_path).take("a")
    assert linked == [os.getpid()]
    assert [path.name for path in tmp_path.iterdir()] == ["a.lease"]


def test_leases_need_no_links(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError("this file system has none")

    monkeypatch.setattr(os, "link", refuse)
    one, other = Leases(tmp_path), Leases(tmp_path)
    assert [one.take("a"), other.take("a")] == [True, False]
    assert json.loads((tmp_path / "a.lease").read_bytes())["pid"] == os.getpid()
    one.release("a")
    assert other.take("a")
    assert [path.name for path in tmp_path.iterdir()] == ["a.lease"]


def test_a_lease_of_an_ended_process_expires_at_once(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    Leases(tmp_path).take("a")
    (file,) = tmp_path.iterdir()
    file.write_text(json.dumps(json.loads(file.read_text()) | {"pid": ended.pid}))
    assert Leases(tmp_path).take("a")
    assert json.loads(file.read_text())["pid"] == os.getpid()


@pytest.mark.parametrize("content", ['{"host": "elsewhere", "pid": 1}', "", "[]"])
def test_a_lease_of_another_machine_expires_if_it_is_not_renewed(tmp_path, monkeypatch, content):
    now = [0.0]
    monkeypatch.setattr(leases.time, "monotonic", lambda: now[0])
    file = tmp_path / "a.lease"
    file.write_text(content)
    mine = Leases(tmp_path)
    assert not mine.take("a")
    now[0] += leases.EXPIRY - 1
    os.utime(file, (1, 1))  # renewed by a machine whose clock is far behind
    assert not mine.take("a")
    now[0] += leases.EXPIRY - 1
    assert not mine.take("a")
    now[0] += 2
    assert mine.take("a")


def test_a_cell_that_another_process_simulates_is_waited_for(store, monkeypatch, capsys):
    others, good = Leases(store.root / ".leases"), RegretCell(C1(3), DPSE(0.5), 2_000)
    others.take(CELL.key)

    def other_process(_):
        assert store.read(good).replications == 20  # complete by now
        simulate(Store(store.root / "apart"))
        store.write(Store(store.root / "apart").read(CELL))
        others.release(CELL.key)
        monkeypatch.setattr(runners, "attempt", lambda _: pytest.fail("simulated again"))

    monkeypatch.setattr("experiments.simulate.sweep.time.sleep", other_process)
    run(look_up([Request(cell, 20, {}) for cell in (CELL, good)], store), store, workers=1)
    assert store.read(CELL).replications == 20
    assert capsys.readouterr().err == "waiting for 1 cells that other processes simulate\n"


def test_status_reports_a_killed_process(store):
    simulate(store)
    (status,) = sweeps(store.root)
    assert (status.state, status.failed) == ("done", 0)
    assert status.progress.startswith("1 of 1 cells, 20 of 20 replications")
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    lost = replace(status, state="running", process=ended.pid)
    assert lost.is_lost
    assert str(lost).startswith("killed, or its machine stopped; the same command resumes it")
    assert not replace(status, state="running").is_lost
    elsewhere = replace(status, state="running", machine="elsewhere", written=time.time())
    assert not elsewhere.is_lost
    assert replace(elsewhere, written=time.time() - 61).is_lost
    assert isinstance(status, SweepStatus)


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


def work_of(root, tasks):
    return slurm.Work(Shipped(tasks), str(root), again=False)


def test_a_job_that_reaches_its_time_limit_is_queued_again_for_the_rest(tmp_path, monkeypatch):
    tasks, queued = [Task(CELL, range(number, number + 1)) for number in range(4)], []
    work = work_of(tmp_path, tasks)

    def attempt(task):
        if task.numbers.start == 2 and not queued:
            queued.append(work.checkpoint().function)  # as submitit does at the signal, which ends the policy
            return Failure.of(task, 2, "SystemExit")
        return runners.attempt(task)

    monkeypatch.setattr(slurm, "attempt", attempt)
    with pytest.raises(SystemExit) as ended:
        work()
    assert ended.value.code == LOCAL_REQUEUE_RETURN_CODE
    assert [block.numbers.tolist() for block in Pieces(tmp_path).read(CELL)] == [[0, 1]]
    assert sorted(number for block in queued[0]() for number in block.numbers.tolist()) == [0, 1, 2, 3]


def test_a_job_that_simulates_nothing_is_not_queued_again(tmp_path, monkeypatch):
    work = work_of(tmp_path, [Task(CELL, range(1))])
    monkeypatch.setattr(slurm, "attempt", lambda task: [work.checkpoint(), Failure.of(task, 0, "SystemExit")][1])
    assert work.checkpoint() is None
    with pytest.raises(SystemExit) as ended:
        work()
    assert ended.value.code == 1


def test_options_of_a_cluster_reach_submitit(tmp_path, monkeypatch):
    def script(**options):
        runner = slurm.Slurm(results=str(tmp_path), **options)
        with runner.executor() as ((executor, _), room):
            assert room == runner.jobs
            return executor._executor._make_submission_file_text("x", "y")

    monkeypatch.setattr(SlurmExecutor, "affinity", classmethod(lambda cls: 2))  # as if SLURM were installed
    whole = script(account="me", qos="long", jobs=8, minutes=240)
    assert {"#SBATCH --account=me", "#SBATCH --qos=long", "#SBATCH --signal=USR2@90"} <= set(whole.splitlines())
    assert "#SBATCH --signal=USR2@12" in script(minutes=2).splitlines()
    assert "account" not in script()
    with slurm.Slurm(results=str(tmp_path), array_parallelism=3).executor() as ((executor, _), _room):
        assert executor.parameters["array_parallelism"] == 3


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
    for job, asked in zip(jobs, plan_all(jobs, composer), strict=True):
        alone = plan(job, composer)
        assert (asked.requests, asked.overrides, asked.results) == (alone.requests, alone.overrides, alone.results)
        assert asked.composed.given == alone.composed.given


def test_a_run_says_why_cells_are_simulated_again(store, monkeypatch):
    few, damaged = RegretCell(C1(3), DPSE(0.5), 2_000), RegretCell(C1(3), DPSE(1.0), 2_000)
    for cell in (CELL, few, damaged):
        simulate(store, cell, 3)
    store.path(damaged).write_bytes(b"")
    monkeypatch.setattr(UCB1, "revision", 2)
    later = RegretCell(C1(3), UCB1(), 2_000)
    Pieces(store.root).save([simulate_block(later, 0, 2)])
    new = RegretCell(C1(3), DPSE(2.0), 2_000)
    jobs = look_up([Request(cell, 5, {}) for cell in (later, few, damaged, new)], store)
    assert list(why_again(jobs, store)) == [
        "1 cell stored with fewer replications: 2 more are simulated",
        "1 cell computed again: damaged files",
        "1 cell begun before: 2 replications are taken from there",
        "1 cell computed again: ucb1 has revision 2, stored numbers are of 1",
    ]
