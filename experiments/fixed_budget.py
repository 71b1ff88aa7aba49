"""Which policies name the best of some arms when the number of users is fixed, and how often they are wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bandits.bounds.halving import halving_error
from bandits.exact.two_arms import TwoArms
from bandits.learner import Learner
from experiments import intervals
from experiments.config.compose import Composer
from experiments.config.plan import Plan, Setting, attempts
from experiments.errors import UserError
from experiments.intervals import Interval
from experiments.simulate.complete import complete, runner_of
from experiments.store import stored_cells

ERROR = 0.05  # the probability with which some interval of an answer may miss
ALLOCATIONS = ("halving", "uniform")
HALVING = {"epsilon": "dp_halving", "rho": "dp_halving_gauss", "": "halving"}
RULES = {"epsilon": ("dp_tt", "dp_se"), "rho": ("dp_se_gauss",), "": ("successive_elimination",)}  # stop by themselves


@dataclass(frozen=True)
class Namer:
    """A way to name an arm after a fixed number of users.

    Attributes
    ----------
    setting: how it is planned, as (("policy", "dp_halving"), ...); empty for one noisy difference of two arms, which no
        policy plays.
    wrong: how often the arm is not the best, or none is named in time; a point if it is computed.
    bound: what `wrong` cannot exceed by the theorem about halving (bandits/bounds/halving.md); 1 for other policies.
    users: how many are needed in the mean: fewer than all if the policy stops by itself.
    policy: the policy that is played, None for one noisy difference.
    """

    label: str
    setting: Setting
    wrong: Interval
    bound: float
    users: float
    policy: Learner[Any] | None = None

    @property
    def stops(self) -> bool:
        """Whether it stops by itself, and is then wrong with probability `beta` at most, whatever the means are."""
        return "policy.beta" in dict(self.setting)


def namers(
    means: Sequence[float],
    users: int,
    epsilon: float | None = None,
    rho: float | None = None,
    beta: float = 0.05,
    runs: int = 1000,
    results_dir: str | None = None,
    composer: Composer | None = None,
) -> list[Namer]:
    """All ways to name one of the Bernoulli arms with these means under a budget, or none; the least often wrong first.

        namers([0.033, 0.03, 0.027], users=200_000, epsilon=0.5)[0].wrong

    Halving and uniform allocation use all users. The others stop by themselves, wrong with probability `beta` at most,
    and are wrong here too if the users do not suffice. Two arms are halved once: that is computed by `bandits.exact`.
    All else is simulated `runs` times and stored in `results_dir`, as by `experiments.run`. A policy whose first round
    or batch needs more users is left out. Who asks often gives a `composer`, which keeps what it has composed.

    Raises `UserError` for means, users or a budget that no policy takes.
    """
    if epsilon is not None and rho is not None:
        raise UserError("rho: must be left out beside epsilon")
    budget = {key: value for key, value in (("epsilon", epsilon), ("rho", rho)) if value is not None}
    settings = list(_settings(len(means), users, budget, beta))
    words = ["instance=bernoulli", f"instance.means=[{','.join(map(repr, means))}]", "recorded=1", "runner=threads"]
    words += [f"replications={runs}", *([] if results_dir is None else [f"results_dir={results_dir}"])]
    planned = dict(zip(settings, attempts(settings, composer or Composer(), words), strict=True))
    plans = {setting: one for setting, one in planned.items() if isinstance(one, Plan)}
    if not plans:
        raise UserError(str(next(iter(planned.values()))))
    computed = []
    if len(means) == 2:
        pulls, pair = users // 2, (means[0], means[1])
        for setting in [setting for setting in plans if dict(setting).get("policy.explored")]:
            wrong = TwoArms(pair, epsilon, rho, draws=2).wrong(pulls)
            policy, bound = plans.pop(setting).requests[0].cell.policy, _bound(means, setting, budget)
            computed.append(Namer(policy.legend(), setting, intervals.exactly(wrong), bound, 2 * pulls, policy))
        wrong = TwoArms(pair, epsilon, rho).wrong(pulls)
        computed.append(Namer("one noisy difference", (), intervals.exactly(wrong), 1.0, 2 * pulls))
    simulated = _simulated(means, plans, budget) if plans else []
    return sorted([*computed, *simulated], key=lambda one: one.wrong.estimate)


def _settings(arms: int, users: int, budget: dict[str, float], beta: float) -> Sequence[Setting]:
    """A setting of each policy that takes such a budget; for two arms both allocations are the same."""
    kind = next(iter(budget), "")
    spent = (
        ("budget", "zcdp" if kind == "rho" else "pure"),
        *((f"budget.{key}", value) for key, value in budget.items()),
    )
    fixed = (("policy", HALVING[kind]), *spent, ("policy.explored", users), ("horizon", users + 2))
    halving = [(*fixed, ("policy.allocation", one)) for one in (ALLOCATIONS if arms > 2 else ALLOCATIONS[:1])]
    return [*halving, *((("policy", rule), *spent, ("policy.beta", beta), ("horizon", users)) for rule in RULES[kind])]


def _simulated(means: Sequence[float], plans: dict[Setting, Plan], budget: dict[str, float]) -> list[Namer]:
    """The rows of policies that are played."""
    complete(list(plans.values()), runner_of(list(plans.values())))
    rows = []
    for setting, planned in plans.items():
        stored = next(iter(stored_cells(planned)))
        wrong = intervals.share(stored.measure("wrong_arm").astype(bool), ERROR / len(plans))
        users = float(stored.measure("identification_samples").mean())
        policy = stored.cell.policy
        rows.append(Namer(policy.legend(), setting, wrong, _bound(means, setting, budget), users, policy))
    return rows


def _bound(means: Sequence[float], setting: Setting, budget: dict[str, float]) -> float:
    """What the theorem about halving says of a setting; 1 if it is of another policy, or several arms are best."""
    chosen, gaps = dict(setting), np.sort(max(means) - np.array(means))[1:]
    if "policy.explored" not in chosen or gaps[0] == 0:
        return 1.0
    return halving_error(gaps, chosen["policy.explored"], **budget, allocation=chosen["policy.allocation"])
