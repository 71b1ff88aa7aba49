"""The loop of LDP-UCB-B and LDP-UCB-L: index policies that see only reports, each a reward with its own noise.

At step t the first arm with at most `forced` log(t + 1) pulls is pulled, if there is one, else that with the largest

    mean of its reports + width / sqrt(n_a) x sqrt(2 log t).

A report is a bit, or a bit with Laplace noise. While one arm leads, its rivals' indices change with log t only, and
`window_of` bounds them as in `bandits.loops.leader`. The leader is pulled until the sum of its reports falls to what
its index needs, or until the window ends, before the first step that may be forced. The need is convex in the pulls, so
a chord over the window is above it: a run may end too early, which costs only a comparison of all indices.

Well above the need, bits are drawn many at a time: the number of ones of a block first. If the sum of reports stays
above the need even with all zeros at the beginning, no pull of the block ends the run. Otherwise the pulls are drawn
one by one, without replacement. The other loops on bits pull their leader in the same way.

Noise of a block comes from a Brownian motion W with variance 2 t at time t, which is looked at after waiting times that
are standard exponential variables: each increment is a Laplace variable of scale 1, as E exp(i s W(E)) =
E exp(-s^2 E) = 1 / (1 + s^2). Let the sum of reports be `room` scales above the need, less the most that bits of the
block can lose. No pull before W is at -room ends the run. W is there first at the time hit = room^2 / (2 Z^2), Z
standard normal (by the reflection principle). The last pull is at a Gamma variable, `end`, whatever W does.

- If hit > end, all pulls are made. Given hit, W + room is before it a Bessel bridge of dimension 3 from room to 0
  (Williams 1974): at the time `end` the length of a vector of three normal variables with mean
  (room (1 - end / hit), 0, 0) and variances 2 end (1 - end / hit).
- If not, each pull before the last is before hit with probability hit / end, independently. Pulls are a Poisson process
  and W is independent of it, so that, given how many are before hit, all is after it as at the beginning, and `end` is
  not used again: the next pull is an exponential waiting time later, and the noise up to it is -room and a Laplace
  variable. Bits up to it are drawn without replacement. If the run does not end there, the rest of the block goes on
  like this, with its new room and the bits that are left.

Exact up to rounding.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import borrowing, compiled
from bandits.loops.draws import binomial
from bandits.loops.front import closest_rival, front, window_of
from bandits.loops.records import record_run

SHARE = 8  # a window is no longer than this share of the leader's pulls, so that its chord stays close
SMALLEST_BLOCK = 32  # pulls; fewer are drawn one by one
LONGEST = 41.0  # log of more steps than any horizon that is run
DEVIATIONS = 2.0  # standard deviations allowed for the loss of a block's sum: more make blocks shorter
FAR = 6.0  # scales of noise; nearer to the need, pulls are drawn one by one


class LocalReports(NamedTuple):
    """The noise of reports, and how reports enter the indices.

    Attributes
    ----------
    scale: of the Laplace noise of every report, 0 for none.
    width: of an index, in units of sqrt(2 log t / n_a).
    forced: arms with at most `forced` log(t + 1) pulls come first; 0 for each arm once.
    """

    scale: float
    width: float
    forced: float


class LocalRun(NamedTuple):
    """The numbers that stay the same while the leader is pulled.

    Attributes
    ----------
    mean: of the leader's bits.
    scale: of the noise of a report.
    first, slope: the run ends as soon as the sum is at most first + slope x pulls of the run,
    window: or after so many pulls.
    """

    mean: float
    scale: float
    first: float
    slope: float
    window: int


@compiled
def local_ucb_pulls(
    means: FloatArray, horizon: int, checkpoints: IntArray, reports: LocalReports, rng: np.random.Generator
) -> IntArray:
    """Pulls of every arm, whose bits have these `means`, at each checkpoint, shape (checkpoints, arms)."""
    scale, width, forced = reports
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    sums = np.zeros(arms)
    center = np.zeros(arms)
    widths = np.zeros(arms)
    t = 0
    while t < horizon:
        leader = neglected(pulls, t + 1, forced)
        run = LocalRun(means[leader], scale, -math.inf, 0.0, 1)
        if leader < 0:
            radius = math.sqrt(2 * math.log(t + 1))
            leader, closest, widest = front(center, widths, radius)
            advance = center[leader] + widths[leader] * radius - closest
            window = window_of(advance, widest, 1 / ((t + 1) * radius), t, horizon)
            window = min(window, 1 + pulls[leader] // SHARE, free_steps(pulls, leader, t + 1, forced))
            if window > 1:
                closest = closest_rival(center, widths, math.sqrt(2 * math.log(t + window)), leader)
            first, slope = chord(pulls[leader], window, closest, width * radius)
            run = LocalRun(means[leader], scale, first, slope, window)
        pulled, sums[leader] = pull_reporting_leader(run, sums[leader], SMALLEST_BLOCK, rng)
        row = record_run(record, row, checkpoints, pulls, leader, t, pulled)
        pulls[leader] += pulled
        t += pulled
        center[leader] = sums[leader] / pulls[leader]
        widths[leader] = width / math.sqrt(pulls[leader])
    return record


@compiled
def chord(before: int, window: int, threshold: float, bonus: float) -> tuple[float, float]:
    """The sum that an index needs after `before` pulls, and the slope of the chord above that need over the window."""
    slope = threshold - bonus * (math.sqrt(before + window) - math.sqrt(before)) / window
    return threshold * before - bonus * math.sqrt(before), slope


@borrowing
def neglected(pulls: IntArray, step: int, forced: float) -> int:
    """The first arm with at most `forced` log(step + 1) pulls, or -1."""
    least = math.inf
    for arm in range(len(pulls)):
        least = min(least, float(pulls[arm]))
    if least > forced * LONGEST:
        return -1
    least = forced * math.log(step + 1.0)
    for arm in range(len(pulls)):
        if pulls[arm] <= least:
            return arm
    return -1


@borrowing
def free_steps(pulls: IntArray, leader: int, step: int, forced: float) -> int:
    """Steps from `step` on in which each rival of the leader has more than `forced` log(step + 1) pulls; at least 1."""
    least = math.inf
    for arm in range(len(pulls)):
        if arm != leader:
            least = min(least, float(pulls[arm]))
    if least >= forced * LONGEST:
        return 1 << 59
    return max(1, math.ceil(math.exp(least / forced) - 1.0) - step)


@borrowing
def pull_reporting_leader(run: LocalRun, total: float, smallest: int, rng: np.random.Generator) -> tuple[int, float]:
    """Pull the leader, whose reports have the sum `total`, until the run ends; returns its pulls, and the new sum.

    Pulls are drawn one by one if a block of `smallest` would probably end the run.
    """
    pulled = 0
    cost = uncovered(run.slope, 1 - run.mean, run.mean)  # mean of what bits lose, per pull
    enough = cost * (smallest + DEVIATIONS * math.sqrt(smallest))
    if run.scale > 0:
        enough = max(FAR * run.scale, 2 * cost * smallest)
    while True:
        ahead, left = total - run.first - run.slope * pulled, run.window - pulled
        if ahead <= enough or left < smallest:
            total += report(run.mean, run.scale, rng)
            pulled += 1
        else:
            if run.scale > 0:
                made, total = pull_noisy_block(run, total, pulled, int(min(ahead / (2 * cost), float(left))), rng)
            else:
                made, total = pull_block(run, total, pulled, block_length(ahead / cost, left, smallest), rng)
            pulled += made
        if pulled == run.window or total <= run.first + run.slope * pulled:
            return pulled, total


@compiled
def block_length(costs: float, most: int, smallest: int) -> int:
    """Pulls that probably do not end the run, if the sum may lose `costs`: a wrong guess costs only time."""
    return max(smallest, int(min(costs - DEVIATIONS * math.sqrt(costs), float(most))))


@borrowing
def report(mean: float, scale: float, rng: np.random.Generator) -> float:
    """One report. One uniform number decides the bit and, by its place in the interval of the bit, the noise's sign."""
    point = rng.random()
    bit = 1.0 if point < mean else 0.0
    if scale == 0:
        return bit
    noise = scale * rng.standard_exponential()
    rises = (point < 0.5 * mean) | ((point >= mean) & (point < 0.5 * (1 + mean)))
    return bit + (noise if rises else -noise)


