"""Every error of a user's class is one line that names the class, and nothing wrong is stored."""

import dataclasses
import importlib
import io
import pickle
import sys
import threading
from contextlib import redirect_stderr, redirect_stdout
from typing import ClassVar

import joblib
import pytest

from bandits.environments.bernoulli import C1
from bandits.environments.resampling import Resampled
from bandits.policies.ucb import UCB1
from experiments import load, running
from experiments.cells.regret import RegretCell
from experiments.config.command_line import exit_on_user_error
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.errors import UserError
from experiments.own_code import user_code as trusting
from experiments.own_code.fan_out import Shipped, delayed
from experiments.own_code.own_source import digest_of, followed, forget
from experiments.own_code.user_code import trust
from experiments.simulate.second_play import STEPS, SecondPlays, chosen
from experiments.store.results_file import read_footer

POLICY = """
import datetime
import multiprocessing
import os
import random
import signal
import time
from dataclasses import dataclass

import numpy as np

from bandits import Guarantee, ParameterError, StepwisePolicy
from bandits.guarantees import NOT_PRIVATE
from bandits.seeds import stream
{top}
SEEN, KEPT, RNG = [], {{}}, np.random.default_rng(0)

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
    """Run a user's policy with some of its lines replaced."""
    monkeypatch.setattr(sys, "path", sys.path[:])

    def users(*words, module="mine_policy", **lines):
        folder = tmp_path / "mine"
        (folder / "policy").mkdir(parents=True, exist_ok=True)
        (folder / "policy" / "mine.yaml").write_text(f"_target_: {module}.Mine\nbeta: 0.5\n")
        (folder / f"{module}.py").write_text(POLICY.format(**PLAIN | lines))
        asked = ["policy=mine", "horizon=50", "replications=7", f"results_dir={tmp_path}/results"]
        keys = {word.partition("=")[0] for word in words}
        return call("--config-dir", folder, *(word for word in asked if word.partition("=")[0] not in keys), *words)

    yield users
    sys.modules.pop("mine_policy", None)


def stored(folder):
    return list(folder.rglob("*.parquet"))


def test_a_correct_policy_is_stored(users, tmp_path):
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
    "has a wrong name": ({"name": "../evil"}, "is not a name"),
    "caveats raise": ({"body": "def caveats(self, instance, horizon): raise ValueError('no')"}, "ValueError: no"),
    "a parameter no file can keep": ({"body": "extra: object = np.array([1])"}, "mine.yaml"),
}


@pytest.mark.parametrize(("lines", "named"), AT_PLANNING.values(), ids=AT_PLANNING)
def test_errors_before_simulation(users, tmp_path, lines, named):
    outcome = users(**lines)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1), outcome.err
    assert outcome.err.startswith("error: ")
    assert "mine" in outcome.err or outcome.err.startswith("error: policy: ")
    assert named in outcome.err
    assert not stored(tmp_path)


