"""One audit of one policy, from overrides to a row."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from omegaconf import DictConfig

from bandits import ParameterError, Scope
from bandits.audit.audits import PROMISED, Level, beyond_promise
from bandits.audit.costs import NOTHING, ROUNDING, AuditVerdict, Bounds, PrivacyCost
from bandits.audit.ledger import Domain
from bandits.audit.sampled import require_runs, with_plays
from bandits.audit.transcripts import Convention
from bandits.environments.heavy_tails import HeavyTailedInstance
from bandits.guarantees import Guarantee
from bandits.learner import Environment, Learner
from bandits.policies.base import Policy
from bandits.policies.given_moments import GivenMoments
from bandits.policies.heavy_tailed import HeavyTailedPolicy
from bandits.policies.perturbed_leader import PerturbedLeader
from bandits.trials import noise_is_elsewhere
from experiments.audit.game import AuditGame
from experiments.audit.parameters import read_parameters, written_parameters
from experiments.audit.plays import plays
from experiments.audit.power import BELIEVED, Audit, Power, playable
from experiments.audit.reaction import LONGEST, least_horizon
from experiments.config.build import EXCUSE, build
from experiments.config.compose import Composed, Composer
from experiments.config.overrides import PARTS
from experiments.errors import UserError, is_number, nearest, whole_in
from experiments.own_code.fan_out import delayed, in_parallel
from experiments.own_code.user_code import in_words, is_own

AUDIT_KEYS = ("level", "arms", "convention", "domain", "failure", "runs")  # keys of an audit that are not of a cell
ARMS, OWN_ARMS = 2, 3  # of an audit, and of plays of a user's class, if nothing is said
TIMES, SHORT, LONG = 4, 50, 1000  # horizon of plays of a user's class: so many times the least, within these steps
FEWEST_RUNS = 200  # however many steps they have
NO_PROMISE, NOT_PROMISED = "no promise", "not promised"
DECLARED = "declared"  # verdict on a user's class of which no plays show that its ledger fits its code
BEYOND_ARMS = (Scope.LOCAL, Scope.SHUFFLE, Scope.DISTRIBUTED)  # promises about what a learner sees, of which arms tell
NO_VERDICT = "no verdict"  # nothing depends on rewards, or the audit would not have shown that the noise is missing
Word = TypeVar("Word", bound=StrEnum)


@dataclass(frozen=True)
class AuditRow:
    """The result of an audit. Numbers that were not computed are NaN; those of delta are at the epsilon claimed.

    `verdict` is about the guarantee of the class, `epsilon_claimed` and `delta_claimed`; `paper_verdict` is about what
    the paper promises for these parameters, `paper_epsilon` and `paper_delta`. Both are an `AuditVerdict`, or
    `NO_PROMISE`, or `NOT_PROMISED` at this level. It is `NO_VERDICT` if nothing depends on rewards, or if the audit,
    the plays if any were asked for, would not have shown that the noise is missing. For a class of the user its own
    ledger is the only upper bound: the verdict is `DECLARED` if it was not played, if plays would not have shown that
    half of the noise is missing, or if the promise is about more than arms.
    `slack` is what the class claims over what is kept. `parameters` are those of the policy without its budget. `runs`
    are the plays behind the lower bound, 0 if it is exact. `excuse` is the reason in the YAML of the policy for a
    violated promise of the class. `plays` is the number of all plays that were made, but for those of planted faults,
    and `power` says what the audit would have seen, and what a kept promise rests on.
    """

    policy: str
    revision: int
    parameters: str
    mechanism: str
    calibration: str
    level: str
    scope: str
    neighbours: str
    domain: str
    convention: str
    arms: int
    horizon: int
    paper_epsilon: float
    paper_delta: float
    epsilon_claimed: float
    delta_claimed: float
    epsilon_kept: float
    epsilon_shown: float
    delta_kept: float
    delta_shown: float
    paper_verdict: str
    verdict: str
    slack: float
    method: str
    error: float
    failure: float
    runs: int
    witness: str
    excuse: str = ""
    plays: int = 0
    power: str = ""

    @property
    def deciding(self) -> tuple[str, float, float]:
        """What the verdict is on, δ if the class promises one, else ε; and what is kept and what is shown of it."""
        if self.delta_claimed > 0 and self.level != Level.EVENT:
            return "δ", self.delta_kept, self.delta_shown
        return "ε", self.epsilon_kept, self.epsilon_shown

    @property
    def refuted(self) -> bool:
        """Whether more is shown than the upper bound, which is then none: a ledger that does not fit its code."""
        _, kept, shown = self.deciding
        return shown > kept * (1 + ROUNDING) + self.error

    @cached_property
    def columns(self) -> dict[str, Any]:
        """What identifies a row: what was audited, the budget that was asked for, and the parameters of the policy."""
        about = {name: getattr(self, name) for name in ("policy", "level", "domain", "convention", "arms", "horizon")}
        return about | {"epsilon": self.paper_epsilon, "delta": self.paper_delta} | self.of_policy

    @cached_property
    def of_policy(self) -> dict[str, Any]:
        """The parameters of the policy, by name."""
        return read_parameters(self.parameters)

    @property
    def share(self) -> tuple[float, float]:
        """What is shown and what is kept, divided by what the paper promises: of δ if it promises one, else of ε."""
        if self.paper_delta == 0:
            return self.epsilon_shown / self.paper_epsilon, self.epsilon_kept / self.paper_epsilon
        if self.paper_epsilon != self.epsilon_claimed:  # bounds on delta are those at the epsilon that the class claims
            return math.nan, math.nan
        return self.delta_shown / self.paper_delta, self.delta_kept / self.paper_delta

    @property
    def inexcusable(self) -> bool:
        """Whether a promise is violated and the YAML of the policy does not say why."""
        return self.verdict == AuditVerdict.VIOLATED and not self.excuse


def audit(
    overrides: Sequence[str],
    about: DictConfig,
    composer: Composer,
    workers: int = 1,
    least: int = 1,
    steps: float = math.inf,
) -> AuditRow:
    """Audit the policy that `overrides` configure; `about` has the `AUDIT_KEYS`. Raises `UserError`.

    Without `horizon=` among the overrides it is the least horizon, from `least` steps on, at which arms depend on
    rewards; for plays of a class of the user, `TIMES` the least of all, but from `SHORT` to `LONG` steps. All runs on
    one input have at most `steps` steps: fewer runs than wanted, but `FEWEST_RUNS`. Sampled runs are divided among
    `workers` processes; the numbers do not depend on how many.
    """
    composed = composer.compose(overrides)
    file = composer.file_of("policy", composed.choices["policy"])
    try:
        wanted = _wanted(composed, composer, about)
        if wanted.private and not any(text.lstrip("+").startswith("horizon=") for text in overrides):
            wanted = wanted.at_a_reaction(least)
        wanted = wanted.within(steps)
        cost, power, made = _cost(wanted, workers)
        return _row(wanted, cost, power, made, _excuse(composed.config, file))
    except ParameterError as error:
        raise UserError(f"{error} (policy {file})") from None


@dataclass(frozen=True)
class _Wanted:
    """What is wanted of an audit.

    Attributes
    ----------
    policy: whose promise is judged; that of the `game` may be a `GivenMoments` around it.
    chosen: the least horizon that was tried at which arms depend on rewards, if none was given.
    """

    policy: Learner[Any]
    game: AuditGame
    level: Level
    runs: int
    failure: float
    chosen: int | None = None

    @property
    def private(self) -> bool:
        """Whether the policy promises anything."""
        return self.policy.guarantee.private

    @property
    def own(self) -> bool:
        """Whether the policy is a class of the user."""
        return is_own(self.policy)

    @cached_property
    def beyond(self) -> str:
        """What the ledger of a user's class spends more of than the rho or level that it promises. `ParameterError`."""
        game = self.game
        return beyond_promise(game.policy, game.arms, game.horizon, game.domain) if self.own and self.private else ""

    def at_a_reaction(self, least: int) -> "_Wanted":
        """The same at the least horizon, from `least` steps on, at which arms depend on rewards.

        Plays of a class of the user go on, as its later decisions may cost more than the first.
        """
        by_plays = self.own and self.runs > 0
        chosen = chosen_horizon(self.game.at(self.game.arms if by_plays else max(self.game.arms, least)))
        horizon = chosen or (LONGEST if self.runs else self.game.horizon)
        if by_plays and chosen is not None:
            horizon = max(chosen, min(TIMES * chosen, LONG), SHORT)
        return dataclasses.replace(self, game=self.game.at(horizon), chosen=chosen)

    def within(self, steps: float) -> "_Wanted":
        """The same with fewer runs, if those on one input have more steps. Raises `UserError` if it is still a lot."""
        arms, horizon = self.game.arms, self.game.horizon
        runs = int(min(self.runs, max(FEWEST_RUNS, steps / horizon)))  # not //: inf // 1 is no number
        if runs and (arms * horizon > MOST_TABLE or runs * horizon > MOST_PLAYED):
            raise UserError(f"runs: {runs} plays of {arms} arms over {horizon} steps are more than can be played")
        return dataclasses.replace(self, runs=runs)


