"""Find policies whose numbers come from a random generator with a fixed seed, or from a clock.

What a policy or an instance draws must come from the generator that it is given, or from one whose seed is drawn from
that. A generator with a fixed seed would draw the same noise in every replication. To find one, watch two runs that
are given different generators: a seed that occurs in both does not depend on the generator that was given.
"""

import datetime
import random
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

import numpy as np

NUMPY = ("default_rng", "RandomState", "SeedSequence", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
AHEAD = 40_000_000.0  # seconds, more than a year
CLOCKS = ("time", "perf_counter", "monotonic", "process_time")
STEPS = 200  # callers that are searched, upwards from the call that makes a generator


@contextmanager
def watched(files: Collection[str]) -> Iterator[set[str]]:
    """Yields a set that collects, during the block, the generators made by code in `files`: name and seed as text."""
    made: set[str] = set()
    places: list[tuple[Any, str, Any]] = [(np.random, name, getattr(np.random, name)) for name in NUMPY]
    places.append((random, "Random", random.Random))
    try:
        for place, name, maker in places:
            setattr(place, name, _noting(maker, f"{place.__name__}.{name}", made, frozenset(files)))
        yield made
    finally:
        for place, name, maker in places:
            setattr(place, name, maker)


def _noting(maker: Any, name: str, made: set[str], files: frozenset[str]) -> Any:
    """`maker`, which also notes its arguments at each call; a class stays a class, so that `isinstance` works."""
    note = partial(_note, name, made, files)

    class Noting(type(maker) if isinstance(maker, type) else type):  # type: ignore[misc]  # the base is known at run time only
        def __call__(self, *arguments: Any, **named: Any) -> Any:
            note(arguments, named, sys._getframe(1))
            return maker(*arguments, **named)

        def __instancecheck__(self, instance: Any) -> bool:
            return isinstance(maker, type) and isinstance(instance, maker)

        def __getattr__(self, attribute: str) -> Any:
            return getattr(maker, attribute)

    return Noting(name.rpartition(".")[2], (), {})


def _note(
    name: str, made: set[str], files: frozenset[str], arguments: Any, named: dict[str, Any], frame: FrameType | None
) -> None:
    seed = [*arguments, *named.values()]
    if not seed or any(value is None or isinstance(value, np.random.Generator) for value in seed):
        return  # seeded by the system, which another check finds, or by the given generator itself
    for _ in range(STEPS):
        if frame is None:
            return
        if frame.f_code.co_filename in files:
            made.add(f"{name}({', '.join(map(_as_text, seed))})")
            return
        frame = frame.f_back


def _as_text(seed: Any) -> str:
    if isinstance(seed, np.random.SeedSequence):
        return f"{seed.entropy}, spawn_key={seed.spawn_key}"
    state = getattr(seed, "state", None)
    return repr(state if isinstance(state, dict) else seed)


@contextmanager
def clocks_ahead() -> Iterator[None]:
    """Set clocks ahead by more than a year, for modules imported during the block or that call `time.NAME`."""
    places: list[tuple[Any, str, Any]] = [(datetime, "datetime", datetime.datetime)]
    places += [(time, name, getattr(time, name)) for clock in CLOCKS for name in (clock, f"{clock}_ns")]
    real = datetime.datetime

    class Later(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return real.fromtimestamp(time.time(), tz)

        @classmethod
        def utcnow(cls) -> Any:
            return real.fromtimestamp(time.time(), datetime.UTC).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Any:
            return real.fromtimestamp(time.time())

    try:
        for _, name, clock in places[1:]:
            setattr(time, name, _later(clock, int(AHEAD * 1e9) if name.endswith("_ns") else AHEAD))
        datetime.datetime = Later  # type: ignore[misc]
        yield
    finally:
        for place, name, clock in places:
            setattr(place, name, clock)


def _later(clock: Callable[[], float], ahead: float) -> Callable[[], float]:
    return lambda: clock() + ahead


def foreign_generator(play: Callable[[int], Any], files: Collection[str]) -> str | None:
    """A generator that has the same seed in `play(0)` and `play(1)`, which get different generators; None if none."""
    with watched(files) as first:
        play(0)
    with watched(files) as second:
        play(1)
    return min(first & second, default=None)