AGAIN = "is simulated again, in a new process, from the same seed"
FIXED = "in every replication, so that all draw the same"
IN_SIMULATION = {
    "exits": ("raise SystemExit(0)", "it ends the program: 0"),
    "exits without a number": ("exit()", "it ends the program"),
    "raises": ("raise RuntimeError('broken\\n\\npolicy')", "RuntimeError: broken policy ("),
    "returns nothing": ("pass", "got None at step 1"),
    "returns a text": ("return 'a'", "got a at step 1"),
    "returns half an arm": ("return 0.5", "got 0.5 at step 1"),
    "returns an array": ("return np.zeros(2)", "select must return an arm"),
    "returns yes": ("return True", "select must return an arm in 0..4, got True at step 1"),
    "has no memory left": ("raise MemoryError", "MemoryError ("),
    "returns no number": ("return float('nan')", "got nan"),
    "needs more memory than there is": ("return np.zeros(10**15)", "Unable to allocate"),
    "calls itself": ("return self.select(state, t, rng)", "RecursionError"),
    "draws from numpy": ("return int(np.random.randint(5))", "draws from the global generator of numpy"),
    "seeds numpy": ("np.random.seed(t); return 0", "draws from the global generator of numpy"),
    "draws from random": ("return random.randrange(5)", "draws from Python's module random"),
    "draws without a seed": ("return int(np.random.default_rng().integers(5))", AGAIN),
    "looks at the clock": ("return time.perf_counter_ns() // 100 % 5", AGAIN),
    "looks at the year": ("return int(time.time() // 32_000_000) % 5", AGAIN),
    "looks at the date": ("return datetime.datetime.now().year % 5", AGAIN),
    "looks at its process": ("return os.getpid() % 5", AGAIN),
    "counts in its class": ("type(self).count += 1; return self.count % 5", "changes its class"),
    "remembers in its class": ("self.seen.append(t); return len(self.seen) // 50 % 5", AGAIN),
    "remembers in its module": ("SEEN.append(t); return len(SEEN) // 50 % 5", AGAIN),
    "keeps the first draw": ("return int(KEPT.setdefault(0, rng.random()) * 997 * t) % 5", AGAIN),
    "draws from its module": ("return int(RNG.integers(5))", AGAIN),
    "draws from a set": ("return int(min({str(t), str(t + 1), 'x'}, key=hash)[-1], 36) % 5", AGAIN),
    "has a generator of its own": ("return int(np.random.default_rng(0).integers(5))", FIXED),
    "has one of Python's": ("return random.Random(t).randrange(5)", FIXED),
    "has one of scipy's": ("from scipy import stats; return int(stats.laplace.rvs(random_state=3) > 0)", FIXED),
    "has a stream of ours": ("return int(stream('x', 0).integers(5))", FIXED),
    "raises what nobody catches": ("raise GeneratorExit('gone')", "GeneratorExit: gone ("),
    "forks": ("return os.fork() * 0", "calls os.fork; no process may be started"),
    "forks through a library": ("multiprocessing.get_context('fork').Process().start(); return 0", "calls os.fork"),
    "ends itself": ("os.kill(os.getpid(), 9)", "calls os.kill"),
    "leaves": ("os._exit(0)", "calls os._exit"),
    "signals itself": ("signal.raise_signal(15)", "calls signal.raise_signal"),
}


SOUND = {
    "a seed that is drawn": "return int(np.random.default_rng(rng.integers(2**60)).integers(5))",
    "one that is spawned": "return int(rng.spawn(1)[0].integers(5))",
    "round-robin": "return t % 5",  # all replications must be equal
}
ODD = {  # one replication differs: the one that is played as number `odd` in its process
    f"number {odd}": f"SEEN.append(t) if t == 1 else None; return int(len(SEEN) == {odd})" for odd in range(1, 8)
}


@dataclasses.dataclass
class Simulated:
    """The outcome of one command for many policies, each in its own module.

    Attributes
    ----------
    code: the exit code.
    errors: the line about each policy that failed, by the name of its case.
    last: the line after them.
    stored: names of cases with stored results.
    """

    code: int
    errors: dict[str, str]
    last: str
    stored: set[str]


def simulated(folder, cases, *words):
    """Run one command with a policy for each case, by the text of its `select`."""
    names = {f"mine{number}": case for number, case in enumerate(cases)}
    (folder / "policy").mkdir()
    for name, case in names.items():
        (folder / "policy" / f"{name}.yaml").write_text(f"_target_: {name}_policy.Mine\nbeta: 0.5\n")
        text = POLICY.format(**PLAIN | {"name": name, "select": cases[case]})
        (folder / f"{name}_policy.py").write_text(text)
    cells = f"cells=[{{policy: [{', '.join(names)}]}}]"
    asked = ["instance.arms=5", "horizon=50", "replications=7", f"results_dir={folder}/results", cells, *words]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as text:
        patch.setattr(sys, "argv", ["command", "--config-dir", str(folder), *asked])
        patch.setattr(sys, "path", sys.path[:])
        with pytest.raises(SystemExit) as end:
            exit_on_user_error(running.main)
    for name in names:
        sys.modules.pop(f"{name}_policy", None)
    *errors, last = text.getvalue().splitlines()
    found = {}
    for line in errors:
        start, name, message = line.split(": ", 2)
        assert (start, names[name] in found) == ("error", False), line
        found[names[name]] = message
    kept = {names[path.stem.partition("-")[0]] for path in stored(folder)}
    return Simulated(end.value.code, found, last.replace(str(folder), "FOLDER"), kept)


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """All policies of `IN_SIMULATION` and `SOUND` in one command."""
    cases = {name: select for name, (select, _) in IN_SIMULATION.items()} | SOUND
    return simulated(tmp_path_factory.mktemp("together"), cases)


