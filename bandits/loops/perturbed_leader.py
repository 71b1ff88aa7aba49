"""The loop of policies that draw one perturbed value for every arm and pull the arm with the largest.

Most steps are skipped, and the law is exact. In a block of steps one arm is the leader and the others are its rivals.
Rival a wins a step if its value X_a exceeds the leader's value V and those of all other rivals. Let c_a be a bound on
the probability of X_a > V at each step of the block, whatever the leader's rewards are, with sum of all c_a at most 1.
Then this draw of a step has the right law: rival a is proposed with probability c_a, no rival with probability
1 - sum(c). A proposal of a is accepted with the probability that a wins the step, divided by c_a. If none is accepted,
the leader wins. Proposals depend on no reward of the leader, so that the number of steps up to the next one is
geometric, and the leader's rewards of these steps are one binomial draw. A proposal is decided in two parts:

1. X_a > V happens with its probability divided by c_a, and then X_a has its law given this event (`value_above`).
2. The other rivals draw their values. Rival a wins if none of them exceeds X_a (`wins_step`).

The c_a hold as long as the leader's law is no weaker and no wider than the bounds of the `Block`, which allow for some
rewards of 0. Rewards are at least 0, so it is known in advance whether this holds for the next few pulls (`is_kept`).
If not, a new block begins: rewards alone decide this, and the next proposal is independent of them, so that the number
of steps up to it is geometric anew. After the pull of a rival its own c_a is set anew (`propose_rival`):

- GAUSS: X_a - V is normal and c_a its tail, which falls with the leader's mean, and grows with its spread while c_a is
  below 1/2.
- BETA: X_a = A / (A + B) and V = C / (C + D) with Gamma variables; X_a > V means W = log(A D / (B C)) > 0. For every
  s > 0 its probability is at most E exp(s W), a product of four ratios of Gamma functions; it falls with the leader's
  successes and grows with its failures, the shapes of C and D. Under the law tilted by exp(s W) all four are again
  Gamma variables, with shapes larger by s for A and D, smaller by s for B and C. A proposal that is accepted with the
  ratio of the two E exp(s W), then drawn from the tilted law, and accepted with probability exp(-s W) 1{W > 0}, has the
  exact probability and the exact law.
- TRUNCATED_LAPLACE: for a bar below the leader's center, X_a > V either with V > bar, and then X_a > bar, or with V
  at most the bar. c_a is the sum of the probabilities of X_a > bar and V <= bar, of which only the second changes with
  the leader, and is largest for the weakest one. The value that is proposed to lie beyond the bar is drawn from its law
  there, the other from its whole law.

Where no arm leads clearly, steps are drawn one by one (`bandits.loops.perturbed_values`). Leader, bar and length of a
block depend on the past alone, and affect only the time.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import BoolArray, FloatArray, IntArray
from bandits.compiled import borrowing, compiled, inlined
from bandits.loops.alike_steps import one_of, wait
from bandits.loops.draws import binomial
from bandits.loops.largest_beta import stirling_rest
from bandits.loops.perturbed_values import (
    BETA,
    GAUSS,
    TRUNCATED_LAPLACE,
    Arms,
    Constants,
    draw_value,
    exceeding,
    largest_value,
    low_value,
    normal_above,
    parameters,
    rarely,
    set_bar,
)
from bandits.loops.records import record_run
from bandits.mechanisms.truncated_laplace import offset, upper_tail

MOST = 0.4  # proposals of a block are not more frequent; less than 1/2
SHORTEST = 4  # steps of the shortest block; and parts of a block, whose bounds are checked one part at a time
SINGLE, LONGEST = 64, 1024  # steps that are drawn one by one before a block is tried again: at first, and at most
COINS = 24  # the most rewards that are drawn one by one
PARTS, FEW = 64, 4  # parts of a block, at most; with more rejected proposals than parts and FEW, it was too long


class State(NamedTuple):
    """The state of the arms, shapes (arms,); updated in place.

    Attributes
    ----------
    means: of their Bernoulli rewards.
    pulls, sums: pulls and reward sums so far.
    values: the laws of their values; `hazard` and `often` serve the steps that are drawn one by one.
    chances: with which a rival is proposed at a step of the block; 0 for the leader.
    tilts: the s of the docstring of this module, of BETA only.
    rivals: all arms but the leader.
    """

    means: FloatArray
    pulls: IntArray
    sums: FloatArray
    values: Arms
    chances: FloatArray
    tilts: FloatArray
    rivals: BoolArray


class Block(NamedTuple):
    """A leader for a number of steps.

    Attributes
    ----------
    leader: the arm.
    steps: pulls with rewards 0 after which the leader reaches these bounds.
    first, second: bounds on the parameters of its law in the block, those of the weakest leader.
    low, bar: of TRUNCATED_LAPLACE, the bar and the probability that a value of this law is below it.
    """

    leader: int
    steps: int
    first: float
    second: float
    low: float
    bar: float


@compiled
def perturbed_leader_pulls(
    means: FloatArray,
    horizon: int,
    checkpoints: IntArray,
    start: int,
    law: int,
    constants: Constants,
    rng: np.random.Generator,
) -> IntArray:
    """Pulls of every Bernoulli arm at each checkpoint, shape (checkpoints, arms).

    Every arm is pulled `start` times, one arm after another; then, at every step, the arm with the
    largest perturbed value. `constants` belong to the `law`, see `parameters`.
    """
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    values = Arms(np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms, dtype=np.bool_))
    rivals = np.ones(arms, dtype=np.bool_)
    state = State(means, np.zeros(arms, dtype=np.int64), np.zeros(arms), values, np.zeros(arms), np.zeros(arms), rivals)
    row = t = 0
    for arm in range(arms):
        steps = min(start, horizon - t)
        row = record_run(record, row, checkpoints, state.pulls, arm, t, steps)
        t += steps
        if t < horizon:
            _pull(state, law, constants, arm, steps, rng)

    length, single = SHORTEST, SINGLE
    while t < horizon and row < len(checkpoints):
        block = next_block(state, law, constants, length)
        if propose(state, law, constants, block) <= MOST:
            t, row, excess = skip_steps(state, law, constants, block, record, row, checkpoints, t, horizon, rng)
            single = SINGLE
            if excess < 0:
                length = min(2 * length, horizon)
            elif excess > 0:
                length = max(SHORTEST, length // 2)
        elif length > SHORTEST:
            length //= 2
        else:
            end = min(horizon, t + single)
            t, row = single_steps(state, law, constants, record, row, checkpoints, t, end, rng)
            single = min(2 * single, LONGEST)
    return record


@inlined
def _pull(state: State, law: int, constants: Constants, arm: int, steps: int, rng: np.random.Generator) -> None:
    """Pull an arm in the next `steps` steps."""
    state.pulls[arm] += steps
    if steps <= COINS:
        for _ in range(steps):
            state.sums[arm] += 1.0 if rng.random() < state.means[arm] else 0.0
    else:
        state.sums[arm] += binomial(steps, state.means[arm], rng)
    state.values.first[arm], state.values.second[arm] = parameters(law, constants, state.pulls[arm], state.sums[arm])


@borrowing
def single_steps(
    state: State,
    law: int,
    constants: Constants,
    record: IntArray,
    row: int,
    checkpoints: IntArray,
    t: int,
    end: int,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Steps up to step `end`, drawn one by one; returns the step and the first free row."""
    first, second, hazard, often = state.values
    means, pulls, sums = state.means, state.pulls, state.sums
    planned = False
    bar = rare = 0.0
    while t < end:
        if not planned:
            bar = set_bar(law, constants, state.values)
            rare = hazard.sum()
        best, winner = largest_value(law, constants, first, second, often, rng)
        point = rng.standard_exponential()
        if point < rare or best <= bar:
            best, winner = rarely(law, constants, state.values, bar, best, winner, point, rng)
        planned = best > bar
        t += 1
        pulls[winner] += 1
        sums[winner] += 1.0 if rng.random() < means[winner] else 0.0
        first[winner], second[winner] = parameters(law, constants, pulls[winner], sums[winner])
        row = record_run(record, row, checkpoints, pulls, winner, t, 0)
        if not often[winner]:
            chance = exceeding(law, constants, first[winner], second[winner], bar)
            planned = planned and chance < 0.5
            hazard[winner] = -math.log1p(-min(chance, 0.5))
            rare = hazard.sum()
    return t, row


