"""What an audit can show at all: whether it would have seen the same policy without its noise.

An audit that sees nothing in a policy says something only if it would have seen a fault. So the fault is planted: the
same audit, judged by the same promise, of the same policy whose noise is removed, and halved (`bandits.audit.planted`).
For a policy of this repository its budget is raised, so that it does not matter what draws the noise; for a class of
the user the draws of the generator are scaled, or its budget is raised if none of them can be.
"""

from dataclasses import dataclass, replace
from typing import Any

from bandits import ParameterError
from bandits.arrays import FloatArray
from bandits.audit.audits import Level
from bandits.audit.costs import NOTHING, AuditVerdict, PrivacyCost
from bandits.audit.planted import ScaledNoise, promising, with_budget
from bandits.audit.sampled import require_playable, with_plays
from experiments.audit.game import AuditGame
from experiments.audit.plays import plays
from experiments.audit.reaction import LONGEST, Reaction, horizon_that_reacts
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
    game: AuditGame


@dataclass(frozen=True)
class Audit:
    """An audit of a policy, exact if `runs` is 0, else by plays."""

    game: AuditGame
    level: Level
    runs: int
    failure: float
    workers: int

    def by_plays(self, violated: bool) -> Power:
        """The power of the plays; no fault is planted in a policy that is `violated` anyway."""
        reaction = Reaction.of(self.game)
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
        bounds, promised = cost.bounds_of(self.game.policy.guarantee)
        if bounds is None:
            return Power(None, "")
        if bounds.kept == 0 and bounds.witness == NOTHING.witness:
            return Power(False, f"{self._nothing()}; {self._advice()}")
        basis, made = "a law that is computed", 0
        if bounds.shown == 0:
            basis = "the upper bound alone: no lower bound above 0 was computed"
            if self.game.horizon <= LONGEST and playable(self.game.policy):
                made = (reaction := Reaction.of(self.game)).made
                if not reaction.depends:
                    return Power(False, f"{self._nothing()}; {self._advice()}", made)
        if bounds.shown >= promised:
            return Power(True, f"rests on {basis}, which meets the promise", made)
        seen, words = self._recomputed(cost)
        return Power(seen, f"rests on {basis}; {words}", made)

    def _nothing(self) -> str:
        return f"nothing depends on rewards within {self.game.horizon} steps: no verdict"

    def _advice(self) -> str:
        longer = horizon_that_reacts(self.game)
        return f"take horizon={longer} or more" if longer else "nor at the longer horizons that were tried"

    def _recomputed(self, cost: PrivacyCost) -> tuple[bool | None, str]:
        """Whether the bounds of the policy with less noise still keep the promise.

        If they do with every budget, a law that shows a loss above 0 stays a result; an upper bound alone is none.
        """
        claimed, problem, changes = self.game.policy.guarantee, "", None
        before, _ = cost.bounds_of(claimed)
        assert before is not None
        for factor in (HALF, *REMOVED):
            try:
                fault = self._with_budget(factor)
                planted = promising(fault.game.policy, claimed)
                other = self.game.of(planted).cost(self.level)
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
        problem = problem if changes is None else f"the bounds of {self.game.policy.name} do not follow its budget"
        return None, f"no fault could be planted: {problem}"

    def _planted(self, reaction: Reaction) -> Power:
        """Whether the plays see that the noise is missing, and what they say without and with half of the noise."""
        made = reaction.made
        try:
            without, half = self._faults(reaction.tables[-1])
            budgets = self.game.own and without.game.policy is not self.game.policy
            if budgets and reaction.is_that_of(without.game.policy):
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

    def _faults(self, table: FloatArray) -> tuple[Fault, Fault]:
        """The policy without its noise, and with half of it. Raises `ParameterError`; `UserError` for what it raises.

        `table`: one on which a class of the user is played, to see whether its noise can be scaled.
        """
        policy = self.game.policy
        if self.game.own and self._draws(table):
            silent, half = self.game.of(policy, 0.0), self.game.of(policy, 0.5)
            return Fault("without noise", silent), Fault("with half the noise", half)
        return self._with_budget(*REMOVED), self._with_budget(HALF)

    def _with_budget(self, *factors: float) -> Fault:
        """The policy with its noise divided by the first of the factors that it accepts. Raises `ParameterError`."""
        amount = "with half the noise" if factors == (HALF,) else "without noise"
        for factor in factors:
            try:
                policy, budget = with_budget(self.game.policy, factor)
                _ = policy.guarantee  # which may refuse the budget
            except (ParameterError, ArithmeticError) as error:
                problem = error
            else:
                return Fault(f"{amount} ({budget}, the promise as it is)", self.game.of(policy))
        raise ParameterError("policy", f"{self.game.policy.name} takes no larger budget: {problem}")

    def _shown(self, fault: Fault) -> tuple[bool, float]:
        """Whether the audit refutes the promise of the policy with this fault, and what it shows."""
        sampled = plays(fault.game.at(self.game.horizon), self.runs, self.workers)
        claimed = self.game.policy.guarantee
        cost = with_plays(PrivacyCost("", "", None), claimed, sampled.arms, self.failure, sampled.inputs, sampled.view)
        bounds, _ = cost.bounds_of(claimed)
        return cost.verdict(claimed) is AuditVerdict.VIOLATED, 0.0 if bounds is None else bounds.shown

    def _draws(self, table: FloatArray) -> int:
        """The number of draws of noise in one play that can be scaled."""
        silent = self.game.of(self.game.policy, 0.0)
        rng = silent.generator("draws", 0)
        with blamed(self.game.policy.name):
            silent.played(table, 1, rng)
        return rng.draws if isinstance(rng, ScaledNoise) else 0

    def _longer(self, fault: Fault) -> str:
        """The first of some longer horizons at which the missing noise would be seen."""
        horizons = [self.game.horizon * times for times in LONGER]
        tried = ""
        for horizon in (steps for steps in horizons if steps * self.runs <= MOST_STEPS):
            longer = replace(self, game=self.game.at(horizon))
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
