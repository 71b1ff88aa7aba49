"""Exact regret of a few steps, summed by hand."""

import math

import pytest

from bandits.exact.regret import expected_regret_curve, selection_probabilities


def test_the_first_step_is_uniform_over_arms():
    """Nine of ten arms have gap 1/2: 0.45. Steps 2 and 3 follow one vector: Gumbel(1), odds 9 e^-0.5 = 5.4587760."""
    wrong = 5.4587760 / 6.4587760
    found = expected_regret_curve([0.25, 0.75], [1, 9], "gumbel", 2.0, [1, 2, 3])
    assert found == pytest.approx([0.45, 0.45 + wrong / 2, 0.45 + wrong], rel=1e-7)


def test_the_choice_after_losses_that_never_vary():
    """Two arms one loss apart. Laplace(1): (1/2 + 1/4) e^-1. Exponential(1): e^-1 / 2, and of scale 1/2: e^-2 / 2."""
    for noise, calibration, wrong in (
        ("laplace", "proved", 0.75 * math.exp(-1)),
        ("exponential", "proved", math.exp(-1) / 2),
        ("exponential", "printed", math.exp(-2) / 2),
        ("gumbel", "proved", 1 / (1 + math.e)),
    ):
        found = selection_probabilities([0.0, 1.0], [1, 1], noise, 2.0, 1, calibration=calibration)
        assert found == pytest.approx([1 - wrong, wrong])


def test_the_choice_after_one_vector_of_coins():
    """Means 0.2 and 0.7, Gumbel(1): probability 0.38 of a tie, 0.56 that the better one leads, 0.06 that it trails."""
    wrong = 0.38 / 2 + 0.56 / (1 + math.e) + 0.06 * math.e / (1 + math.e)
    found = selection_probabilities([0.2, 0.7], [1, 1], "gumbel", 2.0, 1, losses="bernoulli")
    assert found == pytest.approx([1 - wrong, wrong], rel=1e-8)
