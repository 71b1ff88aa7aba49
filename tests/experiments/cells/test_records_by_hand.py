"""Reading, comparison and tables of stored numbers, on invented records."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bandits import ParameterError
from bandits.environments.bernoulli import C1, Bernoulli
from bandits.environments.full_information import DeterministicLosses
from bandits.environments.gap_profiles import OneGap
from bandits.environments.neighbours import NeighbouringRewards
from bandits.policies.batched_index import DPKLUCB
from bandits.policies.elimination import DPSE
from bandits.policies.full_information import RNMFTNL
from bandits.policies.perturbed_leader import ThompsonGauss
from bandits.policies.ucb import UCB1
from experiments.again import checked
from experiments.again.comparison import Agreement, Replayed, compare, least_probability
from experiments.cells import TABLES, kind_of
from experiments.cells.exact import ExactCell
from experiments.cells.privacy import PrivacyCell
from experiments.cells.regret import RegretCell
from experiments.cells.weighted import WeightedCell, weighted_of
from experiments.simulate.provenance import machine
from experiments.store.stored import Replications, Stored, agree

CURVES = Replications({"t": np.array([[1, 5]] * 2), "regret": np.array([[0.5, 2.0], [1.0, 3.0]])}, {})


def test_rows_of_curves():
    rows = TABLES["curves"].rows(CURVES.rows)
    assert rows["replication"].tolist() == [0, 0, 1, 1]
    assert rows["t"].tolist() == [1, 5, 1, 5]
    assert rows["regret"].tolist() == [0.5, 2.0, 1.0, 3.0]


def test_rows_of_pulls():
    rows = TABLES["pulls"].rows({"pulls": np.array([[3, 2, 1], [4, 1, 1]])})
    assert rows["replication"].tolist() == [0, 0, 0, 1, 1, 1]
    assert rows["arm"].tolist() == [0, 1, 2, 0, 1, 2]
    assert rows["pulls"].tolist() == [3, 2, 1, 4, 1, 1]


def test_words_of_different_gaps():
    cell = RegretCell(Bernoulli((0.9, 0.8, 0.5)), DPSE(0.5), 100)
    stored = Stored({"t": np.array([[100]])}, {}, cell)
    assert stored.number("least_gap") == pytest.approx(0.1)
    assert stored.number("slack") == pytest.approx(0.1 / 3)
    assert stored.word("gaps") == pytest.approx([0.1, 0.4])


def test_the_least_probability_of_two_samples():
    """Two samples of 3 and 2 have 10 orders, and two of these are the most extreme."""
    assert least_probability(3, 2) == pytest.approx(0.2)


@pytest.mark.parametrize(("factor", "different"), [(1 + 1e-10, False), (1 + 1e-8, True), (1 - 1e-8, True)])
def test_computed_numbers_may_be_rounded_and_no_more(factor, different):
    cell = ExactCell(DeterministicLosses(OneGap(8, 0.5)), RNMFTNL(0.5, "gumbel"), 100)
    row = cell.replicate(0)
    fresh = {"t": row["t"][None], "regret": row["regret"][None]}
    stored = fresh | {"regret": factor * fresh["regret"]}
    agreement = compare(cell, Replayed(stored, fresh), np.ones(1), True).agreement
    assert agreement is (Agreement.DIFFERENT if different else Agreement.SAME)


@pytest.mark.parametrize(
    ("kept", "shown", "different"),
    [
        (math.inf, 1.9e-9, False),  # bisection ends within 1e-9, and infinite values are equal
        (math.inf, 4e-9, True),
        (1.0, 0.0, True),
    ],
)
def test_bounds_on_a_transcript_are_compared_as_finely_as_they_are_found(kept, shown, different):
    cell = PrivacyCell(NeighbouringRewards(0.01), ThompsonGauss(), 10)
    row = cell.replicate(0)
    assert row["epsilon_kept"] == math.inf
    stored = {"epsilon_kept": np.array([kept]), "epsilon_shown": np.array([row["epsilon_shown"] + shown])}
    fresh = {name: np.array([row[name]]) for name in stored}
    agreement = compare(cell, Replayed(stored, fresh), np.ones(1), True).agreement
    assert agreement is (Agreement.DIFFERENT if different else Agreement.SAME)


def sample(cell, change=0, platform=None):
    rows = {name: np.array([value]) for name, value in cell.replicate(0).items()}
    rows["regret"] = rows["regret"] + change
    return checked.Sample(Path("x"), (), Stored(rows, {}, cell), (platform or machine(),), np.zeros(1), 1.0)


CELL = RegretCell(C1(3), DPSE(1.0), 1000)


def test_bits_that_differ_on_this_platform_are_not_excused():
    assert checked.differences(sample(CELL)) == []
    (found,) = checked.differences(sample(CELL, 1e-9))
    assert found.pair is None
    (found,) = checked.differences(sample(CELL, 1e-9, "VAX"))
    assert found.pair is not None
    assert found.elsewhere


def test_a_replication_that_fails_is_never_excused(monkeypatch):
    of_vax = sample(CELL, 0, "VAX")
    monkeypatch.setattr(checked, "simulate_block", lambda *_: 1 / 0)
    (found,) = checked.differences(of_vax)
    assert found.pair is None
    assert "replication 0 ends in ZeroDivisionError" in found.description


def test_all_replications_that_two_runs_have_are_compared():
    """The second replications differ: the records disagree, but the first replication alone agrees."""
    first = Stored(CURVES.rows, {}, CELL)
    other = replace(first, rows={**CURVES.rows, "regret": np.array([[0.5, 2.0], [1.0, 4.0]])})
    assert agree(first, first)
    assert not agree(first, other)
    assert agree(first.first(1), other)


def test_effective_runs_of_weighted_blocks_by_hand():
    """A block of 1,000 equal terms is worth 1,000 runs; with half of the terms 0 and half 2, it is worth 500."""
    cell = WeightedCell(C1(5), DPKLUCB(0.1), 10**12)
    rows = {"regret": np.ones(2), "weight": np.ones(2), "squares": np.array([1.0, 2.0])}
    WeightedCell.check(rows, {})
    assert Stored(rows, {}, cell).measure("effective_runs").tolist() == [1000, 500]
    for name, value in (("squares", 0.9), ("weight", 4.1), ("weight", 0.0), ("regret", -1.0), ("regret", np.nan)):
        with pytest.raises(ValueError, match=r"no likelihood ratios|not a finite number"):
            WeightedCell.check(rows | {name: np.full(2, value)}, {})


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (lambda: WeightedCell(C1(5), UCB1(), 10**9), "^weighted: is for DP-KLUCB, DP-IMED and zCDP-KLUCB"),
        (lambda: WeightedCell(C1(5), DPKLUCB(0.1), 10**9, recorded=1), "^recorded: "),
        (lambda: WeightedCell(C1(5), DPKLUCB(0.1), 4), "^horizon: must be at least the number of arms, 5, got 4"),
        (lambda: kind_of(C1(5), DPKLUCB(0.1), exact=True, weighted=True), "^weighted: excludes exact"),
    ],
)
def test_what_weighted_cells_refuse(wrong, problem):
    with pytest.raises(ParameterError, match=problem):
        wrong()


def test_plain_runs_at_long_horizons_rest_on_weighted_ones():
    plain = RegretCell(C1(5), DPKLUCB(0.1), 10**9, recorded=1)
    assert weighted_of(plain) == WeightedCell(C1(5), DPKLUCB(0.1), 10**9)
    assert weighted_of(replace(plain, horizon=10**9 - 1)) is None
    assert weighted_of(replace(plain, policy=UCB1())) is None
