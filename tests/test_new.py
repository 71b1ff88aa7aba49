"""`python -m experiments.new policy NAME` writes the example of the README under a new name, and it runs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bandits.conformance import CHECKS
from experiments.config.compose import REPOSITORY
from experiments.errors import UserError
from experiments.new import BATCHED, PAPER, commands, missing, write_policy
from tests import forked
from tests.waiting import besides

README = (REPOSITORY / "docs" / "your_own.md").read_text()


def block(begins):
    """A block of code in the README, without its fences."""
    (found,) = re.findall(rf"^```\w+\n({re.escape(begins)}.*?)^```", README, flags=re.MULTILINE | re.DOTALL)
    return found


def test_the_template_is_the_example_of_the_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in write_policy("explore_then_commit", tmp_path / "mine"):
        place = file.relative_to(tmp_path).as_posix()
        assert file.read_text() == block(f"# {place}\n")


def test_the_commands_are_those_of_the_readme(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.orig_argv", [".venv/bin/python", "-m", "experiments.new"])
    shown = re.sub(r" \\\n\s*", " ", README)
    folder = write_policy("explore_then_commit", tmp_path / "mine")[0].parent.relative_to(tmp_path)
    lines = commands("explore_then_commit", folder)
    assert len(lines) == 5
    for line in lines[:3]:
        assert f"\n{line}\n" in shown


SMALLER = {"horizon=1e5": "horizon=1e4", "replications=4": "replications=2", "runs=2e4": "runs=2e3"}
ONE_RIVAL = ["instance=c2", "against=dp_se", "horizon=1e4"]
MORE = {
    "experiments.run": ["policy.rounds=500", "runner.workers=1"],
    "scripts.figures": ["runner.workers=1"],
    "experiments.audit": ["runner.workers=1"],
    "scripts.compare": [*ONE_RIVAL, "replications=2", "runner.workers=1"],
}


@pytest.mark.slow
def test_the_commands_work_as_printed(tmp_path):
    process = forked.python(["-m", "experiments.new", "policy", "first_try", "--config-dir", "my own"], tmp_path)
    assert (process.returncode, process.stderr) == (0, "")
    printed = process.stdout.splitlines()
    assert printed[:2] == ["my own/first_try.py", "my own/policy/first_try.yaml"]
    typed = [shlex.split(line)[1:] for line in printed if " -m " in line]
    modules = ["experiments.run", "scripts.figures", "experiments.audit", "scripts.examine", "scripts.compare"]
    assert [words[1] for words in typed] == modules
    for words in [*typed[:3], typed[4]]:  # tests/scripts/test_examine.py tests the other one
        small = [SMALLER.get(word, word) for word in words]
        process = forked.python([*small, *MORE.get(words[1], [])], tmp_path)
        assert (process.returncode, besides(process.stderr)) == (0, "")
        assert process.stdout
    assert (tmp_path / "my own" / "figures" / "sajed2019" / "fig01.png").exists()
    assert list((tmp_path / "my own" / "results").rglob("first_try-*.parquet"))
    assert (tmp_path / "my own" / "figures" / "first_try.tex").exists()


@pytest.mark.slow
def test_a_policy_in_batches_works_as_printed(tmp_path):
    """The commands, outside of the repository, at the printed horizon of 5e7 steps; and its own tests."""
    process = forked.python(["-m", "experiments.new", "policy", "in_batches", "--batched"], tmp_path)
    assert (process.returncode, process.stderr) == (0, "")
    printed = process.stdout.splitlines()
    assert printed[:3] == ["mine/in_batches.py", "mine/policy/in_batches.yaml", "mine/test_in_batches.py"]
    typed = [shlex.split(line)[1:] for line in printed if " -m " in line]
    modules = [
        "experiments.run",
        "scripts.figures",
        "experiments.audit",
        "scripts.examine",
        "scripts.compare",
        "pytest",
    ]
    assert [words[1] for words in typed] == modules
    assert "horizon=5e7" in typed[0]
    for words in (typed[0], typed[2], typed[4]):
        small = [SMALLER.get(word, word) for word in words]
        process = forked.python([*small, *(MORE[words[1]] if words[1] != "experiments.run" else [])], tmp_path)
        assert (process.returncode, besides(process.stderr)) == (0, "")
    tests = subprocess.run([sys.executable, *typed[5]], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (tests.returncode, f"{1 + len(CHECKS)} passed" in tests.stdout) == (0, True)


@pytest.mark.slow
def test_the_law_test_of_batches_sees_noise_that_only_one_form_has(tmp_path):
    write_policy("in_batches", tmp_path, BATCHED)
    file = tmp_path / "in_batches.py"
    file.write_text(file.read_text().replace("run.end(total + rng.laplace(scale=1 / self.epsilon))", "run.end(total)"))
    words = ["-m", "pytest", "-q", "test_in_batches.py", "-k", "law"]
    tests = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (tests.returncode, "1 failed" in tests.stdout) == (1, True)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dp_se", "bandits.policies.elimination.DPSE has that name"),
        ("dp_se_deployable", "has that name"),
        ("2nd", "lower_case_with_underscores"),
        ("MyPolicy", "lower_case_with_underscores"),
        ("my-policy", "lower_case_with_underscores"),
        ("../outside", "lower_case_with_underscores"),
        ("lambda", "lower_case_with_underscores"),
        ("none", "lower_case_with_underscores"),
        ("null", "lower_case_with_underscores"),
        ("random", "Python has a module of that name"),
        ("guarantee", "would be called Guarantee"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused(tmp_path, name, message):
    with pytest.raises(UserError, match=message) as refused:
        write_policy(name, tmp_path / "mine")
    assert str(refused.value).startswith(f"{name}: ")
    assert not list(tmp_path.rglob("*"))


@pytest.mark.parametrize("file", ["first_try.py", "policy/first_try.yaml"])
def test_files_that_exist_are_kept(tmp_path, file):
    known = tmp_path / file
    known.parent.mkdir(exist_ok=True)
    known.write_text("mine\n")
    with pytest.raises(UserError, match=f"{file}: exists already"):
        write_policy("first_try", tmp_path)
    assert known.read_text() == "mine\n"
    assert [of for of in tmp_path.rglob("*") if of.is_file()] == [known]


def test_wrong_words_are_one_line(tmp_path):
    for words in (["policies", "mine"], ["policy"], ["policy", "mine", "horizon=3"]):
        process = forked.python(["-m", "experiments.new", *words], tmp_path)
        assert process.returncode == 2
        assert process.stderr.startswith("error: ")
        assert process.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_paper_works_as_printed(tmp_path):
    process = forked.python(["-m", "experiments.new", "paper", "doe2026", "--config-dir", "theirs"], tmp_path)
    assert (process.returncode, process.stderr) == (0, "")
    printed = process.stdout.splitlines()
    files = [tmp_path / line for line in printed[: printed.index("")]]
    assert len(files) == 7
    assert all(file.is_file() for file in files)
    typed = [shlex.split(line)[1:] for line in printed if " -m " in line]
    assert [words[1] for words in typed] == ["scripts.figures", "experiments.claims", "scripts.site"]
    answers = [forked.python(words, tmp_path) for words in typed]
    assert [(answer.returncode, besides(answer.stderr)) for answer in answers] == [(0, "")] * 3
    assert "doe2026-beats-dp-se: fails" in answers[1].stdout
    assert "0 gaps" in answers[2].stdout


def test_what_is_to_be_filled_in_is_named(tmp_path):
    files = write_policy("doe2026", tmp_path, PAPER)
    lines = missing(files)
    assert f"{tmp_path}/papers/doe2026.yaml:3: year: 2026 # FILL IN" in lines
    assert {line.partition(":")[0] for line in lines} == {str(file) for file in files[2:]}
    for line in lines:
        name, number, text = line.split(":", 2)
        assert Path(name).read_text().splitlines()[int(number) - 1].strip() == text.strip()


def test_a_paper_is_not_batched(tmp_path):
    process = forked.python(["-m", "experiments.new", "paper", "doe2026", "--batched"], tmp_path)
    assert (process.returncode, process.stderr) == (2, "error: --batched: is for a policy\n")
