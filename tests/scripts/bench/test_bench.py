"""Numbers of the page of performance that follow from measured seconds, and the guard; nothing here measures time."""

import math
import subprocess
import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

from bandits.environments.bernoulli import C1
from bandits.policies.elimination import DPSE
from bandits.policies.lazy import LazyDPTS
from bandits.policies.perturbed_leader import DPFTPLGauss
from bandits.policies.private_ucb import DPUCB
from bandits.policies.ucb import UCB1
from bandits.seeds import stream
from experiments.config.compose import REPOSITORY, Composer
from experiments.config.papers import papers
from experiments.config.plan import merge, plan
from experiments.store import Store
from scripts.bench import __main__ as page
from scripts.bench import again, beside_c, computations, guard, journals, kernels, libraries, memory, sweeps, timing
from scripts.bench.beside_c import BesideC
from scripts.bench.kernels import Speed, cell_of_policy
from scripts.bench.libraries import Rival
from scripts.bench.plain import plain_loop
from tests.bandits.two_samples import assert_same_law_of
from tests.plain_loops.steps import index_steps

SPEED = Speed("mine", "c1", {10**4: 0.001, 10**6: 0.004, 10**10: 0.04}, plain=0.1, python=2e-6)


def test_slope_and_ratios_by_hand():
    assert SPEED.slope == pytest.approx(0.25), "ten times as long at 10^4 times the steps"
    assert SPEED.longest == 10**6
    assert SPEED.than_plain == pytest.approx(25)
    assert SPEED.than_python == pytest.approx(2.0 / 0.004)
    alone = Speed("mine", "c1", {10**4: 2.0}, plain=0.1, python=math.nan)
    assert math.isnan(alone.slope)
    assert math.isnan(alone.than_plain), "the plain loop was measured at another horizon"


def test_rows_of_the_page():
    assert " ".join(page._speeds([SPEED])[-1]) == "`mine` c1 1 – 4 – 40 – 0.25 4 500 25"


def test_rows_of_libraries_have_the_time_of_a_step_and_how_many_times_ours_it_is(monkeypatch):
    monkeypatch.setattr(page, "ARMS", (2, 1_000))
    ours = Rival(libraries.OURSELVES, "UCB1", {2: 1e-8, 1_000: 4e-8})
    there = Rival("a 1.0", "UCB1", {2: 2.5e-7, 1_000: 1e-6})
    assert page._rivals([ours, there, Rival("b", problem="not installed")]) == [
        ["library", "policy", "2 arms", "1,000 arms", "÷ here, 2 arms", "÷ here, 1,000 arms"],
        [libraries.OURSELVES, "UCB1", "10", "40", "1", "1"],
        ["a 1.0", "UCB1", "250", "1,000", "25", "25"],
        ["b", "not installed", "–", "–", "–", "–"],
    ]


def test_rows_beside_c(monkeypatch):
    monkeypatch.setattr(page, "C_HORIZONS", (10**4, 10**6))
    slow, without = BesideC("UCB1", 1_000, {10**4: 5e-9}, 2e-8), BesideC("UCB1", 2, {10**4: 1e-9}, math.nan)
    assert page._beside_c([slow, without]) == [
        ["policy", "arms", "10^4", "10^6", "C", "C / 10^4", "C / 10^6"],
        ["UCB1", "1,000", "5", "–", "20", "4", "–"],
        ["UCB1", "2", "1", "–", "–", "–", "–"],
    ]


@pytest.fixture(scope="module")
def loop_in_c(tmp_path_factory):
    loop = beside_c.c_loop(tmp_path_factory.mktemp("c"))
    if loop is None:
        pytest.skip("no C compiler")
    return loop


@pytest.mark.parametrize(("bonus", "scale"), [(0.0, 0.0), (20.0, 5.0)], ids=["UCB1", "DP-UCB"])
def test_the_loop_in_c_has_the_law_of_the_plain_loop(loop_in_c, bonus, scale, failure):
    means, horizon = np.array([0.5, 0.8, 0.7]), 300

    def draw(run):
        plain = index_steps(means, horizon, np.array([horizon]), bonus, scale, 9, stream("c", run))[-1]
        return plain, loop_in_c(means, horizon, bonus, scale, run)

    assert_same_law_of(draw, 20_000, failure)


