"""The place of the best arm changes nothing that a cell says of a policy, but of those that are named here."""

import numpy as np
import pytest
from scipy.stats import norm

from bandits import ParameterError
from bandits.environments.bernoulli import C1, Bernoulli
from bandits.environments.heavy_tails import S1
from bandits.policies.batched_index import AdaPKLUCB
from bandits.policies.elimination import DPSE
from bandits.seeds import stream
from experiments.cells.regret import RegretCell
from experiments.config.compose import Composer
from experiments.config.plan import plan
from tests.bandits.test_conformance import IDENTIFIERS, INSTANCE, NEEDS

HORIZON, RUNS = 2_000, 100
MEANS = {"bernoulli": [0.9, 0.5, 0.5, 0.5], "pareto": [0.5, 0.2, 0.2, 0.2]}
FAVOUR_THE_FIRST = {  # at a horizon so short; longer stored ones hardly show it
    "dp_ts_ucb": "the start phase, of one arm after the other; figures draw it as pulling in turn",
    "dp_ftpl_gauss": "the start phase, of one arm after the other; figures draw it as pulling in turn",
    "dp_ftpl_beta": "the start phase, of one arm after the other; figures draw it as pulling in turn",
}
OF_BANDITS = [
    name
    for name in Composer().choices("policy")
    if INSTANCE.get(name, "s1") == "s1" and name not in IDENTIFIERS  # others see all losses, or stop by themselves
]


def lost(name, means, of):
    """Regret of runs of a policy with epsilon = .01, or what rho gives by default, shape (RUNS,)."""
    budget = NEEDS.get(name, [])
    private = [] if "budget=zcdp" in budget else ["budget.epsilon=0.01"]
    asked = [f"policy={name}", f"instance={of}", f"instance.means={means}", *budget, *private, f"horizon={HORIZON}"]
    (request,) = plan([[*asked, "recorded=1"]], Composer())[0].requests
    return np.array([request.cell.replicate(number)["regret"][-1] for number in range(RUNS)])


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_BANDITS)
def test_the_best_arm_may_be_first_or_last(name, failure):
    """Means of regret differ by no more than a round of all arms, and so many standard errors."""
    of = "pareto" if name in INSTANCE else "bernoulli"
    first, last = lost(name, MEANS[of], of), lost(name, MEANS[of][::-1], of)
    error = np.sqrt((first.var(ddof=1) + last.var(ddof=1)) / RUNS)
    round_of_all = sum(max(MEANS[of]) - mean for mean in MEANS[of])
    apart = abs(first.mean() - last.mean()) > round_of_all + norm.isf(failure / 2) * error
    assert apart == (name in FAVOUR_THE_FIRST)


def test_a_run_of_a_cell_has_its_own_order():
    """By hand: the order is the first draw of the run, and the pulls are those of the arms of the instance."""
    instance, policy = C1(3), AdaPKLUCB(0.1)
    cell = RegretCell(instance, policy, 500, recorded=1)
    for number in range(4):
        rng = stream(cell.identity, number)
        order = rng.permutation(3)
        faced = Bernoulli(tuple(0.75 if arm == 0 else 0.7 for arm in order))
        (pulls,) = policy.simulate(faced, 500, np.array([500]), rng)
        row = cell.replicate(number)
        assert [row["pulls"][arm] for arm in order] == pulls.tolist()
        assert row["regret"] == pytest.approx([0.05 * (500 - row["pulls"][0])])
    assert RegretCell(instance, DPSE(0.1), 500).policy.order_matters is False


def test_arms_that_cannot_be_put_in_another_order_are_refused(monkeypatch):
    monkeypatch.setattr(DPSE, "order_matters", True)
    RegretCell(C1(3), DPSE(0.1), 500)
    monkeypatch.setattr(DPSE, "check", lambda self, instance: None)
    with pytest.raises(ParameterError, match=r"^instance: the arms of s1 cannot be put in another order"):
        RegretCell(S1(0.9), DPSE(0.1), 500)
