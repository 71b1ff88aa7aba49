"""Inputs that the exact computation refuses with an error."""

import math

import numpy as np
import pytest

from bandits.exact import winners as exact_quadrature
from bandits.exact.regret import QuadratureError, expected_regret, expected_regret_curve, selection_probabilities
from bandits.parameters import ParameterError


def test_too_large_a_computation_is_refused():
    with pytest.raises(QuadratureError, match=r"needs .* values of binomial sums, more than 2e\+07"):
        selection_probabilities([0.5, 0.5 + 1e-12], [1, 1], "laplace", 1.0, 2**50, "bernoulli")
    with pytest.raises(QuadratureError, match="points of the trapezoidal rule"):
        selection_probabilities([0.5, 0.50001], [1, 1], "gumbel", 100.0, 2**34, "bernoulli")


def test_a_rule_that_does_not_converge_is_refused():
    with pytest.raises(QuadratureError, match=r"changes a probability by 0\.5 of itself"):
        exact_quadrature.refined(lambda level: np.array([0.5, 1.0 + level % 2]), 0.0)
    assert exact_quadrature.refined(lambda level: np.array([1.0 + 2.0**-12 * 16.0**-level]), 1e-7)[0] < 1 + 1e-8


def test_parameters_out_of_range():
    for change, parameter in [
        ({"means": [0.1, 1.1]}, "means"),
        ({"means": [0.1, math.nan]}, "means"),
        ({"means": [0.1]}, "counts"),
        ({"means": [[0.1, 0.2]], "counts": [[1, 1]]}, "counts"),
        ({"means": [], "counts": []}, "arms"),
        ({"means": [0.5], "counts": [1]}, "arms"),
        ({"counts": [1, 0]}, "counts"),
        ({"counts": [1, 1.5]}, "counts"),
        ({"counts": [1, math.inf]}, "counts"),
        ({"noise": "gaussian"}, "noise"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": 2**61}, "horizon"),
        ({"losses": "normal"}, "losses"),
        ({"calibration": "guessed"}, "calibration"),
    ]:
        game = {"means": [0.1, 0.2], "counts": [1, 1], "noise": "laplace", "epsilon": 1.0, "horizon": 10}
        assert expected_regret(**game) > 0
        with pytest.raises(ParameterError) as error:
            expected_regret(**game | change)
        assert error.value.parameter == parameter


def test_checkpoints_and_rounds_out_of_range():
    for checkpoints in ([], [2, 2], [3, 1], [0, 1]):
        with pytest.raises(ParameterError):
            expected_regret_curve([0.1, 0.2], [1, 1], "laplace", 1.0, checkpoints)
    for rounds in (0, 2**61):
        with pytest.raises(ParameterError):
            selection_probabilities([0.1, 0.2], [1, 1], "laplace", 1.0, rounds)
