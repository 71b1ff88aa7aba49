"""Which policies differ significantly, by hand and against laws with known quantiles."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bandits import Guarantee, Scope
from experiments.evidence.contests import FEWEST, Standing, advice, contest, entitled, error_of_each, standings
from experiments.intervals import Interval
from experiments.store.stored import Cells
from scripts.drawing.spec import shown_in_panel
from tests.scripts.drawing.test_winners import made_up


def of(stored, values):
    return replace(stored, rows={**stored.rows, "regret": np.asarray(values, dtype=float)[:, None]})


@pytest.fixture(scope="module")
def cells():
    return [made_up(policy, 1, 1000, 10.0) for policy in ("dp_se", "dp_ucb", "dp_klucb")]


def recommended(found):
    """The names of the policies that are recommended, in order of their risk."""
    names = {stored.cell.key: stored.cell.policy.name for stored in found}
    return [names[one.key] for one in contest(standings(Cells(found)).values()).best]


def test_who_is_recommended_by_mean_and_upper_quantile(cells):
    """A better median does not help, and neither does a better quantile with a mean that two runs carry."""
    first, second, third = cells
    steady, behind = of(first, np.linspace(9, 11, 300)), of(second, np.linspace(12, 14, 300))
    assert recommended([steady, behind]) == ["dp_se"]
    lucky = of(third, [*np.linspace(4, 6, 270), *np.linspace(100, 120, 30)])
    assert recommended([steady, behind, lucky]) == ["dp_se"]
    assert contest(standings(Cells([steady, lucky])).values()).typical.key == lucky.cell.key
    rare = of(third, [*np.linspace(4, 6, 298), 3000, 3000])  # a mean of 25 and a 95 % quantile of 6
    on = contest(standings(Cells([steady, rare])).values())
    assert [one.key for one in on.best] == [steady.cell.key]
    assert on.risks[steady.cell.key] == pytest.approx(10.9 / np.quantile(rare.regret, 0.95))
    assert on.risks[rare.cell.key] == pytest.approx(rare.regret.mean() / 10)


def standing(key, mean, high, doubt="", lacks=""):
    ends = {0.5: Interval(high / 2, 0, high), 0.95: Interval(high, 0.9 * high, 1.1 * high)}
    return Standing(key, mean, ends | {0.8: ends[0.95]}, doubt, lacks)


def test_a_mean_in_doubt_counts_against_its_policy_alone():
    """By hand: b's doubtful mean is no measure for the others, but 40 of b is 4 times the least that can be trusted."""
    a, b, c = standing("a", 10, 100), standing("b", 5, 99, "rare"), standing("c", 12, 101)
    on = contest([a, b, c])
    assert dict(on.risks) == pytest.approx({"a": 100 / 99, "b": 1, "c": 1.2})
    assert contest([a, replace(b, mean=40)]).risks["b"] == 4
    assert standing("b", 12, 50).beats(replace(a, doubt="rare"))
    assert not standing("b", 12, 50, "rare").beats(a)
    alone = contest([replace(a, doubt="rare"), b])  # no mean is trusted: the quantiles alone
    assert dict(alone.risks) == pytest.approx({"a": 100 / 99, "b": 1})


def test_who_is_not_told_apart_is_recommended_up_to_twice_the_least():
    for mean, names in ((19, ["a", "b"]), (21, ["a"])):
        assert [one.key for one in contest([standing("a", 10, 100), standing("b", mean, 99)]).best] == names


def test_without_anybody_below_twice_the_least_risk_is_recommended():
    """The first has the least mean and 3 times the quantile, the second 2.5 times the mean; neither beats the other."""
    on = contest([standing("a", 10, 300), standing("b", 25, 100)])
    assert [one.key for one in on.best] == ["b"]
    (record,) = advice({"c1": on}, str).named
    assert (record.name, record.worst) == ("b", (2.5, "c1"))


def test_advice_over_instances_by_hand():
    """a is recommended on both, b on one, and typical there; c has too few runs."""
    left = contest([standing("a", 10, 100), standing("b", 11, 102), standing("c", 1, 1, lacks="20 runs")])
    right = contest([standing("a", 10, 100), standing("b", 9, 300)])
    found = advice({"c1": left, "c2": right}, str)
    assert [(one.name, one.alone, one.beside) for one in found.records] == [("a", 1, 1), ("b", 0, 1)]
    assert [one.name for one in found.named] == ["a"]
    assert found.records[1].risk == pytest.approx(math.sqrt(1.1 * 3))
    assert found.records[1].worst == (3, "c2")
    assert found.out == {"c": "20 runs"}
    assert found.typical == {"a": 2}


