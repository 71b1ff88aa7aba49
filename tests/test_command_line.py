"""Every wrong input ends in one line that names the key, exit code 2, and stored results untouched."""

import re
import runpy
import subprocess
import sys
import warnings

import pytest

from bandits import checkpoint_grid
from experiments import new
from experiments.config.compose import REPOSITORY, Composer
from experiments.library import running
from scripts import check_figures, figures
from scripts.explore import __main__ as explore
from scripts.site import __main__ as site
from scripts.site.pages.reference import documented_commands
from tests import forked
from tests.waiting import besides

BAD_INPUT = [
    (["instance=c9"], ["instance=c9", "c1"]),
    (["policy=dpse"], ["policy=dpse", "dp_se"]),
    (["-m", "instance=c1,c9"], ["instance=c9"]),
    (["+experiment=sajed2019/fig99"], ["sajed2019/fig99", "sajed2019/fig09"]),
    (["+experiment=sajed2019/fig01", "policy=nothing"], ["policy=nothing", "dp_ucb"]),
    (["instance.arms=1"], ["instance.arms", ">= 2", "got 1", "c1.yaml"]),
    (["instance.arms=2.5"], ["instance.arms", "whole number"]),
    (["instance=bernoulli", "instance.means=[0.5,1.5]"], ["instance.means", "[0, 1]"]),
    (["instance=bernoulli", "instance.means=[0.5]"], ["instance.means", "at least 2"]),
    (["instance=bernoulli", "instance.means=0.5"], ["instance.means", "a list"]),
    (["budget.epsilon=0"], ["budget.epsilon", "> 0"]),
    (["budget.epsilon=-1"], ["budget.epsilon", "> 0"]),
    (["budget.epsilon=nan"], ["budget.epsilon", "got nan"]),
    (["budget.epsilon=inf", "policy=dp_ucb"], ["budget.epsilon", "finite"]),
    (["budget.epsilon=null"], ["budget.epsilon", "got nothing"]),
    (["budget.epsilon=abc"], ["budget.epsilon", "a number"]),
    (["budget.epsilon=0.1,0.2"], ["budget.epsilon", "multirun"]),
    (["-m", "budget.epsilon=1,0"], ["budget.epsilon", "> 0"]),
    (["budget.delta=0.1"], ["budget.delta", "dp_se", "null"]),
    (["horizon=4"], ["horizon", "number of arms"]),
    (["horizon=1000.5"], ["horizon", "whole number"]),
    (["horizon=abc"], ["horizon", "whole number"]),
    (["horizon=true"], ["horizon", "whole number"]),
    (["replications=0"], ["replications", "at least 1"]),
    (["replications=1.5"], ["replications", "whole number"]),
    (["runner.workers=0"], ["runner.workers", "at least 1"]),
    (["budget.epsilonn=1"], ["budget.epsilonn", "budget.epsilon"]),
    (["horizn=10"], ["horizn", "horizon"]),
    (["+horizn=10"], ["horizn", "+experiment"]),
    (["policy.split_budget=true"], ["policy.split_budget", "policy.epsilon"]),
    (["policy=dp_ucb", "policy.gama=0.2"], ["policy.gama", "policy.gamma"]),
    (["policy=dp_ucb", "policy.confidence=loose"], ["policy.confidence", "mishra2015 or tight"]),
    (["policy=dp_ucb", "policy.split_budget=2"], ["policy.split_budget", "true or false"]),
    (["policy=dp_ucb", "policy.gamma=1"], ["policy.gamma", "(0, 1)"]),
    (["policy._target_=nowhere.Policy"], ["dp_se.yaml", "_target_", "nowhere"]),
    (["policy._target_=pathlib.Path"], ["dp_se.yaml", "_target_", "is not imported"]),
    (["instance=null"], ["None"]),
    (["cells=3"], ["cells", "list"]),
    (["horizon"], ["horizon", "key=value"]),
    (["--config-dir", "/nowhere"], ["/nowhere"]),
]


@pytest.mark.parametrize(("arguments", "named"), BAD_INPUT, ids=lambda value: " ".join(value))
def test_bad_input_is_one_line(call, tmp_path, arguments, named):
    defaults = [text for text in ("replications=1", "horizon=100") if text.split("=")[0] not in str(arguments)]
    outcome = call(*defaults, *arguments, f"results_dir={tmp_path}/results")
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    for word in named:
        assert word in outcome.err
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize(
    ("yaml", "named"),
    [
        ("_target_: bandits.policies.private_ucb.DPUCB\nepsilon: 1\nsplitt: 2\n", ["policy.splitt", "split_budget"]),
        ("_target_: bandits.policies.private_ucb.DPUCB\n", ["policy.epsilon", "missing"]),
        ("epsilon: 1\n", ["_target_", "missing"]),
        ("epsilon: [1\n", ["expected"]),
        ("_target_: bandits.policies.elimination.DPSE\nepsilon: ${budget.epsilonn}\n", ["budget.epsilonn"]),
        ("_target_: mine.Broken\n", ["_target_", "ZeroDivisionError"]),
        ("_target_: code.Nothing\n", ["_target_", "code.py"]),
        ("_target_: bandits.policies.elimination.DPSE\nepsilon: ${budget.epsilon\n", ["epsilon"]),
    ],
)
def test_a_users_broken_files_are_named(call, tmp_path, monkeypatch, yaml, named):
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "mine.yaml").write_text(yaml)
    (tmp_path / "mine.py").write_text("1 / 0\n")
    monkeypatch.setattr(sys, "path", sys.path[:])
    outcome = call("--config-dir", tmp_path, "policy=mine", f"results_dir={tmp_path}/results")
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    for word in named:
        assert word in outcome.err


