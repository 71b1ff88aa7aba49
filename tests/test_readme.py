"""What the README tells to type works, and its numbers are those that its commands print."""

import re
import shlex
import subprocess
import sys

import numpy as np
import pytest

from bandits.environments.heavy_tails import S1, S2, S3
from bandits.policies.heavy_tailed import DPRSE
from experiments import load
from experiments.config.compose import REPOSITORY, Composer
from experiments.config.plan import plan
from experiments.store import RESULTS, Store, stored_cells
from scripts.drawing.kinds import rates

README = (REPOSITORY / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)
COMMANDS = [
    line.partition("#")[0].strip()
    for language, text in BLOCKS
    if language == "sh"
    for line in text.splitlines()
    if line.startswith(".venv/bin/python")
]
TARGETS = re.findall(r"^make (\w+)", README, flags=re.MULTILINE) + re.findall(r"`make (\w+)", README)


def files_of_the_example():
    return {match[1]: text for _, text in BLOCKS if (match := re.match(r"(?:# @.*\n)?# (mine/\S+)\n", text))}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the README's example files, from which its commands are typed."""
    folder = tmp_path_factory.mktemp("newcomer")
    for name, text in files_of_the_example().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def shell(folder, command, *more):
    words = [word.replace(".venv/bin/python", sys.executable) for word in shlex.split(command)]
    return subprocess.run([*words, *more], cwd=folder, capture_output=True, text=True, check=False)


def test_the_example_is_complete():
    assert set(files_of_the_example()) == {
        "mine/explore_then_commit.py",
        "mine/policy/explore_then_commit.yaml",
        "mine/experiment/mine.yaml",
        "mine/claims/mine.yaml",
        "mine/test_explore_then_commit.py",
    }


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_work(folder, command):
    own = "+experiment=mine" in command  # small, and later commands read its results
    smaller = ["horizon=20000", "replications=2"] if re.search(r"experiments\.run|figures", command) and not own else []
    if "experiments.run" in command and "results_dir" not in command and not own:
        smaller.append("results_dir=results")  # not this repository's
    process = shell(folder, command, *smaller)
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout


@pytest.mark.slow
def test_the_example_policy_was_run_and_drawn(folder):
    shell_results = list((folder / "mine" / "results").rglob("explore_then_commit-*.parquet"))
    assert len(shell_results) >= 5
    assert (folder / "mine" / "figures" / "sajed2019" / "fig01.pdf").exists()


@pytest.mark.slow
def test_the_example_conforms(folder):
    process = shell(folder, ".venv/bin/python -m pytest -q mine")
    assert process.returncode == 0, process.stdout


@pytest.mark.slow
def test_search_path_does_the_same(folder):
    mine = f"hydra.searchpath=[file://{folder}/mine]"
    process = shell(
        folder,
        ".venv/bin/python -m experiments.run policy=explore_then_commit results_dir=results",
        mine,
        "horizon=100",
    )
    assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.slow
def test_an_edited_policy_is_noticed(folder):
    command = ".venv/bin/python -m experiments.run --config-dir mine policy=explore_then_commit results_dir=mine/edited"
    assert shell(folder, command, "horizon=100", "replications=1").stderr == ""
    file = folder / "mine" / "explore_then_commit.py"
    text = file.read_text()
    file.write_text(text.replace("scale=1 / self.epsilon", "scale=2 / self.epsilon"))
    assert "raise its revision" in shell(folder, command, "horizon=100", "replications=1").stderr
    file.write_text(text.replace("ClassVar[int] = 1", "ClassVar[int] = 2"))
    process = shell(folder, command, "horizon=100", "replications=1")
    assert (process.stderr, "1 simulated" in process.stdout) == ("", True)
    file.write_text(text)


@pytest.mark.slow
def test_python_examples_work():
    (example,) = (text for language, text in BLOCKS if language == "python" and "load(" in text)
    exec(example, {})


def test_targets_exist():
    makefile = (REPOSITORY / "Makefile").read_text()
    assert len(TARGETS) >= 5
    for target in TARGETS:
        assert f"\n{target}:" in makefile


def test_printed_constants_do_not_finish_an_epoch():
    horizon = 10**7
    for instance in (S1(0.5), S2(0.5), S3(0.5)):
        for epsilon in (0.5, 1.0):
            assert 5 * DPRSE(epsilon).epoch(instance, 5, 1, horizon).rounds > horizon


@pytest.mark.slow
def test_local_pulls_grow_with_twice_the_printed_exponent():
    fitted = rates.fit(stored_cells(plan(["+experiment=tao2022/rates"], Composer()), Store(RESULTS)))
    assert len(fitted) == 4
    for rate in fitted:
        assert abs(rate.exponent - rate.consistent) < 0.1
        if rate.policy == "ldprse":
            assert rate.low > 1.9 * rate.printed


@pytest.mark.slow
def test_what_comes_out_is_what_the_ratios_say(folder):
    lines = shell(folder, ".venv/bin/python -m scripts.tables sajed2019/ratios").stdout.splitlines()[-2:]
    assert "surely at least 5 (whole interval) in 64," in lines[0]
    assert lines[1].startswith("tight")
    assert "at least 5 in 64" not in lines[1]


@pytest.mark.slow
@pytest.mark.parametrize("block", [text for language, text in BLOCKS if language == "python" and "# mine/" not in text])
def test_python_examples_run(block):
    outcome = subprocess.run([sys.executable, "-c", block], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (outcome.returncode, outcome.stderr) == (0, "")


@pytest.mark.slow
def test_what_is_said_of_wu2025_holds_in_the_data():
    regret = load("wu2025/open_questions").eval("regret * epsilon") / np.log(load("wu2025/open_questions").arms)
    assert regret.min() > 4
    assert regret.max() < 7  # log(K)^2 / epsilon would grow tenfold from K = 4 to K = 2^20


@pytest.mark.slow
def test_the_picture_is_the_figure(tmp_path, call):
    """Made by: python -m scripts.figures +experiment=sajed2019/fig01 figures_dir=docs"""
    from PIL import Image

    from scripts import figures

    call("+experiment=sajed2019/fig01", f"figures_dir={tmp_path}", main=figures.main)
    kept, drawn = (Image.open(folder / "sajed2019" / "fig01.png") for folder in (REPOSITORY / "docs", tmp_path))
    assert kept.size == drawn.size
    assert "](docs/sajed2019/fig01.png)" in README
    difference = np.asarray(kept.convert("RGB"), dtype=float) - np.asarray(drawn.convert("RGB"), dtype=float)
    assert np.abs(difference).mean() < 0.5