@borrowing
def next_block(state: State, law: int, constants: Constants, steps: int) -> Block:
    """A block of `steps` steps; its leader is the arm whose value is least likely to be low.

    The bound on the first parameter (center or successes) is the smaller of its values now and after `steps` rewards of
    0; that on the second (spread or failures) the larger. The bar is so low that it is rarely the reason for a
    proposal.
    """
    values, arms = state.values, len(state.means)
    best, leader = -math.inf, 0
    for arm in range(arms):
        value = low_value(law, constants, values.first[arm], values.second[arm])
        if value > best:
            best, leader = value, arm
    later, after = parameters(law, constants, state.pulls[leader] + steps, state.sums[leader])
    first, second = min(values.first[leader], later), max(values.second[leader], after)
    if law != TRUNCATED_LAPLACE:
        return Block(leader, steps, first, second, 0.0, 0.0)
    low = 0.01 / (arms * steps)
    bar = first + second * offset(low, constants.epsilon, constants.delta, constants.tail)
    return Block(leader, steps, first, second, low, bar)


@borrowing
def propose(state: State, law: int, constants: Constants, block: Block) -> float:
    """Set the `chances` of all rivals in a block; returns their sum, or a part that exceeds MOST."""
    total = 0.0
    for arm in range(len(state.means)):
        state.rivals[arm] = arm != block.leader
        state.chances[arm] = 0.0
        if arm != block.leader and total <= MOST:
            propose_rival(state, law, constants, block, arm)
            total += state.chances[arm]
    return total


