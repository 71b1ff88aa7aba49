"""Search for a counterexample to the conjecture that with B = 1 more data never makes the choice worse.

    python -m experiments.monotone_search                            # minutes
    python -m experiments.monotone_search generations=2 rounds=16    # seconds

Prints the steepest rise of the expected gap that was found for each noise and number of groups, in the units of
`bandits.exact.monotone`: a positive one would be a counterexample. Not from stored results; the numbers are the same
every time.
"""

import itertools
import sys

import pandas as pd

from bandits import ParameterError
from bandits.exact.monotone import MonotoneSearch
from bandits.mechanisms.report_noisy_max import NoiseName
from bandits.seeds import stream
from experiments.config.command_line import exit_on_user_error, help_alone
from experiments.errors import UserError, whole_number
from experiments.own_code.fan_out import delayed, in_parallel

NOISES: tuple[NoiseName, ...] = ("laplace", "gumbel", "exponential")
GROUPS = (2, 3, 4, 5)


def _row(space: MonotoneSearch) -> dict[str, object]:
    """The steepest rise in a space, where it is, and the extent of the search."""
    trial, steepness, trials = space.search(stream(f"monotone {space.noise}", space.groups))
    return {
        "noise": space.noise,
        "groups": space.groups,
        "trials": trials,
        "steepest": f"{steepness:.3f}",
        "means": " ".join(f"{mean:.4f}" for mean in trial.means),
        "arms": " ".join(map(str, trial.counts)),
        "epsilon": f"{trial.epsilon:.3g}",
        "n": trial.rounds,
    }


def main() -> None:
    """Entry point of `python -m experiments.monotone_search`."""
    if help_alone(__doc__, ("generations", "rounds")):
        return
    given = dict(word.partition("=")[::2] for word in sys.argv[1:])
    try:
        limits = {name: whole_number(float(value)) for name, value in given.items()}
        spaces = [MonotoneSearch(noise, groups, **limits) for noise, groups in itertools.product(NOISES, GROUPS)]
    except (ValueError, ParameterError) as error:
        raise UserError(f"{' '.join(sys.argv[1:])}: {error}") from None
    print(pd.DataFrame(in_parallel((delayed(_row)(space) for space in spaces), -1)).to_string(index=False))


if __name__ == "__main__":
    exit_on_user_error(main)
