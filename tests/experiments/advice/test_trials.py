"""Trials: which loops a policy calls, in which order they are compiled, and what a first look says meanwhile."""

import math
from concurrent.futures import Future
from contextlib import closing
from types import SimpleNamespace

import pytest

from bandits.policies.batched_index import DPIMED, DPKLUCB
from bandits.policies.halving import DPHalving
from bandits.policies.hybrid_ucb import DPUCBBound
from bandits.policies.local_bits import KLUCBCF
from experiments.advice import answer, trials
from experiments.advice.answer import growing_answer
from experiments.advice.contenders import contenders
from experiments.advice.question import question
from experiments.advice.race import race
from experiments.advice.trials import loops_of, seconds_in_worker, seconds_of_a_run
from experiments.advice.words import sentence
from experiments.config.compose import Composer

CASE = {"means": [0.5, 0.9], "users": 2000, "epsilon": 1.0}


def test_trials_become_longer_until_they_tell(monkeypatch):
    """By hand: fast enough if linear; several times the first; too slow at once; not before all users; overflow."""
    played = []

    def timed(*times):
        """The seconds of a run with 10^4 users, 10^5, and so on."""
        played.clear()
        return lambda policy, instance, users: played.append(users) or times[len(played) - 1]

    for users, times, expected, last in [
        (200_000, (0.01,), 0.2, 10**4),
        (10**8, (0.01, 0.012, 0.02, 0.06), 0.06 * 3**1, 10**7),
        (10**10, (0.008, 0.008, 0.012, 0.07), 0.07 * (0.07 / 0.012) ** 3, 10**7),  # DP-RUCB near a moment of 1
        (10**7, (0.06, 0.061, 0.06, 0.06), 0.06, 10**7),  # what all runs begin with
        (10**8, (0.6,), 0.6 * 10**4, 10**4),
    ]:
        monkeypatch.setattr(trials, "_seconds", timed(*times))
        assert seconds_of_a_run(None, None, users) == pytest.approx(expected, rel=1e-9)
        assert played[-1] == last

    def overflows(policy, instance, users):
        if users > 10**5:
            raise OverflowError
        return 0.01

    monkeypatch.setattr(trials, "_seconds", overflows)
    assert seconds_of_a_run(None, None, 10**9) == math.inf


def test_the_loops_of_a_policy_are_found_in_its_methods_and_their_functions():
    assert "bandits.loops.batches.batch_pulls" in loops_of(DPIMED)
    assert loops_of(DPIMED).keys() == loops_of(DPKLUCB).keys()
    assert "bandits.loops.kl_ucb.kl_ucb_pulls" in loops_of(KLUCBCF)
    assert "bandits.mechanisms.hybrid.continued" in loops_of(DPUCBBound)  # by a plain function
    assert loops_of(DPHalving) == {}


@pytest.fixture
def racers(monkeypatch):
    """Contenders a to f by the names of their loops, of which none is compiled but "old"; "kept" has a stored run."""
    loops = {"a": "x y z", "b": "v", "c": "w", "d": "w", "e": "", "f": "old", "kept": "q", "free": "u"}
    named = {name: SimpleNamespace(name=name) for name in loops}
    monkeypatch.setattr(trials, "key_of", lambda one: one.name)
    monkeypatch.setattr(trials, "is_stored", lambda one: one.name == "kept")
    monkeypatch.setattr(trials, "_case", lambda one, users: (one.name, None, users))
    monkeypatch.setattr(trials, "type", lambda policy: policy, raising=False)
    monkeypatch.setattr(trials, "loops_of", lambda policy: {loop: loop for loop in loops[policy].split()})
    monkeypatch.setattr(trials, "has_code", lambda loop: loop == "old")
    monkeypatch.setattr(trials, "seconds_of_a_run", lambda policy, instance, users: users / 1000)
    return [one for name, one in named.items() if name != "free"], [named["free"]]


def test_what_is_ready_comes_first_then_groups_with_most_policies_for_their_loops(racers, monkeypatch):
    monkeypatch.setattr(trials, "processes_for", lambda workers: 1)
    tried = list(trials.trials(*racers, 3000))
    assert tried == [{"kept": 0.0, "e": 3.0, "f": 3.0}, {"c": 3.0, "d": 3.0}, {"b": 3.0}, {"a": 3.0}, {"free": 3.0}]


def test_other_processes_take_groups_that_this_one_has_not_begun(racers, monkeypatch):
    """The other one has begun the second group, and is ready when this one has done all others."""
    futures = []

    class Others:
        def __init__(self, workers):
            assert workers == 1

        def submit(self, function, cases):
            assert function is seconds_in_worker
            futures.append(Future())
            if len(futures) == 1:
                futures[0].set_running_or_notify_cancel()
            return futures[-1]

    monkeypatch.setattr(trials, "processes_for", lambda workers: 2)
    monkeypatch.setattr(trials, "ProcessPool", Others)
    monkeypatch.setattr(trials, "wait", lambda left, return_when: futures[0].set_result([9.0]))
    assert list(trials.trials(*racers, 3000))[1:] == [{"c": 3.0, "d": 3.0}, {"a": 3.0}, {"free": 3.0}, {"b": 9.0}]


def test_groups_are_linked_by_what_they_share():
    names = {"a": {"x"}, "b": {"y"}, "c": {"z"}, "d": {"x", "y"}}
    assert trials._sharing({key: frozenset(value) for key, value in names.items()}) == [["c"], ["a", "b", "d"]]


def test_a_look_names_those_that_are_still_compiled(tmp_path, monkeypatch):
    """Of the contenders one is ready, one takes too long, and one comes later: two looks, then the look at all."""
    names = ("dp_halving", "dp_imed", "dp_klucb")
    private, _ = contenders(question(**CASE), Composer(), names, str(tmp_path))
    monkeypatch.setattr(answer, "contenders", lambda *_: (private, []))
    first, second, third = map(trials.key_of, private)
    parts = iter([{first: 0.1}, {second: 1.0}, {third: 0.1}])
    monkeypatch.setattr(answer, "trials", lambda racers, later, users: (part for part in parts))
    with closing(growing_answer(results_dir=str(tmp_path), **CASE)) as growing:
        look, after = next(growing), next(growing)
    assert [row.contender.name for row in look.rows] == ["dp_halving"]
    assert look.compiling == ("DP-KLUCB",)
    assert sentence(look).endswith("as they are being compiled, once for this machine: DP-KLUCB.")
    assert after.compiling == ()
    assert {row.contender.name for row in after.rows} == {"dp_halving", "dp_klucb"}
    assert after.dropped == ["DP-IMED (not run: about 1 s a run)"]


def test_a_policy_whose_numbers_overflow_is_not_run(tmp_path):
    asking = question(means=[0.5, 0.6], users=10_000, epsilon=1, trust="local", rewards="heavy", moment=1.01)
    private, _ = contenders(asking, Composer(), results_dir=str(tmp_path))
    few = [one for one in private if one.name in ("ldprse", "robust_bit_se")]
    left, dropped = race(asking, few)
    assert [one.name for one in left] == ["robust_bit_se"]
    assert dropped == ["LDPRSE (not run: its numbers overflow)"]