@pytest.fixture(scope="module")
def odd_ones(tmp_path_factory):
    """All policies of `ODD` in one command with one worker."""
    return simulated(tmp_path_factory.mktemp("odd"), ODD, "runner.workers=1")


@pytest.mark.slow
@pytest.mark.parametrize(("case", "named"), [(case, named) for case, (_, named) in IN_SIMULATION.items()])
def test_errors_in_simulation(together, case, named):
    assert named in together.errors[case]
    assert "replication 0" in together.errors[case]


@pytest.mark.slow
def test_what_is_sound_is_stored_and_nothing_else(together):
    assert together.stored == set(SOUND)
    assert together.errors.keys() == IN_SIMULATION.keys()
    assert together.code == 1
    failed = f"{len(IN_SIMULATION)} cells failed, see FOLDER/results/failures; the same command tries again"
    assert together.last.startswith(failed)


def test_a_place_in_a_file_of_the_user_is_named(users, tmp_path):
    outcome = users(select="return 1 // (t - 3)", check="pass")
    line = POLICY.format(**PLAIN | {"select": "HERE"}).splitlines().index("        HERE") + 1
    assert f"({tmp_path}/mine/mine_policy.py, line {line}, in select)" in users(select="return [][t]").err
    assert outcome.code == 1


def test_one_line_for_a_reason_however_many_blocks(users):
    outcome = users("replications=23", select="raise ValueError('always')")
    line, _ = outcome.err.splitlines()  # the other line says where to find more
    assert "and 22 times more" in line


def mixed(folder):
    """The regret at the horizon of each replication, by code."""
    table = load(results_dir=folder, t=50, code=sorted({path_code(path) for path in stored(folder)}))
    return {code: list(of.regret) for code, of in table.groupby("code", observed=True)}


def path_code(path):
    return read_footer(path)["columns"]["code"]


@pytest.mark.slow
def test_versions_of_a_class_are_not_mixed(users, tmp_path):
    """Ten edits in quick succession: each number belongs to the code at its time."""
    results, regrets = tmp_path / "results", {}
    for arm in (0, 1, 2, 3, 4, 3, 2, 1, 0, 1):
        replications = 2 + len(regrets)
        words = ["instance=bernoulli", "instance.means=[0.9,0.7,0.5,0.3,0.1]", f"replications={replications}"]
        outcome = users(*words, select=f"return {arm}")
        assert (outcome.code, outcome.err) == (0, "")
        regrets.setdefault(arm, set()).add(arm)
    found = mixed(results)
    assert len(found) == 5
    assert sorted(len(set(of)) for of in found.values()) == [1] * 5
    assert sorted(of[0] for of in found.values()) == pytest.approx([0, 10, 20, 30, 40])
    with pytest.raises(UserError, match="5 versions of the code of mine are stored"):
        load(results_dir=results)


def test_other_checkpoints_are_no_edit(users):
    assert "computed again" not in users("recorded=1").out
    outcome = users("recorded=2")
    assert "1 simulated" in outcome.out
    assert "computed again" not in outcome.out


def test_a_helper_and_what_it_reads_are_part_of_the_class(users, tmp_path):
    mine = tmp_path / "mine"
    (mine / "tools").mkdir(parents=True)
    (mine / "tools" / "__init__.py").write_text("")
    (mine / "tools" / "deep.py").write_text(
        "from pathlib import Path\nARM = 1\nSHIFT = Path(__file__).with_name('shift.txt')\n"
    )
    (mine / "tools" / "shift.txt").write_text("0")
    (mine / "helper.py").write_text("from tools.deep import ARM\n")
    (mine / "stranger.py").write_text("ARM = 1\n")
    lines = {"top": "from helper import ARM\n", "select": "return ARM"}
    keys = [key_of(users, tmp_path, **lines)]
    for file, text in (
        ("stranger.py", "ARM = 2"),
        ("helper.py", "from tools.deep import ARM\nARM += 1\n"),
        ("tools/deep.py", "ARM = 2"),
        ("tools/__init__.py", "# a comment is source too"),
    ):
        (mine / file).write_text(text)
        keys.append(key_of(users, tmp_path, **lines))
    assert keys[0] == keys[1]
    assert len(set(keys)) == 4