def _wanted(composed: Composed, composer: Composer, about: DictConfig) -> _Wanted:
    """What a config asks for, checked. Raises `UserError` or `ParameterError`."""
    files = {group: composer.file_of(group, composed.choices[group]) for group in PARTS}
    policy: Learner[Any] = build(composed.keys, "policy", files, Learner)
    instance: Environment = build(composed.keys, "instance", files, Environment)  # type: ignore[type-abstract]
    own, runs = is_own(policy), whole_in(about, "runs", 0, MOST_RUNS)
    arms = OWN_ARMS if own and runs else ARMS
    arms = arms if about.arms is None else whole_in(about, "arms", 2, MOST_ARMS)
    horizon = whole_in(composed.config, "horizon", 1, MOST_STEPS)
    if isinstance(policy, Policy) and horizon < arms:
        raise UserError(f"horizon: must be at least the number of arms, {arms}, got {horizon}")
    domain = policy.domain if about.domain is None else _word(about, "domain", Domain)
    convention = _word(about, "convention", Convention)
    level = PROMISED[policy.guarantee.scope] if about.level is None else _word(about, "level", Level)
    if policy.guarantee.private and own:
        _require_noise_of_rng(policy, arms, horizon)
    played = policy
    if isinstance(policy, HeavyTailedPolicy) and isinstance(instance, HeavyTailedInstance):
        played = GivenMoments.of(policy, instance)
    return _Wanted(policy, AuditGame(played, arms, horizon, domain, convention), level, runs, _failure(about))


