"""Ask about your own case: which private policy to take, and what it loses.

    python -m scripts.advise arms=8 users=2e6 epsilon=0.5 rate=0.03 gap=0.003
    python -m scripts.advise means=[0.03,0.033,0.027] users=1e6 epsilon=1 trust=local
    python -m scripts.advise data=past.csv users=1e5 epsilon=1 contributions=3
    python -m scripts.advise goal=best_arm means=[0.03,0.04] epsilon=0.5 error=0.05
    python -m scripts.advise means=[0.03,0.04] users=1e6 epsilon=1 service=my_service

Every policy whose promise implies the wanted one is simulated in this case now, the hopeless ones a few times only;
what was simulated is stored, and not simulated again. The first time, the loops of all policies are compiled, which
takes a minute or two; the first table is of those that are. The best arm stands at one place, drawn from the means.
From Python: `from experiments import advise`.
"""

import contextlib
import sys
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from experiments.advice.answer import growing_answer
from experiments.advice.naming import name_best
from experiments.advice.question import FIELDS
from experiments.advice.service import write_naming_service, write_service
from experiments.advice.words import changed, head, naming_page, notes
from experiments.config.command_line import exit_on_user_error, read_command_line
from experiments.errors import UserError

GOALS = ("regret", "best_arm")


def main() -> None:
    """Entry point of `python -m scripts.advise`."""
    command = read_command_line("advise")
    if len(command.jobs) > 1:
        raise UserError("advise: answers one question, so without -m")
    if command.jobs:
        config = OmegaConf.to_container(command.config, resolve=True)
        assert isinstance(config, dict)
        fields = {name: config[name] for name in FIELDS}
        try:
            answer_of(config, fields)
        except UserError as error:
            raise UserError(f"advise: {error}") from None


def say(line: str) -> None:
    """Tell how far it is, beside the answer."""
    print(line, file=sys.stderr, flush=True)


def answer_of(config: dict[Any, Any], fields: dict[str, Any]) -> None:
    """Print the answer to the goal, and write the service. Raises `UserError`."""
    goal, runs, folder = config["goal"], config["runs"], config["service"]
    if goal not in GOALS:
        raise UserError(f"goal: must be one of {', '.join(GOALS)}, got {goal}")
    if goal == "best_arm":
        many = {} if runs is None else {"runs": runs}
        with contextlib.redirect_stdout(sys.stderr):  # the answer alone is the output
            naming = name_best(print, config["results_dir"], error=config["error"], **many, **fields)
        print(naming_page(naming))
        for file in write_naming_service(naming, Path(folder)) if folder else ():
            print(file)
        return
    if config["error"] is not None:
        raise UserError("error: only for goal=best_arm")
    growing = growing_answer(say, config["results_dir"], 100 if runs is None else runs, **fields)
    with contextlib.redirect_stdout(sys.stderr):
        answer = next(growing)
        if answer.compiling:
            print(*head(answer), sep="\n", flush=True)  # a first look at what is compiled
            answer = next(look for look in growing if not look.compiling)
        print(*head(answer), sep="\n", flush=True)  # a look at all, after few runs
        answer = next(growing)
    print(*head(answer), sep="\n", flush=True)
    with contextlib.redirect_stdout(sys.stderr):
        *_, answer = [answer, *growing]
    print(*changed(answer), *notes(answer), sep="\n")
    for file in write_service(answer, Path(folder)) if folder else ():
        print(file)


if __name__ == "__main__":
    exit_on_user_error(main)
