"""Write docs/atlas.md: the cost of privacy on Bernoulli bandits, with other rewards, and to name the best arm.

    python -m scripts.atlas
    python -m scripts.atlas --config-dir mine join=NAME complete=true page=mine/atlas.md

The cells are those of bernoulli.yaml, arms.yaml, bounded.yaml, heavy_tails.yaml and identification.yaml in
conf/experiment/atlas; overrides change them as in every other command.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.config.command_line import exit_on_user_error, file_given, read_command_line
from experiments.config.compose import REPOSITORY, Composer
from experiments.config.plan import Plan, plan
from experiments.errors import UserError, flag
from experiments.simulate.complete import complete, runner_of
from experiments.store import stored_cells
from scripts.atlas.choice import Field
from scripts.atlas.elsewhere import Elsewhere
from scripts.atlas.page import atlas_page
from scripts.pages.prices import priced

EXPERIMENTS = ("atlas/bernoulli", "atlas/arms")
ELSEWHERE = (
    "atlas/bounded",
    "atlas/heavy_tails",
    "atlas/identification",
)  # where a joined policy may not be able to play
PAGE = REPOSITORY / "docs" / "atlas.md"
HARMLESS = ("complete=", "runner.")  # overrides that change no number


def main() -> None:
    """Entry point of `python -m scripts.atlas`."""
    named, overrides = file_given("page", sys.argv[1:])
    sys.argv[1:] = ["-m", f"+experiment={','.join(EXPERIMENTS)}", *overrides]
    command = read_command_line()
    plans = command.plans()
    if not plans:
        return
    plans += [_without_who_cannot_play(name, command.jobs[0], command.composer) for name in ELSEWHERE]
    if named is None and any(not word.startswith(HARMLESS) for word in overrides):
        raise UserError(f"page: missing; {PAGE.relative_to(REPOSITORY)} is for published results: give page=FILE")
    if flag(command.config, "complete"):
        print(complete(plans, runner_of(plans)), flush=True)
    file = PAGE if named is None else Path(named)
    text = atlas_page(field_of(*plans))
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"page={file}: cannot be written: {error.strerror or error}") from error
    print(file)


def _without_who_cannot_play(experiment: str, job: Sequence[str], composer: Composer) -> Plan:
    """The plan of another experiment with the overrides of a job; a joined policy is left out if it cannot play there.

    Raises `UserError`.
    """
    overrides = [f"+experiment={experiment}", *(word for word in job if not word.startswith("+experiment="))]
    own = [word for word in overrides if not word.startswith("join=")]
    try:
        return plan([overrides], composer)[0]
    except UserError:
        if own == overrides:
            raise
        return plan([own], composer)[0]


def field_of(every: Plan, by_arms: Plan, bounded: Plan, heavy: Plan, identified: Plan) -> Field:
    """The cells of all experiments, with the epsilons and delta of the first one. Raises `UserError`."""
    config = every.config
    epsilons, delta = [float(epsilon) for epsilon in config.epsilons], float(config.delta)
    return Field(
        priced(stored_cells(every)),
        priced(stored_cells(by_arms)),
        epsilons,
        delta,
        Elsewhere(stored_cells(bounded)),
        Elsewhere(stored_cells(heavy)),
        Elsewhere(stored_cells(identified), "identification_samples"),
    )


if __name__ == "__main__":
    exit_on_user_error(main)
