"""What an audit can show at all: whether it would have seen the same policy without its noise.

An audit that sees nothing in a policy says something only if it would have seen a fault. So the fault is planted: the
same audit, judged by the same promise, of the same policy whose noise is removed, and halved (`bandits.audit.planted`).
For a policy of this repository its budget is raised, so that it does not matter what draws the noise; for a class of
the user the draws of the generator are scaled, or its budget is raised if none of them can be.
"""

from dataclasses import dataclass
from typing import Any

from bandits import ParameterError
from bandits.audit.audits import Level, cost_at
from bandits.audit.costs import NOTHING, AuditVerdict, PrivacyCost
from bandits.audit.ledger import Domain
from bandits.audit.planted import ScaledNoise, promising, with_budget
from bandits.audit.sampled import played, require_playable, with_plays
from bandits.audit.transcripts import Convention
from experiments.audit.plays import is_of_user, limits_of, plays
from experiments.audit.reaction import LONGEST, Reaction, generator, horizon_that_reacts
from experiments.errors import UserError
from experiments.own_code.user_code import blamed

LONGER = (2, 4, 8)  # times the horizon, tried when the planted fault is not seen
MOST_STEPS = 10**7  # of the plays of one longer audit
HALF, REMOVED = 2.0, (1e6, 1e3, 100.0)  # what the noise is divided by: the first that a policy accepts
BELIEVED = (AuditVerdict.KEPT, AuditVerdict.TIGHT)


@dataclass(frozen=True)
class Power:
    """What an audit by plays would have seen, in `words`.

    Attributes
    ----------
    seen: that the noise is missing; None if not known.
    made: plays.
    half_seen: that half of the noise is missing.
    """

    seen: bool | None
    words: str
    made: int = 0
    half_seen: bool = False


@dataclass(frozen=True)
class Fault:
    """A policy with less noise, or one that is played with less, and what was done to it, in words."""

    words: str
    policy: Any
    noise: float = 1.0