@borrowing
def skip_steps(
    state: State,
    law: int,
    constants: Constants,
    block: Block,
    record: IntArray,
    row: int,
    checkpoints: IntArray,
    t: int,
    horizon: int,
    rng: np.random.Generator,
) -> tuple[int, int, int]:
    """Make steps as long as the bounds of the block hold and proposals are not too frequent.

    Returns the step, the first free row, and -1 or 1 if a longer or a shorter block would probably take less time.
    """
    leader, part = block.leader, block.steps // SHORTEST
    total = state.chances.sum()
    parts = rejected = 0
    quiet = wait(total, rng) - 1  # steps before the next proposal
    while t < horizon and total <= MOST and parts < PARTS and rejected <= FEW + parts:
        if not is_kept(state, law, constants, block, part):
            break
        alike = min(quiet, part, horizon - t)
        if alike > 0:
            row = record_run(record, row, checkpoints, state.pulls, leader, t, alike)
            t += alike
            quiet -= alike
            _pull(state, law, constants, leader, alike, rng)
        if quiet == 0 and t < horizon:
            winner = one_of(state.chances, rng)
            if not wins_step(state, law, constants, block, winner, rng):
                winner = leader
                rejected += 1
            row = record_run(record, row, checkpoints, state.pulls, winner, t, 1)
            t += 1
            _pull(state, law, constants, winner, 1, rng)
            if winner != leader:
                propose_rival(state, law, constants, block, winner)
                total = state.chances.sum()
            quiet = wait(total, rng) - 1
        else:
            parts += 1
    return t, row, 1 if rejected > FEW + parts else -1 if 4 * rejected < FEW + parts else 0


@borrowing
def is_kept(state: State, law: int, constants: Constants, block: Block, steps: int) -> bool:
    """Whether the bounds of a block hold in the next `steps` pulls of its leader, even if all rewards are 0."""
    pulls, total = state.pulls[block.leader], state.sums[block.leader]
    first, second = parameters(law, constants, pulls + steps, total)
    return bool(first >= block.first and second <= block.second)


@inlined
def wins_step(state: State, law: int, constants: Constants, block: Block, rival: int, rng: np.random.Generator) -> bool:
    """Whether the rival that is proposed wins the step."""
    value = value_above(state, law, constants, block, rival, rng)
    if value == -math.inf:
        return False
    state.rivals[rival] = False
    closest, _ = largest_value(law, constants, state.values.first, state.values.second, state.rivals, rng)
    state.rivals[rival] = True
    return closest < value


