"""Advice: questions, contenders, halving, the rule, and numbers that are those of `experiments.run`."""

from types import SimpleNamespace

import numpy as np
import pytest

from experiments import UserError
from experiments.advice import answer
from experiments.advice.contenders import Contender, contenders, largest_budget
from experiments.advice.question import question
from experiments.intervals import Interval

CASE = {"means": [0.5, 0.9], "users": 2000, "epsilon": 1.0}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"users": None}, "users"),
        ({"users": 1.5}, "users"),
        ({"epsilon": None}, "epsilon"),
        ({"epsilon": "much"}, "epsilon"),
        ({"rho": 0.1}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"trust": "nobody"}, "trust"),
        ({"rewards": "heavy"}, "rewards"),
        ({"goal": "best_arm"}, "goal"),
        ({"means": [0.5, 0.5]}, "means"),
        ({"means": [0.5, 2]}, "means"),
        ({"means": "x"}, "means"),
        ({"gap": 0.1}, "gap"),
        ({"rate": 0.1}, "means"),
        ({"means": None, "rate": 0.5, "arms": 2}, "gap"),
        ({"means": None, "rate": 0.5, "arms": 2, "gap": [0.2, 0.1]}, "gap"),
        ({"means": None, "rate": 0.5, "arms": 1, "gap": 0.1}, "arms"),
        ({"means": None, "data": "no such file"}, "data"),
        ({"user": 5}, "user"),
    ],
)
def test_wrong_input_is_one_line_that_names_the_field(fields, field):
    with pytest.raises(UserError, match=rf"^{field}: [^\n]+$"):
        question(**{**CASE, **fields})


def test_means_of_rate_and_gap_and_their_uniform_play():
    asking = question(arms=8, users=2e6, epsilon=0.5, rate=0.03, gap=0.003)
    assert sorted(asking.means) == [0.03] * 7 + [0.033]
    assert asking.uniform == pytest.approx(5250)  # 2e6 (7 / 8) .003
    assert max(asking.with_gaps(2).means) == pytest.approx(0.036)
    assert question(arms=8, users=2e6, epsilon=0.5, rate=0.03, gap=0.003) == asking
    cases = [question(arms=8, users=9, epsilon=1, rate=0.03, gap=gap / 100).means for gap in range(1, 9)]
    places = {means.index(max(means)) for means in cases}
    assert len(places) > 1


def test_means_in_any_order_are_the_same_question():
    assert question(**{**CASE, "means": [0.9, 0.5]}) == question(**CASE)


def test_data_gives_means_and_is_marked(tmp_path):
    file = tmp_path / "past.csv"
    file.write_text("arm,reward\na,1\na,0\nb,1\n")
    asking = question(data=file, users=100, epsilon=1)
    assert sorted(asking.means) == [0.5, 1.0]
    assert asking.from_data
    file.write_text("arm,reward\na,1\nb,0.5\n")
    with pytest.raises(UserError, match=r"^data: .*line 3"):
        question(data=file, users=100, epsilon=1)


def test_contenders_promise_enough_at_the_largest_budget():
    asking = question(**CASE)
    by_name = {one.name: one for one in contenders(asking)}
    assert {"dp_se", "dp_imed", "dp_klucb", "klucb_cf", "dist_dp_se"} <= by_name.keys()
    assert not {"ucb1", "dp_ftpl_new", "shuffle_se", "dist_rdp_se"} & by_name.keys()
    assert all(one.policy.guarantee.implies(asking.promise) for one in by_name.values())
    assert by_name["dp_se"].policy.epsilon == 1.0
    local = {one.name for one in contenders(question(**CASE, trust="local"))}
    assert "klucb_cf" in local
    assert "dp_se" not in local


def test_largest_budget_is_sought_where_the_promise_differs_from_the_parameter():
    (policy,) = [one.policy for one in contenders(question(**CASE, delta=1e-6)) if one.name == "dist_rdp_se"]
    promise = question(**CASE, delta=1e-6).promise
    value = largest_budget(policy, "epsilon", promise)
    assert policy.guarantee.epsilon <= 1.0 * (1 + 1e-9)
    assert value == pytest.approx(policy.epsilon, rel=0.01)


def row(name, upper, *, trusted=True, median=1.0):
    interval = Interval(upper, upper - 1, upper + 1)
    contender = SimpleNamespace(name=name, policy=SimpleNamespace(label=name))
    return answer.Row(contender, None, SimpleNamespace(trusted=trusted), Interval(median, 0, 2), interval)


def test_the_rule_takes_the_least_upper_quantile_of_trusted_means():
    rows = answer.ranked([row("c", 3), row("a", 1, trusted=False), row("b", 2)])
    assert [one.label for one in rows] == ["b", "c", "a"]
    assert not answer.separated(row("b", 2), row("c", 3))
    assert answer.separated(row("b", 2), row("c", 5))


def test_halving_keeps_the_best_and_says_why_others_are_dropped(monkeypatch):
    racers = [SimpleNamespace(name=str(number)) for number in range(12)]
    rounds = []

    def play(asking, left, runs, extra=()):
        rounds.append((runs, len(left)))
        return [row(one.name, 1, median=float(one.name)) for one in left]

    monkeypatch.setattr(answer, "play", play)
    monkeypatch.setattr(answer, "affordable", lambda asking, racers, runs, extra: (list(racers), []))
    left, dropped = answer.race(question(**CASE), racers)
    assert rounds == [(4, 12), (16, 6)]
    assert [one.name for one in left] == ["0", "1", "2", "3"]
    assert len(dropped) == 8
    assert dropped[0].startswith("6: median 6 after 4 runs")


def test_numbers_are_those_of_run(tmp_path):
    from experiments import run

    asking = question(**CASE)
    (one,) = [one for one in contenders(asking) if one.name == "dp_se"]
    assert isinstance(one, Contender)
    extra = (f"results_dir={tmp_path}", "runner=threads")
    (found,) = answer.play(asking, [one], 20, extra)
    means = ",".join(map(str, asking.means))
    words = ["instance=bernoulli", f"instance.means=[{means}]", "policy=dp_se", "budget.epsilon=1.0", "horizon=2000"]
    rows = run(*words, "replications=20", "recorded=1", f"results_dir={tmp_path}/again", "runner=threads")
    assert found.mean.interval.estimate == pytest.approx(rows[rows.t == 2000].regret.mean())
    assert found.upper.estimate == pytest.approx(np.quantile(rows[rows.t == 2000].regret, 0.95))
    assert 0 <= found.on_best <= 1