def test_the_loop_in_c_is_measured_beside_ours(monkeypatch):
    """A run here lasts 1 s, then 30 s, too long for a third horizon; a run in C over 10^6 steps lasts 4 s."""
    times = iter([4.0, 1.0, 30.0])

    def seconds(action):
        action(0)
        return next(times)

    monkeypatch.setattr(beside_c, "seconds", seconds)
    monkeypatch.setattr(beside_c, "c_loop", lambda folder: MagicMock())
    monkeypatch.setattr(beside_c, "POLICIES", (DPUCB(1.0),))
    monkeypatch.setattr(beside_c, "ARMS", (3,))
    monkeypatch.setattr(beside_c, "HORIZONS", (100, 200, 400))
    (one,) = beside_c.beside_c()
    assert (one.policy, one.arms, one.here, one.c) == ("DP-UCB", 3, {100: 0.01, 200: 0.15}, 4e-6)
    assert one.ratio(100) == pytest.approx(4e-4)
    assert math.isnan(one.ratio(400))


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
def test_without_a_compiler_nothing_is_measured_in_c(compiler, monkeypatch, tmp_path):
    monkeypatch.setenv("CC", compiler)
    assert beside_c.c_loop(tmp_path) is None


def test_a_cell_of_a_policy_is_on_the_first_instance_that_it_accepts():
    composer = Composer()
    for name, instance in (("dp_se", "c1"), ("dprse", "s1"), ("vote_ftnl", "dtol_deterministic")):
        assert cell_of_policy(name, 1_000, composer).instance.name == instance
    assert cell_of_policy("dp_ftpl_new", 1_000, composer).policy.guarantee.delta == 0.01


@pytest.mark.parametrize("policy", [UCB1(), DPUCB(1.0), DPSE(0.5), DPFTPLGauss(1.0, 0.01)], ids=lambda of: of.name)
def test_plain_loops_play_the_horizon(policy):
    loop = plain_loop(policy, C1(5), 3_000)
    assert np.sum(loop(0)) == 3_000


def test_a_policy_without_a_plain_loop():
    assert plain_loop(LazyDPTS(1.0), C1(5), 3_000) is None


@pytest.mark.parametrize(("found", "code"), [(0.99, 1), (1e9, 0)])
def test_the_guard_fails_when_a_loop_is_too_slow(found, code, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["guard"])
    monkeypatch.setattr(guard, "factor", lambda policy, instance: found)
    with pytest.raises(SystemExit) as ended:
        guard.main()
    assert ended.value.code == code
    assert capsys.readouterr().out.count("too slow, at least") == code * len(guard.CASES)


def test_every_stored_cell_counts_once(monkeypatch):
    """Both papers have DP-SE on C1 to C4 at epsilon = 1; only the rest of the cells counts for the later paper."""
    monkeypatch.setattr(again, "papers", lambda: {"azize2022": papers()["azize2022"]})
    names = ["azize2022/curves", "azize2022/epsilons", "azize2025/curves"]
    monkeypatch.setattr(Composer, "choices", lambda self, group: names)
    monkeypatch.setattr(again, "SHORT", math.inf)
    found = list(again.cell_costs(REPOSITORY / "results"))
    first, second = again.shares(found, lambda cost: cost.paper)
    assert (first.name, second.name) == (papers()["azize2022"].cited, "azize2025")
    plans = plan([[f"+experiment={name}"] for name in names], Composer())
    assert first.cells + second.cells == len(merge(request for asked in plans for request in asked.requests))
    assert all(share.runs >= share.cells > 0 for share in (first, second))
    assert all(cost.now == cost.stored > 0 for cost in found), "short cells count as they were stored"


def test_long_cells_are_timed_and_their_time_counts_for_every_run(monkeypatch):
    monkeypatch.setattr(again, "papers", dict)
    monkeypatch.setattr(Composer, "choices", lambda self, group: ["azize2022/curves"])
    monkeypatch.setattr(again, "SHORT", 0.0)
    monkeypatch.setattr(again, "_seconds", lambda cell, runs: 0.5)
    found = list(again.cell_costs(REPOSITORY / "results"))
    assert found
    assert all(cost.now == 0.5 * cost.runs for cost in found)


@pytest.mark.parametrize(("runs", "expected"), [(100, (0.16 + 8 * 0.02) / 9), (2, (0.16 + 0.02) / 2), (1, 0.16)])
def test_tables_that_replications_share_count_as_often_as_they_are_made(monkeypatch, runs, expected):
    """The first replications of a cell that take .3 seconds together, or all; the first of them makes a table."""
    played = []
    seconds = {0: 5.0, 1: 0.16}  # the one that compiles, and the one that makes a table; the others take .02

    def clock():
        return math.fsum(seconds.get(place, 0.02) for place in range(len(played)))

    monkeypatch.setattr(again, "time", SimpleNamespace(perf_counter=clock))
    assert again._seconds(SimpleNamespace(replicate=played.append), runs) == pytest.approx(expected)
    assert played == [0, *range(len(played) - 1)]