@pytest.mark.parametrize("folder", ["file/results", "/proc/results"])
def test_where_nothing_can_be_written_nothing_is_simulated(call, tmp_path, monkeypatch, folder):
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("experiments.simulate.runners.Processes.run", lambda *_: pytest.fail("simulated in vain"))
    outcome = call("replications=1", "horizon=100", f"results_dir={folder}")
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert folder.partition("/")[0] in outcome.err
    assert "results_dir" in outcome.err


def test_a_full_disk_is_one_line(call, tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("experiments.store.whole_files.os.fsync", full)
    outcome = call("replications=1", "horizon=100", "runner.workers=1", f"results_dir={tmp_path}")
    assert outcome.code == 2
    assert "No space left on device" in outcome.err
    assert outcome.err.count("\n") == 1
    assert not list(tmp_path.rglob("*.parquet*"))
    outcome = call("policy", "foo", "--config-dir", tmp_path, main=new.main)
    assert (outcome.code, outcome.err) == (2, f"error: {tmp_path}/foo.py: No space left on device\n")


@pytest.mark.slow
def test_a_sweep_is_stored_once_and_not_computed_twice(call, tmp_path, monkeypatch):
    sweep = ["-m", "instance=c1,c2", "policy=dp_se,dp_ucb", "budget.epsilon=0.1,0.25"]
    sweep += ["replications=2", "horizon=1e4", f"results_dir={tmp_path}", "runner.workers=1"]
    first = call(*sweep)
    assert (first.code, first.err) == (0, "")  # no progress bar where there is no terminal
    assert "8 simulated (16 replications" in first.out
    assert len(list(tmp_path.glob("c?/*.parquet"))) == 8
    monkeypatch.setattr("experiments.simulate.runners.Processes.run", lambda *_: pytest.fail("simulated again"))
    assert "8 stored already, 0 simulated" in call(*sweep).out


def test_the_sweep_is_checked_before_anything_is_simulated(call, tmp_path):
    outcome = call("-m", "policy=dp_se,dp_ucb", "horizon=100,3", f"results_dir={tmp_path}", "replications=1")
    assert outcome.code == 2
    assert not list(tmp_path.rglob("*.parquet"))


def test_plan_shows_and_does_nothing(call, tmp_path):
    call("horizon=1e4", "replications=2", "runner.workers=1", f"results_dir={tmp_path}")
    files = sorted(tmp_path.rglob("*"))
    outcome = call("-m", "plan=true", "policy=dp_se,ucb1", "horizon=1e4", "replications=5", f"results_dir={tmp_path}")
    assert "2 cells: 0 stored, 2 to simulate, 8 replications" in outcome.out
    assert "?" not in outcome.out  # the results of this repository predict the seconds of ucb1
    assert sorted(tmp_path.rglob("*")) == files


def test_a_users_file_does_not_hide_ours_or_the_other_way_round(call, tmp_path):
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "dp_se.yaml").write_text("_target_: mine.DPSE\n")
    outcome = call("--config-dir", tmp_path, "policy=dp_se", f"results_dir={tmp_path}/results")
    assert outcome.code == 2
    assert "dp_se.yaml: this repository has a policy of that name" in outcome.err


def test_planning_leaves_a_damaged_file_where_it_is(call, tmp_path):
    asked = ["horizon=1e3", "replications=1", "runner.workers=1", f"results_dir={tmp_path}"]
    call(*asked)
    (file,) = tmp_path.rglob("*.parquet")
    file.write_bytes(b"")
    assert "1 to simulate" in call(*asked, "plan=true").out
    assert file.exists()
    assert "recomputing" in call(*asked).err


