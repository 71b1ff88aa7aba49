"""Quantities of runs, on made-up rows."""

import math

import numpy as np
import pytest

from bandits import ParameterError
from bandits.environments.bernoulli import C1, Bernoulli
from bandits.environments.full_information import DeterministicLosses
from bandits.environments.gap_profiles import OneGap
from bandits.environments.streams import SignedBernoulli
from bandits.exact.worst_profiles import WorstProfile
from bandits.policies.elimination import DPSE
from bandits.policies.full_information import RNMFTNL
from bandits.policies.stopping_rules import DPNAS
from experiments.cells.regret import RegretCell
from experiments.cells.stopping import StoppingCell
from experiments.cells.worst_profile import WorstProfileCell
from experiments.store.stored import Stored, matches


def of_runs(cell, **rows):
    return Stored({name: np.array(values) for name, values in rows.items()}, {}, cell)


def test_regret_in_units_of_log_arms():
    """Regret 30 at the end, epsilon = 1/2, K = 8: 15 / 2.0794415."""
    cell = RegretCell(DeterministicLosses(OneGap(8, 0.5)), RNMFTNL(0.5), 100)
    stored = of_runs(cell, t=[[50, 100]], regret=[[10.0, 30.0]], pulls=[[40, 60]])
    assert stored.measure("regret").tolist() == [30.0]
    assert stored.measure("regret_ratio") == pytest.approx([15 / 2.0794415])
    assert stored.headline.tolist() == [30.0]


def test_what_pulls_say_of_the_best_arm():
    """Gaps 0, 1/20, 1/20. The best arm leads, trails by one, trails by two; then pulls of arms 2 and 3 are counted."""
    pulls = [[50, 30, 20], [35, 36, 29], [34, 36, 30]]
    stored = of_runs(RegretCell(C1(3), DPSE(1.0), 100), t=[[100]] * 3, regret=[[0.0]] * 3, pulls=pulls)
    assert stored.measure("best_arm_behind").tolist() == [False, False, True]
    assert stored.measure("suboptimal_pulls").tolist() == [50, 65, 66]
    assert stored.measure("wrong_arm").tolist() == [False, True, True]  # by one: two arms were left
    assert stored.measure("identification_samples").tolist() == [80, 100, 98]


def test_nash_regret():
    """Means 1/2 and 1/8. Each step: arms 1, 2 in one run, and 1, 1 in the other: E mu is 1/2, then 5/16."""
    cell = RegretCell(Bernoulli((0.5, 0.125)), DPSE(1.0), 2)
    stored = of_runs(cell, t=[[1, 2]] * 2, regret=[[0.0, 0.375], [0.0, 0.0]], pulls=[[1, 1], [2, 0]])
    root = math.sqrt(5 / 32)
    assert stored.measure("nash_regret") == pytest.approx([0.5 - root * 0.7, 0.5 - root * 1.3])  # 1/8 and 1/2 to 5/16
    assert stored.measure("nash_regret").mean() == pytest.approx(0.5 - root)
    most = 0.5 - math.sqrt(math.sqrt(1 / 16) * 0.5)  # a geometric mean of 1/4 and of 1/2
    assert stored.measure("nash_regret_most").mean() == pytest.approx(most)
    once = of_runs(cell, t=[[2]] * 2, regret=[[0.375], [0.0]], pulls=[[1, 1], [2, 0]])
    assert once.measure("nash_regret").mean() == pytest.approx(0.1875 / 2)
    assert once.measure("nash_regret").mean() < stored.measure("nash_regret").mean() < most


def test_nash_regret_of_worthless_arms():
    cell = RegretCell(Bernoulli((0.5, 0.0)), DPSE(1.0), 100)
    stored = of_runs(cell, t=[[99, 100]] * 2, regret=[[0.0, 0.5]] * 2, pulls=[[99, 1], [100, 0]])
    assert stored.measure("nash_regret").tolist() == stored.measure("nash_regret_most").tolist() == [0.5, 0.5]
    cell = RegretCell(DeterministicLosses(OneGap(8, 0.5)), RNMFTNL(0.5), 100)
    for name in ("nash_regret", "nash_regret_most"):
        with pytest.raises(ParameterError, match=r"^value: Nash regret is for arms with means of at least 0, not dtol"):
            of_runs(cell, t=[[100]], regret=[[10.0]], pulls=[[40, 60]]).measure(name)


def test_the_worst_profile_is_the_largest_found():
    cell = WorstProfileCell(WorstProfile(16, 1e-3), RNMFTNL(0.5), 100)
    stored = of_runs(cell, worst_regret=[3.0, 9.0, 6.0])
    assert stored.measure("worst_regret").tolist() == [9.0]
    assert stored.measure("worst_ratio") == pytest.approx([4.5 / math.log(16)])
    assert stored.measure("found_regret").tolist() == [3.0, 9.0, 6.0]


def test_estimates_that_are_off():
    """Mean -0.4, accuracy 1/2: off by more than 0.2; a missing estimate is off."""
    cell = StoppingCell(SignedBernoulli(-0.4), DPNAS(1.0, accuracy=0.5, beta=0.05), 1000)
    estimates = [-0.4, -0.21, -0.59, -0.19, -0.61, 0.4, math.nan]
    stored = of_runs(cell, samples=[5] * 7, expired=[False] * 6 + [True], estimate=estimates)
    assert stored.measure("off_by_more").tolist() == [False, False, False, True, True, True, True]


def test_words_of_an_instance():
    """C1 with gap 1/20, and a profile of eight arms."""
    stored = of_runs(RegretCell(C1(3), DPSE(0.5), 100), t=[[100]], regret=[[0.0]], pulls=[[100, 0, 0]])
    assert stored.number("least_gap") == pytest.approx(0.05)
    assert stored.number("inverse_gap") == pytest.approx(20)
    assert stored.number("slack") == pytest.approx(0.05 / 3)
    assert stored.number("suboptimal_arms") == 2
    assert stored.number("log_arms") == pytest.approx(1.0986123)
    assert stored.number("epsilon") == 0.5
    assert stored.number(7.0) == 7.0


def test_what_matches():
    assert matches(0.1, 0.1 * (1 + 1e-13))
    assert not matches(0.1, 0.1 * (1 + 1e-11))
    assert matches(0.1, [0.2, 0.1])
    assert not matches([1, 2], [1, 2, 3])
    assert matches([1, 2], [1, 2])
    assert not matches("c1", "c2")


def test_what_a_cell_is():
    """Parameters at their defaults, as `beta`, are left out, so that a new parameter changes no key."""
    start = '{"horizon": 100, "instance": {"arms": 3, "class": "bandits:c1"}, '
    assert RegretCell(C1(3), DPSE(0.5), 100).identity == (
        start + '"policy": {"class": "bandits:dp_se", "epsilon": 0.5}}'
    )
    assert RegretCell(C1(3), DPSE(0.5, beta=0.1), 100).identity == (
        start + '"policy": {"beta": 0.1, "class": "bandits:dp_se", "epsilon": 0.5}}'
    )
