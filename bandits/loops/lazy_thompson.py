"""The loop of Lazy-DP-TS: exact up to rounding, without drawing at every step.

At step t arm a draws from Beta(x n + 1, (1 - x) n + 1), x = m + 3 L(t) / (epsilon n) clipped to [0, 1], with the
private mean m of n rewards, and the largest draw is pulled. As long as no private mean changes, steps are independent,
and the probabilities of winning change slowly, with L(t) alone. So they are computed: `bandits.loops.largest_beta`
gives them at a few steps of a window, and a polynomial in L(t) through these values gives them at all other steps, to
about 1e-12. That is the only error: it changes the law of a run of 10^7 steps by less than 1e-4 in total variation, and
about one pull in 10^12 steps.

Within a window, a block of steps has lower bounds on the probabilities of all arms. Each step is a mixture: with the
sum of these bounds as its probability, the winner has probabilities proportional to the bounds; otherwise the step is
an excess step, with probabilities proportional to the differences between the exact ones and the bounds. Waiting times
between excess steps are geometric. All other steps of a block have the same law, so that `bandits.loops.alike_steps`
counts their winners without drawing each step.

Short windows cost more than they save, so the first steps are drawn one by one.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import BoolArray, FloatArray, IntArray
from bandits.compiled import borrowing, compiled
from bandits.loops.alike_steps import alike_steps, one_of, wait, wins_in_first
from bandits.loops.largest_beta import NODES, Betas, Grid, betas, densities, fall, grid, peak, winning_chances
from bandits.loops.lazy import LazyArms, new_arms, pull
from bandits.loops.records import record_run

DRAWN = 2000  # steps that are drawn one by one
REACH = 0.36  # the largest move of a density in a window, from its place at the middle, in spreads


class Shift(NamedTuple):
    """Parameters of the bonus that is added to private sums, see `bonus`."""

    epsilon: float
    unit: float


class Window(NamedTuple):
    """The winning probabilities of the arms in a window of steps, which ends with step `end`.

    Attributes
    ----------
    middle, half: the bonus in the window is `middle` + u `half`, u in [-1, 1].
    terms: probabilities are sums of terms[a, k] T_k(u), T_k the Chebyshev polynomials, shape (arms, nodes).
    slopes: bounds on their derivatives, shape (arms,): that of T_k is at most k^2.
    """

    end: int
    middle: float
    half: float
    terms: FloatArray
    slopes: FloatArray


@compiled
def lazy_thompson_pulls(
    means: FloatArray,
    horizon: int,
    checkpoints: IntArray,
    shift: Shift,
    rng: np.random.Generator,
    order: np.random.Generator,
) -> IntArray:
    """Pulls of every Bernoulli arm at each checkpoint, shape (checkpoints, arms).

    `order` draws the positions of wins within a block, for checkpoints there; everything else is drawn from `rng`, so
    that pulls do not depend on the choice of checkpoints.
    """
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    state = new_arms(arms)
    row = t = 0
    while t < min(horizon, max(DRAWN, arms)):
        arm = t if t < arms else drawn(state, bonus(shift, t + 1), rng)
        row = record_run(record, row, checkpoints, state.pulls, arm, t, 1)
        pull(state, arm, 1, means[arm], shift.epsilon, rng)
        t += 1
    while t < horizon:
        window = forecast(state, shift, t, horizon)
        changed = False
        while t < window.end and not changed:
            wins, last = play_lazily(state, window, shift, t, quiet_length(window, shift, t), rng)
            row = record_block(record, row, checkpoints, state.pulls, t, wins, last, order)
            for arm in range(arms):
                if wins[arm] > 0 and pull(state, arm, wins[arm], means[arm], shift.epsilon, rng):
                    changed = True
            t += wins.sum()
    return record


@compiled
def bonus(shift: Shift, t: float) -> float:
    """What is added to a private sum at step t: 3 log(t) / (unit epsilon)."""
    return 3 * math.log(t) / (shift.unit * shift.epsilon)


@borrowing
def beta_parameters(state: LazyArms, arm: int, added: float) -> tuple[float, float]:
    """The two parameters of the Beta law of an arm at a step with the bonus `added`."""
    count = state.counts[arm]
    x = min(1.0, max(0.0, state.means[arm] + added / count))
    return x * count + 1, (1 - x) * count + 1


@borrowing
def beta(a: float, b: float, rng: np.random.Generator) -> float:
    """A Beta(a, b) variable; with b = 1 it is a power of a uniform variable."""
    if b == 1:
        return math.exp(-rng.standard_exponential() / a)
    return rng.beta(a, b)


@borrowing
def drawn(state: LazyArms, added: float, rng: np.random.Generator) -> int:
    """The arm with the largest draw at a step with the bonus `added`."""
    best, winner = -1.0, 0
    for arm in range(len(state.counts)):
        a, b = beta_parameters(state, arm, added)
        value = beta(a, b, rng)
        if value > best:
            best, winner = value, arm
    return winner


@compiled
def laws(state: LazyArms, added: float) -> Betas:
    """The Beta laws of all arms at a step with the bonus `added`."""
    first, second = np.empty(len(state.counts)), np.empty(len(state.counts))
    for arm in range(len(first)):
        first[arm], second[arm] = beta_parameters(state, arm, added)
    return betas(first, second)


@compiled
def forecast(state: LazyArms, shift: Shift, t: int, horizon: int) -> Window:
    """The longest window of steps after step t for which one polynomial gives the probabilities."""
    first = bonus(shift, t + 1)
    end = min(horizon, t + state.room.sum())  # by then some arm is full
    last = farthest(state, first, bonus(shift, end))
    if last < bonus(shift, end):
        end = min(end, max(t + 1, int(math.exp(last * shift.unit * shift.epsilon / 3))))
    middle, half = (first + last) / 2, max((last - first) / 2, 1e-300)
    terms = chebyshev_terms(chances_at(state, middle, half))
    slopes = np.zeros(len(terms))
    for k in range(1, terms.shape[1]):
        for arm in range(len(terms)):
            slopes[arm] += k**2 * abs(terms[arm, k])
    return Window(end, middle, half, terms, slopes)


@compiled
def farthest(state: LazyArms, first: float, last: float) -> float:
    """The largest bonus up to `last` of a window that begins with the bonus `first`.

    In the window the x of each arm is either clipped throughout or never, and no density of an arm that can win moves
    further than REACH from its place at the middle.
    """
    for arm in range(len(state.counts)):
        bottom = -state.means[arm] * state.counts[arm]  # up to this bonus x is 0
        if first < bottom:
            last = min(last, bottom)
        elif first < bottom + state.counts[arm]:
            last = min(last, bottom + state.counts[arm])
    before = laws(state, first)
    lowest = before.low.max()  # of a variable that can be the largest
    for end in range(2):  # arms that can win at the beginning of the window, then those that can win at its end
        after = laws(state, last) if end == 1 else before
        for arm in range(len(state.counts)):
            if after.high[arm] > lowest and not is_cut(state, arm, (first + last) / 2):
                last = min(last, first + 2 * REACH / before.spreads[arm])
    return last


@compiled
def nodes_for(reach: float) -> int:
    """Nodes that give probabilities to about 1e-13 if densities move up to `reach` spreads from the middle.

    A probability behaves like a normal distribution function of the bonus, whose M-th derivative is about sqrt(M!).
    """
    nodes, error = 1, reach
    while error > 1e-14:
        nodes += 1
        error *= reach / 2 / math.sqrt(nodes)
    return nodes


@compiled
def chances_at(state: LazyArms, middle: float, half: float) -> FloatArray:
    """The winning probabilities at the bonuses middle + u half, u the Chebyshev nodes, shape (arms, nodes).

    Densities are computed once, at the middle: for an arm whose x is not clipped, another bonus multiplies the density
    by a constant and by a power of e^y (see `moved_values`).
    """
    center = laws(state, middle)
    on = grid(center)
    values = densities(center, on)
    moving = np.array([on.panels[arm] > 0 and not is_cut(state, arm, middle) for arm in range(len(state.counts))])
    nodes = nodes_for(half * (moving * center.spreads).max())
    chances = np.empty((len(moving), nodes))
    for k in range(nodes):
        added = half * math.cos(math.pi * (k + 0.5) / nodes)
        chances[:, k] = winning_chances(moved_values(center, on, values, moving, added), on)
    return chances


@compiled
def moved_values(center: Betas, on: Grid, values: FloatArray, moving: BoolArray, added: float) -> FloatArray:
    """The densities on the grid of Beta(a + added, b - added) for the arms that are `moving`, from those of Beta(a, b).

    Their ratio is proportional to a power of e^y; `factor` is its value at the mode of Beta(a, b).
    """
    result = values.copy()
    for arm in range(len(moving)):
        if moving[arm]:
            a, b = center.shares[arm] * center.sizes[arm] + added, (1 - center.shares[arm]) * center.sizes[arm] - added
            a, b = max(a, 1.0), max(b, 1.0)
            offset = center.centers[arm] - math.log(a / b)
            factor = peak(a, b) / center.peaks[arm] * math.exp(-fall(a + b, a / (a + b), offset))
            for j in range(on.panels[arm]):
                for g in range(NODES):
                    result[arm, j, g] *= factor * math.exp(added * (on.points[j, g] - center.centers[arm]))
    return result


@borrowing
def is_cut(state: LazyArms, arm: int, added: float) -> bool:
    """Whether the x of an arm is clipped to 0 or 1 at a step with the bonus `added`."""
    x = state.means[arm] + added / state.counts[arm]
    return bool(x <= 0 or x >= 1)


@compiled
def chebyshev_terms(values: FloatArray) -> FloatArray:
    """The coefficients of the Chebyshev polynomials, from values at the nodes, shapes (arms, nodes)."""
    terms = np.zeros_like(values)
    nodes = values.shape[1]
    for m in range(nodes):
        for k in range(nodes):
            factor = math.cos(math.pi * m * (k + 0.5) / nodes) * 2 / nodes
            for arm in range(len(values)):
                terms[arm, m] += values[arm, k] * factor
    terms[:, 0] /= 2
    return terms


@compiled
def arm_chances(window: Window, added: float) -> FloatArray:
    """The winning probabilities of all arms at a step with the bonus `added`, shape (arms,)."""
    u = (added - window.middle) / window.half
    values = window.terms[:, 0].copy()
    before, polynomial = 1.0, u
    for k in range(1, window.terms.shape[1]):
        for arm in range(len(values)):
            values[arm] += window.terms[arm, k] * polynomial
        before, polynomial = polynomial, 2 * u * polynomial - before
    return values


@borrowing
def quiet_length(window: Window, shift: Shift, t: int) -> int:
    """A number of steps after step t, within the window, of which about one is an excess step."""
    speed = window.slopes.sum() * (bonus(shift, t + 2) - bonus(shift, t + 1)) / window.half
    length = math.sqrt(2 / max(speed, 1e-30))
    return int(min(max(1.0, length), float(window.end - t)))


@compiled
def play_lazily(
    state: LazyArms, window: Window, shift: Shift, t: int, block: int, rng: np.random.Generator
) -> tuple[IntArray, int]:
    """Wins of every arm in the next steps: at most `block`, up to the first that fills an arm or is an excess step.

    Also returns the arm that wins the last step, or -1 if the order of wins is not drawn.
    """
    first, last = bonus(shift, t + 1), bonus(shift, t + block)
    bounds, reach = arm_chances(window, (first + last) / 2), (last - first) / 2 / window.half
    for arm in range(len(bounds)):
        bounds[arm] = max(0.0, bounds[arm] - window.slopes[arm] * reach)
    alike = min(wait(1 - bounds.sum(), rng) - 1, block)
    wins, winner = alike_steps(bounds, state.room, alike, rng)
    if winner < 0 and alike < block:
        winner = one_of(arm_chances(window, bonus(shift, t + alike + 1)) - bounds, rng)
        wins[winner] += 1
    return wins, winner


@compiled
def record_block(
    record: IntArray,
    row: int,
    checkpoints: IntArray,
    pulls: IntArray,
    begun: int,
    wins: IntArray,
    last: int,
    order: np.random.Generator,
) -> int:
    """Record the checkpoints in a block of steps that follow `begun` steps; returns the first free row.

    `pulls` are those before the block, and `last` is the winner of its last step or -1, as in `play_lazily`.
    """
    done = np.zeros_like(wins)
    open_order = wins.copy()
    if last >= 0:
        open_order[last] -= 1
    while row < len(checkpoints) and checkpoints[row] < begun + wins.sum():
        part = wins_in_first(open_order, checkpoints[row] - begun - done.sum(), order)
        done += part
        open_order -= part
        record[row] = pulls + done
        row += 1
    if row < len(checkpoints) and checkpoints[row] == begun + wins.sum():
        record[row] = pulls + wins
        row += 1
    return row