def _cost(wanted: _Wanted, workers: int) -> tuple[PrivacyCost, Power | None, int]:
    """The bounds, with those of plays if there are `runs`; what they would have shown; and how many plays were made.

    Raises `UserError` or `ParameterError`.
    """
    game, claimed, power, made = wanted.game, wanted.policy.guarantee, None, 0
    cost = game.cost(wanted.level)
    if wanted.own and wanted.level is Level.RELEASE:
        cost = cost.as_declared()
    audited = Audit(game, wanted.level, wanted.runs, wanted.failure, workers)
    if wanted.runs:
        require_runs(wanted.runs, wanted.failure)
        if wanted.level not in (Level.RELEASE, Level.TRANSCRIPT):  # these cost at least as much as all arms together
            raise ParameterError("runs", f"must be 0 at level={wanted.level}: plays compare whole sequences of arms")
        sampled = plays(game, wanted.runs, workers)
        cost = with_plays(cost, claimed, sampled.arms, wanted.failure, sampled.inputs, sampled.view)
        made = sampled.made
        if wanted.private:
            power = audited.by_plays(cost.verdict(claimed) is AuditVerdict.VIOLATED)
    elif wanted.private and cost.verdict(claimed) in BELIEVED:
        power = audited.by_bounds(cost)
    return cost, power, made + (0 if power is None else power.made)


