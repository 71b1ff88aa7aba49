"""Which policies name the best of some arms when the number of users is fixed, and how often they are wrong."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from bandits import ParameterError
from bandits.bounds.halving import halving_error, local_halving_error
from bandits.exact.two_arms import MOST_PULLS, TwoArms
from bandits.guarantees import Guarantee
from bandits.learner import Learner
from bandits.mechanisms.concentrated import pure_of_rho
from bandits.policies.base import Policy
from bandits.policies.distributed import DistRDPSE
from bandits.policies.halving import DPHalvingGauss
from bandits.policies.local_halving import LDPHalving
from bandits.policies.sub_gaussian import ShuffleSE
from experiments import intervals
from experiments.advice.budgets import TRUSTS, largest_budget
from experiments.config.compose import Composer
from experiments.config.plan import Plan, Combination, attempts
from experiments.errors import UserError, shown
from experiments.intervals import Interval
from experiments.simulate.complete import complete, runner_of
from experiments.store import stored_cells

ERROR = 0.05  # the probability with which some interval of an answer may miss
MOST_WAYS = 10  # to name an arm that take part together, or fewer
ALLOCATIONS = ("halving", "uniform")
HALVING = {"epsilon": "dp_halving", "rho": "dp_halving_gauss", "": "halving"}
KNOCKOUT = {"epsilon": "dp_knockout", "rho": "dp_knockout_gauss"}  # of two arms one noisy difference
RULES = {"epsilon": ("dp_tt", "dp_se"), "rho": ("dp_se_gauss",), "": ("successive_elimination",)}  # stop by themselves
LOCAL_HALVING = "ldp_halving"  # for every trust but central: what is promised of bits is promised of their sums
RULES_OF = {"distributed": ("dist_dp_se", "ctb_tt"), "shuffle": ("ctb_tt",), "local": ("ctb_tt",)}
WITH_DELTA: tuple[type[Policy], ...] = (ShuffleSE, DistRDPSE)  # rules that a delta admits; of central those of a rho
BY_STEPS = ("ctb_tt",)  # whose time grows with users: left out where all runs together have more steps than this
MOST_STEPS = 1e8


@dataclass(frozen=True)
class Namer:
    """A way to name an arm after a fixed number of users.

    Attributes
    ----------
    wrong: how often the arm is not the best, or none is named in time; a point if it is computed.
    bound: what `wrong` cannot exceed by the theorem about halving (bandits/bounds/halving.md); 1 for other policies.
    users: how many are needed in the mean: fewer than all if the policy stops by itself.
    policy: the policy that is played.
    stops: whether it stops by itself, and is then wrong with probability `beta` at most, whatever the means are.
    """

    label: str
    wrong: Interval
    bound: float
    users: float
    policy: Learner[Any] | None = None
    stops: bool = False

    @property
    def at_most(self) -> float:
        """What the probability of a wrong arm does not exceed: the end of its interval, or what is proved if less."""
        return min(self.wrong.high, self.bound)

    @property
    def computed(self) -> bool:
        """Whether it is no estimate of runs."""
        return self.wrong.low == self.wrong.high


def namers(
    means: Sequence[float],
    users: int,
    epsilon: float | None = None,
    rho: float | None = None,
    beta: float = 0.05,
    runs: int = 1000,
    results_dir: str | None = None,
    composer: Composer | None = None,
    trust: str = "central",
    rules: bool = True,
    delta: float = 0.0,
) -> list[Namer]:
    """All ways to name one of the Bernoulli arms with these means under a budget, or none; the least often wrong first.

        namers([0.033, 0.03, 0.027], users=200_000, epsilon=0.5)[0].wrong

    Halving, uniform allocation and a knockout use all users. The others stop by themselves, wrong with probability
    `beta` at most, and are wrong here too if the users do not suffice; without `rules` they are left out. Two arms are
    halved once, with `MOST_PULLS` of each at most: that is computed by `bandits.exact`. All else is simulated `runs`
    times and stored in `results_dir`, as by `experiments.run`. A policy whose first round or batch needs more users is
    left out, and so is one that decides at every step if it would take too long. Without `trust` in a server, "local",
    "shuffle" or "distributed", halving is that on bits of users; a rho is then promised by the pure epsilon that
    implies it. With a `delta` beside epsilon policies take part whose own promise, at the largest budget that implies
    it, is weaker: normal noise, or rules of shuffled bits and of modular sums. Who asks often gives a `composer`, which
    keeps what it has composed.

    Raises `UserError` for means, users, a trust or a budget that no policy takes.
    """
    case = NamingCase(means, epsilon, rho, beta, runs, results_dir, composer or Composer(), trust, delta)
    return case.namers(users, rules)


@dataclass(frozen=True)
class NamingCase:
    """Arms of which the best is to be named by some number of users; the arguments of `namers` but for that number."""

    means: Sequence[float]
    epsilon: float | None = None
    rho: float | None = None
    beta: float = 0.05
    runs: int = 1000
    results_dir: str | None = None
    composer: Composer = field(default_factory=Composer)
    trust: str = "central"
    delta: float = 0.0

    @property
    def free(self) -> "NamingCase":
        """The same without privacy."""
        return replace(self, epsilon=None, rho=None, trust="central", delta=0.0)

    @property
    def designs(self) -> list[TwoArms]:
        """The tests of two arms: one for the budget, and one with normal noise if a delta admits that."""
        means = self.means[0], self.means[1]
        rho = gaussian_rho(self.epsilon, self.delta) if self.delta and self.epsilon else None
        normal = [two_arms(means, rho=rho)] if rho is not None and self.trust == "central" else []
        return [two_arms(means, self.epsilon, self.rho, self.trust), *normal]

    def namers(self, users: int, rules: bool = True) -> list[Namer]:
        """As the function of that name."""
        planned = self._planned(users)
        plans = {setting: one for setting, one in planned.items() if isinstance(one, Plan)}
        if not any(rules or not _stops(setting) for setting in plans):
            raise UserError(str(next(iter(planned.values()))))
        computed = []
        if len(self.means) == 2:
            pulls = min(users // 2, MOST_PULLS)
            for setting in [setting for setting in plans if dict(setting).get("policy.explored")]:
                computed.append(self._computed(setting, plans.pop(setting), pulls))
        error = ERROR / max(len(plans), 1)  # of each interval, the same whether rules are left out or not
        left = {setting: one for setting, one in plans.items() if rules or not _stops(setting)}
        simulated = self._simulated(left, error) if left else []
        return sorted([*computed, *simulated], key=lambda one: one.wrong.estimate)

    def _planned(self, users: int) -> dict[Combination, Plan | str]:
        """The plan of each policy that takes the budget, or why it is refused; without those that are too slow."""
        settings = list(self._settings(users, _budget(self.epsilon, self.rho, self.trust)))
        if self.delta and self.epsilon is not None:
            settings += self._with_delta(users, self.epsilon)
        slow = BY_STEPS if users * self.runs > MOST_STEPS else ()
        settings = [one for one in settings if dict(one)["policy"] not in slow]
        words = ["instance=bernoulli", f"instance.means=[{','.join(map(repr, self.means))}]", "recorded=1"]
        words += ["runner=threads", f"replications={self.runs}"]
        words += [] if self.results_dir is None else [f"results_dir={self.results_dir}"]
        return dict(zip(settings, attempts(settings, self.composer, words), strict=True))

    def _computed(self, setting: Combination, planned: Plan, pulls: int) -> Namer:
        """The row of a policy that pulls each of two arms so often, from its law."""
        policy = planned.requests[0].cell.policy
        design = two_arms((self.means[0], self.means[1]), **_spent(setting), trust=self.trust)
        wrong = replace(design, draws=noise_draws(dict(setting)["policy"])).wrong(pulls)
        return Namer(policy.legend(), intervals.exactly(wrong), _bound(self.means, setting), 2 * pulls, policy)

    def _simulated(self, plans: dict[Combination, Plan], error: float) -> list[Namer]:
        """The rows of policies that are played; each interval misses by `error`."""
        complete(list(plans.values()), runner_of(list(plans.values())))
        rows = []
        for setting, planned in plans.items():
            stored = next(iter(stored_cells(planned)))
            wrong = intervals.share(stored.measure("wrong_arm").astype(bool), error)
            users = float(stored.measure("identification_samples").mean())
            policy, bound = stored.cell.policy, _bound(self.means, setting)
            rows.append(Namer(policy.legend(), wrong, bound, users, policy, _stops(setting)))
        return rows

    def _settings(self, users: int, budget: dict[str, float]) -> Sequence[Combination]:
        """A setting of each policy that takes such a budget; for two arms both allocations are the same."""
        kind, central, arms = next(iter(budget), ""), self.trust == "central", len(self.means)
        spent = (
            ("budget", "zcdp" if kind == "rho" else "pure"),
            *((f"budget.{key}", value) for key, value in budget.items()),
        )
        name = HALVING[kind] if central else LOCAL_HALVING
        explored = min(users, 2 * MOST_PULLS) if arms == 2 else users
        fixed = (("policy", name), *spent, ("policy.explored", explored), ("horizon", users + 2))
        halving = [(*fixed, ("policy.allocation", one)) for one in (ALLOCATIONS if arms > 2 else ALLOCATIONS[:1])]
        rules = RULES[kind] if central else RULES_OF[self.trust]
        if central and kind:
            halving.append((("policy", KNOCKOUT[kind]), *fixed[1:]))
        return [*halving, *((("policy", rule), *spent, *self._stopping(users)) for rule in rules)]

    def _with_delta(self, users: int, epsilon: float) -> Iterator[Combination]:
        """A setting of each policy that a delta admits beside those of epsilon alone, at its largest budget."""
        if self.trust == "central":
            rho = gaussian_rho(epsilon, self.delta)
            yield from () if rho is None else self._settings(users, {"rho": rho})
            return
        for rule in WITH_DELTA:
            promise = Guarantee(epsilon, self.delta, TRUSTS[self.trust])
            try:
                wanted = cast(Any, rule)(epsilon, self.delta)
            except ParameterError:  # its noise is not for so small a budget
                continue
            largest = largest_budget(wanted, "epsilon", promise)
            if largest is not None:
                spent = ("budget", "approximate"), ("budget.epsilon", largest), ("budget.delta", self.delta)
                yield (("policy", rule.name), *spent, *self._stopping(users))

    def _stopping(self, users: int) -> Combination:
        """What is set of a rule that stops by itself."""
        return ("policy.beta", self.beta), ("horizon", users)


def runs_to_show(error: float) -> int:
    """The fewest runs of a policy that can show that it is wrong so seldom: if none of them is."""
    return math.ceil(math.log(ERROR / MOST_WAYS / 2) / math.log1p(-error))


def two_arms(
    means: tuple[float, float], epsilon: float | None = None, rho: float | None = None, trust: str = "central"
) -> TwoArms:
    """The test of two arms: one noisy difference of sums, or with another trust than central one of sums of bits."""
    if trust == "central":
        return TwoArms(means, epsilon, rho)
    worse, better = LDPHalving(_budget(epsilon, rho, trust)["epsilon"]).chance(np.array(means)).tolist()
    return TwoArms((worse, better))


def noise_draws(name: str) -> int:
    """How often noise is drawn for the difference of two arms: once, or for each of the two sums."""
    return 1 if name in KNOCKOUT.values() else 2


def _stops(setting: Combination) -> bool:
    return "policy.beta" in dict(setting)


def _budget(epsilon: float | None, rho: float | None, trust: str) -> dict[str, float]:
    """The budget by its name. Raises `UserError`."""
    if trust not in TRUSTS:
        raise UserError(f"trust: must be one of {', '.join(TRUSTS)}, got {shown(trust)}")
    if epsilon is not None and rho is not None:
        raise UserError("rho: must be left out beside epsilon")
    if trust != "central" and epsilon is None and rho is None:
        raise UserError("epsilon: give a budget, or leave trust out")
    if trust != "central" and rho is not None:
        return {"epsilon": pure_of_rho(rho)}
    return {key: value for key, value in (("epsilon", epsilon), ("rho", rho)) if value is not None}


def gaussian_rho(epsilon: float, delta: float) -> float | None:
    """The largest rho that implies (epsilon, delta)-privacy; None if it is too small to be sought."""
    return largest_budget(DPHalvingGauss(epsilon**2 / 2), "rho", Guarantee(epsilon, delta))


def _spent(setting: Combination) -> dict[str, float]:
    """The epsilon or rho of a setting, by its name."""
    chosen = dict(setting)
    return {key: chosen[f"budget.{key}"] for key in ("epsilon", "rho") if f"budget.{key}" in chosen}


def _bound(means: Sequence[float], setting: Combination) -> float:
    """What the theorem about halving says of a setting; 1 if it is of another policy, or several arms are best."""
    chosen, gaps = dict(setting), np.sort(max(means) - np.array(means))[1:]
    if "policy.allocation" not in chosen or gaps[0] == 0:
        return 1.0
    users, allocation, budget = chosen["policy.explored"], chosen["policy.allocation"], _spent(setting)
    if chosen["policy"] == LOCAL_HALVING:
        return local_halving_error(gaps, users, budget["epsilon"], allocation)
    return halving_error(gaps, users, **budget, allocation=allocation)
