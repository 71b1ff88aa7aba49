"""Which policies name an arm with a fixed number of users: exact laws, plays, and what is refused."""

import numpy as np
import pytest

from bandits.bounds.halving import halving_error
from bandits.exact.two_arms import TwoArms
from experiments import load_pulls
from experiments.errors import UserError
from experiments.fixed_budget import namers
from experiments.intervals import share


def by_label(rows):
    return {row.label: row for row in rows}


def test_two_arms_are_computed(tmp_path):
    rows = namers([0.3, 0.4], 300, epsilon=0.2, runs=20, results_dir=str(tmp_path))
    named = by_label(rows)
    assert named["DP-Halving"].wrong == (pytest.approx(TwoArms((0.3, 0.4), epsilon=0.2, draws=2).wrong(150)),) * 3
    assert named["one noisy difference"].wrong.estimate == TwoArms((0.3, 0.4), epsilon=0.2).wrong(150)
    assert named["DP-Halving"].bound == pytest.approx(halving_error(np.array([0.1]), 300, epsilon=0.2))
    assert [row.wrong.estimate for row in rows] == sorted(row.wrong.estimate for row in rows)
    assert rows[0].label == "one noisy difference"
    assert named["DP-SE"].wrong.estimate == 1  # its first epoch alone needs more users
    assert named["DP-SE"].users == 300


@pytest.mark.parametrize(
    ("budget", "name"), [({"epsilon": 0.3}, "dp_halving"), ({"rho": 0.05}, "dp_halving_gauss"), ({}, "halving")]
)
def test_more_arms_are_played(budget, name, tmp_path):
    """Three arms, two rounds; arms 0 and 2 come after the best, whose gaps are .4 and .2."""
    given = {"means": [0.3, 0.7, 0.5], "users": 122, "runs": 60, "results_dir": str(tmp_path)}
    rows = namers(**given, **budget)
    (row,) = [row for row in rows if dict(row.setting)["policy"] == name and "uniform" not in row.label]
    assert row.users == 3 * 20 + 2 * 30  # two users are left over
    pulls = load_pulls(policy=name, explored=122, allocation="halving", results_dir=tmp_path)
    named = pulls.loc[pulls.groupby("replication").pulls.idxmax()].arm
    assert row.wrong == share((named != 1).to_numpy(), 0.05 / len(rows))
    assert 0 < row.wrong.estimate < 0.6


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"means": [0.3, 1.4], "users": 100, "epsilon": 1.0}, "means"),
        ({"means": [0.3, 0.4], "users": 100, "epsilon": -1.0}, "epsilon"),
        ({"means": [0.3, 0.4], "users": 100, "epsilon": 1.0, "rho": 1.0}, "rho"),
        ({"means": [0.3, 0.4], "users": 1, "epsilon": 1.0}, "explored"),
    ],
)
def test_what_is_refused(given, named):
    with pytest.raises(UserError, match=named) as refused:
        namers(**given)
    assert "\n" not in str(refused.value)