@dataclass(frozen=True)
class Audit:
    """An audit of a policy, exact if `runs` is 0, else by plays."""

    policy: Any
    level: Level
    arms: int
    horizon: int
    domain: Domain
    convention: Convention
    runs: int
    failure: float
    workers: int

    def by_plays(self, violated: bool) -> Power:
        """The power of the plays; no fault is planted in a policy that is `violated` anyway."""
        reaction = self._reaction(self.policy)
        if not reaction.repeats:
            words = "plays with the same rewards and the same generator differ: its noise does not come from the rng"
            return Power(False, words, reaction.made)
        if not reaction.depends:
            return Power(False, f"{self._nothing()}; {self._advice()}", reaction.made)
        if not reaction.varies:
            words = "the arms depend on rewards and never on the rng: its noise, if any, does not come from the rng"
            return Power(False, words, reaction.made)
        if violated:
            return Power(True, "", reaction.made)
        return self._planted(reaction)

    def by_bounds(self, cost: PrivacyCost) -> Power:
        """The power of bounds that were computed without plays, `cost`, which keep the promise.

        Plays look for a reaction only if no lower bound shows one, as these would at long horizons be many.
        """
        bounds, promised = cost.bounds_of(self.policy.guarantee)
        if bounds is None:
            return Power(None, "")
        if bounds.kept == 0 and bounds.witness == NOTHING.witness:
            return Power(False, f"{self._nothing()}; {self._advice()}")
        basis, made = "a law that is computed", 0
        if bounds.shown == 0:
            basis = "the upper bound alone: no lower bound above 0 was computed"
            if self.horizon <= LONGEST and playable(self.policy):
                made = (reaction := self._reaction(self.policy)).made
                if not reaction.depends:
                    return Power(False, f"{self._nothing()}; {self._advice()}", made)
        if bounds.shown >= promised:
            return Power(True, f"rests on {basis}, which meets the promise", made)
        seen, words = self._recomputed(cost)
        return Power(seen, f"rests on {basis}; {words}", made)

    @property
    def own(self) -> bool:
        """Whether the policy is a class of the user."""
        return is_of_user(self.policy)

    def _nothing(self) -> str:
        return f"nothing depends on rewards within {self.horizon} steps: no verdict"

    def _advice(self) -> str:
        limits = limits_of(self.policy, self.arms, self.horizon, self.domain)
        longer = horizon_that_reacts(self.policy, self.arms, self.horizon, limits, self.convention)
        return f"take horizon={longer} or more" if longer else "nor at the longer horizons that were tried"

    def _reaction(self, policy: Any) -> Reaction:
        limits = limits_of(self.policy, self.arms, self.horizon, self.domain)
        return Reaction.of(policy, self.arms, self.horizon, limits, self.convention)

    def _recomputed(self, cost: PrivacyCost) -> tuple[bool | None, str]:
        """Whether the bounds of the policy with less noise still keep the promise.

        If they do with every budget, a law that shows a loss above 0 stays a result; an upper bound alone is none.
        """
        claimed, problem, changes = self.policy.guarantee, "", None
        before, _ = cost.bounds_of(claimed)
        assert before is not None
        for factor in (HALF, *REMOVED):
            try:
                fault = self._with_budget(factor)
                planted = promising(fault.policy, claimed)
                other = cost_at(self.level, planted, self.arms, self.horizon, self.domain, self.convention)
            except (ParameterError, ArithmeticError) as error:  # a budget that is refused, or that no float holds
                problem = problem or str(error)
                continue
            bounds, _ = other.bounds_of(claimed)
            assert bounds is not None
            if (verdict := other.verdict(claimed)) not in BELIEVED:
                return True, f"{fault.words} the loss would be from {bounds.shown:.3g} to {bounds.kept:.3g}: {verdict}"
            changes = bool(changes) or (bounds.kept, bounds.shown) != (before.kept, before.shown)
        if changes:
            words = "the bounds keep the promise with every larger budget too, so that no fault could be planted"
            return (False, f"{words}: no verdict") if before.shown == 0 else (None, words)
        problem = problem if changes is None else f"the bounds of {self.policy.name} do not follow its budget"
        return None, f"no fault could be planted: {problem}"

    def _planted(self, reaction: Reaction) -> Power:
        """Whether the plays see that the noise is missing, and what they say without and with half of the noise."""
        made = reaction.made
        try:
            without, half = self._faults()
            budgets = self.own and without.policy is not self.policy
            if budgets and (self._reaction(without.policy).arms == reaction.arms).all():
                words = f"{without.words} the arms are the same: whether the audit would see it is not known"
                return Power(None, words, made)
            seen, shown = self._shown(without)
            half_seen, half_shown = self._shown(half)
        except (ParameterError, UserError) as error:
            words = f"its noise cannot be scaled, so whether the audit would see a fault is not known: {error}"
            return Power(None, words, made)
        words = f"{without.words} this audit shows {shown:.3g}: {_said(seen)}"
        words += f"; {half.words} {half_shown:.3g}: {_said(half_seen)}"
        if not seen:
            return Power(seen, f"{words}; {self._longer(without)}", made)
        return Power(seen, f"{words}; rests on {self.runs} plays on each of two inputs", made, half_seen)

    def _faults(self) -> tuple[Fault, Fault]:
        """The policy without its noise, and with half of it. Raises `ParameterError`."""
        if self.own and self._draws():
            return Fault("without noise", self.policy, 0.0), Fault("with half the noise", self.policy, 0.5)
        return self._with_budget(*REMOVED), self._with_budget(HALF)

    def _with_budget(self, *factors: float) -> Fault:
        """The policy with its noise divided by the first of the factors that it accepts. Raises `ParameterError`."""
        amount = "with half the noise" if factors == (HALF,) else "without noise"
        for factor in factors:
            try:
                policy, budget = with_budget(self.policy, factor)
                _ = policy.guarantee  # which may refuse the budget
            except (ParameterError, ArithmeticError) as error:
                problem = error
            else:
                return Fault(f"{amount} ({budget}, the promise as it is)", policy)
        raise ParameterError("policy", f"{self.policy.name} takes no larger budget: {problem}")

    def _shown(self, fault: Fault) -> tuple[bool, float]:
        """Whether the audit refutes the promise of the policy with this fault, and what it shows."""
        about = (self.arms, self.horizon, self.domain, self.convention, self.runs, self.workers)
        sampled = plays(fault.policy, *about, fault.noise)
        claimed = self.policy.guarantee
        cost = with_plays(PrivacyCost("", "", None), claimed, sampled.arms, self.failure, sampled.inputs, sampled.view)
        bounds, _ = cost.bounds_of(claimed)
        return cost.verdict(claimed) is AuditVerdict.VIOLATED, 0.0 if bounds is None else bounds.shown

    def _draws(self) -> int:
        """The number of draws of noise in one play that can be scaled."""
        limits = limits_of(self.policy, self.arms, self.horizon, self.domain)
        table = Reaction.of(self.policy, self.arms, self.horizon, limits, self.convention, 0.0, 1).tables[-1]
        rng = generator("draws", 0, 0.0)
        with blamed(self.policy.name):
            played(self.policy, table, 1, rng, self.convention)
        return rng.draws if isinstance(rng, ScaledNoise) else 0

    def _longer(self, fault: Fault) -> str:
        """The first of some longer horizons at which the missing noise would be seen."""
        horizons = [self.horizon * times for times in LONGER if self.horizon * times * self.runs <= MOST_STEPS]
        tried = ""
        for horizon in horizons:
            longer = Audit(**{**vars(self), "horizon": horizon})
            try:
                seen, _ = longer._shown(fault)
            except (ParameterError, UserError):  # say a table of a class of the user ends before this horizon
                break
            if seen:
                return f"with horizon={horizon} it would be seen"
            tried = f" (not seen with horizon={horizon} either)"
        return f"take more runs, fewer arms or parameters for earlier decisions{tried}"


def playable(policy: Any) -> bool:
    """Whether the policy can be played on a table of rewards."""
    try:
        require_playable(policy)
    except ParameterError:
        return False
    return True


def _said(seen: bool) -> str:
    return "it would be seen" if seen else "not seen"