def test_costs_are_summed_by_name_in_the_order_of_names():
    first, second, third = (
        again.CellCost("a", name, 2, 1.0, seconds) for name, seconds in (("x", 3.0), ("y", 4.0), ("x", 5.0))
    )
    assert again.shares([first, second, third], lambda cost: cost.policy) == [
        again.Share("x", 2, 4, 2.0, 8.0),
        again.Share("y", 1, 2, 1.0, 4.0),
    ]
    assert page._again("policy", [again.Share("x", 2, 4000, 30.0, 90.0)])[-1] == ["x", "2", "4,000", "0.5", "1.5"]


@pytest.fixture
def clock(monkeypatch):
    """Let every call of `time` in these modules take a second more than the call before: 0, 1, 3, 6, ..."""
    calls = [0]

    def now():
        calls[0] += 1
        return float(calls[0] * (calls[0] - 1) // 2)

    for module in (libraries, sweeps, timing):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=now, process_time=now))


def test_a_sweep_is_measured_by_cell_and_by_replication(clock, monkeypatch, tmp_path):
    """Each action lasts two seconds more than the action before: 1, 3 and 5, then 1, 3 again."""
    monkeypatch.setattr(sweeps, "REPLICATIONS", 4)
    monkeypatch.setattr(sweeps, "REPEATS", 2)
    requests = sweeps.planned(5)
    assert [request.cell.policy.epsilon for request in requests] == [0.2, 0.4, 0.6, 0.8, 1.0]
    store = Store(tmp_path / "cells")
    assert list(sweeps.overhead_of_cells(requests, store)) == [
        "each of 5 cells of one replication, beside simulation: 400.00 ms",  # (3 - 1) / 5
        "looking up a cell that is stored: 1000.00 ms",  # 5 / 5
    ]
    assert [store.read(request.cell).replications for request in requests] == [1] * 5
    (line,) = sweeps.of_replications(tmp_path)
    assert line == "each of 4 replications of one cell, beside simulation: 500000 microseconds"  # (9 - 7) / 4
    assert len(list((tmp_path / "1").rglob("*.parquet"))) == 1


def test_looks_are_measured_at_files_and_at_packs(clock, monkeypatch, tmp_path):
    monkeypatch.setattr(sweeps, "TINY", 2)
    store = Store(tmp_path / "cells")
    list(sweeps.overhead_of_cells(sweeps.planned(2), store))
    files, packs = sweeps.of_looks(store)
    assert files.startswith("a look at 2 cells in results files: ")
    assert packs.startswith("a look at 2 cells in packs: ")
    assert {copy.place.is_packed for copy in store.look().copies} == {True}


def test_all_measurements_of_sweeps_are_printed(clock, monkeypatch, capsys):
    monkeypatch.setattr(sweeps, "subprocess", MagicMock(run=lambda *_, **how: SimpleNamespace(stdout="2.5 300.2\n")))
    for name, number in {"CELLS": 3, "TINY": 2, "REPLICATIONS": 2, "REPEATS": 1}.items():
        monkeypatch.setattr(sweeps, name, number)
    monkeypatch.setattr(sys, "argv", ["sweeps"])
    sweeps.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "load() of everything: 1.00 s, 2.50 s of the processor, at most 300 MB",
        "planning 3 cells: 3.00 s",
    ]
    assert len(lines) == 7