@inlined
def propose_rival(state: State, law: int, constants: Constants, block: Block, rival: int) -> None:
    """Set the chance of a rival: a bound below 1/2 on the probability that its value exceeds the leader's, or 1."""
    first, second = state.values.first[rival], state.values.second[rival]
    chance = 1.0
    if law == GAUSS and block.first > first:
        chance = normal_upset(block.first, block.second, first, second)
    elif law == BETA:
        size = first + second
        tilt = size * (first + block.first) / (size + block.first + block.second) - first
        if tilt > 0:
            chance = beta_upset(block.first, block.second, first, second, tilt)
            state.tilts[rival] = tilt
    elif law == TRUNCATED_LAPLACE:
        distance = (block.bar - first) / second
        chance = block.low + upper_tail(distance, constants.epsilon, constants.delta, constants.tail)
    state.chances[rival] = chance


@inlined
def value_above(
    state: State, law: int, constants: Constants, block: Block, rival: int, rng: np.random.Generator
) -> float:
    """The rival's value if it exceeds the leader's, with the probability of this divided by its chance; or -inf."""
    values, tilt = state.values, state.tilts[rival]
    first, second = values.first[rival], values.second[rival]
    center, spread = values.first[block.leader], values.second[block.leader]
    point = rng.random() * state.chances[rival]
    if law == GAUSS:
        if point >= normal_upset(center, spread, first, second):
            return -math.inf
        both = math.sqrt(spread**2 + second**2)
        ahead = both * normal_above((center - first) / both, rng)  # the rival's lead over the leader, less its mean
        share = (second / both) ** 2
        return float(first + share * ahead + math.sqrt(share) * spread * rng.standard_normal())
    if law == BETA:
        if point >= beta_upset(center, spread, first, second, tilt):
            return -math.inf
        up, down = rng.standard_gamma(first + tilt), rng.standard_gamma(second - tilt)
        odds = up / down * (rng.standard_gamma(spread + tilt) / rng.standard_gamma(center - tilt))
        fits = odds > 1 and rng.random() < math.exp(-tilt * math.log(odds))
        return float(up / (up + down)) if fits else -math.inf
    epsilon, delta, tail = constants.epsilon, constants.delta, constants.tail
    beyond = upper_tail((block.bar - first) / second, epsilon, delta, tail)
    if point < beyond:  # the level of the rival's value above the bar
        value = first - second * offset(point, epsilon, delta, tail)
        leading = draw_value(law, constants, center, spread, rng)
        return value if value > leading > block.bar else -math.inf
    level = point - beyond  # of the leader's value below the bar
    if level >= upper_tail((center - block.bar) / spread, epsilon, delta, tail):
        return -math.inf
    value = draw_value(law, constants, first, second, rng)
    return value if value > center + spread * offset(level, epsilon, delta, tail) else -math.inf


@borrowing
def normal_upset(center: float, spread: float, first: float, second: float) -> float:
    """The probability that the rival's Normal(first, second^2) exceeds the leader's Normal(center, spread^2)."""
    return 0.5 * math.erfc((center - first) / math.sqrt(2 * (spread**2 + second**2)))


@borrowing
def beta_upset(successes: float, failures: float, first: float, second: float, tilt: float) -> float:
    """E exp(tilt W): at least the probability that the rival's Beta(first, second) exceeds the leader's Beta."""
    return math.exp(
        log_gamma_step(first, tilt)
        + log_gamma_step(second, -tilt)
        + log_gamma_step(successes, -tilt)
        + log_gamma_step(failures, tilt)
    )


@borrowing
def log_gamma_step(z: float, step: float) -> float:
    """log Gamma(z + step) - log Gamma(z), by Stirling's formula, in which nothing large cancels."""
    rest = stirling_rest(z + step) - stirling_rest(z)
    return (z + step - 0.5) * math.log1p(step / z) + step * (math.log(z) - 1) + rest