def test_too_few_runs_or_a_start_phase_take_no_part(cells):
    """0.95^59 <= 0.05 < 0.95^58; who never pulled an arm has not begun."""
    assert FEWEST == 59
    assert 0.95**59 <= 0.05 < 0.95**58
    few, enough = of(cells[0], np.linspace(0, 1, 58)), of(cells[1], np.linspace(5, 6, 59))
    start = replace(cells[2], rows={**cells[2].rows, "pulls": cells[2].pulls * [5, 0, 0, 0, 0]})
    on = contest(standings(Cells([few, enough, start])).values())
    assert [one.key for one in on.best] == [enough.cell.key]
    assert {one.key: one.lacks for one in on.out} == {few.cell.key: "58 runs", start.cell.key: "start phase"}
    assert contest([]).best == []


def test_few_runs_have_no_interval_of_a_high_quantile(cells):
    """For two cells 0.95^n <= 0.05 / 12 needs n = 107, and 0.8^n needs 25."""
    assert math.isclose(error_of_each(2), 0.05 / 6)
    assert 0.95**107 < 0.05 / 12 < 0.95**106
    for runs in (107, 106, 59):
        pair = [of(cells[0], np.linspace(0, 1, runs)), of(cells[1], np.linspace(1.1, 1.2, runs))]
        found = standings(Cells(pair))
        assert math.isfinite(found[pair[0].cell.key].quantiles[0.95].high) is (runs >= 107)
        assert recommended(pair) == ["dp_se"]


def test_equal_laws_rarely_differ_significantly(cells, failure):
    """Two policies with one skewed law: one beats the other with probability at most 5 %."""
    rng, decided = np.random.default_rng(31), 0
    for _ in range(400):
        pair = [of(stored, rng.lognormal(0, 2, size=150)) for stored in cells[:2]]
        one, other = standings(Cells(pair)).values()
        decided += one.beats(other) or other.beats(one)
    assert decided <= stats.binom.isf(failure, 400, 0.05)


def test_the_largest_budget_that_implies_what_is_asked_takes_part(cells):
    budgets = [made_up("dp_se", epsilon, 1000, 10.0) for epsilon in (0.1, 0.3, 0.5, 1)]
    more = [*budgets, made_up("ldp_ucb_b", 0.3, 1000, 10.0), made_up("dp_ftpl_new", 1, 1000, 9.0, "budget.delta=1e-6")]
    taken = {
        (stored.cell.policy.name, stored.cell.policy.epsilon)
        for stored in entitled(Cells(more), Guarantee(1.0, 1e-6, Scope.DECISION))
    }
    assert taken == {("dp_se", 0.5), ("ldp_ucb_b", 0.3), ("dp_ftpl_new", 1.0)}
    assert [stored.cell.policy.name for stored in entitled(Cells(more), Guarantee(0.4, scope=Scope.LOCAL))] == [
        "ldp_ucb_b"
    ]
    assert [stored.cell.policy.epsilon for stored in entitled(Cells(more), Guarantee(0.4))] == [0.3, 0.3]


def test_a_panel_takes_all_whose_promise_implies_its_own(cells):
    more = [
        *cells,
        made_up("ldp_ucb_b", 1, 1000, 1.0),
        made_up("ucb1", 1, 1000, 1.0),
        made_up("dp_ts_ucb", 1, 1000, 1.0, "budget.delta=1e-6"),
        made_up("dp_ftpl_new", 1, 1000, 1.0, "budget.delta=1e-6"),
    ]
    taken = [
        of.cell.policy.name for of in shown_in_panel({"title": "", "promise": {"scope": "transcript"}}, Cells(more))
    ]
    assert taken == ["dp_se", "dp_ucb", "dp_klucb", "ldp_ucb_b", "ucb1"]
    taken = [
        of.cell.policy.name for of in shown_in_panel({"promise": {"scope": "transcript", "delta": 1e-6}}, Cells(more))
    ]
    assert taken == ["dp_se", "dp_ucb", "dp_klucb", "ldp_ucb_b", "ucb1", "dp_ts_ucb"]
    taken = [of.cell.policy.name for of in shown_in_panel({"policy": {"without": ["dp_ucb", "ucb1"]}}, Cells(more))]
    assert taken == ["dp_se", "dp_klucb", "ldp_ucb_b", "dp_ts_ucb", "dp_ftpl_new"]


def test_a_standing_of_equal_means_beats_nobody(cells):
    one = standings(Cells(cells[:1]))[cells[0].cell.key]
    assert not one.beats(one)
    assert not replace(one, mean=1.0).beats(replace(one, mean=2.0))
