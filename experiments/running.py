"""Run cells from the shell and from Python."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.config.command_line import jobs_of, read_command_line
from experiments.config.compose import Composer
from experiments.config.values import flag
from experiments.errors import UserError

if TYPE_CHECKING:
    import pandas as pd


def main() -> None:
    """Entry point of `python -m experiments.run`."""
    command = read_command_line()
    if not command.jobs:  # --help or --cfg, which has been answered
        return
    from experiments.simulate.complete import (  # imports all policies; --help need not
        complete,
        describe,
        runner_of,
        summary,
    )

    plans = command.plans()
    if flag(command.config, "plan"):
        print(describe(plans))
    else:
        print(complete(plans, runner_of(plans)))
        print(summary(plans))


def run(*words: str, config_dirs: Iterable[Path | str] = (), workers: int | None = None) -> "pd.DataFrame":
    """Simulate what is missing of the cells that `words` ask for, store it, and return the rows of all of them.

        table = run("instance=c1,c2", "policy=dp_se,dp_ucb", "budget.epsilon=0.1,0.25", "horizon=1e5")

    Parameters
    ----------
    words: as after `python -m experiments.run -m`: one job for each combination of comma-separated values;
        "runner=threads" and the like choose where cells are simulated.
    config_dirs: folders with your own policies and experiments, as after --config-dir.
    workers: as "runner.workers=..." in `words`: processes, -1 for one per core; results do not depend on it.

    Returns a table as `load` does, as `load_outcomes` for stopping rules, or as `load_identified` for searches for the
    best arm. Raises `UserError` for words that the shell would refuse, for cells of several kinds or of one without
    such a table, and for a policy that fails.
    """
    from experiments.config.plan import plan_all
    from experiments.frames import rows_of_plans
    from experiments.simulate import PolicyError
    from experiments.simulate.complete import complete, runner_of

    for word in words:
        if not isinstance(word, str):
            raise UserError(f"run: must be given words, as 'policy=dp_se', got {word!r}")
    if isinstance(config_dirs, str | Path):
        raise UserError(f"config_dirs: must be a list, got {config_dirs!r}; write config_dirs=[{str(config_dirs)!r}]")
    composer = Composer(config_dirs)
    all_words = words if workers is None else (*words, f"runner.workers={workers}")
    plans = list(plan_all(jobs_of(all_words, several=True, composer=composer), composer))
    if any(flag(planned.config, "plan") for planned in plans):
        raise UserError("plan=true: run() simulates; in the shell it shows what would be run")
    try:
        complete(plans, runner_of(plans))
    except PolicyError as failure:
        raise UserError(str(failure)) from failure
    return rows_of_plans(plans)
