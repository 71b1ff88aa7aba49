"""Twenty questions of five kinds, typed into the command: answers are those of cells planned by hand, or computed.

What varies below a table is left out, as its numbers are of other questions.
"""

import json
import re

import numpy as np
import pytest
from scipy.stats import binom, norm

from bandits.exact.two_arms import TwoArms
from experiments.advice.answer import Advisor
from experiments.advice.question import question
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.simulate.complete import complete, runner_of
from experiments.store import stored_cells
from scripts import advise as command

RUNS = 128  # a multiple of up to four places of the best arm
CLICKS = [
    ["means=[0.2,0.6]", "users=1500", "epsilon=1"],
    ["arms=3", "rate=0.3", "gap=0.2", "users=1000", "epsilon=2"],
    ["means=[0.1,0.5,0.3]", "users=1200", "epsilon=1", "trust=local"],
    ["means=[0.3,0.8]", "users=1e3", "rho=0.5"],
]
BOUNDED = [
    ["means=[0.2,0.6]", "users=1500", "epsilon=1", "rewards=bounded"],
    ["arms=3", "rate=0.3", "gap=0.2", "users=1000", "epsilon=2", "rewards=bounded"],
    ["means=[0.4,0.9]", "users=1000", "epsilon=1", "rewards=bounded", "contributions=2"],
    ["means=[0.2,0.7]", "users=1000", "epsilon=1", "delta=1e-6", "rewards=bounded"],
]
HEAVY = [
    ["means=[1,3]", "users=2000", "epsilon=1", "rewards=heavy"],
    ["means=[1,2,4]", "users=2000", "epsilon=2", "rewards=heavy", "moment=1.8"],
    ["means=[1,3]", "users=2000", "epsilon=1", "rewards=heavy", "trust=local"],
    ["arms=2", "rate=1", "gap=2", "users=1000", "epsilon=4", "rewards=heavy", "moment=2"],
]
TWO_ARMS = {  # by what is typed: means, users of both, and the budget
    ("means=[0.2,0.3]", "users=400", "epsilon=0.5"): ((0.2, 0.3), 200, {"epsilon": 0.5}),
    ("means=[0.3,0.2]", "users=401", "epsilon=0.5"): ((0.2, 0.3), 200, {"epsilon": 0.5}),
    ("arms=2", "rate=0.4", "gap=0.1", "users=600", "rho=0.1"): ((0.4, 0.5), 300, {"rho": 0.1}),
    ("means=[0.2,0.3]", "users=400", "epsilon=1", "contributions=2"): ((0.2, 0.3), 200, {"epsilon": 0.5}),
}
BEST_ARM = [
    ["means=[0.2,0.3,0.6]", "users=300", "epsilon=1"],
    ["arms=4", "rate=0.4", "gap=0.2", "users=400", "epsilon=2"],
    ["means=[0.2,0.3,0.6]", "users=300", "rho=0.5"],
    ["means=[0.2,0.6,0.3]", "users=300", "epsilon=1", "rewards=bounded"],
]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def composer():
    return Composer()


@pytest.fixture
def typed(call, monkeypatch, tmp_path):
    """Type words; returns the rows that are printed, by policy, and the answer in Python."""
    last = []
    growing = command.growing_answer
    monkeypatch.setattr(command, "growing_answer", lambda *words, **fields: keep(growing(*words, **fields)))
    monkeypatch.setattr(Advisor, "varied", lambda *_: iter(()))
    monkeypatch.setattr(Advisor, "trusted", lambda *_: iter(()))

    def keep(parts):
        for part in parts:
            last.append(part)
            yield part

    def ask(words):
        outcome = call(*words, f"runs={RUNS}", f"results_dir={tmp_path}/runs", main=command.main)
        assert outcome.code == 0, outcome.err
        rows = [re.split(r"  +", line) for line in outcome.out.splitlines() if re.search(r"\S  +\S", line)]
        return {first: others for first, *others in rows}, last[-1] if last else None

    return ask


def cells_of(words, composer, folder):
    """The cells of some words for the command, simulated in a folder of their own."""
    (planned,) = plan([[*words, "recorded=1", "runner=threads", f"results_dir={folder}"]], composer)
    complete([planned], runner_of([planned]))
    return next(iter(stored_cells(planned)))


