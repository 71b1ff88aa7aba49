"""Invented results with known verdicts, and claims about them."""

import numpy as np
import yaml

from bandits.environments.bernoulli import C1
from bandits.environments.streams import SignedBernoulli
from bandits.policies.stopping_rules import DPNAS
from experiments.cells.regret import RegretCell
from experiments.cells.stopping import StoppingCell
from experiments.claims import Results, claims, judge_claim
from experiments.config.compose import Composer
from experiments.store.stored import Stored

RUNS = 40
HORIZON = 10**9
PASSING, FAILING = "sajed2019.path_share_from_four", "wang2024.start_phase_needed"  # checks that need no runs


def measured(policy, mean, spread=0.0, instance=None, growth=1.0, pulls=None):
    """A cell with final regret mean +- spread over runs; its curve is linear, or constant after T / 4 for growth 0."""
    cell = RegretCell(instance or C1(3), policy, HORIZON)
    t = cell.checkpoints
    final = mean + spread * np.linspace(-1, 1, RUNS)
    shape = np.where(t <= HORIZON / 4, t / (HORIZON / 4), 1) if growth == 0 else t / HORIZON
    shares = np.array(pulls or [HORIZON - 20, 10, 10])
    rows = {"t": np.tile(t, (RUNS, 1)), "regret": final[:, None] * shape, "pulls": np.tile(shares, (RUNS, 1))}
    return Stored(rows, {}, cell)


def stopped(wrong):
    """A stopping rule that always stops after 50 samples, with a wrong estimate in `wrong` of 1000 runs."""
    cell = StoppingCell(SignedBernoulli(0.5), DPNAS(1.0, accuracy=0.5, beta=0.05), 10**6)
    estimate = np.where(np.arange(1000) < wrong, 2.0, 0.5)
    return Stored({"samples": np.full(1000, 50), "expired": estimate < 0, "estimate": estimate}, {}, cell)


def verdict(tmp_path, cells, **keys):
    """The verdict on a claim with these `keys`, about an experiment `made_up` that consists of `cells`.

    Unless the `keys` say so, its thresholds are the paper's, and its condition was chosen before the data.
    """
    about = {"id": "mine", "where": "here", "claim": "It is so.", "threshold": "paper"}
    if keys.get("condition") or keys.get("variants"):
        about["condition_chosen"] = "before the data"
    data = {} if keys["test"] in ("exact", "audit", "not_judged") else {"experiments": ["made_up"]}
    (tmp_path / "claims").mkdir(exist_ok=True)
    (tmp_path / "claims" / "paper.yaml").write_text(yaml.safe_dump([about | data | keys]))
    (claim,) = (claim for claim in claims([tmp_path]) if claim.paper == "paper")
    words = [f"results_dir={tmp_path}", "published_dir=null"] if keys["test"] == "audit" else []
    return judge_claim(claim, Results(Composer(), words, read={"made_up": list(cells)}))


def outcome(*arguments, **keys):
    return verdict(*arguments, **keys).outcome
