"""Advice: questions, contenders, halving, the page, and numbers that are those of `experiments.run`."""

from types import SimpleNamespace

import numpy as np
import pytest

from bandits import Guarantee
from bandits.policies.distributed import DistRDPSE
from experiments import UserError, run
from experiments.advice import answer
from experiments.advice.answer import Answer, advise, judged
from experiments.advice.contenders import contenders, largest_budget
from experiments.advice.question import question
from experiments.cells.regret import RegretCell
from experiments.contests import contest, standing
from experiments.store.stored import Stored
from scripts import advise as command
from scripts.advise import page, sentence

CASE = {"means": [0.5, 0.9], "users": 2000, "epsilon": 1.0}
CLICKS = {"arms": 8, "users": 2e6, "epsilon": 0.5, "rate": 0.03, "gap": 0.003}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"users": None}, "users"),
        ({"users": 1.5}, "users"),
        ({"users": 1}, "users"),
        ({"epsilon": None}, "epsilon"),
        ({"epsilon": "much"}, "epsilon"),
        ({"rho": 0.1}, "epsilon"),
        ({"epsilon": None, "rho": 0.1, "delta": 0.1}, "delta"),
        ({"delta": 1}, "delta"),
        ({"trust": "nobody"}, "trust"),
        ({"rewards": "heavy"}, "rewards"),
        ({"rewards": "bounded", "means": [0.5, 1]}, "means"),
        ({"means": [0.5, 0.5]}, "means"),
        ({"means": [0.5, 2]}, "means"),
        ({"means": [0.5]}, "means"),
        ({"means": "x"}, "means"),
        ({"gap": 0.1}, "gap"),
        ({"arms": 2}, "arms"),
        ({"rate": 0.1}, "means"),
        ({"means": None, "rate": 0.5, "arms": 2}, "gap"),
        ({"means": None, "rate": 0.5, "arms": 2, "gap": [0.2, 0.1]}, "gap"),
        ({"means": None, "rate": 0.5, "arms": 3, "gap": 0.6}, "gap"),
        ({"means": None, "rate": 0.5, "arms": 1, "gap": 0.1}, "arms"),
        ({"user": 5}, "user"),
    ],
)
def test_wrong_input_is_one_line_that_names_the_field(fields, field):
    with pytest.raises(UserError, match=rf"^{field}: [^\n]+$"):
        question(**{**CASE, **fields})


def test_the_command_names_the_field_too(call):
    outcome = call("means=[0.5,0.9]", "users=2e3", "epsilon=1", "trust=nobody", main=command.main)
    assert (outcome.code, outcome.err) == (
        2,
        "error: advise: trust: must be one of local, shuffle, distributed, central, got nobody\n",
    )
    assert "advise: runs: must be" in call("means=[0.5,0.9]", "users=9", "epsilon=1", "runs=3", main=command.main).err


def test_means_of_rate_and_gap_and_their_uniform_play():
    asking = question(**CLICKS)
    assert sorted(asking.means) == [0.027, *[0.03] * 6, 0.033]
    assert asking.uniform == pytest.approx(6000)  # 2e6 x (6 x .003 + .006) / 8
    assert sorted(asking.with_gaps(2).means) == pytest.approx([0.024, *[0.03] * 6, 0.036])
    assert question(**CLICKS) == asking
    cases = [question(arms=8, users=9, epsilon=1, rate=0.03, gap=gap / 100).means for gap in (0.1, 0.2, 0.3, 0.5, 1)]
    assert len({means.index(max(means)) for means in cases}) > 1
    spread = question(**CLICKS | {"gap": [0.001, 0.009]})
    assert sorted(spread.means) == [0.027, *[0.03] * 6, 0.033]
    assert spread.nearby == pytest.approx((1 / 3, 3))
    assert sorted(question(arms=2, users=9, epsilon=1, rate=0.03, gap=0.01).means) == [0.03, 0.04]


def test_means_in_any_order_are_the_same_question():
    assert question(**{**CASE, "means": [0.9, 0.5]}) == question(**CASE)


def test_contenders_promise_enough_at_the_largest_budget():
    asking = question(**CASE)
    private, free = contenders(asking)
    names = {one.name: one for one in private}
    assert {"dp_se", "dp_imed", "dp_klucb", "klucb_cf", "dist_dp_se"} <= names.keys()
    assert not {"ucb1", "dp_ftpl_new", "shuffle_se", "dist_rdp_se"} & names.keys()
    assert "ucb1" in {one.name for one in free}
    assert all(one.policy.guarantee.implies(asking.promise) for one in private)
    assert names["dp_se"].policy.epsilon == 1.0
    local = {one.name for one in contenders(question(**CASE, trust="local"))[0]}
    assert "klucb_cf" in local
    assert "dp_se" not in local


def test_largest_budget_is_sought_where_the_promise_differs_from_the_parameter():
    """The declared epsilon of Dist-RDP-SE is larger than its parameter."""
    promise = Guarantee(1.0, 1e-6)
    value = largest_budget(DistRDPSE(1.0, 1e-6), "epsilon", promise)
    assert 0.1 < value < 1
    assert DistRDPSE(value, 1e-6).guarantee.implies(promise)
    assert not DistRDPSE(1.02 * value, 1e-6).guarantee.implies(promise)
    assert largest_budget(DistRDPSE(1.0, 1e-6), "epsilon", Guarantee(1.0, 1e-9)) is None