def _require_noise_of_rng(policy: Learner[Any], arms: int, horizon: int) -> None:
    """Raise `UserError` for a class of the user whose noise does not come from the generator that it is given."""
    (elsewhere,) = in_parallel([delayed(_noise_is_elsewhere)(policy, arms, horizon)], 2)  # it may end its process
    if isinstance(elsewhere, str):
        raise UserError(f"{policy.name}: {elsewhere}")
    if elsewhere:
        raise UserError(
            f"{policy.name}: its arms depend on rewards and never on the rng that is passed: its noise comes from "
            "elsewhere, and anyone who has the code knows it; use the rng that is passed"
        )


def _noise_is_elsewhere(policy: Learner[Any], arms: int, horizon: int) -> bool | str:
    """Whether it is; or what the class raises instead of playing, in words."""
    try:
        return noise_is_elsewhere(policy, arms, horizon)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return in_words(error)


def chosen_horizon(game: AuditGame) -> int | None:
    """As `least_horizon`; None too if the policy cannot be played."""
    try:
        return least_horizon(game) if playable(game.policy) else None
    except (ParameterError, UserError):
        return None  # the audit at a given horizon says why


def _words(power: Power | None, chosen: int | None) -> str:
    horizon = "" if chosen is None else f"horizon={chosen} is the least that was tried at which arms depend on rewards"
    return "; ".join(filter(None, [horizon, "" if power is None else power.words]))


MOST_ARMS, MOST_RUNS, MOST_STEPS = 10**6, 10**8, 2**63 - 1
MOST_TABLE = 10**7  # rewards that a play may see
MOST_PLAYED = 10**10  # rewards of all plays together


def _row(wanted: _Wanted, cost: PrivacyCost, power: Power | None, made: int, excuse: str) -> AuditRow:
    """What was found, as a row."""
    policy, level, game = wanted.policy, wanted.level, wanted.game
    claimed, promised = policy.guarantee, policy.paper_guarantee
    bounds, _ = cost.bounds_of(claimed)
    bound = bounds or cost.epsilon or cost.delta
    assert bound is not None
    judged = partial(_with_power, power=power, wanted=wanted)
    return AuditRow(
        policy=policy.name,
        revision=policy.revision,
        parameters=_parameters(policy, game.policy),
        mechanism=cost.mechanism,
        calibration=cost.calibration,
        level=level,
        scope=claimed.scope,
        neighbours=claimed.neighbours,
        domain=game.domain,
        convention=game.convention if isinstance(policy, PerturbedLeader) and level is Level.TRANSCRIPT else "",
        arms=game.arms,
        horizon=game.horizon,
        paper_epsilon=promised.epsilon,
        paper_delta=promised.delta,
        epsilon_claimed=claimed.epsilon,
        delta_claimed=claimed.delta,
        **_both("epsilon", cost.epsilon),
        **_both("delta", cost.delta),
        paper_verdict=judged(_verdict(promised, claimed, cost, level)),
        verdict=judged(_verdict(claimed, claimed, cost, level)),
        slack=cost.slack(claimed) if claimed.private else math.nan,
        method=bound.method,
        error=bound.error,
        failure=bound.failure,
        runs=bound.runs,
        witness=bound.witness,
        excuse=excuse,
        plays=made,
        power="; ".join(filter(None, [_words(power, wanted.chosen), *_not_played(wanted)])),
    )


