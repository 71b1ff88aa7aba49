"""Machine code of loops: compiled once for all processes, removed when it is out of date."""

import gc
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bandits.compiled import PACKAGE, borrowing, compiled, remove_old, sources_of, state_of

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


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_is_collected_after_compiling_if_it_was_before(collects):
    @compiled
    def one_more(number):
        return number + 1

    before = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        assert one_more(1) == 2
        assert gc.isenabled() == collects
    finally:
        (gc.enable if before else gc.disable)()


def test_machine_code_of_old_sources_is_removed(tmp_path):
    for name, days in (("loops.lazy-old", 2), ("loops.lazy-new", 0), ("loops.lazy_thompson-old", 2)):
        code = tmp_path / name / "code.nbc"
        code.parent.mkdir(parents=True)
        code.touch()
        os.utime(code, (time.time() - 86400 * days - 3600,) * 2)
        os.utime(code.parent, (time.time() - 86400 * days - 3600,) * 2)
    remove_old(tmp_path, "loops.lazy")
    assert {path.name for path in tmp_path.iterdir()} == {"loops.lazy-new", "loops.lazy_thompson-old"}


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("from bandits.loops.front import front, window_of", {"bandits.loops.front"}),
        ("from bandits.loops import front", {"bandits.loops", "bandits.loops.front"}),
        ("from mine import (\n    noise,\n    sums as more,\n)", {"mine", "mine.noise", "mine.sums"}),
        ("import mine.noise as noise, mine.sums", {"mine.noise", "mine.sums"}),
        ("def arm():\n    from mine.noise import draw", {"mine.noise"}),
        ("import numpy, other\nfrom mines import noise", set()),
    ],
)
def test_machine_code_depends_on_all_that_a_loop_imports(tmp_path, text, seen):
    """Of its own package and of `bandits`, whatever the form of the import."""
    (tmp_path / "mine").mkdir()
    for name in ("noise", "sums", "idle", "policy", "__init__"):
        (tmp_path / "mine" / f"{name}.py").touch()
    policy = tmp_path / "mine" / "policy.py"
    policy.write_text(text)
    sources = sources_of("mine.policy", policy)
    assert seen <= sources.keys() - {"mine.policy"}
    assert {name for name in sources if name.startswith("mine")} <= {"mine.policy", *seen}
    assert {path.is_relative_to(PACKAGE) for name, path in sources.items() if name.startswith("bandits")} <= {True}
    assert {path.is_relative_to(tmp_path) for name, path in sources.items() if name.startswith("mine")} == {True}


def test_machine_code_depends_on_what_sources_say_and_not_on_where_they_are(tmp_path):
    """Only the last of these changes is one of the loop or of what it imports, which a loop imports in turn."""
    states = []
    for place, changes in (("here", {}), ("there", {"idle": "x = 1"}), ("yonder", {"noise": "scale = 2"})):
        texts = {"policy": "from mine import sums", "sums": "from mine.noise import scale", "noise": "scale = 1"}
        (tmp_path / place / "mine").mkdir(parents=True)
        for name, text in (texts | changes).items():
            (tmp_path / place / "mine" / f"{name}.py").write_text(text)
        states.append(state_of("mine.policy", tmp_path / place / "mine" / "policy.py"))
    assert states[0] == states[1] != states[2]
