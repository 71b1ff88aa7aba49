"""One audit of one policy, from overrides to a row."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import yaml
from omegaconf import DictConfig

from bandits import ParameterError, Scope
from bandits.audit.audits import PROMISED, Level, beyond_promise, cost_at
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
from experiments.audit.plays import limits_of, plays
from experiments.audit.power import BELIEVED, Audit, Power, playable
from experiments.audit.reaction import LONGEST, least_horizon
from experiments.config.build import EXCUSE, build
from experiments.config.compose import Composer
from experiments.config.overrides import PARTS
from experiments.errors import UserError, nearest, whole_number
from experiments.own_code.fan_out import delayed, in_parallel
from experiments.own_code.user_code import in_words, is_own

AUDIT_KEYS = ("level", "arms", "convention", "domain", "failure", "runs")  # keys of an audit that are not of a cell
TIMES, SHORT, LONG = 4, 50, 1000  # horizon of plays of a user's class: so many times the least, within these steps
FEWEST_RUNS = 200  # however many steps they have
NO_PROMISE, NOT_PROMISED = "no promise", "not promised"
DECLARED = "declared"  # verdict on a user's class of which no plays show that its ledger fits its code
BEYOND_ARMS = (Scope.LOCAL, Scope.SHUFFLE, Scope.DISTRIBUTED)  # promises about what a learner sees, of which arms tell
NO_VERDICT = "no verdict"  # nothing depends on rewards, or the audit would not have shown that the noise is missing
Word = TypeVar("Word", bound=StrEnum)


@cache
def _value(text: str) -> Any:
    """A parameter from its text; kept, as the same few texts stand in hundreds of rows."""
    return None if text == "None" else yaml.safe_load(text)


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
        parameters = dict(part.split("=", 1) for part in self.parameters.split(", ") if part)
        return {name: _value(text) for name, text in parameters.items()}

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
    config = composed.config
    files = {group: composer.file_of(group, composed.choices[group]) for group in PARTS}
    policy: Learner[Any] = build(composed.keys, "policy", files, Learner)
    instance: Environment = build(composed.keys, "instance", files, Environment)  # type: ignore[type-abstract]
    own = is_own(policy)
    runs = _at_least(about, "runs", 0)
    arms = _at_least(about, "arms", 2) if about.arms is not None else 3 if own and runs else 2
    horizon = _at_least(config, "horizon", 1)
    if isinstance(policy, Policy) and horizon < arms:
        raise UserError(f"horizon: must be at least the number of arms, {arms}, got {horizon}")
    domain = policy.domain if about.domain is None else _word(about, "domain", Domain)
    convention = _word(about, "convention", Convention)
    level = PROMISED[policy.guarantee.scope]
    level = level if about.level is None else _word(about, "level", Level)
    played, made, power, private = policy, 0, None, policy.guarantee.private
    if private and own:
        _require_noise_of_rng(policy, arms, horizon)
    try:
        if isinstance(policy, HeavyTailedPolicy) and isinstance(instance, HeavyTailedInstance):
            played = GivenMoments.of(policy, instance)
        chosen = None
        if private and not any(text.lstrip("+").startswith("horizon=") for text in overrides):
            first = arms if own and runs else max(arms, least)
            chosen = chosen_horizon(played, arms, first, domain, convention)
            horizon = chosen or (LONGEST if runs else horizon)
            if own and runs and chosen:
                horizon = max(chosen, min(TIMES * chosen, LONG), SHORT)
        runs = int(min(runs, max(FEWEST_RUNS, steps / horizon)))  # not //: inf // 1 is no number
        if runs and (arms * horizon > MOST_TABLE or runs * horizon > MOST_PLAYED):
            raise UserError(f"runs: {runs} plays of {arms} arms over {horizon} steps are more than can be played")
        failure = _failure(about)
        cost = cost_at(level, played, arms, horizon, domain, convention)
        beyond = ""
        if own and private:
            cost = cost.as_declared() if level is Level.RELEASE else cost
            beyond = beyond_promise(played, arms, horizon, domain)
        audited = Audit(played, level, arms, horizon, domain, convention, runs, failure, workers)
        if runs:
            require_runs(runs, failure)
            if level not in (Level.RELEASE, Level.TRANSCRIPT):  # these cost at least as much as all arms together
                raise ParameterError("runs", f"must be 0 at level={level}: plays compare whole sequences of arms")
            sampled = plays(played, arms, horizon, domain, convention, runs, workers)
            cost = with_plays(cost, policy.guarantee, sampled.arms, failure, sampled.inputs, sampled.view)
            made = sampled.made
            if private:
                power = audited.by_plays(cost.verdict(policy.guarantee) is AuditVerdict.VIOLATED)
        elif private and cost.verdict(policy.guarantee) in BELIEVED:
            power = audited.by_bounds(cost)
    except ParameterError as error:
        raise UserError(f"{error} (policy {files['policy']})") from None
    row = row_of(policy, cost, level, domain, convention, arms, horizon)
    row = dataclasses.replace(
        row,
        excuse=_excuse(config, files["policy"]),
        plays=made + (0 if power is None else power.made),
        power="; ".join(filter(None, [_words(power, chosen), *(_not_played(policy.guarantee, beyond) if own else ())])),
        verdict=_with_power(row.verdict, power, own, runs, policy.guarantee.scope, beyond),
        paper_verdict=_with_power(row.paper_verdict, power, own, runs, policy.guarantee.scope, beyond),
    )
    if isinstance(played, GivenMoments):
        return dataclasses.replace(row, parameters=f"{row.parameters}, v={played.moment.v:g}")
    return row


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


def chosen_horizon(policy: Any, arms: int, least: int, domain: Domain, convention: Convention) -> int | None:
    """The least horizon at which the arms depend on rewards; None if none does, or the policy cannot be played."""
    try:
        if not playable(policy):
            return None
        return least_horizon(policy, arms, least, limits_of(policy, arms, least, domain), convention)
    except (ParameterError, UserError):
        return None  # the audit at a given horizon says why


def _words(power: Power | None, chosen: int | None) -> str:
    horizon = "" if chosen is None else f"horizon={chosen} is the least that was tried at which arms depend on rewards"
    return "; ".join(filter(None, [horizon, "" if power is None else power.words]))


MOST = {"runs": 10**8, "arms": 10**6}
MOST_TABLE = 10**7  # rewards that a play may see
MOST_PLAYED = 10**10  # rewards of all plays together


def row_of(
    policy: Learner[Any],
    cost: PrivacyCost,
    level: Level,
    domain: Domain,
    convention: Convention,
    arms: int,
    horizon: int,
) -> AuditRow:
    """A privacy cost as a row."""
    claimed = policy.guarantee
    bounds, _ = cost.bounds_of(claimed)
    bound = bounds or cost.epsilon or cost.delta
    assert bound is not None
    values = {
        field.name: getattr(policy, field.name)
        for field in dataclasses.fields(policy)  # type: ignore[arg-type]
        if field.name not in ("epsilon", "delta")
    }
    return AuditRow(
        policy=policy.name,
        revision=policy.revision,
        parameters=", ".join(f"{name}={value}" for name, value in values.items()),
        mechanism=cost.mechanism,
        calibration=cost.calibration,
        level=level,
        scope=claimed.scope,
        neighbours=claimed.neighbours,
        domain=domain,
        convention=convention if isinstance(policy, PerturbedLeader) and level is Level.TRANSCRIPT else "",
        arms=arms,
        horizon=horizon,
        paper_epsilon=policy.paper_guarantee.epsilon,
        paper_delta=policy.paper_guarantee.delta,
        epsilon_claimed=claimed.epsilon,
        delta_claimed=claimed.delta,
        **_both("epsilon", cost.epsilon),
        **_both("delta", cost.delta),
        paper_verdict=_verdict(policy.paper_guarantee, claimed, cost, level),
        verdict=_verdict(claimed, claimed, cost, level),
        slack=cost.slack(claimed) if claimed.private else math.nan,
        method=bound.method,
        error=bound.error,
        failure=bound.failure,
        runs=bound.runs,
        witness=bound.witness,
    )


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


def _with_power(verdict: str, power: Power | None, own: bool, runs: int, scope: Scope, beyond: str) -> str:
    """The verdict of an audit of this power; `beyond`: what the ledger spends more of than a rho or a level allows.

    The bounds of a user's class are its own ledger, so plays must have seen it if half of the noise were missing.
    """
    if power is not None and power.seen is False and verdict in (*BELIEVED, AuditVerdict.UNDECIDED):
        return NO_VERDICT
    if beyond and verdict in BELIEVED:
        return AuditVerdict.UNDECIDED
    declared = own and (runs == 0 or power is None or not power.half_seen or scope in BEYOND_ARMS)
    return DECLARED if declared and verdict in BELIEVED else verdict


def _not_played(claimed: Guarantee, beyond: str) -> Iterator[str]:
    """The parts of the promise of a user's class that plays cannot judge, in words."""
    if claimed.scope in BEYOND_ARMS:
        yield f"declared is what a learner sees (scope={claimed.scope}): arms may refute it and never confirm it"
    if beyond:
        yield f"its ledger does not keep it: {beyond}"
    elif claimed.level is not None or claimed.rho is not None:
        name = "rho" if claimed.level is None else "level"
        yield f"judged are epsilon and delta; {name} is what its ledger says"


