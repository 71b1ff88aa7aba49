"""Which policies name an arm with a fixed number of users: exact laws, plays, and what is refused."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from bandits.bounds.halving import halving_error, local_halving_error
from bandits.exact.two_arms import MOST_PULLS, TwoArms
from bandits.guarantees import Guarantee
from experiments import load_pulls
from experiments.advice import fixed_budget
from experiments.advice.budgets import TRUSTS
from experiments.advice.fixed_budget import namers
from experiments.errors import UserError
from experiments.intervals import share


def by_label(rows):
    return {row.label: row for row in rows}


def test_two_arms_are_computed(tmp_path):
    rows = namers([0.3, 0.4], 300, epsilon=0.2, runs=20, results_dir=str(tmp_path))
    named = by_label(rows)
    assert named["DP-Halving"].wrong == (pytest.approx(TwoArms((0.3, 0.4), epsilon=0.2, draws=2).wrong(150)),) * 3
    assert named["DP-Knockout"].wrong.estimate == TwoArms((0.3, 0.4), epsilon=0.2).wrong(150)
    assert named["DP-Halving"].bound == pytest.approx(halving_error(np.array([0.1]), 300, epsilon=0.2))
    assert [row.wrong.estimate for row in rows] == sorted(row.wrong.estimate for row in rows)
    assert rows[0].label == "DP-Knockout"
    assert named["DP-SE"].wrong.estimate == 1  # its first epoch alone needs more users
    assert named["DP-SE"].users == 300


@pytest.mark.parametrize(
    ("budget", "name"), [({"epsilon": 0.3}, "dp_halving"), ({"rho": 0.05}, "dp_halving_gauss"), ({}, "halving")]
)
def test_more_arms_are_played(budget, name, tmp_path):
    """Three arms, two rounds; arms 0 and 2 come after the best, whose gaps are .4 and .2."""
    given = {"means": [0.3, 0.7, 0.5], "users": 122, "runs": 60, "results_dir": str(tmp_path)}
    rows = namers(**given, **budget)
    (row,) = [row for row in rows if row.policy.name == name and "uniform" not in row.label]
    assert row.users == 3 * 20 + 2 * 30  # two users are left over
    pulls = load_pulls(policy=name, explored=122, allocation="halving", results_dir=tmp_path)
    named = pulls.loc[pulls.groupby("replication").pulls.idxmax()].arm
    assert row.wrong == share((named != 1).to_numpy(), 0.05 / len(rows))
    assert 0 < row.wrong.estimate < 0.6


LOG3 = math.log(3)  # a bit is 1 with probability 1/4 + r/2


@pytest.mark.parametrize("trust", ["local", "shuffle", "distributed"])
def test_two_arms_without_trust_are_computed_from_bits(trust, tmp_path):
    rows = namers([0.2, 0.8], 100, epsilon=LOG3, runs=20, results_dir=str(tmp_path), trust=trust)
    named = by_label(rows)
    assert named["LDP-Halving"].wrong == (pytest.approx(TwoArms((0.35, 0.65)).wrong(50)),) * 3
    assert named["LDP-Halving"].bound == pytest.approx(math.exp(-50 * 0.3**2))
    assert ("Dist-DP-SE" in named) == (trust == "distributed")
    assert "DP-Knockout" not in named
    assert named["CTB-TT"].stops
    assert "CTB-TT" not in by_label(namers([0.2, 0.8], 100, epsilon=LOG3, trust=trust, rules=False))


def test_bits_of_several_arms_are_played_with_the_epsilon_that_implies_rho(tmp_path):
    """epsilon tanh(epsilon / 2) = log(3) / 2 at epsilon = log 3."""
    given = {"means": [0.3, 0.9, 0.5], "users": 122, "results_dir": str(tmp_path), "trust": "local"}
    rows = namers(**given, rho=LOG3 / 2, runs=60)
    (row,) = [row for row in rows if row.label == "LDP-Halving"]
    assert row.policy.epsilon == pytest.approx(LOG3, rel=1e-9)
    assert row.bound == pytest.approx(local_halving_error(np.array([0.4, 0.6]), 122, LOG3))
    pulls = load_pulls(policy="ldp_halving", explored=122, allocation="halving", results_dir=tmp_path)
    named = pulls.loc[pulls.groupby("replication").pulls.idxmax()].arm
    assert row.wrong == share((named != 1).to_numpy(), 0.05 / len(rows))
    assert "CTB-TT" in by_label(rows)


def test_rules_that_go_by_steps_are_left_out_if_slow(monkeypatch, tmp_path):
    monkeypatch.setattr(fixed_budget, "MOST_STEPS", 999)
    rows = namers([0.2, 0.8], 50, epsilon=LOG3, runs=20, results_dir=str(tmp_path), trust="local")
    assert [row.label for row in rows] == ["LDP-Halving"]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"means": [0.3, 1.4], "users": 100, "epsilon": 1.0}, "means"),
        ({"means": [0.3, 0.4], "users": 100, "epsilon": -1.0}, "epsilon"),
        ({"means": [0.3, 0.4], "users": 100, "epsilon": 1.0, "rho": 1.0}, "rho"),
        ({"means": [0.3, 0.4], "users": 1, "epsilon": 1.0}, "explored"),
        ({"means": [0.3, 0.4], "users": 100, "epsilon": 1.0, "trust": "nobody"}, "trust"),
        ({"means": [0.3, 0.4], "users": 100, "trust": "local"}, "epsilon"),
    ],
)
def test_what_is_refused(given, named):
    with pytest.raises(UserError, match=named) as refused:
        namers(**given)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("trust", "more"),
    [
        ("central", {"dp_halving_gauss", "dp_knockout_gauss", "dp_se_gauss"}),
        ("distributed", {"dist_rdp_se", "shuffle_se"}),
        ("shuffle", {"shuffle_se"}),
        ("local", set()),
    ],
)
def test_a_delta_admits_more_policies_at_the_largest_budget_that_keeps_it(trust, more, tmp_path):
    given = {"means": [0.2, 0.8], "users": 100, "epsilon": 1.0, "runs": 20, "results_dir": str(tmp_path)}
    pure, both = (
        {row.policy.name: row.policy for row in namers(**given, trust=trust, delta=delta) if row.policy is not None}
        for delta in (0.0, 1e-6)
    )
    assert both.keys() - pure.keys() == more
    promise = Guarantee(1.0, 1e-6, TRUSTS[trust])
    assert all(both[name].guarantee.implies(promise) for name in more)


def test_normal_noise_of_two_arms_has_its_exact_law(tmp_path):
    """The largest rho has delta 1e-6 at epsilon 1 by the formula of zCDP; by that of Gaussian privacy a fifth of it."""
    rho = fixed_budget.gaussian_rho(1.0, 1e-6)
    level = (2 * rho) ** 0.5
    above = np.logspace(-2, 4, 100_001)  # the order less 1
    log_deltas = above * ((above + 1) * rho - 1) - np.log(above) + (above + 1) * np.log1p(-1 / (above + 1))
    assert 0.9e-6 < math.exp(log_deltas.min()) <= 1e-6
    spent = norm.cdf(-1 / level + level / 2) - math.e * norm.cdf(-1 / level - level / 2)
    assert 0.2e-6 < spent < 0.25e-6
    given = {"runs": 20, "results_dir": str(tmp_path), "delta": 1e-6}
    row = by_label(namers([0.3, 0.4], 300, epsilon=1.0, **given))["DP-Halving-Gauss (ρ-zCDP)"]
    assert row.wrong.estimate == TwoArms((0.3, 0.4), rho=rho, draws=2).wrong(150)


def test_two_arms_explore_as_many_as_their_law_is_computed_for(tmp_path):
    given = {"epsilon": 1.0, "runs": 20, "results_dir": str(tmp_path)}
    rows = by_label(namers([0.03, 0.0300001], 10**12, **given))
    row = rows["DP-Knockout"]
    assert row.users == row.policy.explored == 2 * MOST_PULLS
    assert row.wrong.estimate == TwoArms((0.03, 0.0300001), epsilon=1.0).wrong(MOST_PULLS) > 0.01
    assert row.bound == halving_error(np.array([0.0300001 - 0.03]), 2 * MOST_PULLS, epsilon=1.0)
    assert rows["DP-SE"].users > 2 * MOST_PULLS


def test_a_budget_too_small_for_a_rule_leaves_it_out(tmp_path):
    rows = namers([0.2, 0.8], 100, 5e-5, runs=20, results_dir=str(tmp_path), trust="shuffle", delta=1e-6)
    assert {row.policy.name for row in rows if row.policy is not None} == {"ldp_halving", "ctb_tt"}


def test_intervals_are_the_same_without_rules(tmp_path):
    given = {"means": [0.3, 0.7, 0.5], "users": 122, "epsilon": 1.0, "runs": 20, "results_dir": str(tmp_path)}
    every, fixed = (by_label(namers(**given, rules=rules)) for rules in (True, False))
    assert {label: row.wrong for label, row in every.items() if not row.stops} == {
        label: row.wrong for label, row in fixed.items()
    }
    assert any(row.stops for row in every.values())
