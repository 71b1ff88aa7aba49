"""Recipes of the Makefile, as `make -n` prints them without running any."""

import os
import re
import shutil
import subprocess
import tomllib

import pytest

from experiments.config.compose import REPOSITORY

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed here")
TARGETS = ["setup", "figures", "site", "explore", "quick", "test", "lint", "check", "accept", "reproduce"]
TARGETS += ["audit", "mutants", "bench", "clean"]


def recipe(*words):
    """The commands of a target, one line each; without what `make test ARGS=...` tells another make."""
    alone = {name: value for name, value in os.environ.items() if not re.fullmatch("MAKE.*|MFLAGS|ARGS|FIG", name)}
    ended = subprocess.run(["make", "-n", *words], cwd=REPOSITORY, capture_output=True, text=True, env=alone)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.replace("\\\n", "").splitlines()


@pytest.mark.parametrize("target", TARGETS)
def test_another_environment_is_used_everywhere(target, tmp_path):
    """No command of a target names the usual one, and whatever runs Python runs that of the other."""
    lines = recipe(target, f"VENV={tmp_path}/other", "FIG=sajed2019/fig03")
    assert lines
    assert not any(re.search(r"(?<![\w/])\.venv\b", line) for line in lines), lines
    programs = {line.split()[0] for line in lines if re.search(r"(bin/|^)(python|ruff|mypy|pip)\S* ", line)}
    made = {program for program in programs if not program.startswith(f"{tmp_path}/other/bin/")}
    assert made <= {"python3"}, "which makes the environment"
    assert any(f"{tmp_path}/other" in line for line in lines)


def test_the_lock_is_made_with_what_tests_need():
    (line,) = recipe("lock")
    assert re.search(r" --extra dev\b", line)
    assert re.search(r" --universal\b", line)
    assert line.split()[-2:] == ["--output-file", "requirements.lock"]


def test_the_lock_has_what_tests_need():
    """Every package of the extra `dev`, and of the extras that it contains."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    waiting, names = ["dev"], set()
    while waiting:
        for requirement in project["optional-dependencies"][waiting.pop()]:
            name, _, extras = re.match(r"([\w.-]+)(\[([\w,-]+)\])?", requirement).groups()
            if name == project["name"]:
                waiting += extras.split(",")
            else:
                names.add(name.lower())
    locked = re.findall(r"(?m)^([\w.-]+)(?:\[[\w,-]+\])?==", (REPOSITORY / "requirements.lock").read_text())
    assert {"pytest", "ruff", "opendp"} <= names
    assert names <= {name.lower() for name in locked}


def test_targets_get_figures_and_further_words():
    def words(*asked):
        """What the environment's Python runs."""
        return [line.split(" -m ", 1)[1].split() for line in recipe(*asked, "-o", ".venv/ready")]

    (two,) = words("figures", "FIG=sajed2019/fig03 sajed2019/fig04", "ARGS=horizon=1e4")
    assert two == [
        "scripts.figures",
        "-m",
        "+experiment=sajed2019/fig03,sajed2019/fig04",
        "complete=true",
        "horizon=1e4",
    ]
    assert words("figures") == [["scripts.figures", "complete=true"]]
    one = ["-m", "+experiment=sajed2019/fig03"]
    assert words("accept", "FIG=sajed2019/fig03") == [["scripts.check_figures", *one, "accept=true"]]
    assert words("check", "FIG=sajed2019/fig03") == [
        ["experiments.check", *one],
        ["scripts.check_figures", *one],
        ["scripts.bench.guard"],
    ]
    assert ["experiments.claims", "strict=true"] in words("check")


def test_quick_runs_neither_slow_tests_nor_a_browser():
    quick, whole = (recipe(target, "-o", ".venv/ready", "ARGS=-k leader")[-1] for target in ("quick", "test"))
    assert quick.endswith('-m pytest -n auto -m "not slow and not browser" -k leader')
    assert whole.endswith("-m pytest -n auto -k leader")