def _both(name: str, bounds: Bounds | None) -> dict[str, Any]:
    kept, shown = (math.nan, math.nan) if bounds is None else (bounds.kept, bounds.shown)
    return {f"{name}_kept": kept, f"{name}_shown": shown}


def _word(config: DictConfig, key: str, words: type[Word]) -> Word:
    try:
        return words(config[key])
    except ValueError:
        raise UserError(f"{key}={config[key]}: unknown {key}; {nearest(str(config[key]), list(words))}") from None


def _at_least(config: DictConfig, key: str, least: int) -> int:
    try:
        value = whole_number(config[key])
    except ValueError as error:
        raise UserError(f"{key}: must be {error}") from None
    if value < least:
        raise UserError(f"{key}: must be at least {least}, got {value}")
    if value > MOST.get(key, value):
        raise UserError(f"{key}: must be at most {MOST[key]}, got {value}")
    return value


def _excuse(config: DictConfig, file: Path) -> str:
    """The key `_excuse_` in the YAML of the policy, why a violated promise is accepted; empty without it."""
    excuse = config.policy.get(EXCUSE, "")
    if not isinstance(excuse, str) or (EXCUSE in config.policy and not excuse.strip()):
        raise UserError(f"{file}: {EXCUSE}: must be a reason in words, got {'nothing' if excuse is None else excuse}")
    return excuse.strip()


def _failure(config: DictConfig) -> float:
    value = config.failure
    if isinstance(value, bool) or not isinstance(value, float | int) or not 0 < value < 1:
        raise UserError(f"failure: must be a number in (0, 1), got {value}")
    return float(value)