def _parameters(policy: Learner[Any], played: Any) -> str:
    """The parameters of a policy but for its budget, with the moment that it was given, as text."""
    names = [field.name for field in dataclasses.fields(policy)]  # type: ignore[arg-type]
    values = {name: getattr(policy, name) for name in names if name not in ("epsilon", "delta")}
    moment = f"v={played.moment.v:g}" if isinstance(played, GivenMoments) else ""
    return ", ".join(filter(None, [written_parameters(values), moment]))


def _verdict(promise: Guarantee, claimed: Guarantee, cost: PrivacyCost, level: Level) -> str:
    """The verdict on a promise; undecided if it has a delta at another epsilon than the class claims."""
    if not promise.private:
        return NO_PROMISE
    if promise.scope is Scope.DECISION and level in (Level.TRANSCRIPT, Level.EVENT):
        return NOT_PROMISED
    if promise.delta > 0 and promise.epsilon != claimed.epsilon:
        return AuditVerdict.UNDECIDED
    return cost.verdict(promise)


def with_verdicts(row: AuditRow) -> AuditRow:
    """The row with `NO_VERDICT` where nothing that is released depends on a reward, as in a table made before."""
    if row.witness != NOTHING.witness or row.deciding[1] != 0 or row.verdict not in BELIEVED:
        return row
    return dataclasses.replace(row, verdict=NO_VERDICT, paper_verdict=NO_VERDICT)


def _with_power(verdict: str, power: Power | None, wanted: _Wanted) -> str:
    """The verdict of an audit of this power.

    The bounds of a user's class are its own ledger, so plays must have seen it if half of the noise were missing.
    """
    if power is not None and power.seen is False and verdict in (*BELIEVED, AuditVerdict.UNDECIDED):
        return NO_VERDICT
    if wanted.beyond and verdict in BELIEVED:
        return AuditVerdict.UNDECIDED
    blind = wanted.runs == 0 or power is None or not power.half_seen or wanted.policy.guarantee.scope in BEYOND_ARMS
    return DECLARED if wanted.own and blind and verdict in BELIEVED else verdict


def _not_played(wanted: _Wanted) -> Iterator[str]:
    """The parts of the promise of a user's class that plays cannot judge, in words."""
    claimed = wanted.policy.guarantee
    if not wanted.own:
        return
    if claimed.scope in BEYOND_ARMS:
        yield f"declared is what a learner sees (scope={claimed.scope}): arms may refute it and never confirm it"
    if wanted.beyond:
        yield f"its ledger does not keep it: {wanted.beyond}"
    elif claimed.level is not None or claimed.rho is not None:
        yield f"judged are epsilon and delta; {'level' if claimed.rho is None else 'rho'} is what its ledger says"


def _both(name: str, bounds: Bounds | None) -> dict[str, Any]:
    kept, shown = (math.nan, math.nan) if bounds is None else (bounds.kept, bounds.shown)
    return {f"{name}_kept": kept, f"{name}_shown": shown}


def _word(config: DictConfig, key: str, words: type[Word]) -> Word:
    try:
        return words(config[key])
    except ValueError:
        raise UserError(f"{key}={config[key]}: unknown {key}; {nearest(str(config[key]), list(words))}") from None


def _excuse(config: DictConfig, file: Path) -> str:
    """The key `_excuse_` in the YAML of the policy, why a violated promise is accepted; empty without it."""
    excuse = config.policy.get(EXCUSE, "")
    if not isinstance(excuse, str) or (EXCUSE in config.policy and not excuse.strip()):
        raise UserError(f"{file}: {EXCUSE}: must be a reason in words, got {'nothing' if excuse is None else excuse}")
    return excuse.strip()


def _failure(config: DictConfig) -> float:
    value = config.failure
    if not is_number(value) or not 0 < value < 1:
        raise UserError(f"failure: must be a number in (0, 1), got {value}")
    return float(value)