@pytest.mark.slow
@pytest.mark.parametrize("place", ["top", "select"])
def test_a_helper_that_no_statement_names_is_refused(users, tmp_path, place):
    """Its edits would not change the digest; with an import statement anywhere they do."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "helper.py").write_text("ARM = 0\n")
    find = "import importlib; ARM = importlib.import_module('_helper'[1:]).ARM"
    lines = {"top": find, "select": "return ARM"} if place == "top" else {"select": f"{find}; return ARM"}
    outcome = users(**lines)
    assert outcome.code == 1
    assert (
        "error: mine: Mine imports helper by a computed name, so that edits of it would not be noticed" in outcome.err
    )
    assert "add a statement `import helper` anywhere in mine_policy, " in outcome.err
    assert not stored(tmp_path)
    body = "def never(self):\n        import helper\n"
    assert users(body=body, **lines).code == 0
    (tmp_path / "mine" / "helper.py").write_text("ARM = 1\n")
    assert users(body=body, **lines).code == 0
    assert len({path_code(path) for path in stored(tmp_path)}) == len(stored(tmp_path)) == 2


def test_the_package_of_a_class_is_part_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path[:])
    package = tmp_path / "mine_package"
    (package / "deep").mkdir(parents=True)
    for file in (package / "__init__.py", package / "deep" / "__init__.py", package / "deep" / "mine_policy.py"):
        file.write_text(POLICY.format(**PLAIN) if file.stem == "mine_policy" else "")
    digests = []
    for edited in (None, package / "__init__.py", package / "deep" / "__init__.py"):
        if edited:
            edited.write_text("# edited")
        trust(tmp_path)
        forget()
        digests.append(digest_of([importlib.import_module("mine_package.deep.mine_policy").Mine]))
    assert len(set(digests)) == 3


def of_cell(horizon, arms=3):
    return RegretCell(C1(arms), UCB1(), horizon)


def test_of_a_short_cell_every_replication_is_played_again():
    """Of a long cell the last, the first, and one in between that the key determines."""
    again = chosen(of_cell(STEPS // 10), range(4, 12))
    assert sorted(again) == list(range(4, 12))
    assert all(number != before for number, before in zip(again, range(4, 12), strict=True))  # none in its old position
    long = [chosen(of_cell(STEPS + arms, arms), range(5)) for arms in range(2, 40)]
    assert {(last, first, len(rest)) for last, first, *rest in long} == {(4, 0, 1)}
    assert {rest for _, _, *rests in long for rest in rests} == {1, 2, 3}
    assert len(chosen(of_cell(STEPS // 3), range(9))) == 5
    assert long == [chosen(of_cell(STEPS + arms, arms), range(5)) for arms in range(2, 40)]
    assert chosen(of_cell(STEPS), range(6, 8)) == [7, 6]
    assert chosen(of_cell(STEPS), range(6, 7)) == [7, 6]


@pytest.mark.slow
def test_a_single_replication_that_is_different_is_found(odd_ones):
    assert (odd_ones.code, odd_ones.stored) == (1, set())
    assert odd_ones.errors.keys() == ODD.keys()
    for number, error in enumerate(odd_ones.errors[case] for case in ODD):
        assert f"replication {number} is" in error or AGAIN in error


def test_a_file_that_is_named_is_part_of_the_class(users, tmp_path):
    (tmp_path / "mine").mkdir()
    keys = []
    for text in ("1", "2"):
        (tmp_path / "mine" / "arm.txt").write_text(text)
        keys.append(key_of(users, tmp_path, body="table = 'arm.txt'"))
    assert keys[0] != keys[1]


def key_of(users, tmp_path, **lines):
    """The current key of the user's policy."""
    users("plan=true", **lines)
    (request,) = plan(["policy=mine", "horizon=50"], Composer([tmp_path / "mine"])).requests
    assert request.cell.code in (None, read_code(request.cell))
    return request.cell.key


