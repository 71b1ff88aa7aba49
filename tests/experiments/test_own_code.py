"""What is wrong with a user's class is one line that names it, and nothing wrong is stored.

Most examples are policies of one command, each in a module of its own, so that they share its processes.
"""

import os
import shlex
import subprocess
import sys

import pytest

from bandits.environments.bernoulli import C1
from bandits.environments.gap_profiles import GapProfile, OneGap
from bandits.learner import Environment, Learner
from bandits.policies.ucb import UCB1
from experiments import load, load_cells
from experiments.cells.base import NO_PARAMETERS
from experiments.cells.regret import RegretCell
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.errors import UserError
from experiments.own_code import own_source
from experiments.own_code.built_in import built_in_classes
from experiments.simulate.second_play import STEPS, chosen
from experiments.store.results_file import read_footer
from tests import forked
from tests.waiting import besides

POLICY = """
import ctypes, datetime, multiprocessing, os, random, signal, subprocess, time
from dataclasses import dataclass
from os import _exit, fork
from pathlib import Path

import numba
import numpy as np
from numpy.random import default_rng

from bandits import Guarantee, ParameterError, StepwisePolicy
from bandits.guarantees import NOT_PRIVATE
{top}
SEEN, KEPT, RNG = [], {{}}, np.random.default_rng(0)

@numba.njit
def seeded():
    np.random.seed(0)
    return np.random.random()

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
        return np.zeros(arms)

    def select(self, state, t, rng):
        {select}

    def update(self, state, arm, reward, rng):
        state[arm] += reward
"""
LINE = POLICY[: POLICY.index("{select}")].count("\n") + 1
PLAIN = {
    "top": "",
    "frozen": "frozen=True",
    "name": "mine",
    "body": "",
    "guarantee": "return NOT_PRIVATE",
    "check": "pass",
    "select": "return int(rng.integers(5))",
}


def write(folder, file="mine", **lines):
    """Write a policy of the user, plain but for some of its lines."""
    (folder / "policy").mkdir(parents=True, exist_ok=True)
    (folder / "policy" / f"{file}.yaml").write_text(f"_target_: {file}_policy.Mine\nbeta: 0.5\n")
    (folder / f"{file}_policy.py").write_text(POLICY.format(**PLAIN | {"name": file} | lines))


@pytest.fixture
def users(call, tmp_path, monkeypatch):
    """Run a user's policy with some of its lines replaced."""
    monkeypatch.setattr(sys, "path", sys.path[:])

    def users(*words, **lines):
        write(tmp_path / "mine", **lines)
        asked = ["policy=mine", "horizon=50", "replications=7", f"results_dir={tmp_path}/mine/results", *words]
        return call("--config-dir", tmp_path / "mine", *{word.partition("=")[0]: word for word in asked}.values())

    yield users
    sys.modules.pop("mine_policy", None)


def stored(folder):
    return list(folder.rglob("*.parquet"))


AT_PLANNING = {
    "exits at import": ({"top": "raise SystemExit(0)"}, "it ends the program: 0"),
    "raises at import": ({"top": "1 / 0"}, "ZeroDivisionError"),
    "is not frozen": ({"frozen": ""}, "is not frozen; write @dataclass(frozen=True)"),
    "exits when made": ({"body": "def __post_init__(self): raise SystemExit(3)"}, "it ends the program: 3"),
    "raises when made": ({"body": "def __post_init__(self): self.x"}, "AttributeError"),
    "has no guarantee": ({"guarantee": "return 1 / 0"}, "ZeroDivisionError: division by zero ("),
    "has a wrong guarantee": ({"guarantee": "return None"}, "must be a bandits.Guarantee, got None"),
    "promises no number": ({"guarantee": "return Guarantee(True)"}, "epsilon: must be a number, got True"),
    "promises what changes": (
        {"guarantee": "return Guarantee(KEPT.setdefault(len(KEPT), len(KEPT) + 1.0))"},
        "guarantee of mine: changes: Guarantee(epsilon=1.0",
    ),
    "promises what is drawn once": (
        {"body": "def __post_init__(self): object.__setattr__(self, 'drawn', RNG.random())"}
        | {"guarantee": "return Guarantee(self.drawn)"},
        "guarantee of mine: changes: Guarantee(epsilon=",
    ),
    "exits in check": ({"check": "raise SystemExit"}, "it ends the program"),
    "raises in check": ({"check": "raise KeyError('a\\n\\nb')"}, "KeyError"),
    "has the name of ours": ({"name": "dp_se"}, "has the name dp_se of bandits.policies.elimination.DPSE; give it"),
    "has a list for a name": ({"body": "name = ['mine']"}, "TypeError"),
    "has a wrong name": ({"name": "../evil"}, "is not a name"),
    "caveats raise": ({"body": "def caveats(self, instance, horizon): raise ValueError('no')"}, "ValueError: no"),
    "a parameter no file can keep": ({"body": "extra: object = np.array([1])"}, "mine.yaml"),
    "a type that is not there": (
        {"body": "weights: 'Sequence[float]' = ()"},
        "mine_policy.Mine: the type of weights: NameError: name 'Sequence' is not defined; import it",
    ),
    "a type that is none": ({"body": "extra: 'list[' = 1"}, "mine_policy.Mine: the type of extra: SyntaxError: "),
} | {
    f"a parameter called {name}": ({"body": f"{name}: float = 0.5"}, f"policy.{name}: is a column of every table")
    for name in ("t", "scope", "horizon", "regret", "arms", "code", "cell", "replications")
}


