"""Commands that run a user's code in several processes, typed as a user would."""

import re
import textwrap
import warnings

import pytest

from experiments.config.compose import REPOSITORY
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