def read_code(cell):
    return digest_of(cell.own)


def test_parts_of_a_cell_may_be_own(tmp_path, monkeypatch):
    """A user's class inside one of ours is part of the cell, too."""

    @dataclasses.dataclass(frozen=True)
    class Bandit(C1):
        name = "mine"

    assert RegretCell(Resampled(Bandit(3)), UCB1(), 50).own == (Bandit,)
    assert RegretCell(Resampled(C1(3)), UCB1(), 50).own == ()
    assert RegretCell(C1(3), UCB1(), 50).code is None


def test_keys_of_this_repository_do_not_depend_on_code():
    assert RegretCell(C1(3), UCB1(), 50).key == "af356c083ccd57c5"


def test_two_classes_of_one_name_are_not_one_cell(users, tmp_path):
    users()
    twin = POLICY.format(**PLAIN) + "\n\n@dataclass(frozen=True)\nclass Twin(Mine):\n    pass\n"
    (tmp_path / "mine" / "mine_policy.py").write_text(twin)
    (tmp_path / "mine" / "policy" / "twin.yaml").write_text("_target_: mine_policy.Twin\nbeta: 0.5\n")
    with pytest.raises(UserError, match=r"mine_policy.Mine and mine_policy.Twin are both called mine"):
        plan(["cells=[{policy: [mine, twin]}]", "horizon=50"], Composer([tmp_path / "mine"]))
    keys = {
        plan([f"policy={name}", "horizon=50"], Composer([tmp_path / "mine"])).requests[0].cell.key
        for name in ("mine", "twin")
    }
    assert len(keys) == 2


def test_workers_import_the_version_that_was_sent(tmp_path, monkeypatch):
    """A process that imported an older version imports the new one; if it cannot, it raises an error."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    (tmp_path / "sent_module.py").write_text("VALUE = 1\n\n\ndef value():\n    return VALUE\n")
    trust(tmp_path)
    import sent_module

    shipped = pickle.dumps(Shipped(sent_module.value))
    assert followed()["sent_module"]
    (tmp_path / "sent_module.py").write_text("VALUE = 2\n\n\ndef value():\n    return VALUE\n")
    assert pickle.loads(shipped).open()() == 1
    forget()
    problem = pickle.loads(shipped)
    with pytest.raises(UserError, match="edited while the command runs"):
        problem.open()
    assert joblib.Parallel(2)(delayed(value_of)(name) for name in ("sent_module", "sent_module")) == [2, 2]
    (tmp_path / "sent_module.py").write_text("VALUE = 3\n")
    forget()
    assert joblib.Parallel(2)(delayed(value_of)(name) for name in ("sent_module", "sent_module")) == [3, 3]
    sys.modules.pop("sent_module", None)


def value_of(name):
    return importlib.import_module(name).VALUE


def test_a_composer_sent_to_a_worker_brings_its_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path[:])
    text = pickle.dumps(Composer([tmp_path]))
    monkeypatch.setattr(trusting, "_folders", [])
    assert pickle.loads(text).config_dirs == (tmp_path,)
    assert trusting.trusted() == (tmp_path,)


class Pickled:
    """Notes the thread in which it is pickled."""

    threads: ClassVar[list[int]] = []

    def __reduce__(self):
        self.threads.append(threading.get_ident())
        return int, ()


def test_what_is_played_again_is_pickled_where_it_was_made():
    """In another thread it could change while it is pickled: "dictionary changed size during iteration"."""
    plays = SecondPlays()
    plays.ask(Pickled(), [0]).exception()  # not a cell: cannot be played
    plays.close()
    assert Pickled.threads == [threading.get_ident()]


class Changing:
    """A dictionary of it changes while it is pickled, the first `times`."""

    def __init__(self, times):
        self.left = times

    def __reduce__(self):
        self.left -= 1
        if self.left >= 0:
            raise RuntimeError("dictionary changed size during iteration")
        return int, (7,)


def test_what_another_thread_changes_meanwhile_is_pickled_again():
    assert pickle.loads(pickle.dumps(Shipped(Changing(3)))).open() == 7
    with pytest.raises(RuntimeError, match="changed size"):
        pickle.dumps(Shipped(Changing(10**6)))
