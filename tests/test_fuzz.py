"""Random input gives a correct answer or an error of one line, and changes nothing else.

Half of the cases are arguments, half are files. CASES=2000 in the environment tries more than the usual 200. A few more
are classes of a user, edited between runs.
"""

import os
import re
import string
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from experiments.config.compose import CONF, REPOSITORY, Composer
from experiments.config.overrides import PARTS
from experiments.config.plan import plan
from experiments.store import Store

CASES = int(os.environ.get("CASES", "200"))
MANY = settings(
    max_examples=CASES // 2,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],  # shrinking takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
WATCHED = ("conf", "results", "docs", "runs", "figures", "report", "scratch")


def watched():
    """The files of the repository that a command might change, with their times of modification."""
    folders = [REPOSITORY / name for name in WATCHED]
    found = [path for folder in folders if folder.exists() for path in folder.rglob("*")]
    return {path: path.stat().st_mtime_ns for path in [*found, *REPOSITORY.iterdir()] if path.is_file()}


@pytest.fixture(scope="module", autouse=True)
def nothing_else_changes(tmp_path_factory):
    """No case changes a file of the repository, or leaves one in the current folder."""
    before, typed = watched(), tmp_path_factory.mktemp("typed")
    home = Path.cwd()
    os.chdir(typed)
    yield
    os.chdir(home)
    assert watched() == before
    assert list(typed.iterdir()) == []


def is_fine(outcome, words):
    """Exit code 0 with an answer, or 1 or 2 with one readable line instead of a traceback."""
    report = f"{words}\n{outcome.out}\n{outcome.err}"
    lines = [line for line in outcome.err.splitlines() if line and not line.startswith("warning: ")]
    assert "Traceback" not in report, report
    if outcome.code == 0:
        assert outcome.out, report
        assert lines == [], report
        return
    assert outcome.code in (1, 2), report
    assert len(lines) == 1, report
    assert lines[0].startswith("error: "), report
    assert len(lines[0]) < 2_000, report
    assert not re.search(r"did you mean (\S+)\?", lines[0]) or _suggests_another(lines[0]), report


def _suggests_another(line):
    """Whether the suggested word differs from the refused one."""
    refused, suggested = line.removeprefix("error: ").partition(":")[0], re.search(r"did you mean (\S+)\?", line)
    return suggested[1] != refused.rpartition("=")[2]


NAMES = sorted(
    {
        *yaml.safe_load((CONF / "config.yaml").read_text()),
        *(f"{part}.{key}" for part in PARTS for key in ("arms", "epsilon", "name", "_target_", "beta", "scale")),
        *("budget.epsilon", "budget.delta", "runner.workers", "hydra.run.dir", "figure.kind", "experiment", "cells.0"),
    }
)
VALUES = st.one_of(
    st.sampled_from(
        [
            *(
                "",
                "null",
                "true",
                "nan",
                "inf",
                "-inf",
                "-1",
                "0",
                "1",
                "1e18",
                "1e300",
                "1e-300",
                "2.5",
                "0x10",
                "1_000",
            ),
            *(
                "[]",
                "{}",
                "[c1,c2]",
                "{a: 1}",
                "[[1]]",
                "[nan]",
                "c1,c2",
                "dp_se",
                "dpse",
                "DP_SE",
                "c1",
                "C1",
                "s1",
                "tight",
            ),
            *(
                "${horizon}",
                "${nothing}",
                "${",
                "$",
                "'",
                '"',
                "\\",
                "a b",
                "a=b",
                "../../evil",
                "/etc/passwd",
                "%",
                "é",
                "💥",
            ),
            *(
                "os.system",
                "bandits.policies.elimination.DPSE",
                "5",
                "x" * 300,
                "glob(*)",
                "range(1,4)",
                "choice(c1,c2)",
            ),
        ]
    ),
    st.integers(-(10**20), 10**20).map(str),
    st.floats().map(str),
    st.text(string.printable, max_size=8),
)
KEYS = st.one_of(
    st.sampled_from(NAMES),
    st.sampled_from(NAMES).flatmap(lambda name: st.integers(0, len(name)).map(lambda at: name[:at] + name[at + 1 :])),
    st.text(string.ascii_letters + "._@/:+~ ", max_size=8),
)
WORDS = st.one_of(
    st.builds(
        lambda sign, key, value: f"{sign}{key}={value}", st.sampled_from(["", "", "", "+", "++", "~"]), KEYS, VALUES
    ),
    st.builds(lambda key: f"~{key}", KEYS),
    st.sampled_from(["-m", "--multirun", "--config-dir", "--nothing", "=", "", " ", "+experiment=sajed2019/fig03"]),
    st.text(string.printable, max_size=10),
)


@pytest.mark.slow
@MANY
@given(words=st.lists(WORDS, min_size=1, max_size=3))
def test_words_of_the_shell(call, tmp_path_factory, words):
    folder = tmp_path_factory.mktemp("words")
    kept = ["plan=true", f"results_dir={folder}"]
    is_fine(call(*words, *kept), words)


EXPERIMENT = {
    "horizon": 2_000,
    "replications": 2,
    "cells": [
        {"instance": "c1", "instance.arms": [2, 3], "policy": ["dp_se", "ucb1"], "budget.epsilon": [0.5, 1]},
        {"instance": "c2", "policy": "dp_ucb", "policy.confidence": "tight", "budget": "pure"},
    ],
    "figure": {"title": "mine", "panels": [{"title": "(a)", "instance": "c1"}, {"title": "(b)", "instance": "c2"}]},
}
HOSTILE = st.one_of(
    st.sampled_from(
        [None, True, -1, 0, 1e300, float("nan"), "", "hello", [], {}, [[]], {"a": 1}, "${x}", "$\\frac{$", ["c1"]]
    ),
    st.integers(),
    st.text(max_size=5),
)


def places_in(node, place=()):
    """The path of every value in nested lists and mappings."""
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [found for key, value in inner for found in [(*place, key), *places_in(value, (*place, key))]]


@st.composite
def broken_experiments(draw):
    """An experiment with one to three keys dropped, misspelled, set to something else, or put a level deeper."""
    config = yaml.safe_load(yaml.safe_dump(EXPERIMENT))
    for _ in range(draw(st.integers(1, 3))):
        if not (places := places_in(config)):
            break
        *path, last = draw(st.sampled_from(places))
        node = config
        for key in path:
            node = node[key]
        value = node.pop(last)
        change = draw(st.sampled_from(["drop", "misspell", "retype", "nest"]))
        if change == "drop":
            continue
        key = f"{last}{draw(st.sampled_from('xs_ '))}" if change == "misspell" and isinstance(node, dict) else last
        new = draw(HOSTILE) if change == "retype" else {key: value} if change == "nest" else value
        node[key] = new if isinstance(node, dict) else node.insert(key, new)
        if isinstance(node, list):
            node.pop()
    return config


@pytest.mark.slow
@MANY
@given(config=broken_experiments(), header=st.sampled_from(["# @package _global_\n"] * 9 + [""]))
def test_files_of_experiments(call, tmp_path_factory, config, header):
    mine = tmp_path_factory.mktemp("mine")
    (mine / "experiment").mkdir()
    (mine / "experiment" / "own.yaml").write_text(header + yaml.safe_dump(config, allow_unicode=True))
    words = ["--config-dir", str(mine), "+experiment=own", "plan=true", f"results_dir={mine}/results"]
    is_fine(call(*words), yaml.safe_dump(config))


OWN = """
import os
import signal
from dataclasses import dataclass
import numpy as np
from bandits import StepwisePolicy
from bandits.guarantees import NOT_PRIVATE
from fuzz_helper import shift

@dataclass(frozen=True)
class Mine(StepwisePolicy):
    name, label, citation = "mine", "Mine", "none"
    guarantee = NOT_PRIVATE

    def start(self, arms, horizon):
        return []

    def select(self, state, t, rng):
        arm = {arm}
        {line}
        return shift(arm)

    def update(self, state, arm, reward, rng):
        pass
"""
HELPER = "from fuzz_deep import SHIFT\n\n\ndef shift(arm):\n    return (arm + SHIFT) % 3\n"
HARMLESS = ("pass", "state.append(rng.random())", "assert t", "# a comment\n        pass")
WRONG = (
    "os.fork()",
    "os.kill(os.getpid(), signal.SIGTERM)",
    "os.kill(os.getppid(), signal.SIGKILL)",
    "signal.raise_signal(signal.SIGINT)",
    "os._exit(3)",
    "raise KeyboardInterrupt",
    "raise BaseException('gone')",
    "arm += os.getpid() + t",
    "1 / 0",
)
EDITS = st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from(HARMLESS * 2 + WRONG))