@borrowing
def pull_block(run: LocalRun, total: float, pulled: int, block: int, rng: np.random.Generator) -> tuple[int, float]:
    """The next `block` pulls of bits, or those up to the end of the run; returns their number, and the new sum."""
    ones = binomial(block, run.mean, rng)
    if total > run.first + run.slope * pulled + uncovered(run.slope, block - ones, ones):
        return block, total + ones
    for left in range(block, 0, -1):
        if rng.random() * left < ones:
            ones -= 1
            total += 1.0
        rng.random()  # not used; without it, all stored numbers of policies on bits would change
        if total <= run.first + run.slope * (pulled + block + 1 - left):
            return block + 1 - left, total
    return block, total


@borrowing
def pull_noisy_block(
    run: LocalRun, total: float, pulled: int, block: int, rng: np.random.Generator
) -> tuple[int, float]:
    """The next `block` pulls with noise, or those up to the end of the run; returns their number, and the new sum."""
    ahead = total - run.first - run.slope * pulled
    counted = max(run.slope, 0.0) * block > ahead / SHARE  # else all bits may be 0, at little cost
    ones = binomial(block, run.mean, rng) if counted else 0
    left = block
    while left > 0 and ahead > 0:
        room, made = (ahead - uncovered(run.slope, left - ones, ones)) / run.scale, 1
        if room < FAR:
            room = 0.0  # near to the need, pulls are made one by one
        else:
            end, normal = rng.standard_gamma(float(left)), rng.standard_normal()
            hit = room * room / (2 * normal * normal)
            if hit > end:
                ones = ones if counted else binomial(left, run.mean, rng)
                return block, total + ones + run.scale * place_before(room, end, hit, rng)
            made = 1 + binomial(left - 1, hit / end, rng)
        if counted:
            first = ones_in_first(made, ones, left, rng)
            ones -= first
        else:
            first = binomial(made, run.mean, rng)
        noise = run.scale * rng.standard_exponential()
        total += first - run.scale * room + (noise if rng.random() < 0.5 else -noise)
        left -= made
        ahead = total - run.first - run.slope * (pulled + block - left)
    return block - left, total


@borrowing
def place_before(room: float, end: float, hit: float, rng: np.random.Generator) -> float:
    """W at the time `end`, given that it is at -`room` for the first time at `hit` > `end`."""
    left = 1 - end / hit
    spread = math.sqrt(2 * end * left)
    along = room * left + spread * rng.standard_normal()
    return math.sqrt(along * along + 2 * spread * spread * rng.standard_exponential()) - room


@borrowing
def ones_in_first(number: int, ones: int, block: int, rng: np.random.Generator) -> int:
    """How many of the first `number` bits are 1, if `ones` in the `block` are, in any order."""
    first = 0
    for left in range(block, block - number, -1):
        if rng.random() * left < ones - first:
            first += 1
    return first


@compiled
def uncovered(slope: float, zeros: float, ones: float) -> float:
    """The largest growth of the need beyond what the bits add, over all orders of the zeros and ones."""
    return max(slope, 0.0) * zeros + max(slope - 1, 0.0) * ones
