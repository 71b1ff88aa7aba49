"""Overrides: a wrong one is a one-line error, a paper stands for its experiments, a sweep is composed once."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.config import compose
from experiments.config.command_line import jobs_of, read_command_line
from experiments.config.compose import REPOSITORY, Composer
from experiments.config.overrides import GROUPS, parsed
from experiments.config.plan import plan
from experiments.errors import UserError

LONG = "a" * 300
FULL = Path("/dev/full")
WRONG = {
    "~policy": "~policy: a key cannot be removed",
    "~horizon": "~horizon: a key cannot be removed",
    "+x=1": "+x=1: nothing reads this key",
    "++policy.beta=1": "++policy.beta=1: nothing reads this key",
    "instance=[c1,c2]": "instance: must be one name, got [c1,c2]; for several runs: -m instance=c1,c2",
    "instance={arms: 3}": "instance: must be a name, got {arms: 3}",
    "policy=5": "policy: must be the name of a choice, got 5",
    "policy=null": "policy: must be the name of a choice, got None",
    "policy@here=dp_se": "policy@here=dp_se: leave out @here",
    "policy=../policy/dp_se": "policy=../policy/dp_se: unknown policy",
    "+experiment=../experiment/sajed2019/fig01": "unknown experiment",
    "policy._target_=5": "_target_: must be MODULE.CLASS, got 5",
    "policy._target_=DPSE": "_target_: must be MODULE.CLASS, got DPSE",
    "instance.arms=1e18": "instance.arms: must be a whole number >= 2 (and at most 1000000)",
    "instance.arms=1e300": "instance.arms: must be a whole number >= 2",
    "budget.epsilon=1e300": "budget.epsilon: must be a finite number > 0 (in 1e-100..1e100)",
    "budget.epsilon=${nothing}": "policy.epsilon: Interpolation key 'nothing' not found",
    "recorded=1e12": "recorded: must be at most 1000000",
    "replications=1e12": "replications: must be at most 1000000000",
    "runner.workers=1e9": "runner.workers: must be at most 1024",
    "hydra=5": "hydra: unknown key; of Hydra's own keys only hydra.searchpath",
    "hydra.run.dir=here": "hydra.run.dir: unknown key",
    "hydra.searchpath=5": "hydra.searchpath: must be a list of folders",
    "horizon.x=3": "horizon.x: unknown key; horizon has no keys below it",
    "budget.epsilon=0.1,0.2": "several values need --multirun: add -m",
    "+experiment=glob(sajed2019/*)": "several values need --multirun: add -m",
    "cells=[{policy: [[dp_se]]}]": "cells: item 1: policy: must be the name of a choice",
    "cells=[{policy: {a: 1}}]": "cells: item 1: policy: must be the name of a choice",
    "cells=[{policy: []}]": "cells: item 1: policy: must be a value or a list of values, got none",
    "cells=[{5: 5}]": "cells: item 1: 5: must be a key",
    f"policy={LONG}": f"policy={LONG}: unknown policy",
    f"+experiment={LONG}": f"experiment={LONG}: unknown experiment",
    f"results_dir=/tmp/{LONG}": "File name too long",
    f"--config-dir=/tmp/{LONG}": f"/tmp/{LONG}",
    "--config-dir=~nobody.at.all": "--config-dir ~nobody.at.all: no such folder",
    "--nothing": "--nothing: unknown option",
    "--cfg=all-of-it": "invalid choice: 'all-of-it'",
    "--config-dir": "expected one argument",
    "a=b=c": "a=b=c: cannot be read",
    "horizn=3": "horizn: unknown key; did you mean horizon",
}


def test_a_wrong_word_is_one_line(call, tmp_path):
    for word, named in WRONG.items():
        workers = [] if word.startswith("runner") else ["runner.workers=1"]
        defaults = ["horizon=100", *workers, f"results_dir={tmp_path}/results"]
        outcome = call(*(given for given in defaults if given.partition("=")[0] != word.partition("=")[0]), word)
        assert (outcome.code, outcome.err.count("\n")) == (2, 1), outcome.err
        assert outcome.err.startswith("error: ")
        assert named in outcome.err
        assert not list(tmp_path.rglob("*.parquet"))


NODES = [
    "horizon",
    "replications",
    "recorded",
    "exact",
    "weighted",
    "cells",
    "figure",
    "policy.beta",
    "policy._target_",
]
NODES += ["hydra"]
PARAMETERS = ["instance.arms", "budget.epsilon", "budget.delta", "profile.gap", "runner.workers", "horizn"]
KEYS = st.sampled_from([*GROUPS, "+experiment", *NODES, *PARAMETERS])
NAMES = st.sampled_from(
    ["c1", "dp_se", "dp_ucb", "sajed2019/fig01", "approximate", "one_gap", "nowhere", ".", "..", ""]
)
NUMBERS = st.one_of(st.integers(), st.floats(), st.sampled_from([0, -1, 1e18, 1e300, 0.5])).map(str)
SIMPLE = st.one_of(NAMES, NUMBERS, st.sampled_from(["null", "true", "[]", "{}", "${x}", "${policy}", "'", "???", "~"]))
VALUES = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]"),
        st.tuples(KEYS, inner).map(lambda pair: f"{{{pair[0]}: {pair[1]}}}"),
        st.tuples(inner, inner).map(",".join),
        inner.map(lambda text: f"glob({text})"),
        st.text(max_size=5),
    ),
    max_leaves=4,
)
WORDS = st.tuples(st.sampled_from(["", "", "", "+", "++", "~"]), KEYS, VALUES).map(
    lambda parts: "{}{}={}".format(*parts)
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS, min_size=1, max_size=3), st.booleans())
def test_any_words_are_planned_or_one_line(call, tmp_path, words, several):
    outcome = call(*["-m"] * several, *words, f"results_dir={tmp_path}/results", "plan=true")
    assert outcome.code in (0, 2)
    if outcome.code:
        assert re.fullmatch(r"error: \S.*\n", outcome.err), outcome.err
    assert not list(tmp_path.iterdir())


def jobs(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["command", *words])
    return read_command_line().jobs


def test_a_paper_is_all_its_experiments(monkeypatch):
    of_paper = [f"+experiment={name}" for name in Composer().choices("experiment") if name.startswith("tao2022/")]
    assert len(of_paper) > 4
    for asked in (["+experiment=tao2022"], ["+experiment=tao2022/"], ["-m", "+experiment=glob(tao2022/*)"]):
        assert jobs(monkeypatch, *asked) == [[name] for name in of_paper]
    both = jobs(monkeypatch, "-m", "+experiment=tao2022,sajed2019/fig01", "horizon=1e5,1e6")
    assert both[:2] == [[of_paper[0], "horizon=100000.0"], [of_paper[0], "horizon=1000000.0"]]
    assert both[-1] == ["+experiment=sajed2019/fig01", "horizon=1000000.0"]
    assert len(both) == 2 * (len(of_paper) + 1)


def test_globs_choose_from_every_group(monkeypatch):
    assert jobs(monkeypatch, "-m", "instance=glob(c?)") == [[f"instance=c{number}"] for number in (1, 2, 3, 4)]
    chosen = jobs(monkeypatch, "-m", "instance=glob(c*,exclude=[c2,c3])", "horizon=range(1,4)")
    assert chosen[0] == ["instance=c1", "horizon=1"]
    assert len(chosen) == 2 * 3


@pytest.mark.parametrize("word", ["+experiment=glob(nothing*)", "policy=glob([])", "horizon=glob(*)"])
def test_a_glob_that_means_nothing_is_one_line(call, word):
    outcome = call("-m", word, "plan=true")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert f"error: {word}: matches no choice" in outcome.err


def test_a_sweep_is_composed_once(monkeypatch):
    composed, create = [], compose.create_defaults_list
    monkeypatch.setattr(compose, "create_defaults_list", lambda *given: composed.append(given) or create(*given))
    monkeypatch.setattr(sys, "argv", ["command", "-m", "budget.epsilon=range(1,31)", "horizon=1e4,1e5"])
    command = read_command_line()
    assert len(command.plans()) == 60
    assert len(composed) == 1


def test_one_composer_is_made_and_keeps_the_name_of_its_config(monkeypatch):
    made, create = [], Composer.__init__
    monkeypatch.setattr(Composer, "__init__", lambda self, *given: made.append(self) or create(self, *given))
    monkeypatch.setattr(sys, "argv", ["command", "horizon=1e4"])
    command = read_command_line("audit")
    (planned,) = command.plans()
    assert made == [command.composer] == [planned.composer]
    assert command.composer.config_name == "audit"


def test_folders_may_have_any_name(call, tmp_path):
    folder = tmp_path / "it's, [mine] = a b"
    (folder / "policy").mkdir(parents=True)
    (folder / "policy" / "sure.yaml").write_text("defaults: [dp_se]\nbeta: 0.5\n")
    asked = ["policy=sure", "plan=true", f"results_dir={tmp_path}/results"]
    for places in (["--config-dir", folder], [f"--config-dir={folder}"], ["-cd", folder]):
        assert "dp_se" in call(*places, *asked).out


def command(*words, **options):
    return subprocess.Popen(
        [sys.executable, "-m", *words], cwd=REPOSITORY, stderr=subprocess.PIPE, text=True, **options
    )


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="a device of Linux")
@pytest.mark.parametrize("words", [["--help"], ["plan=true"]], ids=" ".join)
def test_output_that_cannot_be_written_is_one_line(words):
    with FULL.open("w") as full, command("experiments.run", *words, stdout=full) as process:
        error = process.stderr.read()
    assert (process.returncode, error) == (2, "error: standard output: No space left on device\n")


@pytest.mark.slow
@pytest.mark.parametrize("module", ["experiments.run", "experiments.claims", "scripts.figures", "scripts.tables"])
def test_an_interrupted_import_is_one_line(module, tmp_path):
    """The interruption comes during the first import of a library by a command."""
    (tmp_path / "numpy.py").write_text("raise KeyboardInterrupt\n")
    (tmp_path / "omegaconf.py").write_text("raise KeyboardInterrupt\n")
    with command(module, env={**os.environ, "PYTHONPATH": str(tmp_path)}, stdout=subprocess.PIPE) as process:
        error = process.stderr.read()
    assert error == "interrupted\n"
    assert process.wait() == -signal.SIGINT


def test_a_number_for_a_choice_is_refused_as_before():
    with pytest.raises(UserError, match=r"^policy: must be the name of a choice, got 5$"):
        parsed("policy=5")


def test_a_number_of_the_environment_is_a_number(monkeypatch):
    monkeypatch.setenv("EPS", "0.5")
    by_name, by_number = (
        plan([[f"budget.epsilon={value}", "policy=dp_se", "instance=c2"]], Composer())[0].requests[0].cell.key
        for value in ("${oc.env:EPS}", "0.5")
    )
    assert by_name == by_number


@pytest.mark.parametrize(
    "words",
    [
        ["horizon=range(1,1000000001)"],
        [f"{key}=range(0,1000)" for key in ("horizon", "replications", "budget.epsilon")],
    ],
)
def test_a_sweep_of_too_many_jobs_is_refused_with_their_number(words):
    with pytest.raises(UserError, match=r": 1,000,000,000 jobs; one command takes at most 1,000,000$"):
        jobs_of(words, True, Composer())
