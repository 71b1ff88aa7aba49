"""Which policies differ significantly, by hand and against laws with known quantiles."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bandits import Guarantee, Scope
from experiments.store.stored_cells import Cells
from scripts.drawing.contests import Standing, entitled, error_of_each, standings, unbeaten
from scripts.drawing.spec import shown
from tests.scripts.drawing.test_winners import made_up


def of(stored, values):
    return replace(stored, rows={**stored.rows, "regret": np.asarray(values, dtype=float)[:, None]})


@pytest.fixture(scope="module")
def cells():
    return [made_up(policy, 1, 1000, 10.0) for policy in ("dp_se", "dp_ucb", "dp_klucb")]


def names(standings):
    return [standing.stored.cell.policy.name for standing in standings]


def test_a_policy_wins_only_where_mean_median_and_upper_quantile_are_less(cells):
    """Less in all three; then a better median but a worse 95 % quantile; then a worse mean by a few bad runs alone."""
    first, second, third = cells
    steady, behind = of(first, np.linspace(9, 11, 300)), of(second, np.linspace(12, 14, 300))
    found = standings(Cells([steady, behind]))
    assert names(unbeaten(found.values())) == ["dp_se"]
    lucky = of(third, [*np.linspace(4, 6, 270), *np.linspace(100, 120, 30)])
    found = standings(Cells([steady, behind, lucky]))
    assert names(unbeaten(found.values())) == ["dp_se", "dp_klucb"]
    often = of(third, [*np.linspace(4, 6, 270), *np.linspace(20, 30, 30)])  # the mean is 7
    assert names(unbeaten(standings(Cells([steady, often])).values())) == ["dp_klucb", "dp_se"]
    rare = of(third, [*np.linspace(4, 6, 298), 3000, 3000])  # the mean is 25
    assert names(unbeaten(standings(Cells([steady, rare])).values())) == ["dp_se", "dp_klucb"]
    assert names(unbeaten(standings(Cells([behind, of(third, [*np.linspace(4, 6, 298), 60, 60])])).values())) == [
        "dp_klucb"
    ]


def test_few_runs_have_no_interval_of_a_high_quantile(cells):
    """For two cells 0.95^n <= 0.05 / 12 needs n = 107, and 0.8^n needs 25; with fewer runs no policy wins."""
    assert math.isclose(error_of_each(2), 0.05 / 6)
    assert 0.95**107 < 0.05 / 12 < 0.95**106
    for runs, wins in ((107, True), (106, True), (25, True), (24, False)):
        pair = [of(cells[0], np.linspace(0, 1, runs)), of(cells[1], np.linspace(5, 6, runs))]
        found = standings(Cells(pair))
        assert math.isfinite(found[pair[0].cell.key].quantiles[0.95].high) is (runs >= 107)
        assert (names(unbeaten(found.values())) == ["dp_se"]) is wins


def test_equal_laws_rarely_differ_significantly(cells, failure):
    """Two policies with one skewed law: one beats the other with probability at most 5 %."""
    rng, decided = np.random.default_rng(31), 0
    for _ in range(400):
        pair = [of(stored, rng.lognormal(0, 2, size=150)) for stored in cells[:2]]
        decided += len(unbeaten(standings(Cells(pair)).values())) == 1
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
    taken = [of.cell.policy.name for of in shown({"title": "", "promise": {"scope": "transcript"}}, Cells(more))]
    assert taken == ["dp_se", "dp_ucb", "dp_klucb", "ldp_ucb_b", "ucb1"]
    taken = [of.cell.policy.name for of in shown({"promise": {"scope": "transcript", "delta": 1e-6}}, Cells(more))]
    assert taken == ["dp_se", "dp_ucb", "dp_klucb", "ldp_ucb_b", "ucb1", "dp_ts_ucb"]
    taken = [of.cell.policy.name for of in shown({"policy": {"without": ["dp_ucb", "ucb1"]}}, Cells(more))]
    assert taken == ["dp_se", "dp_klucb", "ldp_ucb_b", "dp_ts_ucb", "dp_ftpl_new"]


def test_a_standing_of_equal_means_beats_nobody(cells):
    one = standings(Cells(cells[:1]))[cells[0].cell.key]
    assert not one.beats(one)
    assert not Standing(cells[0], 1.0, one.quantiles).beats(Standing(cells[1], 2.0, one.quantiles))
