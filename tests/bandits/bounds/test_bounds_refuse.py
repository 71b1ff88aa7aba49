"""No bound is silently a number where its theorem says nothing: each argument of each bound has a range."""

import math

import numpy as np
import pytest

from bandits import ParameterError
from tests.bandits.bounds.test_bounds import ANYWHERE, BOUNDS, arguments

WRONG = {
    "gaps": [np.array([]), np.array([0.05, 0.0]), np.array([0.05, 1.5]), np.array([np.nan, 0.05])],
    "means": [np.array([]), np.array([-0.1, 0.3]), np.array([np.nan, 0.3])],
    "moments": [np.array([0.5, 1.1, 0.4]), np.array([0.5, np.nan, 0.4]), np.array([0.5, 0.01, 0.4])],
    "arms": [1, 0, -3],
    "horizon": [0, -1, math.nan],
    "delta": [-0.1, 1.0, math.nan],
    "noise": ["normal"],
}
ANY_NUMBER = [-1.0, 0.0, math.nan]
NOT_ASKED = {"rule": "is a policy, which asks for its own", "mean": "may be negative", "spread": "may be 0"}
WITHOUT_PRIVACY = {  # a limit that they have: epsilon = inf
    "azize2025.lower_bound_slope",
    "azize2025.lower_bound_line",
    "azize2025.dp_klucb_line",
    "local_privacy.local_bernoulli_lower_bound_slope",
    "local_privacy.local_bernoulli_asymptote",
}


def cases():
    for name in BOUNDS:
        for key in arguments(name):
            if key in NOT_ASKED:
                continue
            for value in WRONG.get(key, [math.inf, *ANY_NUMBER] if key in ("u", "epsilon") else ANY_NUMBER):
                zero = {"variance", "epsilon"} if "variance" in arguments(name) or "delta" in arguments(name) else set()
                limit = key == "epsilon" and value == math.inf and name in WITHOUT_PRIVACY
                if not limit and not (key in zero and value == 0):
                    yield name, key, value


@pytest.mark.parametrize(("name", "key", "value"), list(cases()), ids=str)
def test_an_argument_out_of_range_is_named(name, key, value):
    assert key in ANYWHERE
    with pytest.raises(ParameterError) as error:
        BOUNDS[name](**arguments(name, **{key: value}))
    assert error.value.parameter in (key, key.removesuffix("s"), key.removeprefix("least_"))