@pytest.mark.parametrize(("lines", "named"), AT_PLANNING.values(), ids=AT_PLANNING)
def test_errors_before_simulation(users, tmp_path, lines, named):
    outcome = users(**lines)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1), outcome.err
    assert outcome.err.startswith("error: ")
    assert "mine" in outcome.err or outcome.err.startswith("error: policy: ")
    assert named in outcome.err
    assert not stored(tmp_path)


def test_loading_adds_no_columns_but_those_that_no_parameter_may_be_called(users, tmp_path):
    assert users().code == 0
    results = tmp_path / "mine/results"
    assert set(load_cells(results_dir=results)) == {*load(results_dir=results), "cell", "replications"} - {
        *("replication", "t", "regret")
    }
    assert {"cell", "replications", "code"} <= set(load_cells(results_dir=results)) & NO_PARAMETERS
    assert set(load_cells(results_dir=results)) - NO_PARAMETERS == {"beta"}


AGAIN = "is simulated again, in a new process, from the same seed"
ELSEWHERE = "its arms depend on rewards and never on the rng that is passed: its noise comes from elsewhere"
PRIVATE = {"guarantee": "return Guarantee(1.0)"}
ARGMAX = "return t - 1 if t <= 5 else int(np.argmax(state + {}))"


def noise(expression, **lines):
    return PRIVATE | lines | {"select": ARGMAX.format(expression)}


