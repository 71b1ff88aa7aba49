"""Whatever a class of the user does, it ends in one line that names it, and nothing wrong is stored."""

import dataclasses
import sys

import pytest

from bandits.environments.bernoulli import C1
from bandits.policies.ucb import UCB1
from experiments import own_code
from experiments.cells.regret import RegretCell
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.errors import UserError

POLICY = """
import os
import random
import time
from dataclasses import dataclass

import numpy as np

from bandits import Guarantee, ParameterError, StepwisePolicy
from bandits.guarantees import NOT_PRIVATE
{top}

@dataclass({frozen})
class Mine(StepwisePolicy):
    name, label, citation = "{name}", "Mine", "none"
    count, seen = 0, []
    beta: float = 0.5
    {body}

    @property
    def guarantee(self):
        {guarantee}

    def check(self, instance):
        {check}

    def start(self, arms, horizon):
        return None

    def select(self, state, t, rng):
        {select}

    def update(self, state, arm, reward, rng):
        pass
"""
PLAIN = {
    "top": "",
    "frozen": "frozen=True",
    "name": "mine",
    "body": "",
    "guarantee": "return NOT_PRIVATE",
    "check": "pass",
    "select": "return int(rng.integers(5))",
}


@pytest.fixture
def users(call, tmp_path, monkeypatch):
    """Run a policy of one's own, of which some lines are other ones."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(own_code, "_seen", set())

    def users(*words, module="mine_policy", **lines):
        folder = tmp_path / "mine"
        (folder / "policy").mkdir(parents=True, exist_ok=True)
        (folder / "policy" / "mine.yaml").write_text(f"_target_: {module}.Mine\nbeta: 0.5\n")
        (folder / f"{module}.py").write_text(POLICY.format(**PLAIN | lines))
        sys.modules.pop(module, None)
        asked = ["policy=mine", "horizon=50", "replications=7", "runner.workers=1", f"results_dir={tmp_path}/results"]
        return call("--config-dir", folder, *asked, *words)

    yield users
    sys.modules.pop("mine_policy", None)


def stored(folder):
    return list(folder.rglob("*.parquet"))


def test_a_policy_that_behaves_is_stored(users, tmp_path):
    outcome = users()
    assert (outcome.code, outcome.err) == (0, "")
    assert len(stored(tmp_path)) == 1


AT_PLANNING = {
    "exits at import": ({"top": "raise SystemExit(0)"}, "it ends the program: 0"),
    "raises at import": ({"top": "1 / 0"}, "ZeroDivisionError"),
    "is not frozen": ({"frozen": ""}, "is not frozen; write @dataclass(frozen=True)"),
    "exits when made": ({"body": "def __post_init__(self): raise SystemExit(3)"}, "it ends the program: 3"),
    "raises when made": ({"body": "def __post_init__(self): self.x"}, "AttributeError"),
    "has no guarantee": ({"guarantee": "return 1 / 0"}, "ZeroDivisionError: division by zero ("),
    "has a wrong guarantee": ({"guarantee": "return None"}, "must be a bandits.Guarantee, got None"),
    "exits in check": ({"check": "raise SystemExit"}, "it ends the program"),
    "raises in check": ({"check": "raise KeyError('a\\n\\nb')"}, "KeyError"),
    "has the name of ours": ({"name": "dp_se"}, "has the name dp_se of bandits.policies.elimination.DPSE; give it"),
    "has a list for a name": ({"body": "name = ['mine']"}, "TypeError"),
    "has a wrong name": ({"name": "../evil"}, "is no name"),
    "caveats raise": ({"body": "def caveats(self, instance, horizon): raise ValueError('no')"}, "ValueError: no"),
    "a parameter no file can keep": ({"body": "extra: object = np.array([1])"}, "mine.yaml"),
}


@pytest.mark.parametrize(("lines", "named"), AT_PLANNING.values(), ids=AT_PLANNING)
def test_what_is_wrong_before_simulation(users, tmp_path, lines, named):
    outcome = users(**lines)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1), outcome.err
    assert outcome.err.startswith("error: ")
    assert "mine" in outcome.err or outcome.err.startswith("error: policy: ")
    assert named in outcome.err
    assert not stored(tmp_path)


IN_SIMULATION = {
    "exits": ("raise SystemExit(0)", "it ends the program: 0"),
    "exits without a number": ("exit()", "it ends the program"),
    "raises": ("raise RuntimeError('broken\\n\\npolicy')", "RuntimeError: broken policy ("),
    "returns nothing": ("pass", "got None at step 1"),
    "returns a text": ("return 'a'", "got a at step 1"),
    "returns half an arm": ("return 0.5", "got 0.5 at step 1"),
    "returns an array": ("return np.zeros(2)", "select must return an arm"),
    "returns no number": ("return float('nan')", "got nan"),
    "needs more memory than there is": ("return np.zeros(10**15)", "Unable to allocate"),
    "calls itself": ("return self.select(state, t, rng)", "RecursionError"),
    "draws from numpy": ("return int(np.random.randint(5))", "draws from the global generator of numpy"),
    "seeds numpy": ("np.random.seed(t); return 0", "draws from the global generator of numpy"),
    "draws from random": ("return random.randrange(5)", "draws from Python's module random"),
    "draws without a seed": ("return int(np.random.default_rng().integers(5))", "another regret when replication 0"),
    "looks at the clock": ("return time.perf_counter_ns() // 100 % 5", "another regret when replication 0"),
    "counts in its class": ("type(self).count += 1; return self.count % 5", "changes its class"),
    "remembers in its class": ("self.seen.append(t); return len(self.seen) // 50 % 5", "another regret"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("select", "named"), IN_SIMULATION.values(), ids=IN_SIMULATION)
def test_what_is_wrong_in_simulation(users, tmp_path, select, named):
    outcome = users("instance.arms=5", select=select)
    said, where, *more = outcome.err.splitlines()
    assert (outcome.code, more) == (1, []), outcome.err
    assert said.startswith("error: mine: ")
    assert named in said
    assert "replication 0" in said
    assert where.startswith(f"1 cell failed, told in {tmp_path}/results/failures; the same command tries again")
    assert not stored(tmp_path)


def test_a_place_in_a_file_of_the_user_is_named(users, tmp_path):
    outcome = users(select="return 1 // (t - 3)", check="pass")
    line = POLICY.format(**PLAIN | {"select": "HERE"}).splitlines().index("        HERE") + 1
    assert f"({tmp_path}/mine/mine_policy.py, line {line}, in select)" in users(select="return [][t]").err
    assert outcome.code == 1


def test_one_line_for_a_reason_however_many_blocks(users):
    outcome = users("replications=23", select="raise ValueError('always')")
    said, _ = outcome.err.splitlines()  # the other line tells where more is told
    assert "and 22 times more" in said


def test_an_own_class_is_tried_once_in_a_process_and_once_in_a_cell(monkeypatch):
    @dataclasses.dataclass(frozen=True)
    class Bandit(C1):
        name = "mine"

    class Counted(RegretCell):
        def replicate(self, replication):
            tried.append(replication)
            return super().replicate(replication)

    tried = []
    monkeypatch.setattr(own_code, "_seen", set())
    own, ours = Counted(Bandit(3), UCB1(), 50), Counted(C1(3), UCB1(), 50)
    own_code.require_repeatable(own, 5, first=False)
    assert tried == [5, 5]
    own_code.require_repeatable(own, 10, first=False)
    own_code.require_repeatable(ours, 0, first=True)
    assert tried == [5, 5]
    own_code.require_repeatable(own, 0, first=True)
    assert tried == [5, 5, 0, 0]


def test_two_classes_of_one_name_are_not_one_cell(users, call, tmp_path):
    users()
    twin = POLICY.format(**PLAIN) + "\n\n@dataclass(frozen=True)\nclass Twin(Mine):\n    pass\n"
    (tmp_path / "mine" / "mine_policy.py").write_text(twin)
    (tmp_path / "mine" / "policy" / "twin.yaml").write_text("_target_: mine_policy.Twin\nbeta: 0.5\n")
    sys.modules.pop("mine_policy")
    with pytest.raises(UserError, match=r"mine_policy.Mine and mine_policy.Twin are both called mine"):
        plan(["cells=[{policy: [mine, twin]}]", "horizon=50"], Composer([tmp_path / "mine"]))
    asked = ["policy=twin", "horizon=50", "replications=9", "runner.workers=1", f"results_dir={tmp_path}/results"]
    outcome = call("--config-dir", tmp_path / "mine", *asked)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "was stored by mine_policy.Mine, not mine_policy.Twin" in outcome.err
