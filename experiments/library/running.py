"""Run cells from the shell and from Python."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.config.command_line import jobs_of, read_command_line
from experiments.config.compose import Composer
from experiments.config.overrides import GROUPS, quoted
from experiments.errors import UserError, flag, is_number, list_of_texts, shown

if TYPE_CHECKING:
    import pandas as pd

# names of columns that `load` filters by, and of experiments, as the shell has them
KEYS = {**{name: f"budget.{name}" for name in ("epsilon", "delta", "rho")}, "arms": "instance.arms"}
KEYS["experiment"] = "+experiment"


def main() -> None:
    """Entry point of `python -m experiments.run`."""
    command = read_command_line()
    if not command.jobs:  # --help or --cfg, which has been answered
        return
    from experiments.library.summary import describe_plans, summary_of_plans  # imports all policies; --help need not
    from experiments.simulate.complete import complete, runner_of

    plans = command.plans()
    if flag(command.config, "plan"):
        print(describe_plans(plans))
    else:
        print(complete(plans, runner_of(plans)))
        print(summary_of_plans(plans))


def run(
    *words: str, config_dirs: Iterable[Path | str] = (), workers: int | None = None, **values: Any
) -> "pd.DataFrame":
    """Simulate what is missing of the cells that `words` ask for, store it, and return the rows of all of them.

        table = run("instance=c1,c2", "policy=dp_se,dp_ucb", "budget.epsilon=0.1,0.25", "horizon=1e5")
        table = run(instance=["c1", "c2"], policy=["dp_se", "dp_ucb"], epsilon=[0.1, 0.25], horizon=1e5)

    Parameters
    ----------
    words: as after `python -m experiments.run -m`: one job for each combination of comma-separated values;
        "runner=threads" and the like choose where cells are simulated.
    config_dirs: folders with your own policies and experiments, as after --config-dir.
    workers: as "runner.workers=..." in `words`: processes, -1 for one per core; results do not depend on it.
    values: key=value or key=[values], as in `load`; epsilon, delta and rho are those of the budget, arms those of the
        instance, and other keys with a dot are given as **{"policy.rounds": 3}. A value that is a list is a list in the
        list: **{"instance.means": [[0.1, 0.2]]}.

    Returns a table as `load` does, as `load_outcomes` for stopping rules, or as `load_identified` for searches for the
    best arm. After Ctrl-C nothing goes on, but with one worker or "runner=threads" a loop in machine code, which ends
    with its replication. Raises `UserError` for words that the shell would refuse, for cells of several kinds or of one
    without such a table, and for a policy that fails.
    """
    from experiments.config.plan import plan
    from experiments.library.frames import rows_of_plans
    from experiments.simulate import PolicyError
    from experiments.simulate.complete import complete, runner_of

    for word in words:
        if not isinstance(word, str):
            raise UserError(f"run: must be given words, as 'policy=dp_se', got {word!r}")
    composer = Composer(list_of_texts(config_dirs, "config_dirs", str | Path))
    words = (*words, *(_word(key, value) for key, value in values.items()))
    all_words = words if workers is None else (*words, _word("runner.workers", workers))
    plans = plan(jobs_of(all_words, several=True, composer=composer), composer)
    if any(flag(planned.config, "plan") for planned in plans):
        raise UserError("plan=true: run() simulates; in the shell it shows what would be run")
    try:
        complete(plans, runner_of(plans))
    except PolicyError as failure:
        raise UserError(str(failure)) from failure
    return rows_of_plans(plans)


def _word(key: str, value: Any) -> str:
    """The word of the shell for key=value or key=[values]."""
    value = value.tolist() if hasattr(value, "tolist") else value  # of numpy and pandas
    several = value if isinstance(value, list | tuple) else [value]
    if not several:
        raise UserError(f"{key}: has no values")
    return f"{KEYS.get(key, key)}={','.join(_text(key, one) for one in several)}"


def _text(key: str, value: Any) -> str:
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list | tuple):
        return f"[{','.join(_text(key, one) for one in value)}]"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if is_number(value):
        return repr(value)
    if not isinstance(value, str | Path):
        raise UserError(
            f"{key}: must be a text, a number, true or false, or a list of these or of lists, got {shown(value)}"
        )
    return str(value) if key in GROUPS else quoted(str(value))
