"""Advice: questions, contenders, halving, the page, and numbers that are those of `experiments.run`."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from bandits import Guarantee
from bandits.exact.two_arms import LostReward, TwoArms, best_pulls
from bandits.policies.distributed import DistRDPSE
from bandits.policies.ucb import UCB1
from experiments import UserError, run
from experiments.advice import answer, race
from experiments.advice.answer import Advisor, Answer, Learned, Variation, advise, learns
from experiments.advice.budgets import largest_budget
from experiments.advice.contenders import contenders
from experiments.advice.question import question
from experiments.advice.race import Row, judged, pooled
from experiments.advice.words import changed, from_users, least, lost, page, sentence, unbound
from experiments.cells.regret import RegretCell
from experiments.config.compose import Composer
from experiments.evidence.contests import FEWEST, contest
from experiments.store.stored import Stored
from scripts import advise as command

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
        ({"rewards": "weighty"}, "rewards"),
        ({"rewards": "bounded", "means": [0.5, 1]}, "means"),
        ({"means": [0.5, 0.5]}, "means"),
        ({"means": [0.03, 0.0300000004]}, "means"),
        ({"means": [0.03, 0.030000001]}, "means"),
        ({"means": None, "rate": 0.5, "arms": 2, "gap": [1e-10, 0.1]}, "gap"),
        ({"means": [0.5, 2]}, "means"),
        ({"means": [0.5]}, "means"),
        ({"means": "x"}, "means"),
        ({"means": [0.1, 10**400]}, "means"),
        ({"gap": 0.1}, "gap"),
        ({"arms": 2}, "arms"),
        ({"rate": 0.1}, "means"),
        ({"means": None, "rate": 0.5, "arms": 2}, "gap"),
        ({"means": None, "rate": 0.5, "arms": 2, "gap": [0.2, 0.1]}, "gap"),
        ({"means": None, "rate": 0.5, "arms": 3, "gap": 0.6}, "gap"),
        ({"means": None, "rate": 0.5, "arms": 1, "gap": 0.1}, "arms"),
        ({"user": 5}, "user"),
        ({"rewards": "heavy", "moment": 3}, "moment"),
        ({"rewards": "heavy", "moment": 1.005}, "moment"),
        ({"rewards": "heavy", "means": [0.5, 0]}, "means"),
        ({"moment": 1.5}, "moment"),
        ({"contributions": 0}, "contributions"),
        ({"data": "past.csv"}, "means"),
        ({"means": None, "data": "nowhere.csv"}, "data"),
        ({"means": None, "data": 5}, "data"),
        ({"means": None, "data": "past.csv", "rewards": "clicks"}, "rewards"),
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
    private, free = contenders(asking, Composer())
    names = {one.name: one for one in private}
    assert {"dp_se", "dp_imed", "dp_klucb", "klucb_cf", "dist_dp_se"} <= names.keys()
    assert not {"ucb1", "dp_ftpl_new", "shuffle_se", "dist_rdp_se"} & names.keys()
    assert "ucb1" in {one.name for one in free}
    assert all(one.policy.guarantee.implies(asking.promise) for one in private)
    assert names["dp_se"].policy.epsilon == 1.0
    local = {one.name for one in contenders(question(**CASE, trust="local"), Composer())[0]}
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
    """A row of 200 runs on two arms: half with this regret, half with one more; most pull the best arm 1,500 times."""
    asking = question(**CASE)
    ((made, *_), _) = contenders(asking, Composer()) if policy is None else ([policy], [])
    cell = made.planned.requests[0].cell
    values = regret + np.arange(200) % 2
    best = int(np.argmax(cell.instance.mean_rewards))
    pulls = np.full((200, 2), 500)
    pulls[:150, best] = 1500
    rows = {"t": np.full((200, 1), 2000), "regret": values[:, None].astype(float), "pulls": pulls}
    rows["pulls"][150:, 1 - best] = 1500
    stored = Stored(rows, {}, cell)
    named = SimpleNamespace(name=name, label=name, rounded=False, policy=UCB1(), law=None)
    return race.Row(named, stored, replace(race._standing(named, stored), key=name))


@pytest.fixture(scope="module")
def one():
    return contenders(question(**CASE), Composer())[0][0]


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
    assert "Take fast: 95 % of its runs lose at most 101; uniform play 400." in text
    assert "Not in the table: late (not run: about 2 s a run)." in text
    assert [line.split() for line in text.splitlines() if line.startswith("fast")] == [
        ["fast", "100", "±", "0", "100", "101", "75", "%", "200"]
    ]
    assert "lower bound as users grow without end" in text
    rows, rivals = judged([row("a", 100, one), row("b", 100, one)])
    assert "200 runs do not separate it from b" in sentence(Answer(asking, rows, rivals, []))


def coin(name, wrong, policy):
    """A row of 200 runs that lose 800 if the `wrong` arm is kept, which is in so many of 100, else nothing."""
    made = row(name, 0, policy)
    made.stored.rows["regret"][:, 0] = np.where(np.arange(200) < 2 * wrong, 800.0, 0.0)
    return race.Row(made.contender, made.stored, replace(race._standing(made.contender, made.stored), key=name))


def test_what_is_said_of_bad_runs_is_the_end_of_an_interval(one):
    """Without .95^125 <= .05 / 30 < .95^124 no end is finite: then a policy takes no part, whatever it lost."""
    assert race.LEAST_RUNS == 125
    assert 0.95**125 <= 0.05 / 30 < 0.95**124

    def first(runs, regret):
        made = row("a", 0, one)
        rows = {name: values[:runs] for name, values in made.stored.rows.items()}
        rows["regret"] = np.asarray(regret, dtype=float)[:runs, None]
        stored = Stored(rows, {}, made.stored.cell)
        return race.Row(made.contender, stored, replace(race._standing(made.contender, stored), key=f"{runs}"))

    regret = np.arange(200)
    few, enough = first(124, regret), first(125, regret)
    assert (few.standing.lacks, few.standing.high) == ("124 runs", math.inf)
    assert (enough.standing.lacks, enough.standing.high) == ("", 124)
    assert lost(few)[2] == "not known"
    assert judged([few])[1].best == []
    assert "A first look: 124 runs" in sentence(Answer(question(**CASE), *judged([few]), []))
    rare = first(200, np.where(np.arange(200) < 9, 300, 10))  # the 191 others are 10, and so is the 95 % quantile
    assert (rare.standing.quantiles[0.95].estimate, rare.standing.high) == (10, 300)
    steady = row("b", 30, one)
    assert [item.standing.key for item in judged([rare, steady])[0]] == ["b", "200"]


def test_no_other_quantile_tells_policies_apart(one):
    """80 % of the runs of a lose less than all of b, but 10 % lose as much: a does not beat b."""
    a, b = row("a", 0, one), row("b", 100, one)
    a.stored.rows["regret"][:20] = 150.0
    better = race._standing(a.contender, a.stored)
    assert better.mean < b.standing.mean
    assert better.quantiles[0.8].high < b.standing.quantiles[0.8].low
    assert not better.beats(b.standing)
    assert row("a", 98, one).standing.beats(b.standing)


def test_a_coin_learns_nothing(one):
    """Who keeps to one of two arms, in 48 % of runs to the wrong one, has a median of 0 and loses as uniform play."""
    assert coin("a", 48, one).median == 0
    assert not learns(question(**CASE), [coin("a", 48, one)])
    assert learns(question(**CASE), [coin("a", 30, one)])


def test_who_learns_nothing_is_not_recommended_before_who_does(one):
    """Uniform play loses 400 in every run, a 300 and in bad runs 600; the risk of a is larger."""
    uniform, a = row("uniform", 399, one), coin("a", 50, one)
    a.stored.rows["regret"][:, 0] = np.where(np.arange(200) < 20, 600.0, 260.0)
    a = race.Row(a.contender, a.stored, replace(race._standing(a.contender, a.stored), key="a"))
    assert contest([uniform.standing, a.standing]).rivals[0].key == "uniform"
    rows, rivals = judged([uniform, a])
    assert ([item.label for item in rows], [item.key for item in rivals.best]) == (["a", "uniform"], ["a"])
    assert [item.key for item in judged([uniform])[1].best] == ["uniform"]


def test_a_coin_is_not_named_as_typical(one):
    asking = question(**CASE)
    for wrong, named in ((38, False), (30, True)):
        rows, rivals = judged([row("a", 100, one), coin("b", wrong, one)])
        assert ("b loses less in a typical run, 0," in sentence(Answer(asking, rows, rivals, []))) == named


def test_few_runs_do_not_show_that_nothing_learns(one):
    few = coin("a", 48, one)
    few.stored.rows.update({name: values[:20] for name, values in few.stored.rows.items()})
    assert least(Variation("users", 2000, question(**CASE), [few])).startswith(
        "20 runs do not show that anything learns"
    )
    assert least(Variation("users", 2000, question(**CASE), [coin("a", 48, one)])).startswith(
        "nothing is seen to learn; uniform play 400"
    )


def test_what_is_recommended_is_shown_at_other_gaps(one):
    asking = question(**CASE)
    rows, rivals = judged([row("a", 10, one), row("b", 200, one)])
    there = Variation("gap", 0.5, asking.with_gaps(0.5), judged([row("a", 90, one), row("b", 20, one)])[0])
    assert list(changed(Answer(asking, rows, rivals, [], variations=[there]))) == [
        "  gaps x 0.5: b, mean 20 ± 0, 95 % at most 21; a, mean 90 ± 0, 95 % at most 91; uniform play 200"
    ]


def test_who_keeps_to_an_arm_is_warned_of_with_three_arms_too():
    asking = question(arms=3, rate=0.3, gap=0.2, users=1000, epsilon=2)
    made = {one.name: one for one in contenders(asking, Composer(), ("dp_halving", "dp_klucb"))[0]}

    def said(name):
        kept = row(name, 10, made[name])
        rows, rivals = judged([race.Row(made[name], kept.stored, kept.standing)])
        return sentence(Answer(asking, rows, rivals, []))

    assert "It keeps to the arm that it names" in said("dp_halving")
    assert "It keeps" not in said("dp_klucb")


def test_who_is_known_to_break_a_promise_is_no_contender():
    private, free = contenders(question(**CASE), Composer(), ("dp_ncb", "dp_ncb_code"))
    assert [one.name for one in private] == ["dp_ncb"]
    assert not free


def test_the_best_without_privacy_has_the_least_mean_of_all_runs(one, monkeypatch):
    """The race may be won by luck; and a finalist at epsilon 100 is played at that epsilon."""
    asking, played = question(**CASE), []
    monkeypatch.setattr(Advisor, "named", lambda *_: [one])
    monkeypatch.setattr(answer, "race", lambda _, racers, **__: (racers, []))

    def placed(self, there, some, *_):
        played.append((there.epsilon, len(some)))
        return [row(str(there.epsilon), 50 if there is asking else 40, one)] if some else []

    monkeypatch.setattr(Advisor, "placed", placed)
    (free, *_) = contenders(asking, Composer(), ("ucb1",))[1]
    best = Advisor().without_privacy(asking, [free], ["a"], 100, {})
    assert played == [(1.0, 1), (100.0, 1)]
    assert (best.label, best.lost) == ("100.0", 40.5)


def test_nothing_learns(one):
    """A mean of 361 is above .9 times uniform play, 360."""
    rows, rivals = judged([row("a", 360.6, one)])
    assert sentence(Answer(question(**CASE), rows, rivals, [])).startswith("Nothing is seen to learn here")
    rows, rivals = judged([row("a", 359, one)])
    assert sentence(Answer(question(**CASE), rows, rivals, [])).startswith("Take a")
    assert sentence(Answer(question(**CASE), [], contest([]), [])).startswith("No policy here")


def test_halving_keeps_the_best_and_says_why_others_are_dropped(monkeypatch):
    racers = [SimpleNamespace(name=str(number), label=str(number)) for number in range(13)]
    rounds = []

    def play(left, runs):
        rounds.append((runs, len(left)))
        return [SimpleNamespace(lost=float(item.name), label=item.name, contender=item) for item in left]

    monkeypatch.setattr(race, "play", play)
    monkeypatch.setattr(race, "key_of", lambda item: item.name)
    monkeypatch.setattr(race, "trials", lambda left, later, users: iter([dict.fromkeys([it.name for it in left], 0.1)]))
    said = []
    left, dropped = race.race(question(**CASE), racers, said.append, seconds={"11": 0.3, "12": 0.7})
    assert rounds == [(4, 12), (16, 6)]
    assert [item.name for item in left] == ["0", "1", "2", "3", "4"]
    assert dropped[0] == "12 (not run: about 0.7 s a run)"
    assert dropped[1] == "6 (lost 6 after 4 runs)"
    assert dropped[-1] == "5 (lost 5 after 16 runs)"
    assert said[0] == "mean lost reward after 4 runs: 0 0, 1 1, 2 2, 3 3, 4 4"


@pytest.mark.slow
def test_a_whole_answer_and_its_numbers_are_those_of_run(tmp_path, call, capsys):
    asking = question(**CASE, trust="local")
    found = advise(results_dir=str(tmp_path / "runs"), runs=126, trust="local", **CASE)
    assert found.asking == asking
    assert found.best
    assert found.free is not None
    assert 0 < found.bound < asking.uniform
    cases = [(one.field, one.value) for one in found.variations]
    assert cases[:6] == [("gap", 0.5), ("gap", 2.0), *[("epsilon", epsilon) for epsilon in (0.25, 0.5, 2.0, 4.0)]]
    assert cases[6:9] == [("users", 125), ("users", 500), ("users", 8000)]
    assert cases[9:] == [("trust", "shuffle"), ("trust", "distributed"), ("trust", "central")]
    medians = {
        value: min(row.median for row in one.rows) for (_, value), one in zip(cases, found.variations, strict=True)
    }
    assert medians["central"] <= medians["shuffle"]
    assert medians[4.0] < medians[0.25]
    names = {item.label for item in found.rows} | {line.split(" (")[0] for line in found.dropped}
    assert {"KLUCB-CF", "TS-CF"} <= names
    (mine,) = [item for item in found.rows if item.label == "KLUCB-CF"]
    assert mine.runs == 126  # 63 with the best arm in each of two places
    words = ["policy=klucb_cf", "budget.epsilon=1.0", "horizon=2000", "recorded=1"]
    words += ["instance=bernoulli", f"results_dir={tmp_path}/again"]
    places = zip(asking.orders(4), (16, 0), strict=True)  # the race at the first place does not count
    rows = [
        run(
            *words, f"instance.means={list(asking.in_order(order).means)}", f"replications={raced + 63}", workers=1
        ).regret.to_numpy()[raced:]
        for order, raced in places
    ]
    assert mine.mean.estimate == pytest.approx(np.mean(rows))
    assert len({tuple(regret) for regret in rows}) == 2
    assert found.free.runs == 126
    capsys.readouterr()
    again = call(
        *["means=[0.9,0.5]", "users=2000", "epsilon=1", "trust=local", "runs=126", f"results_dir={tmp_path}/runs"],
        main=command.main,
    )
    assert again.code == 0
    assert again.out == page(found) + "\n"
    assert "A first look: 16 runs of each are too few" in again.err


def test_no_theorem_bounds_an_arm_that_never_pays():
    for trust, bounded in (("central", False), ("distributed", False), ("shuffle", False), ("local", True)):
        assert (answer._bound(question(means=[0, 0.5], users=1000, epsilon=1, trust=trust)) is not None) == bounded
    assert answer._bound(question(**CASE)) > 0


def test_places_of_the_best_arm():
    asking = question(**CLICKS)
    orders = asking.orders(4)
    assert len(orders) == len({asking.in_order(order).means for order in orders}) == 4
    assert asking.in_order(orders[0]) == asking
    assert len(question(**CASE).orders(4)) == 2


def test_runs_at_several_places_are_one_row(one):
    """The arms of the second row are those of the first in the order 1, 0: its best arm is the other one."""
    first, second = row("a", 100, one), row("a", 300, one)
    second.stored.rows["pulls"][:] = second.stored.rows["pulls"][:, ::-1]
    both = pooled([first, second], [(0, 1), (1, 0)])
    assert (both.runs, both.lost, both.on_best) == (400, 200.5, 0.75)


def test_what_stands_for_no_privacy_has_a_name(one):
    assert unbound(row("a", 1, one)) == "a, not private"
    private = SimpleNamespace(guarantee=Guarantee(100.0))
    assert unbound(SimpleNamespace(label="a", contender=SimpleNamespace(policy=private))) == "a at epsilon 100"


def test_the_cell_is_an_ordinary_one(one):
    (request,) = one.plan(100).requests
    assert isinstance(request.cell, RegretCell)
    assert request.replications == 100


def test_many_rewards_of_a_user_are_one_promise():
    """Three rewards at epsilon 1: 1/3 each. With delta: delta / (1 + e^(1/3) + e^(2/3)). Twice: a quarter of rho."""
    three = question(**CASE, contributions=3)
    assert three.promise == Guarantee(1 / 3)
    private, _ = contenders(three, Composer())
    assert {one.policy.epsilon for one in private if one.name in ("dp_se", "klucb_cf")} == {1 / 3}
    approximate = question(**CASE, contributions=3, delta=0.01).promise
    assert approximate.delta == pytest.approx(0.01 / (1 + 1.395612425 + 1.947734041))
    assert question(means=[0.5, 0.9], users=2000, rho=0.08, contributions=2).promise.rho == pytest.approx(0.02)


def test_heavy_rewards_are_pareto_with_that_moment():
    asking = question(**CASE, rewards="heavy", moment=1.7)
    (first, *_), _ = contenders(asking, Composer())
    instance = first.planned.requests[0].cell.instance
    assert (instance.name, instance.v, sorted(instance.means)) == ("pareto", 0.7, [0.5, 0.9])
    assert {one.name for one in contenders(asking, Composer())[0]} >= {"dprse", "dprucb"}


def test_users_from_which_something_learns_are_sought(one, monkeypatch):
    asking = question(**CASE)
    tried = []
    monkeypatch.setattr(answer, "contenders", lambda there, *_: (tried.append(there.users), ([one], []))[1])
    monkeypatch.setattr(answer, "race", lambda there, racers: (racers, []))
    monkeypatch.setattr(answer, "play", lambda racers, runs: [row("a", 2000, one)])
    monkeypatch.setattr(Advisor, "placed", lambda *_: [row("a", 2000, one)])
    learned = Advisor().learned(asking)  # uniform play is 400, 1,600, 6,400 there
    assert tried == [8000, 32000]
    assert learned.first.value == learned.first.asking.users == learned.most == 32000
    rows, rivals = judged([row("b", 399, one)])
    text = sentence(Answer(asking, rows, rivals, [], learned=learned))
    assert text.endswith("With 32,000 users a does; with a quarter of them nothing is seen to.")
    there = Variation("gap", 0.5, asking.with_gaps(0.5), judged([row("b", 199, one)])[0], learned)
    assert list(changed(Answer(asking, rows, rivals, [], variations=[there]))) == [
        "  gaps x 0.5: nothing is seen to learn; uniform play 200. With 32,000 users a does; "
        "with a quarter of them nothing is seen to"
    ]


def test_fresh_runs_decide_whether_something_learns(one, monkeypatch):
    """In a race it loses a quarter of uniform play with 8,000 users, in runs after it as much as that."""
    asking, fresh = question(**CASE), []
    monkeypatch.setattr(answer, "contenders", lambda there, *_: ([one], []))
    monkeypatch.setattr(answer, "race", lambda there, racers: (racers, []))
    monkeypatch.setattr(answer, "play", lambda racers, runs: [row("a", 400, one)])

    def placed(_, there, finalists, runs, raced):
        fresh.append((there.users, runs, raced))
        return [row("a", 1600 if there.users == 8000 else 400, one)]

    monkeypatch.setattr(Advisor, "placed", placed)
    assert Advisor().learned(asking).first.value == 32000
    assert fresh == [(8000, FEWEST, 16), (32000, FEWEST, 16)]


def test_the_interval_that_shows_learning_is_for_all_that_may_be_tried(one, monkeypatch):
    """14 numbers of users up to 10^12 for five finalists: an interval at 5 % would do, one at .07 % does not."""
    asking, errors = question(**CASE), []
    monkeypatch.setattr(answer, "contenders", lambda there, *_: ([one], []))
    monkeypatch.setattr(answer, "race", lambda there, racers: (racers, []))
    monkeypatch.setattr(answer, "play", lambda racers, runs: [row("a", 0, one)])
    monkeypatch.setattr(Advisor, "placed", lambda *_: [row("a", 0, one)])
    monkeypatch.setattr(answer, "learns", lambda there, rows, error: errors.append(error) or True)
    Advisor().learned(asking)
    assert errors == [pytest.approx(0.05 / (5 * 14))]


def test_the_policy_that_learns_is_named_not_the_first(one):
    """Of too few runs all are out of the contest, and stay in order of the mean."""
    there = Variation("users", 8000, replace(question(**CASE), users=8000), [row("a", 2000, one), row("b", 100, one)])
    assert from_users(Learned(there, 8000)).startswith("With 8,000 users b does")


def test_where_nothing_learns_the_largest_number_tried_is_told(one, monkeypatch):
    """All are too slow from 128,000 users on; with too many users the search ends."""
    asking = question(**CASE)
    monkeypatch.setattr(answer, "contenders", lambda there, *_: ([one] if there.users < 10**5 else [], []))
    monkeypatch.setattr(answer, "race", lambda there, racers: (racers, []))
    monkeypatch.setattr(answer, "play", lambda racers, runs: [row("a", 10**15, one)])
    learned = Advisor().learned(asking)
    assert (learned.first, learned.most) == (None, 32000)
    rows, rivals = judged([row("b", 399, one)])
    text = sentence(Answer(asking, rows, rivals, [], learned=learned))
    assert text.endswith("Up to 32,000 users, the most that were tried, nothing is seen to.")
    monkeypatch.setattr(answer, "contenders", lambda there, *_: ([one], []))
    assert Advisor().learned(asking).most == 2000 * 4**14 <= 10**12 < 2000 * 4**15
    weak = Variation("trust", "central", asking, rows)
    assert list(changed(Answer(asking, rows, rivals, [], variations=[weak]))) == [
        "  trust central: nothing is seen to learn; uniform play 400"
    ]


def test_other_gaps_with_which_nothing_learns_are_sought_too(one, monkeypatch):
    """Among the finalists alone."""
    asking, among = question(**CASE), []
    monkeypatch.setattr(Advisor, "named", lambda *_: [one])
    monkeypatch.setattr(
        answer, "play", lambda racers, runs: [row("a", 195, one)]
    )  # uniform play is 200 at half the gap
    monkeypatch.setattr(Advisor, "learned", lambda _, there, names: among.append((there.uniform, names)) or "sought")
    gaps = [there for there in Advisor().varied(asking, ["a"], [], 125) if there.field == "gap"]
    assert [there.learned for there in gaps] == ["sought", None]
    assert among == [(pytest.approx(200), ["a"])]


def committing(**fields):
    """The contenders that explore and commit, by name, of a question of two arms."""
    names = ("dp_halving", "dp_halving_gauss", "ldp_halving", "halving")
    return {one.name: one for some in contenders(question(**fields), Composer(), names) for one in some}


def test_two_arms_are_explored_by_the_best_number_of_users():
    """Its law is computed; bits have smaller gaps than rewards, and what is lost is that of rewards."""
    case = {"means": [0.4, 0.6], "users": 3000}
    made = committing(**case, rho=0.5)
    tests = {
        "dp_halving": TwoArms((0.4, 0.6), epsilon=made["dp_halving"].policy.epsilon, draws=2),
        "dp_halving_gauss": TwoArms((0.4, 0.6), rho=0.5, draws=2),
        "halving": TwoArms((0.4, 0.6)),
    }
    for name, design in tests.items():
        pulls = best_pulls([design], 3000)
        assert made[name].policy.explored == 2 * pulls
        assert made[name].law == design.lost(pulls, 3000)
    (local,) = (one for name, one in committing(**case, epsilon=math.log(3)).items() if name == "ldp_halving")
    bits = TwoArms((0.45, 0.55))
    pulls = best_pulls([bits], 3000)
    assert local.label == f"LDP-Halving, {2 * pulls:,} explore"
    expected = (0.2 * pulls, 0.2 * (3000 - pulls), bits.wrong(pulls))
    assert (local.law.right, local.law.wrong, local.law.chance) == pytest.approx(expected)
    several = committing(**case | {"means": [0.1, 0.2, 0.3]}, epsilon=1)
    assert {(one.policy.explored, one.law) for one in several.values()} == {(None, None)}


def test_the_number_who_explore_is_for_the_gaps_that_were_given():
    """Also where other gaps are played, and for the worst of a range."""
    asking = question(**CASE)
    here, half = (contenders(one, Composer(), ["dp_halving"])[0][0] for one in (asking, asking.with_gaps(0.5)))
    assert half.policy == here.policy
    assert half.law.right == pytest.approx(here.law.right / 2)
    assert half.law.chance > here.law.chance
    case = {"arms": 2, "rate": 0.4, "gap": [0.1, 0.4], "users": 3000, "epsilon": 1.0}
    designs = [TwoArms((0.4, 0.4 + gap), epsilon=1.0, draws=2) for gap in (0.1, 0.2, 0.4)]
    assert committing(**case)["dp_halving"].policy.explored == 2 * best_pulls(designs, 3000)


def test_a_computed_law_stands_for_runs(one):
    """Of 5 runs in 100 that lose 1,000 in place of 100 the mean is 145, and the 95 % quantile still 100."""
    known = replace(one, law=LostReward(100.0, 1000.0, 0.05))
    made = row("a", 100, one)
    (there,) = judged([Row(known, made.stored, race._standing(known, made.stored))])[0]
    assert (there.lost, there.standing.mean, there.mean) == (145, 145, (145, 145, 145))
    assert (there.median, there.standing.high, there.on_best) == (100, 100, 0.95)
    assert lost(there) == ["145", "100", "100", "95.0 %", "exact"]


def test_a_mean_without_a_wrong_commitment_is_in_doubt():
    """Of Beta rewards the law is not computed, and 4 runs with the right arm do not show what a wrong one costs."""
    asking = question(**CASE, rewards="bounded")
    (beta,) = contenders(asking, Composer(), ["dp_halving"])[0]
    assert (beta.law, beta.planned.requests[0].cell.instance.name) == (None, "beta")
    made = row("a", 100, beta).stored
    best = int(np.argmax(asking.means))
    sure = {**made.rows, "pulls": np.where(np.arange(2) == best, 1500, 500) + np.zeros((200, 1), dtype=int)}
    assert race._standing(beta, Stored(sure, {}, made.cell)).doubt == race.COMMITS
    assert race._standing(beta, made).doubt == ""  # a quarter of its runs are wrong


def test_a_mean_in_doubt_counts_for_nobody(one):
    """No wrong run of 200, of which there may be 3.1 %: each loses at least .4 for all of 2,000 users."""
    asking = question(**CASE, rewards="bounded")
    (beta,) = contenders(asking, Composer(), ["dp_halving"])[0]
    made = row("a", 10, beta).stored
    best = int(np.argmax(asking.means))
    sure = {**made.rows, "pulls": np.where(np.arange(2) == best, 1500, 500) + np.zeros((200, 1), dtype=int)}
    stored = Stored(sure, {}, made.cell)
    doubted = race.Row(beta, stored, replace(race._standing(beta, stored), key="doubted"))
    chance = 1 - (0.05 / 30) ** (1 / 200)
    assert doubted.standing.mean == pytest.approx((1 - chance) * 10.5 + chance * 800)
    assert doubted.mean_at_most(0.05) == doubted.standing.mean
    rows, rivals = judged([doubted, row("b", 100, one), row("c", 15, one)])
    assert [item.standing.key for item in rows] == ["c", "b", "doubted"]
    assert [item.key for item in rivals.best] == ["c"]
    assert not doubted.standing.beats(row("b", 100, one).standing)
    assert "Its mean is in doubt: it commits" in sentence(Answer(asking, *judged([doubted]), []))
    wrong = {**made.rows, "regret": np.where(np.arange(200) < 150, 10.0, 1700.0)[:, None]}
    assert race._largest_mean(Stored(wrong, {}, made.cell)) > 0.25 * 1700


def test_lines_of_few_runs_say_that_the_mean_alone_decides(one):
    few = row("a", 100, one)
    few.stored.rows.update({name: values[:20] for name, values in few.stored.rows.items()})
    short = race.Row(few.contender, few.stored, race._standing(few.contender, few.stored))
    there = question(**CASE)
    assert least(Variation("users", 2000, there, [short])).startswith("least mean: a, mean 100 ± 0, median 100, best")
    assert least(Variation("users", 2000, there, [row("a", 100, one)])).startswith(
        "a, mean 100 ± 0, median 100, 95 % at most 101, best"
    )


def test_the_runs_that_choose_who_is_shown_do_not_count(one, monkeypatch):
    """At other gaps, budgets and numbers of users; and at a weaker trust those of the race do not."""
    asking, dropped = question(**CASE, trust="distributed"), []
    monkeypatch.setattr(Advisor, "named", lambda *_: [one])
    monkeypatch.setattr(answer, "race", lambda there, racers: (racers, []))
    monkeypatch.setattr(answer, "play", lambda racers, runs: [row("a", 20, one)])

    def placed(_, there, finalists, runs, raced):
        dropped.append((runs, raced))
        return [row("a", 20, one)]

    monkeypatch.setattr(Advisor, "placed", placed)
    list(Advisor().varied(asking, ["a"], [], 400))
    assert dropped == [(250, 4)] * 9
    dropped.clear()
    list(Advisor().varied(asking, ["a"], [], 125))  # as slow ones
    assert dropped == [(125, 4)] * 2 + [(20, 4)] * 7
    dropped.clear()
    list(Advisor().trusted(asking))
    assert dropped == [(125, 16)]
    dropped.clear()
    ranged = question(arms=2, rate=0.5, gap=[0.1, 0.4], users=2000, epsilon=1)
    list(Advisor().varied(ranged, ["a"], [], 400))
    assert dropped[:2] == [(400, 4)] * 2


def test_many_runs_of_quick_finalists(one, monkeypatch):
    """400 runs of .01 s are played, of .1 s only if they are stored; 200 at each of two places are enough."""
    asking, stored = question(**CASE), []
    monkeypatch.setattr(answer, "is_stored", lambda _, runs: stored.append(runs) or len(stored) > 2)
    for seconds, runs in ((0.01, 400), (0.1, 125), (0.1, 400)):
        monkeypatch.setattr(answer, "seconds_of", lambda *_, seconds=seconds: seconds)
        assert answer._affordable(asking, [one]) == runs
    assert stored == [200] * 3


def test_a_range_of_gaps_is_answered_where_a_policy_loses_most(one):
    """At the middle a loses less, at the largest gap b: its worst of 100, 150 and 200 is below 90, 100 and 300 of a."""
    asking = question(arms=2, rate=0.5, gap=[0.1, 0.4], users=2000, epsilon=1)
    lost_at = {1: {"a": 90, "b": 100, "c": 80}, 0.5: {"a": 100, "b": 150}, 2: {"a": 300, "b": 200, "c": 70}}
    rows = {factor: [row(name, regret, one) for name, regret in some.items()] for factor, some in lost_at.items()}
    first, rivals = judged(rows[1])
    ends = [Variation("gap", factor, asking.with_gaps(factor), judged(rows[factor])[0]) for factor in (0.5, 2)]
    whole = Answer(asking, first, rivals, [], variations=[Variation("epsilon", 2.0, asking, first), *ends])
    assert [(there.gap, found.label, found.standing.high) for there, found in whole.over_range] == [
        (pytest.approx(0.4), "b", 201),
        (pytest.approx(0.4), "a", 301),
    ]
    assert next(changed(whole)) == "  over the range of gaps take b: 95 % of its runs lose at most 201, at gap 0.4"
    assert replace(whole, variations=ends[:1]).over_range == []
    assert replace(whole, asking=question(**CASE)).over_range == []


@pytest.mark.parametrize("slow", [False, True])
def test_an_answer_without_contenders_says_so_to_its_end(slow, one, monkeypatch):
    """No policy promises enough, or all are too slow."""
    monkeypatch.setattr(answer, "contenders", lambda *_: ([one] if slow else [], []))
    for module in (answer, race):
        monkeypatch.setattr(
            module, "trials", lambda racers, *_: (dict.fromkeys(map(race.key_of, racers), 9.0) for _ in "1")
        )
    last = advise(**CASE)
    assert sentence(last) == "No policy here both promises this and can be simulated in this case."
    assert (last.rows, last.best, list(changed(last))) == ([], [], [])
    assert len(last.dropped) == slow


def test_the_least_gap_is_not_rounded_to_none_where_it_is_smaller():
    asking = question(means=[0.03, 0.030000002], users=2000, epsilon=1)
    assert [there.gap for there in (asking, asking.with_gaps(0.5), asking.with_gaps(2))] == [2e-9, 1e-9, 4e-9]
    for high in (3e-9, 5e-9, 1e-3, 0.4):
        assert question(arms=3, rate=0.5, gap=[2e-9, high], users=2000, epsilon=1).hardest.gap >= 1e-9


@pytest.mark.parametrize(
    "fields", [{"means": [0.0300000006, 0.0300000024]}, {"means": [0.5, 1e-10], "rewards": "bounded"}]
)
def test_means_are_checked_as_they_are_rounded(fields):
    """To a gap of 1e-9, and to a mean of 0."""
    with pytest.raises(UserError, match=r"^means: "):
        question(**CASE | fields)
