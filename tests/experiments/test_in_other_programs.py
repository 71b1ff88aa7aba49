"""Called by somebody else's program, `load` and `run` work from threads and change no global state of that program."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from experiments import UserError, run
from experiments.config.compose import REPOSITORY

CELL = '"instance=c2", "instance.arms=3", "horizon=1000", "replications=2", f"results_dir={sys.argv[1]}"'


@pytest.fixture
def program(tmp_path):
    """Run the text of a program in a process of its own; its output."""

    def play(text, **environment):
        words = [sys.executable, "-c", text, str(tmp_path / "results")]
        keep = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
        done = subprocess.run(
            words, cwd=tmp_path, env={**keep, **environment}, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return play


THREADS = f"""
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from experiments import load, run
barrier = Barrier(4)

def job(number):
    barrier.wait()
    table = run(f"policy={{['dp_se', 'dp_ucb'][number % 2]}}", {CELL}, f"budget.epsilon={{1 + number}}", workers=1)
    return len(table), len(load(epsilon=1.0 + number, results_dir=sys.argv[1]))

with ThreadPoolExecutor(4) as threads:
    print(*(rows == stored > 0 for rows, stored in threads.map(job, range(4))))
"""


@pytest.mark.slow
def test_run_and_load_work_from_four_threads(program):
    assert program(THREADS)[-1] == "True True True True"


HYDRA = f"""
import sys
from pathlib import Path
Path("mine").mkdir()
Path("mine/app.yaml").write_text("mine: 3")
from hydra import compose, initialize_config_dir, version
from hydra.core.global_hydra import GlobalHydra
from experiments import run
none = version.getbase()
run("policy=dp_se", {CELL}, "budget.epsilon=0.5", workers=1)
print(version.getbase() is none)
with initialize_config_dir(str(Path("mine").resolve()), version_base="1.1"):
    before = GlobalHydra.instance().hydra
    run("policy=dp_se", {CELL}, workers=1)
    print(compose("app"), GlobalHydra.instance().hydra is before, version.getbase())
run("policy=dp_se", {CELL}, workers=1)
print(GlobalHydra.instance().is_initialized())
"""
MAIN = f"""
import sys
from pathlib import Path
Path("mine").mkdir(exist_ok=True)
Path("mine/app.yaml").write_text("mine: 3")
import hydra
from hydra.core.hydra_config import HydraConfig
from experiments import run
results = sys.argv.pop(1)

@hydra.main(config_path=str(Path("mine").resolve()), config_name="app", version_base="1.3")
def main(config):
    run("policy=dp_se", {CELL.replace("sys.argv[1]", "results")}, workers=1)
    print(config.mine, hydra.compose("app"), HydraConfig.get().job.config_name)

main()
"""


@pytest.mark.slow
def test_the_hydra_of_the_caller_stays_as_it_is(program):
    assert program(HYDRA) == ["True", "{'mine': 3} True 1.1", "False"]
    assert program(MAIN) == ["3 {'mine': 3} app"]


GLOBALS = f"""
import os, sys
from pathlib import Path
Path("caller.py").write_text("import numba\\n@numba.njit(cache=True)\\ndef twice(value):\\n    return 2 * value\\n")
sys.path.insert(0, "")
import joblib, numba  # joblib sets a variable of its own
before = dict(os.environ), numba.config.CACHE_DIR
import bandits.policies.elimination, experiments
from experiments import run
from numba.core import event
for workers in (1, 2):
    run("policy=dp_se", {CELL}, f"budget.epsilon={{workers}}", workers=workers)
