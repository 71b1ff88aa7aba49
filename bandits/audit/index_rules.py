"""The exact law of whole sequences of arms of index policies with Laplace noise, over a few steps.

Such a policy compares noisy sum / pulls + bonus. Given the rewards that it saw, a sequence of arms is an intersection
of half-spaces of Laplace draws, whose probability has a closed form (`bandits.audit.half_spaces`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import scipy

from bandits.arrays import FloatArray, IntArray
from bandits.audit.costs import Bounds, PrivacyCost, unseen_bounds
from bandits.audit.gauss_legendre import nodes_between
from bandits.audit.half_spaces import Draws, LinearForm, chances
from bandits.audit.ledger import Domain, ReleasedSums, lowest
from bandits.audit.transcripts import LARGEST, TINY, Convention, Transcripts, enumerated, require_fitting, table_size

MOST_DRAWS = 6  # of a sequence; with one more the closed form has about five times as many parts

FARTHEST = 600.0  # scales by which an arm may be behind; its probability does not underflow
COARSE = 1e-6  # error of a log ratio above which a law is not called exact


@dataclass(frozen=True)
class IndexRule:
    """A policy that pulls all arms in turn, and then the one with the largest noisy sum / pulls + bonus.

    Attributes
    ----------
    sums: the noisy sums of one arm; the same for every arm.
    bonus: of all arms at a step, from their pulls.
    interval: pulls of each arm in the first round-robin, and of the leader between two choices.
    every_step: whether each sum takes an item at every step, 0 if its arm was not pulled.
    lasting: whether a bonus is that of the step at which the sum was released instead of the current step.
    """

    sums: ReleasedSums
    bonus: Callable[[int, FloatArray], FloatArray]
    interval: int = 1
    every_step: bool = False
    lasting: bool = False


@dataclass
class _Walk:
    """One sequence of arms for all sequences of rewards, each reward the lowest or the highest that is allowed.

    Reward t is the highest in case c if bit t of c is set. `forms` and `constants` are the half-spaces so far: integer
    coefficients of the draws, named by arm and number, and constants of shape (cases,).
    """

    rule: IndexRule
    arms: int
    domain: Domain
    cases: IntArray
    forms: list[dict[tuple[int, int], int]] = field(default_factory=list)
    constants: list[FloatArray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.low = lowest(self.rule.sums.low, self.domain)
        self.pulls = np.zeros(self.arms)
        self.sums = np.zeros((self.arms, len(self.cases)))
        self.bonuses = np.zeros(self.arms)

    def possible(self, sequence: IntArray) -> bool:
        """Whether the policy can pull these arms in this order; collects the half-spaces in which it does."""
        rounds = self.arms * self.rule.interval
        for step, arm in enumerate(map(int, sequence)):
            if step >= rounds and step % self.rule.interval == 0:
                self._choose(arm, step + 1, first=step == rounds, leader=int(sequence[step - 1]))
            elif arm != (step % self.arms if step < rounds else sequence[step - 1]):
                return False
            self._pull(arm, step)
        return True

    def _choose(self, arm: int, step: int, first: bool, leader: int) -> None:
        bonuses = self.rule.bonus(step, self.pulls)
        renewed = np.arange(self.arms) == leader if self.rule.lasting and not first else np.ones(self.arms, dtype=bool)
        self.bonuses = np.where(renewed, bonuses, self.bonuses)
        for rival in range(self.arms):
            if rival != arm:
                self._above(arm, rival, step)

    def _above(self, arm: int, rival: int, step: int) -> None:
        """Add the half-space `index of arm >= index of rival`, times the pulls of both: coefficients are integers."""
        form: dict[tuple[int, int], int] = {}
        constant = np.zeros(len(self.cases))
        for one, other, sign in ((arm, rival, 1), (rival, arm, -1)):
            weight = sign * int(self.pulls[other])
            for number in self.rule.sums.draws_in(step - 1 if self.rule.every_step else int(self.pulls[one])):
                form[one, number] = weight
            constant = constant + weight * (self.sums[one] + self.pulls[one] * self.bonuses[one])
        self.forms.append(form)
        self.constants.append(constant)

    def _pull(self, arm: int, step: int) -> None:
        item = int(self.pulls[arm])
        self.sums[arm] += np.where(self.cases >> step & 1, self.rule.sums.high[item], self.low[item])
        self.pulls[arm] += 1

    def half_spaces(self) -> tuple[list[LinearForm], Draws]:
        """The forms as rows, and their draws; draws with the same coefficients everywhere are one variable."""
        together: dict[tuple[tuple[int, ...], float], int] = {}
        for name in sorted({name for form in self.forms for name in form}):
            column = tuple(form.get(name, 0) for form in self.forms), float(self.rule.sums.scales[name[1] - 1])
            together[column] = together.get(column, 0) + 1
        columns = [column for column, _ in together]
        scales = np.array([scale for _, scale in together])
        return list(zip(*columns, strict=True)), Draws(scales, np.array(list(together.values()), dtype=np.int64))


def index_transcripts(rule: IndexRule, arms: int, horizon: int, domain: Domain, convention: Convention) -> Transcripts:
    """The laws of the first `horizon` arms, each reward the lowest or the highest that is allowed.

    Raises `ParameterError` with the largest horizon that fits, in memory and in the number of draws.
    """
    require_fitting(lambda steps: tables_fit(rule, arms, steps), arms, horizon)
    rewards, tables, sequences = enumerated(arms, horizon)
    number = {reward: bit for bit, reward in enumerate(rewards)}
    law, worst = np.zeros((len(tables), len(sequences))), 0.0
    for column, sequence in enumerate(sequences):
        chance, error = sequence_chances(rule, arms, sequence, domain)
        worst = max(worst, error)
        case, pulls = np.zeros(len(tables), dtype=np.int64), np.zeros(arms, dtype=np.int64)
        for step, arm in enumerate(sequence[:-1]):
            bit = number[int(arm), int(pulls[arm]) if convention is Convention.STREAM else step]
            case |= (tables >> bit & 1) << step
            pulls[arm] += 1
        law[:, column] = chance[case]
    return Transcripts(sequences, law, rewards, "enumeration, closed form of every chance", 2 * worst)


def sequence_chances(rule: IndexRule, arms: int, sequence: IntArray, domain: Domain) -> tuple[FloatArray, float]:
    """The probability of one sequence of arms for all rewards before its last step, and the error of its logarithm.

    The error is infinite if a probability is too small for a double. Shape (2^(horizon - 1),): bit t of the index says
    whether reward t is the highest (1) or the lowest (0).
    """
    walk = _Walk(rule, arms, domain, np.arange(1 << (len(sequence) - 1)))
    if not walk.possible(sequence):
        return np.zeros(len(walk.cases)), 0.0
    if not walk.forms:
        return np.ones(len(walk.cases)), 0.0
    forms, draws = walk.half_spaces()
    masses, errors = chances(forms, np.array(walk.constants).T, draws)
    return masses, float(errors.max()) if masses.min() > TINY else math.inf


def tables_fit(rule: IndexRule, arms: int, horizon: int) -> bool:
    """Whether all sequences under all tables fit in memory, and the draws of each in a closed form."""
    if table_size(arms, horizon) > LARGEST:
        return False
    walk = _Walk(rule, arms, Domain.NONNEGATIVE if rule.sums.low[0] < 0 else Domain.UNIT, np.zeros(1, dtype=np.int64))
    rounds = arms * rule.interval
    in_turn = [step % arms if step < rounds else step // rule.interval % arms for step in range(horizon)]
    walk.possible(np.array(in_turn))
    return len(walk.half_spaces()[1].scales) <= MOST_DRAWS


def index_transcript_cost(
    rule: IndexRule,
    upper: PrivacyCost,
    claimed: float,
    arms: int,
    horizon: int,
    domain: Domain,
    convention: Convention,
) -> PrivacyCost:
    """The cost of transcripts of an index policy, if its releases cost `upper`; delta is at the epsilon `claimed`.

    One choice between two arms: exact for all rewards of the domain. Few steps: all sequences and all rewards
    at the ends of the domain; exact for rewards 0 or 1, else a lower bound. More steps: a lower bound from the first
    choice.
    """
    assert upper.epsilon is not None
    choice = _first_choice(rule, arms, horizon, domain)
    delta = unseen_bounds(upper.delta)
    if choice.kept < math.inf:
        epsilon = choice
    elif (sequences := _enumerated(rule, arms, horizon, domain, convention)) is not None:
        epsilon, seen = sequences.epsilon(), delta and sequences.delta(claimed)
        if domain is not Domain.BINARY:  # rewards between the ends may cost more
            epsilon = replace(epsilon, kept=upper.epsilon.kept, method=f"ledger; {epsilon.method}")
            seen = seen and delta and replace(seen, kept=delta.kept)
        delta = seen
    else:
        epsilon = replace(choice, kept=upper.epsilon.kept, method="ledger; law of the first choice")
    return PrivacyCost(upper.mechanism, upper.calibration, epsilon, delta)


def _enumerated(rule: IndexRule, arms: int, horizon: int, domain: Domain, convention: Convention) -> Transcripts | None:
    """The law of all sequences; None if there are too many, or if their probabilities are too small for doubles."""
    if not tables_fit(rule, arms, horizon):
        return None
    sequences = index_transcripts(rule, arms, horizon, domain, convention)
    return sequences if sequences.error < COARSE else None


def _first_choice(rule: IndexRule, arms: int, horizon: int, domain: Domain) -> Bounds:
    """The cost of the first choice between two arms, 0 if the horizon ends before it.

    `kept` is finite if no other choice follows.
    """
    first = arms * rule.interval
    if first >= horizon:
        return Bounds(0.0, 0.0, "no choice up to this horizon depends on a reward", "ledger")
    if arms != 2:
        return Bounds(math.inf, 0.0, "no law of two arms", "ledger")
    draws = rule.sums.draws_in(first if rule.every_step else rule.interval)
    scale = float(rule.sums.scales[draws[0] - 1])  # the scale of all draws so far
    change = float(rule.sums.high[0] - lowest(rule.sums.low, domain)[0]) / scale
    behind = min(rule.interval - 1, int(FARTHEST / change))
    shown, witness = first_index_choice(2 * len(draws), change, behind)
    only = horizon <= first + rule.interval and behind == rule.interval - 1
    return Bounds(shown if only else math.inf, shown, witness, "exact law of the only choice", 1e-11)


def first_index_choice(draws: int, change: float, behind: int = 0) -> tuple[float, str]:
    """Pure epsilon of the first choice between two arms with `draws` Laplace draws in all.

    One reward moves the difference by `change` scales. Arm 1 is chosen although it is behind by `behind` rewards, or by
    one more. The log probability is concave in the difference, so that the cost is the largest if arm 1 is as far
    behind as possible. If `behind` is the largest possible number, this is exact for all rewards of the domain.
    """
    return math.log(sum_tail(draws, behind * change) / sum_tail(draws, (behind + 1) * change)), (
        f"arm 2 with {behind + 1} of the highest rewards, arm 1 with one or none; arm 1 is the first to be chosen"
    )


def sum_tail(draws: int, x: float) -> float:
    """Pr[L_1 + ... + L_draws > x] for Laplace variables of scale 1: a difference of two Gamma(draws) variables."""
    nodes, weights = nodes_between(np.concatenate([np.arange(0.0, 40.0, 2.0), [60.0, 100.0, 200.0]]))
    density = np.exp(scipy.special.xlogy(draws - 1, nodes) - nodes - scipy.special.gammaln(draws))
    return float((density * scipy.special.gammaincc(draws, x + nodes)) @ weights)