def test_the_memory_of_a_program_is_not_that_of_the_one_that_started_it():
    """300 MB here, less in a program that is started meanwhile; there as much as it uses."""
    kept = np.ones(300_000_000 // 8)
    lines = ["import numpy as np", "from scripts.bench.memory import own_peak", "unused = np.empty(400_000_000 // 8)"]
    lines += ["before = own_peak()", "kept = np.ones(80_000_000 // 8)", "print(before, own_peak() - before)"]
    asked = [sys.executable, "-c", "\n".join(lines)]
    before, more = map(float, subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split())
    assert memory.own_peak() > kept.nbytes / 1e6
    assert before < 200
    assert more == pytest.approx(80, abs=8)


def test_seconds_are_the_median_of_calls_or_of_one_long_call(clock, monkeypatch):
    """Calls last 1, 3, 5, 7 and 9 seconds."""
    monkeypatch.setattr(timing, "LONG", 1.0)
    calls = []
    assert timing.seconds(calls.append) == 5.0
    assert calls == [0, 1, 2, 3, 4]
    assert timing.seconds(calls.append) == 11.0, "it is longer than LONG"
    assert len(calls) == 6


def test_libraries_are_measured_by_step(clock, monkeypatch):
    """Calls of `seconds` give 4 s and run their action once; other libraries by step: the clock."""

    def seconds(action):
        action(0)
        return 4.0

    monkeypatch.setattr(libraries, "seconds", seconds)
    monkeypatch.setattr(libraries, "STEPS", 200)
    monkeypatch.setattr(libraries, "OURS", 1_000)
    monkeypatch.setattr(libraries, "ARMS", (5,))
    monkeypatch.setattr(libraries, "LONG", 30.0)
    monkeypatch.setattr(libraries, "version", lambda name: "1.2")
    policies = MagicMock()
    policies.UCB.return_value.choice.return_value = policies.Thompson.return_value.choice.return_value = 2
    mab = MagicMock()
    mab.MAB.return_value.predict.return_value = 1
    pymab = MagicMock()
    modules = {"pymab": pymab, "pymab.policies.ucb": pymab, "pymab.policies.thompson_sampling": pymab}
    for name, module in {**modules, "mabwiser.mab": mab, "SMPyBandits.Policies": policies}.items():
        monkeypatch.setitem(sys.modules, name, module)
    ucb1, thompson = (policy.label for policy in libraries.POLICIES)
    found = list(libraries.rivals())
    assert found[:4] == [
        *(Rival(name, policy, {5: 4.0 / 1_000}) for name in ["this repository"] for policy in (ucb1, thompson)),
        *(Rival("pymab 1.2", policy, {5: 0.02}) for policy in (ucb1, thompson)),
    ]
    # The clock shows 0, 1, 3, ..., 36, more than 30 s later, after seven steps, and 45 when the time is taken; then 55
    # at the beginning, 66, 78 and 91, after two steps.
    assert [(rival.library, rival.policy) for rival in found[4:6]] == [
        ("mabwiser 1.2", ucb1),
        ("mabwiser 1.2", thompson),
    ]
    assert [rival.seconds[5] for rival in found[4:6]] == [45 / 7, (105 - 55) / 2]
    assert mab.MAB.return_value.partial_fit.call_count == 5 + 7 + 5 + 2, "the first, one for each arm, are not timed"
    assert policies.UCB.return_value.getReward.call_count > 5
    assert pymab.ExperimentConfig.call_args.kwargs["horizon"] == 200
    pymab.Experiment.side_effect = ValueError("too new (/home/me)")
    assert list(libraries.rivals())[2] == Rival("pymab 1.2", problem="ValueError: too new")


def test_policies_are_measured_until_one_takes_long(monkeypatch):
    """A replication at horizon T lasts T / 10^6 seconds: 10^7 steps are too long; 5,000 steps in Python last 20 s."""
    monkeypatch.setattr(kernels, "pulls_by_choices", lambda *_: 20.0)
    monkeypatch.setattr(kernels, "plain_loop", lambda policy, instance, horizon: lambda j: 3.0)
    monkeypatch.setattr(kernels, "seconds", lambda action, *repeats: action(0))
    monkeypatch.setattr(
        kernels,
        "cell_of_policy",
        lambda name, horizon, composer: SimpleNamespace(
            policy=DPSE(1.0), instance=C1(5), replicate=lambda j: horizon / 1e6
        ),
    )
    speed = kernels._speed("dp_se", Composer())
    assert speed.seconds == {10**4: 0.01, 10**5: 0.1, 10**6: 1.0, 10**7: 10.0}
    assert (speed.plain, speed.python) == (3.0, 20.0 / 5_000)
    monkeypatch.setattr(kernels, "PATIENCE", 0.05)
    assert list(kernels._speed("dp_se", Composer()).seconds) == [10**4, 10**5]


def test_commands_are_measured_in_seconds_and_megabytes(monkeypatch):
    monkeypatch.setattr(computations, "COMMANDS", {"nothing": ["-c", ""]})
    asked = []
    monkeypatch.setattr(
        computations,
        "subprocess",
        MagicMock(run=lambda words, **how: asked.append(words) or SimpleNamespace(stdout="1.5 2000\n")),
    )
    assert list(computations.timed_commands()) == [computations.Cost("nothing", 1.5, 2.048)]
    assert asked[0][-2:] == ["-c", ""]


def test_journals_are_measured_with_their_snapshot_and_without(monkeypatch, capsys):
    """A process of its own takes 1 s, then 2 s for the review, then 3 s without the snapshot."""
    tickets = []

    def in_new_process(action, name):
        path = action.args[-1]
        with journals.opened_journal(name, path) as session:
            tickets.append(len(session.select()))
        return float(len(tickets)), 7.0

    monkeypatch.setattr(journals, "in_new_process", in_new_process)
    monkeypatch.setattr(journals, "POLICIES", {"DP-SE": DPSE(1.0)})
    monkeypatch.setattr(journals, "SIZES", (10,))
    monkeypatch.setattr(journals.openings, "__defaults__", ((10,),))
    monkeypatch.setattr(sys, "argv", ["journals"])
    journals.main()
    assert capsys.readouterr().out == (
        "DP-SE, 10 tickets: opening 1.00 s and 7 MB, without its snapshot 3.00 s; review 2.00 s\n"
    )
    assert list(journals.openings((4,))) == [journals.Opening("DP-SE", 4, 4.0, 7.0, 6.0, 5.0)]