def regret_by_hand(asking, contender, composer, folder):
    """Mean regret of a policy over the places of its best arm, with its law and budget in words for the command."""
    law = {"clicks": "bernoulli", "bounded": "beta", "heavy": "pareto"}[asking.rewards]
    words = [f"instance={'bernoulli' if contender.rounded else law}", f"policy={contender.name}"]
    words += [f"horizon={asking.users}", *([f"instance.v={round(asking.moment - 1, 9)}"] if law == "pareto" else [])]
    policy = contender.policy
    words += [f"policy.explored={policy.explored}"] if getattr(policy, "explored", None) else []
    if hasattr(policy, "rho"):
        words += ["budget=zcdp", f"budget.rho={policy.rho!r}"]
    elif getattr(policy, "delta", 0):
        words += ["budget=approximate", f"budget.epsilon={policy.epsilon!r}", f"budget.delta={policy.delta!r}"]
    else:
        words += ["budget=pure", f"budget.epsilon={policy.epsilon!r}"]
    orders = asking.orders(4)
    means = [f"instance.means=[{','.join(map(str, asking.in_order(order).means))}]" for order in orders]
    raced, share = 16, RUNS // len(orders)  # the first runs at the first place choose the finalists, and do not count
    first = cells_of([*words, means[0], f"replications={raced + share}"], composer, folder).headline[raced:]
    others = [cells_of([*words, there, f"replications={share}"], composer, folder).headline for there in means[1:]]
    return float(np.mean([first, *others]))


def law_by_hand(asking, policy):
    """Mean regret of a policy that explores two arms and commits: all pairs of sums of rewards, or of bits."""
    pulls, (worse, better) = policy.explored // 2, sorted(asking.means)
    sums, bits = np.arange(pulls + 1), policy.name == "ldp_halving"
    chances = [float(policy.chance(mean)) if bits else mean for mean in (worse, better)]
    pairs = np.outer(binom.pmf(sums, pulls, chances[1]), binom.pmf(sums, pulls, chances[0]))
    leads = sums[:, None] - sums
    if bits:
        behind = (leads < 0) + (leads == 0) / 2
    elif hasattr(policy, "rho"):
        behind = norm.cdf(-leads * (policy.rho * (2 if "knockout" in policy.name else 1)) ** 0.5)
    else:
        each = 0 if policy.name == "dp_knockout" else policy.epsilon * abs(leads)
        tail = np.exp(-policy.epsilon * abs(leads)) * (2 + each) / 4
        behind = np.where(leads >= 0, tail, 1 - tail)
    wrong = float((pairs * behind).sum())
    return (better - worse) * (pulls + wrong * (asking.users - 2 * pulls))


@pytest.mark.parametrize("words", [*CLICKS, *BOUNDED, *HEAVY], ids=" ".join)
def test_what_is_lost(words, typed, composer, tmp_path):
    rows, given = typed(words)
    assert given.rows
    for row in given.rows[:2]:
        if row.contender.law is None:
            mean = regret_by_hand(given.asking, row.contender, composer, tmp_path / "again")
        else:
            mean = law_by_hand(given.asking, row.contender.policy)
        printed = rows[row.label][0]
        assert printed == "in doubt" or float(printed.split(" ")[0].replace(",", "")) == pytest.approx(mean, abs=0.5)
        assert row.lost == pytest.approx(mean)
    uniform = given.asking.users * (max(given.asking.means) - np.mean(given.asking.means))
    assert float(rows["uniform play"][0].replace(",", "")) == pytest.approx(uniform, abs=0.5)


@pytest.mark.parametrize("words", TWO_ARMS, ids=" ".join)
def test_which_of_two_is_named_wrongly(words, typed):
    means, pulls, budget = TWO_ARMS[words]
    rows, _ = typed(["goal=best_arm", *words])
    label = "DP-Knockout" if "epsilon" in budget else "DP-Knockout-Gauss (ρ-zCDP)"
    assert rows[label][0] == f"{100 * TwoArms(means, **budget).wrong(pulls):.3g} %"


@pytest.mark.parametrize("words", BEST_ARM, ids=" ".join)
def test_which_of_several_is_named_wrongly(words, typed, composer, tmp_path):
    rows, _ = typed(["goal=best_arm", *words])
    fields = dict(word.split("=") for word in words)
    (key,) = {"epsilon", "rho"} & fields.keys()
    name, label = (
        ("dp_halving", "DP-Halving") if key == "epsilon" else ("dp_halving_gauss", "DP-Halving-Gauss (ρ-zCDP)")
    )
    values = {field: text if field == "rewards" else json.loads(text) for field, text in fields.items()}
    order = question(**values).means
    users = fields["users"]
    given = [f"policy={name}", f"budget={'pure' if key == 'epsilon' else 'zcdp'}", f"budget.{key}={float(fields[key])}"]
    given += [f"policy.explored={users}", "policy.allocation=halving", f"horizon={int(users) + 2}"]
    given += ["instance=bernoulli", f"instance.means=[{','.join(map(str, order))}]", f"replications={RUNS}"]
    wrong = cells_of(given, composer, tmp_path / "again").measure("wrong_arm").mean()
    assert rows[label][0] == f"{100 * wrong:.3g} %"
