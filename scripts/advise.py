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

The first command asks about two million users and eight arms: one of mean rate + gap, one of rate - gap, the others of
the rate. `means=[...]` names the mean of each arm instead; runs are shared by up to four places of the best arm, drawn
at random. `gap=[0.001,0.01]` is a gap that is not known: the table is for the geometric middle, and all finalists are
played at both ends too; a line says who loses the least at most where that is the largest. Without a range it is
half and twice the gap. `epsilon` with or without `delta`, or `rho`, is the promise, and `trust=central`, `distributed`,
`shuffle` or `local` says of what. `contributions=3` is for users who give up to three rewards: the promise is then
about all three. `rewards=bounded` plays Beta rewards instead of clicks, and `rewards=heavy` Pareto rewards with a
finite moment of order `moment=1.5`, whose bound the policies know.

`data=past.csv` takes the arms from a file with the columns arm and reward, in [0, 1], instead: rewards of 0 and 1 are
played as clicks with these shares, others are drawn again with replacement, grouped into at most 20 values an arm. With
`rewards=heavy` beside it rewards are any above 0, and Pareto ones with their means are played, as no sample shows how
heavy its tail is. The page shows the interval of each mean, and warns: the answer shows what the data says, without
noise, so what is decided from it spends privacy of the people in the data.

Every policy of this repository whose promise implies the wanted one takes part, at the largest budget with which it
does, but one that is known to break its promise. All are played 4 times, those of the smaller means 16 times, and five
finalists 400 times more (`runs`; 125 times if they are slow), as those runs have chosen them; in the ordinary way:
results are stored, `experiments.run` gives the same numbers, and nothing is simulated again. The first look is printed
after 16 runs, the table before all that follows below it. A policy that needs more than half a second a run is named
and left out, as is who is dropped. The finalists are judged by the rule of the atlas, 95 % quantile and mean of the
lost reward, on the safe side: "95 % at most" is the upper end of an interval of the quantile, those of the table and of
other gaps hold together with probability 95 % whatever the law is, and a policy whose mean is in doubt stands behind
all others, as rare runs may carry it. Policies that take zeros and ones only play bounded rewards *rounded*: each
reward x is replaced by 1 with probability x, else by 0. Beside them stand uniform play, the best policy without privacy
that takes less than a tenth of a second a run (it may be a finalist at epsilon 100), and the leading term of a lower
bound as users grow without end, which may be above what is lost before. Below stand the finalists at other gaps,
budgets and numbers of users after 250 runs, and the best policy at each weaker trust after 125; slow ones at other
budgets and numbers of users after 20, which show the least mean and no more. If nothing is seen to learn, here or with
other gaps, the number of users is multiplied by 4 until something does in fresh runs, or until it is too large or too
slow: the page says which. Two arms are also explored by so many users as lose least, for the worst of the gaps that
were given, after which one arm is kept; what that loses is computed ("exact"), and shown at other gaps too. The advice
is for rewards that do not change with time. The first question compiles the loops of all policies, in all cores at
once: the first table is of those that are compiled, and names the others. Later questions take seconds.

`goal=best_arm` asks which arm is best instead of what is lost: with `users=...` how often each policy names a wrong
one, or with `error=0.05` how many users it takes. Halving and uniform allocation use a fixed number of users, and are
as good as the means that you give; rules that stop by themselves keep the error whatever the means are, and need more.
Two arms are computed exactly, others simulated 1,000 times (`runs`), or more if the error is small; intervals hold for
every law, and a number of users is also enough if the theorem about halving says so. The same stands below for half and
twice the gap. `gap=[low,high]` is answered at its smallest gap, which is the hardest. With another trust than central,
users send one bit each (`ldp_halving`): that is local, and implies the others. With a `delta` normal noise takes part
too, and rules of shuffled bits and modular sums. In Python it is `experiments.advice.naming.name_best`.

`service=my_service` writes the service of the recommended policy into a new folder: `service.py`, for a local policy
`client.py` for the devices of users, a README with the promise, a sentence for a privacy notice and what to monitor,
and `try_service.py`, which plays 1,000 simulated users against it through HTTP, kills it twice, and sees that nothing
is lost. For a range of gaps it is the policy that loses least at its own worst gap. With `goal=best_arm` it is the
service of a knockout or of halving, local or not. If the recommended policy cannot be deployed, it is the first of the
table that can.
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
from experiments.config.folders import as_folder
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
    goal, runs, folder = config["goal"], config["runs"], _new_folder(config["service"])
    if goal not in GOALS:
        raise UserError(f"goal: must be one of {', '.join(GOALS)}, got {goal}")
    if goal == "best_arm":
        with contextlib.redirect_stdout(sys.stderr):  # the answer alone is the output
            naming = name_best(print, config["results_dir"], runs, config["error"], **fields)
        print(naming_page(naming))
        for file in write_naming_service(naming, folder) if folder else ():
            print(file)
        return
    if config["error"] is not None:
        raise UserError("error: only for goal=best_arm")
    growing = growing_answer(say, config["results_dir"], runs, **fields)
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
    for file in write_service(answer, folder) if folder else ():
        print(file)


def _new_folder(name: Any) -> Path | None:
    """The folder for a service, None if none is wanted. Raises `UserError` if it is no text, or not new."""
    if name is None:
        return None
    folder = as_folder(name, "service")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"service: {folder} exists already; name a new folder")
    return folder


if __name__ == "__main__":
    exit_on_user_error(main)
