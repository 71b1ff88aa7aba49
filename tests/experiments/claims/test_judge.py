"""The rate of wrong verdicts, and their power, over thousands of invented ledgers with known truth.

Truths are at the limit of the claim, where the judge errs most often, or just beyond it.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from bandits.environments.bernoulli import C1
from bandits.environments.streams import SignedBernoulli
from bandits.policies.elimination import DPSE
from bandits.policies.stopping_rules import DPNAS
from bandits.policies.ucb import UCB1
from experiments.cells.regret import RegretCell
from experiments.cells.stopping import StoppingCell
from experiments.claims import claims
from experiments.claims.forms import Monotone, Ratio, Slope
from experiments.claims.promises import Bound, Frequency
from experiments.claims.results import Results
from experiments.claims.settings import FAMILY
from experiments.claims.verdicts import FormVerdict, Outcome
from experiments.store.stored import Stored
from tests.bandits.two_samples import assert_rarely
from tests.experiments.claims.made_up import HORIZON

LEDGERS = 2000
RUNS = 20
SETTINGS = 5
ARMS = range(3, 3 + SETTINGS)
EPSILONS = [0.1 * 1.25**step for step in range(8)]


def cell(policy, arms=3):
    """A cell of which only the regret at the horizon is invented."""
    made = RegretCell(C1(arms), policy, HORIZON, 1)
    return Stored({"t": np.full((RUNS, 1), HORIZON), "regret": np.ones((RUNS, 1))}, {}, made)


def with_regret(stored, mean, rng, shape=4.0):
    """The same cell with runs of a skewed law: a gamma law with this mean and the variance mean^2 / 4."""
    return replace(stored, rows=stored.rows | {"regret": rng.gamma(shape, mean / shape, (RUNS, 1))})


def judged(form, cells, error=FAMILY):
    """The verdict of a form on invented cells."""
    return FormVerdict.of(form.settings(Results(SimpleNamespace(), read={"made_up": cells}), error), form.measures)


def ratio_ledger(error=FAMILY):
    """Is the ratio of UCB1 to DP-SE at least 1 in five settings? A truth is this ratio in each setting."""
    form = Ratio(("made_up",), {"policy": "ucb1"}, {"policy": "dp_se"}, ("arms",), at_least=1.0)
    pairs = [(cell(UCB1(), arms), cell(DPSE(1.0), arms)) for arms in ARMS]

    def find(rng, truths):
        cells = []
        for (above, below), truth in zip(pairs, truths, strict=True):
            cells += [with_regret(above, 10 * truth, rng, 40), with_regret(below, 10, rng, 40)]
        return judged(form, cells, error)

    return find


def monotone_ledger():
    """Does regret fall along epsilon? A truth is the ratio of neighbours."""
    form = Monotone(("made_up",), "epsilon", "decreasing", ("instance",), {})
    chain = [cell(DPSE(epsilon)) for epsilon in EPSILONS[: SETTINGS + 1]]

    def find(rng, truths):
        means = 10 * np.cumprod([1, *(1 / truth for truth in truths)])
        return judged(form, [with_regret(of, mean, rng, 40) for of, mean in zip(chain, means, strict=True)])

    return find


def bound_ledger():
    """Is regret below the bound of DP-SE? A truth is the bound over the regret in each setting."""
    path = "bandits.bounds.sajed2019.dp_se_regret"
    form = Bound(("made_up",), {}, path, {"gaps": "gaps", "epsilon": "epsilon", "horizon": "horizon"})
    cells = [cell(DPSE(1.0), arms) for arms in ARMS]
    limits = [setting.at_most for setting in form.settings(Results(SimpleNamespace(), read={"made_up": cells}), FAMILY)]

    def find(rng, truths):
        means = np.array(limits) / truths
        return judged(form, [with_regret(of, mean, rng, 40) for of, mean in zip(cells, means, strict=True)])

    return find


def frequency_ledger():
    """Is a rule wrong in 5 % of the runs at most? A truth is 5 % over its share of wrong runs."""
    form = Frequency(("made_up",), {}, "off_by_more", at_most=0.05)
    cells = [
        StoppingCell(SignedBernoulli(mean), DPNAS(1.0, accuracy=0.5, beta=0.05), 10**6)
        for mean in (0.1, 0.2, 0.3, 0.4, 0.5)
    ]

    def find(rng, truths):
        stored = []
        for of, truth in zip(cells, truths, strict=True):
            estimate = np.where(rng.random(400) < 0.05 / truth, 2.0, of.instance.mean)
            stored.append(Stored({"samples": np.full(400, 50), "expired": estimate < 0, "estimate": estimate}, {}, of))
        return judged(form, stored)

    return find


def slope_ledger():
    """Is the power of epsilon -1.2 to -0.8? A truth t is the power -0.8 / t: one claim, one setting."""
    form = Slope(("made_up",), {}, "epsilon", -1.0, 0.2)
    chain = [cell(DPSE(epsilon)) for epsilon in EPSILONS]

    def find(rng, truths):
        power = -0.8 * truths[0]
        means = [10 * epsilon**power for epsilon in EPSILONS]
        return judged(form, [with_regret(of, mean, rng, 40) for of, mean in zip(chain, means, strict=True)])

    return find


LEDGER = {
    "ratio": ratio_ledger,
    "monotone": monotone_ledger,
    "bound": bound_ledger,
    "frequency": frequency_ledger,
    "slope": slope_ledger,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LEDGER)
def test_true_claims_fail_and_false_ones_hold_as_rarely_as_the_ledger_says(kind, failure):
    find, rng = LEDGER[kind](), np.random.default_rng(12)
    near = [0.999, *[2.0 if kind != "slope" else 1.2] * (SETTINGS - 1)]
    assert_rarely(lambda _: find(rng, [1.0] * SETTINGS).outcome, Outcome.FAILS, FAMILY, LEDGERS, failure)
    false = assert_rarely(lambda _: find(rng, near).outcome, Outcome.HOLDS, FAMILY, LEDGERS, failure)
    assert false.count(Outcome.UNDECIDED) > 0.8 * len(false)  # nothing so close to the limit can be decided


@pytest.mark.slow
@pytest.mark.parametrize("kind", LEDGER)
def test_a_departure_is_found_with_the_stated_power(kind):
    """A departure of the stated size is found about every second time, twice that nearly always, a fifth rarely."""
    find, rng = LEDGER[kind](), np.random.default_rng(13)
    easy = 1.2 if kind == "slope" else 1.5
    settings = [find(rng, [1.1] * SETTINGS).settings[0] for _ in range(20)]
    departures = [_departure(setting) for setting in settings]
    departure = float(np.median(departures))
    assert 0.01 < departure < 1.5
    seen = {}
    for times in (0.2, 1.0, 2.0):
        truth = 1 / (1 + times * departure)
        found = [find(rng, [truth, *[easy] * (SETTINGS - 1)]).outcome for _ in range(200)]
        seen[times] = found.count(Outcome.FAILS) / 200
    assert seen[0.2] < 0.2
    assert 0.2 < seen[1.0] < 0.8
    assert seen[2.0] > 0.9


@pytest.mark.slow
def test_many_claims_together_err_as_rarely_as_one_ledger_may(failure, tmp_path):
    """Ten true claims, each at its limit in five settings: in at most 5 % of all ledgers any of them fails."""
    about = {"where": "here", "claim": "It is so.", "experiments": ["made_up"], "test": "ratio", "at_least": 1}
    about |= {"numerator": {"policy": "ucb1"}, "denominator": {"policy": "dp_se"}, "by": ["arms"]}
    (tmp_path / "claims").mkdir()
    items = [about | {"id": f"claim-{number}"} for number in range(10)]
    (tmp_path / "claims" / "made_up.yaml").write_text(yaml.safe_dump(items))
    mine = [claim for claim in claims([tmp_path]) if claim.paper == "made_up"]
    find, rng = ratio_ledger(mine[0].error), np.random.default_rng(14)

    def any_fails(_):  # each claim with 5 % of its own would be wrong in a fifth of all ledgers
        return any(find(rng, [1.0] * SETTINGS).outcome is Outcome.FAILS for _ in mine)

    assert_rarely(any_fails, True, FAMILY, 400, failure)


def _departure(setting):
    """The relative distance beyond its limit from which an estimate fails; of two limits the upper one."""
    if not np.isfinite(setting.at_most):
        return setting.at_least / setting.silent.low - 1
    beyond = setting.silent.high / setting.at_most
    return (beyond if setting.at_most > 0 else 1 / beyond) - 1
