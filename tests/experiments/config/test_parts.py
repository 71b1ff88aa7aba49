"""What compiled loops and tables assume of an instance of the user holds, or is refused in a line."""

import pytest

AGAIN = "is simulated again, in a new process, from the same seed"
INSTANCE = """
from dataclasses import dataclass, field

import numpy as np

from bandits import Instance
from bandits.environments.bernoulli import BernoulliInstance

@dataclass(frozen=True)
class Arms({base}):
    name, citation = "{name}", "none"
    {body}

    def define_means(self):
        return {means}
"""


LAW = (
    "support = 0.0, 1.0\n\n    def sample(self, arm, rng): return float(rng.random() < self.mean_rewards[arm])\n\n    "
)
SUMS = "def sums(self, arms, rounds, rng): return rng.binomial(rounds, self.mean_rewards[arms]).astype(float)"
THREE = "np.array([0.9, 0.5, 0.1])"
DRAWN = "def __post_init__(self): object.__setattr__(self, 'drawn', np.random.default_rng().random(3))"
INSTANCES = {
    "a sample of its own": (
        "BernoulliInstance",
        "def sample(self, arm, rng): return 1.0",
        THREE,
        "changes sample of Ber",
    ),
    "sums of its own": ("BernoulliInstance", SUMS, THREE, "changes sums of BernoulliInstance"),
    "gaps of its own": ("Instance", f"{LAW}{SUMS}\n    gaps = 1 - np.arange(3)", THREE, "changes gaps of Instance"),
    "a support of its own": ("BernoulliInstance", "support = (0.0, 2.0)", THREE, "changes support of BernoulliInst"),
    "a mean above 1": ("BernoulliInstance", "", "np.array([0.5, 1.2])", "must lie in [0, 1]"),
    "no number for a mean": ("BernoulliInstance", "", "np.array([0.5, np.nan])", "must be a list of finite numbers"),
    "other means each time": ("BernoulliInstance", "", "np.random.default_rng().random(3)", "are others when define"),
    "a parameter t": ("BernoulliInstance", "t: int = 3", THREE, "instance.t: is a column of every table"),
    "a parameter delta": ("BernoulliInstance", "delta: float = 0.1", THREE, "instance.delta: is a column"),
    "a mapping": ("BernoulliInstance", "table: dict[str, float] = field(default_factory=dict)", THREE, "a mapping"),
    "means that were drawn": ("BernoulliInstance", DRAWN, "self.drawn", AGAIN),  # once, so that a copy would keep them
    "means of its making": ("BernoulliInstance", "x: object = field(default_factory=lambda: 0)", THREE, ""),
    "wrong sums": ("Instance", LAW + SUMS.replace("rounds, self", "1, self"), THREE, "not have the law of 4 rewards"),
    "a wrong sample": ("Instance", LAW.replace("< self", "< 0.5 * self") + SUMS, THREE, "have the mean 0.44"),
    "a reward outside": ("Instance", LAW.replace("float(", "3 * float(") + SUMS, THREE, "outside of its support 0..1"),
    "a right law": ("Instance", LAW + SUMS, THREE, ""),
}


@pytest.mark.parametrize(("base", "body", "means", "named"), INSTANCES.values(), ids=INSTANCES)
def test_what_compiled_loops_assume_of_an_instance_holds_or_is_refused(call, tmp_path, base, body, means, named):
    mine = tmp_path / "mine"
    (mine / "instance").mkdir(parents=True)
    extra = "table: {a: 1}\n" if "dict" in body else ""
    (mine / "instance" / "arms.yaml").write_text(f"_target_: own_arms.Arms\n{extra}")
    (mine / "own_arms.py").write_text(INSTANCE.format(base=base, name="own_arms", body=body, means=means))
    asked = ["instance=arms", "policy=dp_se", "horizon=50", "replications=2", f"results_dir={mine}/results"]
    outcome = call("--config-dir", mine, *asked)
    if named:
        assert named in outcome.err
        assert outcome.err.startswith("error: ")
    assert (outcome.code == 0, bool(list(tmp_path.rglob("*.parquet")))) == (not named, not named), outcome.err