numba.set_num_threads(min(2, numba.config.NUMBA_DEFAULT_NUM_THREADS))
from caller import twice
twice(1)
print((dict(os.environ), numba.config.CACHE_DIR) == before, event._registered["numba:compile"])
print(Path(twice.stats.cache_path).parent.name)
"""


@pytest.mark.slow
def test_environment_threads_and_numba_stay_those_of_the_caller(program, tmp_path):
    assert program(GLOBALS) == ["True []", tmp_path.name]


def test_the_command_of_somebody_else_is_no_command_of_ours(tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "__init__.py").write_text("import experiments")
    (tmp_path / "theirs" / "say.py").write_text("import experiments\nprint(experiments.COMMAND)")
    words = [sys.executable, "-m", "theirs.say", "-m", "experiments.run"]
    place = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(REPOSITORY)])}
    done = subprocess.run(words, cwd=tmp_path, env=os.environ | place, capture_output=True, text=True)
    assert done.stdout == "False\n"


PLACE = """
import sys
from pathlib import Path
import numba.misc.appdirs
package = Path(sys.argv[1])
package.mkdir()
Path(package, "__pycache__").touch()  # so that it cannot be a folder, as in a checkout that cannot be written
from bandits import compiled
print(compiled.place_for(package))
"""


def test_a_read_only_checkout_without_a_home_has_a_place_for_machine_code(program, tmp_path):
    home = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/cache", "NUMBA_CACHE_DIR": ""}
    (place,) = program(PLACE, **home, TMPDIR=str(tmp_path))
    ours = tmp_path / f"private-bandits-{os.getuid()}"
    assert place == str(ours / "machine_code")
    assert ours.stat().st_mode & 0o077 == 0
    (tmp_path / "results" / "__pycache__").unlink()
    (tmp_path / "results").rmdir()
    ours.chmod(0o777)  # anybody could have put machine code there
    assert program(PLACE, **home, TMPDIR=str(tmp_path)) == ["None"]


def test_a_loop_without_a_file_is_compiled_where_it_is(program):
    text = "from bandits.compiled import compiled\n@compiled\ndef twice(value):\n    return 2 * value\nprint(twice(4))"
    assert program(text) == ["8"]


PLAIN = f"""
import sys
from experiments import run
print(len(run("policy=dp_se,lazy_dp_ts,ts_cf", {CELL}, workers=1)) > 0)
"""


@pytest.mark.slow
def test_loops_run_as_plain_python_for_debuggers(program):
    assert program(PLAIN, NUMBA_DISABLE_JIT="1")[-1] == "True"


WALK = """
from importlib import import_module
import experiments.run, experiments.library.running
from experiments import run
print(run is experiments.library.running.run is experiments.run, import_module("experiments.run").__name__)
"""


def test_run_is_the_function_after_a_walk_of_the_package(program):
    assert program(WALK) == ["True experiments.run"]


def test_run_takes_what_load_takes(tmp_path):
    words = {"instance": "c2", "arms": 3, "horizon": 1e3, "replications": 1, "results_dir": tmp_path / "it's, here"}
    table = run(policy=["dp_se", "ucb1"], epsilon=np.array([0.5, 1.0]), workers=1, **words)
    assert {(name, epsilon) for name, epsilon in zip(table.policy, table.epsilon, strict=True)} == {
        ("dp_se", 0.5),
        ("dp_se", 1.0),
        ("ucb1", np.inf),
    }
    with pytest.raises(UserError, match=r"^policy: has no values$"):
        run(policy=[], **words)
    with pytest.raises(UserError, match=r"^horizon: must be a text, a number, "):
        run(horizon={1})


def test_run_takes_lists_as_values(tmp_path):
    words = {"instance": "bernoulli", "policy": "ucb1", "horizon": 100, "replications": 1, "results_dir": tmp_path}
    for means in ([[0.1, 0.2], [0.3, 0.4]], np.array([[0.1, 0.2], [0.3, 0.4]]), ((0.1, 0.2), (0.3, 0.4))):
        table = run(workers=1, **words, **{"instance.means": means})
        assert set(table.means) == {"[0.1, 0.2]", "[0.3, 0.4]"}
    for means in ([0.1, 0.2], "[0.1,0.2]"):
        with pytest.raises(UserError, match=r"means: must be a list \(in Python one inside the list of values, \[\["):
            run(**words, **{"instance.means": means})


SESSION = """
import sys
from bandits.deploy import Session
from bandits.policies.batched_index import DPKLUCB
with Session(DPKLUCB(epsilon=1.0), arms=3, horizon=50, domain=(0.0, 1.0), journal=sys.argv[1]) as session:
    print(len(session.select(5)))
"""


@pytest.mark.slow
def test_a_command_and_a_session_run_from_a_read_only_checkout_without_a_home(tmp_path):
    """Root may write anywhere, so that here a file stands where each folder of machine code would be made."""
    clone, temporary = tmp_path / "clone", tmp_path / "tmp"
    temporary.mkdir()
    for name in ("bandits", "conf", "experiments"):
        shutil.copytree(REPOSITORY / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [clone, *clone.rglob("*/")]:
        (folder / "__pycache__").touch()
    nowhere = {
        "HOME": "/dev/null",
        "XDG_CACHE_HOME": "/dev/null/cache",
        "NUMBA_CACHE_DIR": "",
        "TMPDIR": str(temporary),
    }
    place = os.environ | nowhere | {"PYTHONPATH": str(clone), "PYTHONDONTWRITEBYTECODE": "1"}
    cell = ["instance=c1", "policy=dp_klucb", "horizon=100", "replications=1", f"results_dir={tmp_path}/results"]
    for words in (["-m", "experiments.run", *cell], ["-c", SESSION, str(tmp_path / "journal")]):
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, env=place, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("results/c1/*.parquet"))
    assert list(temporary.glob(f"private-bandits-{os.getuid()}/**/*.nbc"))
