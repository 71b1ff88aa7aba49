"""Verdicts at the boundary between holding and failing."""

import numpy as np
import pytest

from bandits.environments.full_information import DeterministicLosses
from bandits.environments.gap_profiles import OneGap
from bandits.policies.elimination import DPSE
from bandits.policies.full_information import RNMFTNL
from bandits.policies.ucb import UCB1
from experiments.cells.exact import ExactCell
from experiments.claims.settings import Setting
from experiments.errors import UserError
from experiments.intervals import Interval
from experiments.store.stored import Stored
from tests.experiments.claims.made_up import HORIZON, measured, outcome, verdict

EIGHT = [0.1 * 1.2**step for step in range(8)]


def computed(noise, regret):
    cell = ExactCell(DeterministicLosses(OneGap(8, 0.5)), RNMFTNL(0.5, noise), 4)
    return Stored({"t": np.array([[1, 2, 3, 4]]), "regret": np.array([[1.0, 1.0, 1.0, regret]])}, {}, cell)


def test_a_ratio_of_computed_numbers(tmp_path):
    cells = [computed("laplace", 12.0), computed("gumbel", 4.0)]
    keys = {"numerator": {"noise": "laplace"}, "denominator": {"noise": "gumbel"}, "by": ["instance"], "at_least": 2.9}
    found = verdict(tmp_path, cells, test="ratio", **keys)
    assert (found.outcome, found.table.estimate[0]) == ("holds", 3.0)


@pytest.mark.parametrize(("power", "expected"), [(-1.0, "holds"), (-0.7, "fails"), (-1.3, "fails")])
def test_a_slope_may_be_off_by_its_tolerance_on_both_sides(tmp_path, power, expected):
    cells = [measured(DPSE(epsilon), 10 * epsilon**power, 1e-6) for epsilon in EIGHT]
    keys = {"filter": {"policy": "dp_se"}, "x": "epsilon", "expected": -1, "tolerance": 0.2}
    assert outcome(tmp_path, cells, test="slope", **keys) == expected


def test_seven_points_show_no_power(tmp_path):
    cells = [measured(DPSE(epsilon), 10 / epsilon, 1e-6) for epsilon in EIGHT[:7]]
    keys = {"filter": {"policy": "dp_se"}, "x": "epsilon", "expected": -1, "tolerance": 0.2}
    with pytest.raises(UserError, match="between: must be so wide that 8 cells lie in it"):
        outcome(tmp_path, cells, test="slope", **keys)


RATIO = {"test": "ratio", "numerator": {"policy": "ucb1"}, "by": ["instance"], "at_least": 1}


def test_an_open_claim_is_not_saved_by_a_variant(tmp_path):
    """Undecided for one budget and surely true for another: a variant does not decide the claim."""
    cells = [measured(UCB1(), 30, 1), measured(DPSE(1.0), 30, 1), measured(DPSE(0.5), 10, 1)]
    one, half = ({"policy": "dp_se", "epsilon": epsilon} for epsilon in (1.0, 0.5))
    assert outcome(tmp_path, cells, **RATIO, denominator=one, variants={"half": {"denominator": half}}) == "undecided"
    cells[1] = measured(DPSE(1.0), 50, 1)
    found = verdict(tmp_path, cells, **RATIO, denominator=one, variants={"half": {"denominator": half}})
    assert found.shown == "fails (half: holds)"


def test_only_a_proof_proves(tmp_path):
    cells = [measured(UCB1(), 30, 1), measured(DPSE(1.0), 10, 1)]
    keys = {**RATIO, "denominator": {"policy": "dp_se"}}
    assert outcome(tmp_path, cells, **keys, ours=True) == "holds"
    assert outcome(tmp_path, cells, **keys, proof="docs/theorems.md") == "proved"


def test_of_two_records_of_a_cell_the_longer_is_judged(tmp_path, monkeypatch):
    """The same cell in two experiments: 2 runs in the first, 40 in the second."""
    long = measured(DPSE(1.0), 50, 10)
    from experiments.claims.results import Results

    for experiments in (["a", "b"], ["b", "a"]):
        (cell,) = Results(None, read={"a": [long.first(2)], "b": [long]}).cells(experiments)
        assert cell.replications == 40


def test_what_would_not_have_failed():
    """An interval from 1 below to 2 above: above 8 an estimate fails "at most 7", below 2 "at least 4"."""
    setting = Setting({}, Interval(5.0, 4.0, 7.0), at_least=4.0, at_most=7.0)
    assert setting.silent == (2.0, 8.0)


def test_regret_that_is_possible(tmp_path):
    """Regret is at most the largest gap, 1/20, at every step."""
    cell = measured(DPSE(1.0), 50, 1)
    keys = {"test": "bound", "filter": {}, "bound": "builtins.float", "arguments": {}}
    keys |= {"bound": "bandits.bounds.wu2025.resampled_worst_case_regret_order"}
    keys |= {"arguments": {"arms": 3, "epsilon": 0.1, "horizon": "horizon"}}
    found = verdict(tmp_path, [cell], **keys)
    assert found.table.most_possible[0] == pytest.approx(HORIZON / 20)
