"""Commands that run a user's code in several processes, typed as a user would."""

import importlib
import pickle
import re
import sys
import textwrap
import warnings

import joblib
import pytest

from experiments.config.compose import REPOSITORY, Composer
from experiments.errors import UserError
from experiments.own_code import own_source
from experiments.own_code.fan_out import Shipped, delayed
from tests import forked
from tests.waiting import besides

MODULE = """
from dataclasses import dataclass
import numpy as np
from bandits import Guarantee, LaplaceRelease, StepwisePolicy
from bandits.environments.bernoulli import BernoulliInstance
from helper import SCALE

@dataclass(frozen=True)
class Commits(StepwisePolicy):
    \"\"\"Pull every arm once, then the best with noise.\"\"\"

    name, label, citation = "commits", "Commits", "none"
    epsilon: float

    @property
    def guarantee(self):
        return Guarantee(self.epsilon)

    def ledger(self, arms, horizon):
        return (LaplaceRelease("reward", "", low=0.0, high=1.0, divisor=1.0, scale=1 / self.epsilon),)

    def start(self, arms, horizon):
        return {"sums": np.zeros(arms), "best": None}

    def select(self, state, t, rng):
        if t <= len(state["sums"]):
            return t - 1
        if state["best"] is None:
            noise = rng.laplace(scale=SCALE / self.epsilon, size=len(state["sums"]))
            state["best"] = int(np.argmax(state["sums"] + noise))
        return state["best"]

    def update(self, state, arm, reward, rng):
        state["sums"][arm] += reward


@dataclass(frozen=True)
class Ties(BernoulliInstance):
    name, citation = "ties", "none"
    arms: int = 5

    def define_means(self):
        return np.linspace(0.4, 0.6, self.arms)


def bound(horizon):
    return float(horizon)
"""
FILES = {
    "helper.py": "SCALE = 1.0\n",
    "commits.py": MODULE,
    "policy/commits.yaml": "_target_: commits.Commits\nepsilon: ${budget.epsilon}\n",
    "instance/ties.yaml": "_target_: commits.Ties\narms: 5\n",
    "audits.yaml": "- {policy: commits, budget.epsilon: 1, horizon: 4, runs: [2000, 3000]}\n",
    "claims/own.yaml": """
        - {id: below, where: w, claim: c, experiments: [own1], test: bound, bound: commits.bound,
           arguments: {horizon: horizon}, filter: {policy: commits}, threshold: ours}
    """,
} | {
    f"experiment/own{number}.yaml": f"""
        # @package _global_
        horizon: {number}000
        replications: 3
        cells:
          - {{instance: ties, policy: [commits, ucb1]}}
        figure:
          title: own
          panels: [{{title: all, instance: ties}}]
    """
    for number in (1, 2)
}


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fan_out") / "mine"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text).lstrip())
    return folder


def typed(mine, module, *words):
    asked = ["-m", module, "--config-dir", str(mine), f"results_dir={mine}/results", *words]
    process = forked.python(asked, REPOSITORY)
    return process.returncode, process.stdout, besides(process.stderr)


@pytest.mark.slow
def test_own_code_reaches_every_process(mine):
    """Every command that distributes work to processes, with a user's policy, instance, bound and helper module."""
    figures = ["scripts.figures", "-m", "+experiment=own1,own2", f"figures_dir={mine}/figures", "complete=true"]
    code, out, err = typed(mine, *figures)
    assert (code, err) == (0, "")
    assert out.count(".pdf") == 2
    joining = ["-m", "+experiment=sajed2019/fig01,sajed2019/fig02", "horizon=500", "replications=2", "complete=true"]
    code, out, err = typed(mine, "scripts.figures", *joining, "join=commits", f"figures_dir={mine}/joined")
    assert (code, err) == (0, "")
    assert out.count(".pdf") == 2
    own = ["-m", "+experiment=own1,own2"]
    for command, *more in (
        ["experiments.check"],
        ["experiments.claims", "id=below"],
        ["scripts.check_figures", f"baselines_dir={mine}/baselines", f"check_dir={mine}/check", "accept=true"],
        ["scripts.site", "pages=papers", f"site_dir={mine}/site", f"figures_dir={mine}/figures"],
    ):
        code, out, err = typed(mine, command, *([] if "claims" in command else own), *more)
        assert (code, err) == (0, ""), (command, out)
    code, out, err = typed(mine, "scripts.privacy")
    assert (code, err) == (0, "")
    assert "2 kept" in out


@pytest.mark.slow
def test_an_audit_of_a_class_that_raises_is_one_line(mine):
    text = (mine / "helper.py").read_text()
    (mine / "helper.py").write_text("SCALE = -1.0\n")
    code, out, err = typed(mine, "experiments.audit", "policy=commits", "budget.epsilon=1", "horizon=4", "runs=5000")
    (mine / "helper.py").write_text(text)
    assert (code, out) == (2, "")
    assert re.fullmatch(r"error: commits: ValueError: scale < 0 \(.*commits.py, line \d+, in select\)\n", err)


def test_a_worker_that_is_replaced_does_not_end_the_thread_of_its_pool():
    """loky warns in the thread that waits for results; where warnings are errors, as here, that thread would end."""
    warnings.warn("A worker stopped while some jobs were given to the executor. ...", UserWarning, stacklevel=2)


def value_of(name):
    return importlib.import_module(name).VALUE


def test_workers_import_the_version_that_was_sent(tmp_path, monkeypatch):
    """A process that imported an older version imports the new one; if it cannot, it raises an error."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    (tmp_path / "sent_module.py").write_text("VALUE = 1\n")
    own_source.use([tmp_path])
    shipped = pickle.dumps(Shipped(value_of))
    assert pickle.loads(shipped).open()("sent_module") == 1
    for value in (2, 3):
        (tmp_path / "sent_module.py").write_text(f"VALUE = {value}\n")
        own_source.use([tmp_path])
        assert joblib.Parallel(2)(delayed(value_of)(name) for name in ("sent_module", "sent_module")) == [value, value]
    with pytest.raises(UserError, match="edited while the command runs"):
        pickle.loads(shipped).open()


@pytest.fixture
def twice(tmp_path, monkeypatch):
    """Two folders with modules of one name."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    for folder in (tmp_path / "old", tmp_path / "new"):
        folder.mkdir()
        (folder / "twice_module.py").write_text(f"VALUE = {folder.name!r}\n")
    return tmp_path / "old", tmp_path / "new"


def test_a_module_is_that_of_the_first_folder_and_stays_while_others_are_added(twice):
    def module(*folders):
        own_source.use(folders)
        return importlib.import_module("twice_module")

    old, new = twice
    first = module(old)
    assert module(old, new) is first is module(old)
    assert module(new, old).VALUE == "new"
    assert module(old, new).VALUE == "old"


def test_workers_import_nothing_from_the_folder_of_another_command(twice, monkeypatch):
    """A process that was started for another folder has it in its path, from loky, though it was never given it."""
    old, new = twice
    own_source.use([new])
    shipped = pickle.dumps(Shipped(value_of))
    monkeypatch.setattr(own_source, "_STATE", own_source._State())
    sys.path[:] = [*own_source.others(), str(old)]
    assert pickle.loads(shipped).open()("twice_module") == "new"


def test_a_composer_sent_to_a_worker_brings_its_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path[:])
    text = pickle.dumps(Composer([tmp_path]))
    monkeypatch.setattr(own_source, "_STATE", own_source._State())
    assert pickle.loads(text).config_dirs == (tmp_path,)
    assert own_source.now().given == (tmp_path,)


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
