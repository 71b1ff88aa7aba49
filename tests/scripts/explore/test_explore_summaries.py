"""The numbers of a cell on the explorer's page, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from bandits.environments.bernoulli import C1
from bandits.policies.batched_index import DPKLUCB
from bandits.policies.ucb import UCB1
from experiments.cells import KINDS
from experiments.cells.regret import RegretCell
from experiments.cells.weighted import weighted_of
from experiments.evidence.means import Method
from experiments.store.stored import Stored
from scripts.explore.about import OF_RECORDS, kind_of_rewards
from scripts.explore.summaries import summary


def stored(regret, pulls):
    """Runs of UCB1 on two arms with this regret, shape (runs, 2), at the steps 5 and 10."""
    rows = {"t": np.array([[5, 10]] * len(regret)), "regret": np.array(regret, float), "pulls": np.array(pulls)}
    return Stored(rows, {}, RegretCell(C1(arms=2), UCB1(), 10))


def test_a_cell_by_hand():
    of = summary(stored([[0, 1], [1, 2], [2, 6]], [[9, 1]] * 3), 0.01)
    assert of.replications == 3
    assert of.final[:2] == pytest.approx([3, np.sqrt(7)])
    assert of.final[2:] == pytest.approx([1.1, 2, 5.6])
    assert of.curve.t.tolist() == [5, 10]
    assert of.curve.rows[:, 0] == pytest.approx([1, 1, 0.1, 1, 1.9])
    assert of.curve.rows[:, 1] == pytest.approx(of.final)
    assert of.began
    # all three runs lie above the 95 % quantile with probability 0.05^3 < 0.01 / 2; nothing else can be said
    ends = {at: tuple(interval[1:]) for at, interval in of.standing.quantiles.items()}
    assert ends == {0.5: (-np.inf, np.inf), 0.95: (1, np.inf), 0.8: (-np.inf, np.inf)}
    assert of.standing.lacks == "3 runs"


def test_a_mean_that_rests_on_weighted_runs():
    """Of two blocks, 6 and 8: mean 7, Student's half width of 95 % 12.7062, by tables; quantiles are of plain runs."""
    plain = stored([[0, 1], [1, 2], [2, 6]], [[9, 1]] * 3)
    plain = replace(plain, cell=RegretCell(C1(arms=2), DPKLUCB(0.1), 10**12, recorded=1))
    blocks = {"regret": np.array([6.0, 8]), "weight": np.ones(2), "squares": np.full(2, 100.0)}
    of = summary(replace(plain, weighted=Stored(blocks, {}, weighted_of(plain.cell))), 0.01)
    assert (of.method, of.doubt) == (Method.WEIGHTED, "")
    assert of.final[0] == 7
    assert of.final[1] * 4.30265 / np.sqrt(3) == pytest.approx(12.7062, rel=1e-5)  # Student's, two degrees of freedom
    assert of.final[2:] == pytest.approx([1.1, 2, 5.6])
    alone = summary(plain, 0.01)
    assert (alone.method, alone.final[0]) == (Method.PLAIN, 3)
    assert "keeps its sums" in alone.doubt


def test_an_arm_that_some_run_never_pulled():
    assert not summary(stored([[0, 1], [1, 2]], [[9, 1], [10, 0]]), 0.01).began


def test_further_quantities():
    others = summary(stored([[0, 1], [1, 2]], [[9, 1], [7, 3]]), 0.01, ("suboptimal_pulls", "samples")).others
    assert list(others) == ["suboptimal_pulls"]
    assert others["suboptimal_pulls"].estimate == 2


def test_weighted_runs_do_not_stand_in_the_lists_of_plain_ones():
    """The mean of the plain cell rests on them already; every kind of cell but those with curves has its own list."""
    plain = RegretCell(C1(arms=2), DPKLUCB(0.1), 10**12, recorded=1)
    assert (kind_of_rewards(plain), kind_of_rewards(weighted_of(plain))) == ("bits", "means from weighted runs")
    assert KINDS.keys() - OF_RECORDS.keys() == {"regret", "exact"}