@pytest.mark.slow
def test_a_reader_that_closes_early_is_no_error():
    command = f"{sys.executable} -m experiments.run -m plan=true policy=dp_se,ucb1 horizon=1e3,1e4 | head -1"
    process = subprocess.run(command, shell=True, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert process.stderr == ""


def test_interrupted_runs_say_so(call, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("experiments.simulate.runners.Processes.run", interrupt)
    outcome = call("horizon=1e4", f"results_dir={tmp_path}")
    assert outcome.code == 130
    assert "interrupted" in outcome.err


def test_as_a_process_it_ends_with_code_2_and_no_traceback(tmp_path):
    process = subprocess.run(
        [sys.executable, "-m", "experiments.run", "policy=dpse", f"results_dir={tmp_path}"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 2
    assert process.stderr.startswith("error: policy=dpse: unknown policy; did you mean")
    assert process.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["2024", "null", "[a]", "", "' '"])
def test_a_folder_of_results_is_a_name(call, name):
    outcome = call("instance=c1", f"results_dir={name}", "plan=true")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert outcome.err.startswith("error: results_dir: must be a folder, got ")


OWN = """
# @package _global_
horizon: 500
replications: 3
results_dir: {results}
cells: [{{instance: c1, policy: idle}}, {{instance: c1, policy: ucb1}}]
figure: {{title: Own, panels: [{{title: a}}]}}
"""
IDLE = """
from dataclasses import dataclass

from bandits import StepwisePolicy
from bandits.guarantees import NOT_PRIVATE


@dataclass(frozen=True)
class Idle(StepwisePolicy):  # the first arm is the best: there is no regret
    name, label, citation, guarantee = "idle", "Idle", "none", NOT_PRIVATE

    def start(self, arms, horizon):
        return None

    def select(self, state, t, rng):
        return 0

    def update(self, state, arm, reward, rng):
        pass
"""
CLAIM = """
- {id: own-holds, where: here, claim: "It is idle.", experiments: [own], test: never, event: best_arm_behind,
   filter: {policy: idle}}
"""


@pytest.mark.slow
def _keys_of_folders() -> set[str]:
    """Each key of conf/config.yaml that names a folder and may not be null."""
    keys = Composer().compose([]).keys
    return {key for key in keys if key.endswith("_dir")} - {"published_dir", "reproduce_dir"}


FOLDERS = {  # a command that reads each
    "results_dir": running.main,
    "figures_dir": figures.main,
    "baselines_dir": check_figures.main,
    "check_dir": check_figures.main,
    "explore_dir": explore.main,
    "site_dir": site.main,
}


@pytest.mark.parametrize("key", sorted(_keys_of_folders()))
def test_a_folder_of_any_command_is_a_name(call, tmp_path, monkeypatch, key):
    monkeypatch.chdir(tmp_path)
    outcome = call("+experiment=sajed2019/fig03", f"{key}=null", main=FOLDERS[key])
    assert (outcome.code, outcome.err) == (2, f"error: {key}: must be a folder, got nothing\n")
    assert not list(tmp_path.iterdir())


def test_no_folder_of_a_config_is_used_unchecked():
    """`folder` refuses what is no text; `Path` would end in a traceback."""
    for package in ("experiments", "scripts"):
        for file in (REPOSITORY / package).rglob("*.py"):
            assert not re.search(r"Path\([\w.]*config\.\w+_dir\)", file.read_text()), file


def test_an_experiment_names_its_results_for_every_command(tmp_path):
    """Each in its own process, with a policy that only the folder has, whose results workers send to their parent."""
    texts = {
        "experiment/own.yaml": OWN.format(results=tmp_path / "own"),
        "policy/idle.yaml": "_target_: idle_policy.Idle\n",
        "idle_policy.py": IDLE,
        "claims/own.yaml": CLAIM,
    }
    for name, text in texts.items():
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / name).write_text(text.lstrip("\n"))
    asked, places = ["--config-dir", "mine", "+experiment=own"], [f"{name}_dir=out" for name in ("figures", "site")]
    here = [*asked, "runner.workers=1"]
    commands = {
        "experiments.run": (asked, "2 simulated"),
        "experiments.check": (here, "of 2 of 2 cells simulated again (0 cells left out for time): 0 cells different"),
        "experiments.reproduce": (here, "2 identical, 0 the same but for rounding, 0 different"),
        "scripts.figures": ([*here, places[0]], "out/own.pdf out/own.png"),
        "scripts.check_figures": ([*here, "baselines_dir=out", "accept=true"], "baseline written"),
        "scripts.site": ([*here, *places, "pages=papers"], "index.html (0 gaps)"),
        "scripts.tables": (["final_regret", "own", *asked[:2]], "Idle"),
        "experiments.claims": ([*asked[:2], "id=own-holds"], "own own-holds: holds"),
    }
    for module, (words, expected) in commands.items():
        out = python(tmp_path, "-m", module, *words)
        assert expected in out, f"{module}: {out}"
    assert len(list((tmp_path / "own").rglob("*.parquet"))) == 2
    rows = "from experiments import load; print(len(load('own', config_dirs=['mine'])))"
    assert int(python(tmp_path, "-c", rows)) == 2 * 3 * len(checkpoint_grid(500))


def python(folder, *words):
    """The output of a Python command, which must succeed without a warning."""
    run = forked.python(words, folder)
    assert (run.returncode, besides(run.stderr)) == (0, ""), f"{' '.join(words)}: {run.stderr}"
    return run.stdout


@pytest.mark.parametrize("name", documented_commands())
def test_every_command_answers_help_and_says_nothing_else(call, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # another test has imported the module
        answered = call("--help", main=lambda: runpy.run_module(name, run_name="__main__"))
    assert (answered.code, answered.err) == (0, "")
    assert answered.out
