"""Trials: how long a run of each contender takes. Loops that are not compiled yet are, by several processes at once."""

import math
import signal
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from functools import cache
from inspect import unwrap
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from bandits import Instance
from bandits.compiled import PLACE, has_code
from bandits.policies.base import Policy
from experiments.advice.contenders import Contender
from experiments.simulate.runners import ProcessPool, processes_for
from experiments.store import Store

LONGEST = 0.5  # seconds that a run may take; a policy that is slower is left out
SHORT = 10_000  # users with which a run is tried first, to tell how long one takes
TELLS, SEVERAL = 0.05, 4  # seconds of a run, and how many times those of the first, that tell how its time grows
SOURCES = "bandits."  # modules whose functions are read for the loops that they call
Case = tuple[Policy, Instance, int]  # a policy, what it plays, and for how many users


def key_of(one: Contender) -> str:
    """The key of the cell of a contender."""
    (request,) = one.planned.requests
    return request.cell.key


def is_stored(one: Contender, runs: int = 1) -> bool:
    """Whether so many runs are stored; if one is, it was fast enough before."""
    (request,) = one.planned.requests
    return Store.of(one.planned).place(request.cell, runs) is not None


def trials(
    racers: Sequence[Contender], later: Sequence[Contender], users: int
) -> Generator[dict[str, float], None, None]:
    """Seconds that a run takes, by `key_of`, of more and more contenders until all have been tried; 0 if it is stored.

    Those that need not be compiled come at once. The others come group by group, those of `later` last: policies that
    share loops are one group, so that no loop is compiled twice. A group with many policies for its loops comes early.
    This process takes the first group, and then the next that no other process has begun.
    """
    stored = {key_of(one): 0.0 for one in (*racers, *later) if is_stored(one)}
    left = {key_of(one): one for one in (*racers, *later) if key_of(one) not in stored}
    cases = {key: _case(one, users) for key, one in left.items()}
    loops = {key: loops_of(type(policy)) for key, (policy, _, _) in cases.items()}
    ready = [key for key in left if not loops[key] or any(map(has_code, loops[key].values()))]
    yield stored | _timed({key: cases[key] for key in ready})
    soon = {key_of(one) for one in racers}
    groups = sorted(
        _sharing({key: frozenset(loops[key]) for key in left if key not in ready}),
        key=lambda group: (soon.isdisjoint(group), len({name for key in group for name in loops[key]}) / len(group)),
    )
    yield from _shared_out([{key: cases[key] for key in group} for group in groups])


def _shared_out(groups: Sequence[dict[str, Case]]) -> Iterator[dict[str, float]]:
    """The seconds of each group of cases, which this process and others take one after the other."""
    helpers = processes_for(-1) - 1 if PLACE is not None and len(groups) > 1 else 0  # without a cache each compiles all
    others = ProcessPool(helpers)
    submit: Callable[..., Future[list[float]]] = others.submit if helpers else lambda *_: Future()
    begun = [(submit(seconds_in_worker, list(group.values())), group) for group in groups[1:]]
    try:
        if groups:
            yield _timed(groups[0])
        while begun:
            taken = next((one for one in begun if one[0].done()), None)
            taken = taken or next((one for one in begun if one[0].cancel()), None)
            if taken is None:
                wait([future for future, _ in begun], return_when=FIRST_COMPLETED)
                continue
            begun.remove(taken)
            future, group = taken
            yield _timed(group) if future.cancelled() else dict(zip(group, future.result(), strict=True))
    except BaseException:
        for future, _ in begun:
            future.cancel()
        others.end()
        raise


def _timed(cases: Mapping[str, Case]) -> dict[str, float]:
    return {key: seconds_of_a_run(*case) for key, case in cases.items()}


def seconds_in_worker(cases: Sequence[Case]) -> list[float]:
    """The seconds of each case, in a process that leaves Ctrl-C to the one that asks, which ends it."""
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return [seconds_of_a_run(*case) for case in cases]


def seconds_of(one: Contender, users: int) -> float:
    """How long a run of a contender takes, stored or not."""
    return seconds_of_a_run(*_case(one, users))


def _case(one: Contender, users: int) -> Case:
    instance = one.planned.requests[0].cell.instance
    assert isinstance(instance, Instance)
    return one.policy, instance, users


def _sharing(names: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """The keys in groups: two are in one if they have a name in common, or are linked by others that have."""
    groups: list[tuple[frozenset[str], list[str]]] = []
    for key, mine in names.items():
        linked = [group for group in groups if group[0] & mine]
        groups = [group for group in groups if not group[0] & mine]
        groups.append(
            (mine.union(*(theirs for theirs, _ in linked)), [*(one for _, keys in linked for one in keys), key])
        )
    return [keys for _, keys in groups]


@cache
def loops_of(policy: type[Policy]) -> dict[str, Any]:
    """The compiled loops, by name, that the methods of a policy call, or plain functions of this package for them."""
    loops, seen = dict[str, Any](), set[FunctionType]()
    left = [_function(member) for cls in policy.__mro__ for member in vars(cls).values()]
    while left:
        function = left.pop()
        if not isinstance(function, FunctionType) or function in seen or not function.__module__.startswith(SOURCES):
            continue
        seen.add(function)
        for name in _names(function.__code__):
            value: Any = function.__globals__.get(name)
            if hasattr(value, "py_func"):
                loops[f"{value.py_func.__module__}.{name}"] = value
            left.append(value)
    return loops


def _function(member: Any) -> Any:
    """The function of a property, or of a class or static method, without what wraps it."""
    function = getattr(getattr(member, "fget", member), "__func__", getattr(member, "fget", member))
    return unwrap(function) if callable(function) else function


def _names(code: CodeType) -> set[str]:
    """The global names that a function uses, with those of functions within it."""
    inner = [_names(part) for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*inner)


def seconds_of_a_run(policy: Policy, instance: Instance, users: int) -> float:
    """How long a run takes, from shorter ones, each with ten times the users of the one before.

    They are enough if a time linear in users would be fast enough, or if one takes several times as long as the first,
    so that it is not what all runs begin with: then the growth over the last ten times goes on.
    Infinite if the numbers of the policy overflow, as those of epochs of heavy rewards do near a moment of 1.
    """
    tried, growth = min(users, SHORT), 1.0
    try:
        seconds = first = _seconds(policy, instance, tried)
        while seconds * users / tried > LONGEST >= seconds and seconds < max(TELLS, SEVERAL * first):
            before, tried = seconds, min(10 * tried, users)
            seconds = _seconds(policy, instance, tried)
            growth = min(max(math.log10(seconds / before), 0.0), 1.0)
    except ArithmeticError:
        return math.inf
    return float(seconds * (users / tried) ** growth)


def _seconds(policy: Policy, instance: Instance, users: int) -> float:
    """The shorter of two runs, as the first may include compiling."""
    times = []
    for seed in range(2):
        began = time.perf_counter()
        policy.simulate(instance, users, np.array([users]), np.random.default_rng(seed))
        times.append(time.perf_counter() - began)
    return min(times)
