"""Distances and probabilities of small laws, computed by hand."""

import math

import numpy as np
import pytest

from bandits.audit.decision_laws import delta_between, epsilon_between, largest_of
from bandits.audit.ledger import Domain, LaplaceRelease
from bandits.audit.transcripts import Transcripts
from bandits.policies.hybrid_ucb import DPUCBInt
from bandits.policies.perturbed_leader import GDPElimNew
from bandits.policies.stopping_rules import DPNAS
from tests.bandits.audit.by_quadrature import LaplaceLaw


def test_two_laws_on_three_outcomes():
    """(0.5, 0.4, 0.1) and (0.2, 0.4, 0.4), epsilon = log 2: 0.5 - 0.4 one way, 0.4 - 0.2 the other."""
    first, second = np.array([0.5, 0.4, 0.1]), np.array([0.2, 0.4, 0.4])
    assert delta_between(first, second, math.log(2)) == pytest.approx(0.2)
    assert delta_between(second, first, math.log(2)) == pytest.approx(0.2)
    assert epsilon_between(first, second) == pytest.approx(math.log(4))


def test_the_largest_of_three_equal_laws():
    """1/3 each; then one that is 1 below the two others: E of S_1(max), where max has the density 2 f F."""
    assert largest_of([LaplaceLaw(0.0, 1.0)] * 3) == pytest.approx([1 / 3] * 3)
    chances = largest_of([LaplaceLaw(0.0, 1.0), LaplaceLaw(1.0, 1.0)])
    assert chances == pytest.approx([0.75 * math.exp(-1), 1 - 0.75 * math.exp(-1)])  # (2 + 1) e^-1 / 4


def test_the_means_that_a_first_reward_is_in():
    """Every second pull, v = 1.5, up to 7 pulls of an arm: 2^-0.75, 4^-0.75, 6^-0.75."""
    (means,) = DPUCBInt(0.5, 0.1, v=1.5, calibrate=False).ledger(2, 8)
    assert means.costs == pytest.approx([0.5946036, 0.3535534, 0.2608475], rel=1e-6)


def test_the_values_of_phases():
    """Two arms, delta = 0.004: a phase of 2000 pulls each, then an unfinished one, both with half of delta."""
    phases = GDPElimNew(0.0, 0.004).ledger(2, 10_000)
    assert [(phase.count, phase.noise_delta) for phase in phases] == [(2000, 0.002), (4716, 0.002)]


def test_the_noises_of_a_stopping_rule():
    """12 R / epsilon twice and 4 R / epsilon, R = 3 and epsilon = 2."""
    assert DPNAS(2.0, accuracy=0.5, beta=0.05).scales(3.0) == (18.0, 18.0, 6.0)


def test_a_number_with_laplace_noise():
    """An item of [-1, 1] moves a mean of two by 1, noise of scale 1/2: 2; of [0, 1] half as much."""
    release = LaplaceRelease("mean", "", -1.0, 1.0, 2.0, 0.5)
    assert release.cost(Domain.SIGNED).kept == 2.0
    assert release.cost(Domain.NONNEGATIVE).kept == 1.0


def test_neighbouring_tables():
    """Two rewards, four tables: bit 1 apart are 0 and 2, 1 and 3."""
    made = Transcripts(np.zeros((1, 1), dtype=int), np.ones((4, 1)), [(0, 0), (1, 0)])
    assert [tables.tolist() for tables in made._neighbours(1)] == [[0, 1], [2, 3]]
