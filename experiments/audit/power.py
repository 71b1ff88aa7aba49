"""What plays of a user's class can show at all: whether the audit would have seen the same class without its noise.

An audit that sees nothing in a policy says something only if it would have seen a fault. So the fault is planted: the
same audit of the same policy whose noise is removed, and halved (`bandits.audit.planted`).
"""

from dataclasses import dataclass
from typing import Any

from bandits import ParameterError
from bandits.audit.costs import AuditVerdict, PrivacyCost
from bandits.audit.ledger import Domain
from bandits.audit.planted import ScaledNoise
from bandits.audit.sampled import played, with_plays
from bandits.audit.transcripts import Convention
from experiments.audit.plays import limits_of, plays
from experiments.audit.reaction import Reaction, generator, horizon_that_reacts
from experiments.errors import UserError

LONGER = (2, 4, 8)  # times the horizon, tried when the planted fault is not seen
MOST_STEPS = 10**7  # of the plays of one longer audit


@dataclass(frozen=True)
class Power:
    """What an audit by plays would have seen, in `words`; `seen`: that the noise is missing; None if not known."""

    seen: bool | None
    words: str
    made: int


@dataclass(frozen=True)
class Audit:
    """An audit by plays of a user's class."""

    policy: Any
    arms: int
    horizon: int
    domain: Domain
    convention: Convention
    runs: int
    failure: float
    workers: int

    def power(self, violated: bool) -> Power:
        """The power of the audit; no fault is planted in a policy that is `violated` anyway."""
        limits = limits_of(self.policy, self.arms, self.horizon, self.domain)
        reaction = Reaction.of(self.policy, self.arms, self.horizon, limits, self.convention)
        if not reaction.repeats:
            words = "plays with the same rewards and the same generator differ: its noise does not come from the rng"
            return Power(False, words, reaction.made)
        if not reaction.depends:
            words = f"nothing depends on rewards within {self.horizon} steps: no verdict"
            longer = horizon_that_reacts(self.policy, self.arms, self.horizon, limits, self.convention)
            advice = f"take horizon={longer} or more" if longer else "nor at the longer horizons that were tried"
            return Power(False, f"{words}; {advice}", reaction.made)
        if not reaction.varies:
            words = "the arms depend on rewards and never on the rng: its noise, if any, does not come from the rng"
            return Power(False, words, reaction.made)
        if violated:
            return Power(True, "", reaction.made)
        seen, words = self._planted()
        return Power(seen, words, reaction.made)

    def reaction_alone(self) -> Power:
        """Whether the arms of a policy of this repository depend on rewards; its verdict is that of exact bounds."""
        limits = limits_of(self.policy, self.arms, self.horizon, self.domain)
        reaction = Reaction.of(self.policy, self.arms, self.horizon, limits, self.convention)
        nothing = f"nothing depends on rewards within {self.horizon} steps: the verdict is that of the exact bounds"
        return Power(None, "" if reaction.depends else nothing, reaction.made)

    def _planted(self) -> tuple[bool | None, str]:
        """Whether the audit sees that the noise is missing, and what it says without and with half of the noise."""
        try:
            if not self._draws():
                return None, "draws no noise that can be scaled: whether the audit would see a fault is not known"
            seen, without = self._shown(0.0)
            half_seen, half = self._shown(0.5)
        except (ParameterError, UserError) as error:
            return None, f"its noise cannot be scaled, so whether the audit would see a fault is not known: {error}"
        words = f"without noise this audit shows {without:.3g}: {_said(seen)}"
        words += f"; with half the noise {half:.3g}: {_said(half_seen)}"
        return seen, words if seen else f"{words}; {self._longer()}"

    def _shown(self, noise: float) -> tuple[bool, float]:
        """Whether the audit refutes the promise of the policy with its noise multiplied, and what it shows."""
        sampled = plays(
            self.policy, self.arms, self.horizon, self.domain, self.convention, self.runs, self.workers, noise
        )
        claimed = self.policy.guarantee
        cost = with_plays(PrivacyCost("", "", None), claimed, sampled.arms, self.failure, sampled.inputs)
        bounds, _ = cost.bounds_of(claimed)
        return cost.verdict(claimed) is AuditVerdict.VIOLATED, 0.0 if bounds is None else bounds.shown

    def _draws(self) -> int:
        """The number of draws of noise in one play that can be scaled."""
        limits = limits_of(self.policy, self.arms, self.horizon, self.domain)
        table = Reaction.of(self.policy, self.arms, self.horizon, limits, self.convention, 0.0, 1).tables[-1]
        rng = generator("draws", 0, 0.0)
        played(self.policy, table, 1, rng, self.convention)
        return rng.draws if isinstance(rng, ScaledNoise) else 0

    def _longer(self) -> str:
        """The first of some longer horizons at which the missing noise would be seen."""
        horizons = [self.horizon * times for times in LONGER if self.horizon * times * self.runs <= MOST_STEPS]
        for horizon in horizons:
            longer = Audit(**{**vars(self), "horizon": horizon})
            if longer._shown(0.0)[0]:
                return f"with horizon={horizon} it would be seen"
        tried = f" (not seen with horizon={horizons[-1]} either)" if horizons else ""
        return f"take more runs, fewer arms or parameters for earlier decisions{tried}"


def _said(seen: bool) -> str:
    return "it would be seen" if seen else "not seen"
