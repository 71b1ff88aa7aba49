"""The cells of the atlas, from the plans of its experiments."""

from collections.abc import Sequence

from experiments.config.compose import Composer
from experiments.config.overrides import without
from experiments.config.plan import Plan, plan
from experiments.errors import UserError
from experiments.store import stored_cells
from scripts.atlas.choice import Field
from scripts.atlas.elsewhere import Elsewhere
from scripts.pages.prices import priced

EXPERIMENTS = ("atlas/bernoulli", "atlas/arms")
ELSEWHERE = (
    "atlas/bounded",
    "atlas/heavy_tails",
    "atlas/identification",
)  # a joined policy may be unable to play there


def published_field(composer: Composer) -> Field:
    """The cells of the published results. Raises `UserError`."""
    jobs = [[f"+experiment={name}"] for name in EXPERIMENTS]
    return field_of(*plan(jobs, composer), *elsewhere_plans(jobs[0], composer))


def elsewhere_plans(job: Sequence[str], composer: Composer) -> list[Plan]:
    """The plans of the experiments with other rewards or another task, with a job's overrides. Raises `UserError`."""
    return [_without_who_cannot_play(name, job, composer) for name in ELSEWHERE]


def _without_who_cannot_play(experiment: str, job: Sequence[str], composer: Composer) -> Plan:
    """The plan of another experiment with the overrides of a job; a joined policy is left out if it cannot play there.

    Raises `UserError`.
    """
    overrides = [f"+experiment={experiment}", *without(job, ["experiment"])]
    own = without(overrides, ["join"])
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