def row(name, regret, policy=None):
    """A row of 100 runs on two arms: half with this regret, half with one more; the best arm is pulled 1,500 times."""
    asking = question(**CASE)
    ((made, *_), _) = contenders(asking) if policy is None else ([policy], [])
    cell = made.planned.requests[0].cell
    values = regret + np.arange(100) % 2
    best = int(np.argmax(cell.instance.mean_rewards))
    pulls = np.full((100, 2), 500)
    pulls[:75, best] = 1500
    rows = {"t": np.full((100, 1), 2000), "regret": values[:, None].astype(float), "pulls": pulls}
    rows["pulls"][75:, 1 - best] = 1500
    stored = Stored(rows, {}, cell)
    named = SimpleNamespace(name=name, policy=SimpleNamespace(label=name))
    numbers = standing(stored, 0.01)
    return answer.Row(named, stored, numbers.__class__(**{**vars(numbers), "key": name}))


@pytest.fixture(scope="module")
def one():
    return contenders(question(**CASE))[0][0]


def test_a_row_by_hand(one):
    found = row("a", 100, one)
    assert (found.mean.estimate, found.median, found.standing.high) == (100.5, 100.5, 101)
    assert found.on_best == 0.75


def test_the_sentence_names_the_recommended_policy_and_what_it_risks(one):
    asking = question(**CASE)
    assert asking.uniform == pytest.approx(400)
    rows, rivals = judged([row("slow", 300, one), row("fast", 100, one)])
    assert [item.label for item in rows] == ["fast", "slow"]
    text = page(Answer(asking, rows, rivals, ["late (not run: about 2 s a run)"], bound=50.0))
    assert "Take fast: 95 % of its runs lose at most about 101; uniform play 400." in text
    assert "Not in the table: late (not run: about 2 s a run)." in text
    assert [line.split() for line in text.splitlines() if line.startswith("fast")] == [
        ["fast", "100", "±", "0", "100", "101", "75", "%", "100"]
    ]
    assert "lower bound as users grow without end" in text
    rows, rivals = judged([row("a", 100, one), row("b", 100, one)])
    assert "100 runs do not separate it from b" in sentence(Answer(asking, rows, rivals, []))


def test_nothing_learns(one):
    """A median of 361 is above .9 times uniform play, 360."""
    rows, rivals = judged([row("a", 360.6, one)])
    assert sentence(Answer(question(**CASE), rows, rivals, [])).startswith("Nothing learns here")
    rows, rivals = judged([row("a", 359, one)])
    assert sentence(Answer(question(**CASE), rows, rivals, [])).startswith("Take a")
    assert sentence(Answer(question(**CASE), [], contest([]), [])).startswith("No policy here")


def test_halving_keeps_the_best_and_says_why_others_are_dropped(monkeypatch):
    racers = [SimpleNamespace(name=str(number), policy=SimpleNamespace(label=str(number))) for number in range(13)]
    rounds = []

    def play(left, runs):
        rounds.append((runs, len(left)))
        return [SimpleNamespace(median=float(item.name), label=item.name, contender=item) for item in left]

    monkeypatch.setattr(answer, "play", play)
    monkeypatch.setattr(answer, "seconds_of_a_run", lambda item, users: 0.7 if item.name == "12" else 0.1)
    said = []
    left, dropped = answer.race(question(**CASE), racers, said.append)
    assert rounds == [(4, 12), (16, 6)]
    assert [item.name for item in left] == ["0", "1", "2", "3", "4"]
    assert dropped[0] == "12 (not run: about 0.7 s a run)"
    assert dropped[1] == "6 (median 6 after 4 runs)"
    assert dropped[-1] == "5 (median 5 after 16 runs)"
    assert said[0] == "median lost reward after 4 runs: 0 0, 1 1, 2 2, 3 3, 4 4"


@pytest.mark.slow
def test_a_whole_answer_and_its_numbers_are_those_of_run(tmp_path, call, capsys):
    asking = question(**CASE, trust="local")
    found = advise(results_dir=str(tmp_path / "runs"), runs=59, trust="local", **CASE)
    assert found.asking == asking
    assert found.best
    assert found.free is not None
    assert 0 < found.bound < asking.uniform
    assert [factor for factor, *_ in found.gaps] == [0.5, 2.0]
    names = {item.label for item in found.rows} | {line.split(" (")[0] for line in found.dropped}
    assert {"KLUCB-CF", "TS-CF"} <= names
    (mine,) = [item for item in found.rows if item.label == "KLUCB-CF"]
    means = ",".join(map(str, asking.means))
    words = ["instance=bernoulli", f"instance.means=[{means}]", "policy=klucb_cf", "budget.epsilon=1.0", "horizon=2000"]
    rows = run(*words, "replications=59", "recorded=1", f"results_dir={tmp_path}/again", workers=1)
    assert mine.mean.estimate == pytest.approx(rows.regret.mean())
    capsys.readouterr()
    again = call(
        *["means=[0.9,0.5]", "users=2000", "epsilon=1", "trust=local", "runs=59", f"results_dir={tmp_path}/runs"],
        main=command.main,
    )
    assert again.code == 0
    assert again.out == page(found) + "\n"


def test_the_cell_is_an_ordinary_one(one):
    (request,) = one.plan(100).requests
    assert isinstance(request.cell, RegretCell)
    assert request.replications == 100