IN_SIMULATION = {
    "exits": ("raise SystemExit(0)", "it ends the program: 0"),
    "raises": (
        "raise RuntimeError('broken\\n\\npolicy')",
        f"RuntimeError: broken policy ({{folder}}/mine1_policy.py, line {LINE}, in select) ... , and 6 times more",
    ),
    "returns nothing": ("pass", "got None at step 1"),
    "returns half an arm": ("return 0.5", "got 0.5 at step 1"),
    "returns an array": ("return np.zeros(2)", "select must return an arm"),
    "returns yes": ("return True", "select must return an arm in 0..4, got True at step 1"),
    "has no memory left": ("raise MemoryError", "MemoryError ("),
    "needs more memory than there is": ("return np.zeros(10**15)", "Unable to allocate"),
    "calls itself": ("return self.select(state, t, rng)", "RecursionError"),
    "raises what nobody catches": ("raise GeneratorExit('gone')", "GeneratorExit: gone ("),
    "draws from numpy": ("return int(np.random.randint(5))", AGAIN),
    "draws from random": ("return random.randrange(5)", AGAIN),
    "draws without a seed": ("return int(np.random.default_rng().integers(5))", AGAIN),
    "draws from its module": ("return int(RNG.integers(5))", AGAIN),
    "draws from a set": ("return int(min({str(t), str(t + 1), 'x'}, key=hash)[-1], 36) % 5", AGAIN),
    "looks at the clock": ("return time.perf_counter_ns() // 100 % 5", AGAIN),
    "looks at the year": ("return int(time.time() // 32_000_000) % 5", AGAIN),
    "looks at the date": ("return datetime.date.today().toordinal() % 5", AGAIN),
    "looks at the hour": ("return time.localtime(10**9).tm_min // 15 % 5", AGAIN),
    "looks at its process": ("return os.getpid() % 5", AGAIN),
    "looks at its folder": ("return int('pyproject.toml' in os.listdir())", AGAIN),
    "looks at its home": ("return len(str(Path.home())) % 5", AGAIN),
    "looks at the environment": ("return int(os.environ.get('FAV', 0))", AGAIN),
    "counts in its class": ("type(self).count += 1; return self.count // 50 % 5", AGAIN),
    "remembers in its class": ("self.seen.append(t); return len(self.seen) // 50 % 5", AGAIN),
    "remembers in its module": ("SEEN.append(t); return len(SEEN) // 50 % 5", AGAIN),
    "keeps the first draw": ("return int(KEPT.setdefault(0, rng.random()) * 997 * t) % 5", AGAIN),
    "reads what is not in its key": (
        "return len(Path('{folder}/results/.written_by_commands').read_text()) % 5",
        "its key",
    ),
    "reads its neighbour": (
        "return len(Path('{folder}.csv').read_text()) % 5",
        ".csv, whose content is not in its key",
    ),
    "has a generator of its own": (noise("default_rng(0).laplace(size=5)"), ELSEWHERE),
    "has one of numpy's oldest": (noise("np.random.mtrand.RandomState(1).laplace(size=5)"), ELSEWHERE),
    "has one of Python's": (noise("random.Random(t).random() * np.arange(5)"), ELSEWHERE),
    "has one of scipy's": (noise("stats.laplace.rvs(random_state=3)", top="from scipy import stats"), ELSEWHERE),
    "has one that is compiled": (noise("0.1 * seeded() * np.arange(5)"), ELSEWHERE),
    "has constant noise": (noise("0.1 * np.arange(5)"), ELSEWHERE),
    "forks": ("fork() or _exit(0); return 0", "calls os.fork; no process may be started"),
    "forks through a library": ("multiprocessing.get_context('fork').Process().start(); return 0", "calls os.fork"),
    "starts a program": ("subprocess.run(['true']); return 0", "calls subprocess.Popen"),
    "ends itself": ("os.kill(os.getpid(), 9)", "calls os.kill"),
}
SOUND = {
    "a seed that is drawn": "return int(np.random.default_rng(rng.integers(2**60)).integers(5))",
    "one that is spawned": "return int(rng.spawn(1)[0].integers(5))",
    "round-robin": "return t % 5",  # all replications must be equal
    "a file beside it": "return int((Path(__file__).parent / 'data' / 'arm.csv').read_text())",
    "a file of own_dirs": "return int(Path('{folder}_more/arm.csv').with_suffix('.txt').read_text())",
    "noise of the rng": noise("rng.laplace(size=5)"),
}
ALONE = {  # one replication differs: the one that is played as number `odd` in its process
    f"number {odd}": (f"SEEN.append(t) if t == 1 else None; return int(len(SEEN) == {odd})", AGAIN)
    for odd in range(1, 8)
} | {
    "leaves": ("_exit(0)", "ended twice (EXIT(0))"),
    "crashes": ("ctypes.string_at(0)", "ended twice (SIGSEGV(-11))"),
    "interrupts": ("signal.raise_signal(2); return 0", "a second play in a new process failed: KeyboardInterrupt"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "sound", "workers"), [(IN_SIMULATION, SOUND, 2), (ALONE, {}, 1)], ids=["workers", "alone"]
)
def test_errors_in_simulation(wrong, sound, workers, tmp_path):
    """One command has a policy for each case, by its lines that differ, or by the text of its `select`.

    It runs in the background, where a shell starts it with SIGINT ignored.
    """
    folder, cases = tmp_path / "mine", {case: lines for case, (lines, _) in wrong.items()} | sound
    for file in ("mine.csv", "mine/data/arm.csv", "mine_more/arm.txt", "mine/results/x"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("1")
    names = {f"mine{number}": case for number, case in enumerate(cases)}
    for name, case in names.items():
        lines = cases[case] if isinstance(cases[case], dict) else {"select": cases[case]}
        write(folder, name, **lines | {"select": lines["select"].replace("{folder}", str(folder))})
    words = ["--config-dir", folder, f"own_dirs=[{folder}_more]", f"results_dir={folder}/results", "horizon=50"]
    words += [f"runner.workers={workers}", "instance.arms=5", "replications=7", f"cells=[{{policy: {[*names]}}}]"]
    command = shlex.join([sys.executable, "-m", "experiments.run", *map(str, words)])
    background, about = ["sh", "-c", f"{command} & wait $!"], {**os.environ, "FAV": "3"}
    process = subprocess.run(background, stderr=subprocess.PIPE, text=True, env=about, check=False)
    *lines, last = besides(process.stderr).splitlines()
    errors = {}
    for line in lines:
        start, name, errors[names[name]] = line.split(": ", 2)
        assert start == "error"
    assert {names[path.stem.partition("-")[0]] for path in stored(folder)} == set(sound)
    assert (errors.keys(), len(lines)) == (wrong.keys(), len(wrong))
    for case, (_, named) in wrong.items():
        for text in (*named.replace("{folder}", str(folder)).split(" ... "), ", replication "):
            assert text in errors[case]
    failed = f"{len(wrong)} cells failed, see {folder}/results/failures; the same command tries again"
    assert (process.returncode, last[: len(failed)]) == (1, failed)


@pytest.mark.slow
def test_versions_of_a_class_are_not_mixed(users, tmp_path):
    """Edits in quick succession: each number belongs to the code at its time."""
    results = tmp_path / "mine" / "results"
    for number, arm in enumerate((0, 1, 2, 1, 0)):
        words = ["instance=bernoulli", "instance.means=[0.9,0.7,0.5]", f"replications={2 + number}"]
        outcome = users(*words, select=f"return {arm}")
        assert (outcome.code, outcome.err) == (0, "")
    codes = {read_footer(path)["columns"]["code"] for path in stored(results)}
    table = load(results_dir=results, t=50, code=sorted(codes))
    regrets = [set(rows.regret) for _, rows in table.groupby("code", observed=True)]
    assert sorted(map(max, regrets)) == pytest.approx([0, 10, 20])
    assert [len(values) for values in regrets] == [1, 1, 1]
    with pytest.raises(UserError, match="3 versions of the code of mine are stored"):
        load(results_dir=results)
    assert "computed again" not in users("recorded=1", select="return 0").out  # other checkpoints are no edit


KEYED = ["helper.py", "deep/__init__.py", "data/arm.csv", "notes.txt", "policy/table.csv"]
WRITTEN = ["results/c1/x.parquet", "figures/one.png"]
UNKEYED = [*WRITTEN, "policy/mine.yaml", "experiment/one.yaml", ".hidden/file", "__pycache__/helper.pyc"]


def test_every_file_of_the_folder_is_part_of_a_class(users, tmp_path, monkeypatch):
    """But for the YAML of groups, hidden files, and what commands write, also those that are not named again."""
    mine, more = tmp_path / "mine", tmp_path / "more"
    for file in (*(mine / name for name in KEYED + UNKEYED), more / "x"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("# 1")
    (mine / "policy" / "mine.yaml").unlink()
    users("plan=true", f"figures_dir={mine}/figures")

    def key(*words):
        """The current key of the user's policy, as a command that names no folder of results or figures finds it."""
        monkeypatch.setattr(own_source, "_STATE", own_source._State())  # as in another process
        (request,) = plan([["policy=mine", "horizon=50", *words]], Composer([mine]))[0].requests
        return request.cell.key

    for name in KEYED + UNKEYED:
        before = key()
        (mine / name).write_text((mine / name).read_text() + "\n# 2")
        assert (key() != before) == (name in KEYED), name
    before = key(f"own_dirs=[{more}]")
    assert before != key()
    (more / "x").write_text("# 2")
    assert key(f"own_dirs=[{more}]") != before
    outcome = users(f"results_dir={mine}")
    assert (outcome.code, "must not be beside your code" in outcome.err) == (2, True)


MEANWHILE = """
from pathlib import Path
from experiments.own_code.own_source import require_unchanged, use
folders = use([Path.cwd()], [Path.cwd() / "figures"])
Path("figures").mkdir()
Path("figures/one.png").touch()
require_unchanged(folders)
"""


def test_what_a_command_writes_meanwhile_is_no_edit(tmp_path):
    """Nor is it one for later commands, which see a mark."""
    process = forked.python(["-c", MEANWHILE], tmp_path)
    assert (process.returncode, process.stderr) == (0, "")
    assert (tmp_path / "figures" / own_source.MARK).exists()


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
    assert chosen(of_cell(STEPS), range(6, 8)) == [7, 6]
    assert chosen(of_cell(STEPS), range(6, 7)) == [7, 6]


def test_two_classes_of_one_name_are_not_one_cell(users, tmp_path):
    users("plan=true")
    twin = POLICY.format(**PLAIN) + "\n\n@dataclass(frozen=True)\nclass Twin(Mine):\n    pass\n"
    (tmp_path / "mine" / "mine_policy.py").write_text(twin)
    (tmp_path / "mine" / "policy" / "twin.yaml").write_text("_target_: mine_policy.Twin\nbeta: 0.5\n")
    with pytest.raises(UserError, match=r"mine_policy.Mine and mine_policy.Twin are both called mine"):
        plan([["cells=[{policy: [mine, twin]}]", "horizon=50"]], Composer([tmp_path / "mine"]))
    plans = plan([[f"policy={name}", "horizon=50"] for name in ("mine", "twin")], Composer([tmp_path / "mine"]))
    assert len({planned.requests[0].cell.key for planned in plans}) == 2


def test_a_name_in_a_file_is_of_one_class_of_this_repository():
    """Files name instances, policies and gap profiles by `name` alone; `experiments.store.rebuilt` finds them by it."""
    classes = built_in_classes(Environment, Learner, GapProfile)
    assert len({cls.name for cls in classes}) == len(classes) > 90
    assert {C1, UCB1, OneGap} <= classes
