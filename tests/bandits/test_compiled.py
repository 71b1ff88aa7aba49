"""Machine code of loops: compiled once for all processes, removed when it is out of date."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bandits.compiled import FOLDER, borrowing, remove_old

LOOPS = """
from bandits.compiled import borrowing, compiled

@compiled
def counts(values, rng):
    for place in range(len(values)):
        values[place] += rng.standard_normal()

@borrowing
def borrows(values, rng):
    for place in range(len(values)):
        values[place] += rng.standard_normal()

@compiled
def inner(steps):
    return steps + 1

@compiled
def outer(steps):
    return inner(steps) * 2

@compiled
def of_constants(steps):
    place = 0  # at first a constant for numba
    while place < steps:
        place = inner(place)
    return inner(1) + place
"""

COUNT = """
from numba.core import event
from loops import outer

class Counter(event.Listener):
    compiled = 0
    def on_start(self, event):
        self.compiled += 1
    def on_end(self, event):
        pass

event.register("numba:compile", counter := Counter())
print("ready", flush=True)
input()
assert outer(20) == 42
print(counter.compiled)
"""


@pytest.fixture
def play(tmp_path):
    """Start Python processes that share a module of loops and the cache of their machine code; end them in the end."""
    (tmp_path / "loops.py").write_text(LOOPS)
    paths = os.pathsep.join([str(tmp_path), str(Path.cwd())])
    environment = {**os.environ, "PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    started = []

    def start(code):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
        started.append(subprocess.Popen([sys.executable, "-c", code], **pipes))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_one_process_compiles_and_the_others_wait(play):
    """Both processes need the loops at the same time, and compiling takes long enough for both to try."""
    processes = [play(COUNT) for _ in range(2)]
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * 2
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    assert sorted(int(process.communicate(timeout=100)[0]) for process in processes) == [0, 2]


def test_a_loop_is_compiled_once_for_constants_and_variables(play):
    """And is on disk from then on."""
    code = """
from bandits.compiled import has_code
from loops import inner, of_constants
print(has_code(inner))
assert of_constants(3) == 5
print(len(inner.signatures), has_code(inner))
"""
    assert play(code).communicate(timeout=100)[0] == "False\n1 True\n"


def test_threads_do_not_wait_for_each_other_forever(play):
    """One thread needs a loop that calls the loop of the other thread."""
    threads = """
from threading import Thread
from loops import inner, outer
both = [Thread(target=loop, args=(20,)) for loop in (outer, inner)]
for thread in both:
    thread.start()
for thread in both:
    thread.join()
"""
    processes = [play(threads) for _ in range(2)]
    assert [process.wait(timeout=100) for process in processes] == [0, 0]


BORROW = """
import numpy as np
from bandits.seeds import stream
from loops import borrows, counts

found = []
for loop in (counts, borrows):
    values = np.zeros(5)
    loop(values, stream("borrowing", 0))
    found.append(values.tolist())
    print("NRT_incref" in loop.inspect_llvm(loop.signatures[0]))
print(found[0] == found[1])
"""


def test_a_borrowing_loop_counts_no_reference_and_gives_the_same_numbers(play):
    """In a process of its own, as code from the cache cannot be looked at."""
    assert play(BORROW).communicate(timeout=100)[0].split() == ["True", "False", "True"]


@borrowing
def gives_back(values):
    return values


def test_a_borrowing_loop_that_returns_an_array_is_refused():
    with pytest.raises(TypeError, match="gives_back returns an array: use `compiled`"):
        gives_back(np.zeros(5))


def test_machine_code_of_old_sources_is_removed(tmp_path):
    for name, days in (("old", 2), ("new", 0)):
        code = tmp_path / f"{FOLDER}{name}" / "bandits" / "code.nbc"
        code.parent.mkdir(parents=True)
        code.touch()
        os.utime(code, (time.time() - 86400 * days - 3600,) * 2)
        os.utime(code.parent, (time.time() - 86400 * days - 3600,) * 2)
    (tmp_path / "module.cpython-311.pyc").touch()
    remove_old(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"{FOLDER}new", "module.cpython-311.pyc"}
