"""Exact expected regret beside the mean of many simulated runs.

    python -m experiments.exact_against_simulated               # 100000 runs of every variant, minutes
    python -m experiments.exact_against_simulated runs=1000

Not from stored results: 100000 runs would be too large to store. The runs are those of replications 0, 1, ... of
the cell, so that the numbers are the same every time.
"""

import itertools
import math
import sys

import numpy as np
import pandas as pd

from bandits.arrays import FloatArray
from bandits.environments.full_information import BernoulliLosses, BetaLosses, DeterministicLosses
from bandits.environments.gap_profiles import Geometric
from bandits.policies.full_information import RNMFTNL
from experiments.cells.exact import ExactCell
from experiments.cells.regret import RegretCell
from experiments.config.command_line import exit_on_user_error, help_alone
from experiments.errors import UserError, whole_number
from experiments.own_code.fan_out import delayed, in_parallel

HORIZON = 255
PROFILE = Geometric(arms=16, gap=0.3)
CELLS = [
    RegretCell(instance(PROFILE, best=0.1), RNMFTNL(0.5, noise, resample, "proved"), HORIZON, recorded=1)
    for noise in ("laplace", "gumbel", "exponential")
    for instance, resample in (
        (BernoulliLosses, False),
        (BetaLosses, True),
        (DeterministicLosses, False),
        (DeterministicLosses, True),
    )
]


def runs_of(cell: RegretCell, first: int, last: int) -> FloatArray:
    """Final regret of replications `first` to `last` - 1."""
    runs = [cell.replicate(run)["regret"] for run in range(first, last)]
    return np.concatenate(runs)


def _row(cell: RegretCell, runs: int) -> dict[str, object]:
    """The exact value, the simulated mean with its standard error, and their difference in standard errors."""
    edges = np.linspace(0, runs, 21).astype(int)
    calls = (delayed(runs_of)(cell, *ends) for ends in itertools.pairwise(edges))
    values = np.concatenate(list(in_parallel(calls, -1)))
    exact = float(ExactCell(cell.instance, cell.policy, cell.horizon, cell.recorded).replicate(0)["regret"][-1])
    error = values.std(ddof=1) / math.sqrt(runs)
    return {
        "losses": cell.instance.name,
        "policy": cell.policy.legend(),
        "exact": f"{exact:.5g}",
        "simulated": f"{values.mean():.5g}",
        "standard error": f"{error:.2g}",
        "errors away": f"{(values.mean() - exact) / error:+.2f}",
    }


def main() -> None:
    """Entry point of `python -m experiments.exact_against_simulated`."""
    if help_alone(__doc__, ("runs",)):
        return
    given = dict(word.partition("=")[::2] for word in sys.argv[1:])
    try:
        runs = whole_number(float(given.get("runs", 100_000)))
    except ValueError as error:
        raise UserError(f"runs: {error}") from None
    print(pd.DataFrame([_row(cell, runs) for cell in CELLS]).to_string(index=False))


if __name__ == "__main__":
    exit_on_user_error(main)