@pytest.mark.slow
@settings(MANY, max_examples=max(3, CASES // 40))
@given(edits=st.lists(EDITS, min_size=3, max_size=5))
def test_edits_of_own_code(call, tmp_path_factory, edits):
    """Whatever is edited between runs, every stored number belongs to the code of its run."""
    mine = tmp_path_factory.mktemp("edited")
    (mine / "policy").mkdir()
    (mine / "policy" / "mine.yaml").write_text("_target_: fuzz_own.Mine\n")
    (mine / "fuzz_helper.py").write_text(HELPER)
    asked = ["policy=mine", "instance=c1", "instance.arms=3", "horizon=50", f"results_dir={mine}/results"]
    for number, (arm, shift, line) in enumerate(edits):
        (mine / "fuzz_own.py").write_text(OWN.format(arm=arm, line=line))
        (mine / "fuzz_deep.py").write_text(f"SHIFT = {shift}\n")
        outcome = call("--config-dir", mine, *asked, f"replications={number + 3}")
        (request,) = plan([asked], Composer([mine]))[0].requests
        stored = Store(mine / "results").read(request.cell)
        report = f"{edits} {number}\n{outcome.out}\n{outcome.err}"
        assert "Traceback" not in report, report
        if line in WRONG:
            assert (outcome.code, stored) == (1, None), report
            assert outcome.err.startswith("error: mine: "), report
        else:
            assert (outcome.code, outcome.err) == (0, ""), report
            assert stored.replications >= number + 3, report
            assert np.allclose(stored.regret[:, -1], 50 * request.cell.instance.gaps[(arm + shift) % 3]), report
