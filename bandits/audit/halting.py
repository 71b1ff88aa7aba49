"""Private stopping rules: the exact probability to halt at a question, and the worst pair of streams that was found.

Given the sums S_q at the questions, a run halts at the question number n with the probability

    int f_B(b) prod_{q < n} (1 - H_q(b)) H_n(b) db,    H_q(b) = Pr[A_q <= |S_q| - required_q - b],

a one-dimensional integral, computed in logarithms. The released estimate costs 2 R / sigma3 more, which every estimate
beyond both sums attains; the two ratios multiply.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy

from bandits.arrays import FloatArray
from bandits.audit.costs import Bounds
from bandits.audit.gauss_legendre import nodes_between
from bandits.loops.stopping import Scales, StoppingConstants, required_sum
from bandits.parameters import ParameterError

BINDING = 6  # questions at which the worst streams stay beyond the required sum
EXCESS = 26.0  # distance beyond it, in scales of the noise
DEPTH = 45.0  # an integrand counts as 0 below e^-DEPTH of its largest value
PIECES = 100  # of an integral, in addition to its kinks


def halting_cost(scales: Scales, bound: float) -> float:
    """An upper bound: sparse vector (2R / sigma1 + 4R / sigma2), and the estimate (2R / sigma3).

    Dwork and Roth 2014, Theorem 3.23, with different scales of B and A_t (Lyu, Su and Li 2017, Theorem 2): all
    questions except the last are answered no, and only the answer yes costs, twice because |S| may move up or down.
    """
    change = 2 * bound
    return change / scales.threshold + 2 * change / scales.question + change / scales.output


def log_halting(sums: FloatArray, required: FloatArray, scales: Scales) -> float:
    """Log probability to halt at the last of the questions with these sums and required sums, shape (questions,)."""
    excess = np.abs(sums) - required
    low, high = _where_it_counts(excess, scales)
    kinks = np.concatenate([np.linspace(low, high, PIECES + 1), excess[(low < excess) & (excess < high)]])
    nodes, weights = nodes_between(np.append(kinks, 0.0) if low < 0 < high else kinks)
    near = np.append(excess[:-1] > low - 2 * DEPTH * scales.question, True)  # the others are answered no
    return float(scipy.special.logsumexp(_log_integrand(nodes, excess[near], scales), b=weights))


def _where_it_counts(excess: FloatArray, scales: Scales) -> tuple[float, float]:
    """The range of B outside which the integrand is below e^-DEPTH of its largest value.

    Its logarithm is concave: it rises up to its maximum and then falls.
    """
    reach = DEPTH * (scales.threshold + scales.question)
    ends = min(float(excess.min()), 0.0) - reach, max(float(excess.max()), 0.0) + reach

    def log_at(b: float) -> float:
        answers = _log_answer(b - excess[:-1], scales.question).sum() + _log_answer(excess[-1] - b, scales.question)
        return float(answers) - abs(b) / scales.threshold

    low, high = ends
    while high - low > 1e-3 * min(scales.threshold, scales.question):
        third = (high - low) / 3
        low, high = (low + third, high) if log_at(low + third) < log_at(high - third) else (low, high - third)
    top = (low + high) / 2
    least = log_at(top) - DEPTH

    def falls_below(end: float) -> float:
        inner, outer = top, end
        for _ in range(60 if log_at(end) < least else 0):
            middle = (inner + outer) / 2
            inner, outer = (middle, outer) if log_at(middle) >= least else (inner, middle)
        return outer

    return falls_below(ends[0]), falls_below(ends[1])


def _log_integrand(nodes: FloatArray, excess: FloatArray, scales: Scales) -> FloatArray:
    """Log of f_B(b) times the probability that all questions except the last are answered no and the last one yes."""
    log = -np.abs(nodes) / scales.threshold - math.log(2 * scales.threshold)
    for lead in excess[:-1]:
        log = log + _log_answer(nodes - lead, scales.question)
    return log + _log_answer(excess[-1] - nodes, scales.question)


def _log_answer(room: float | FloatArray, scale: float) -> FloatArray:
    """Log Pr[A <= room] for Laplace noise of this scale, which is also log Pr[-A <= room]."""
    z = np.asarray(room, dtype=np.float64) / scale
    return np.where(z < 0, np.minimum(z, 0) - math.log(2), np.log1p(-np.exp(-np.abs(z)) / 2))


@dataclass(frozen=True)
class _Stream:
    """Two neighbouring streams by their sums at the questions, and the numbers of samples at these."""

    samples: list[int]
    first: FloatArray
    second: FloatArray


def worst_stream(questions: list[int], rule: StoppingConstants) -> _Stream:
    """Neighbouring streams that spend nearly all of epsilon.

    The sums first become so negative that at `BINDING` questions they are beyond the required sum, where not halting
    takes a large B; then they return to 0, where halting takes a small A. Changing the first value from -R to R makes
    each of the two easier by 2R. `questions` are the numbers of samples at which the rule asks.
    """
    change = 2 * rule.bound
    noise = max(rule.scales.threshold, rule.scales.question)
    counts = np.array(questions, dtype=float)
    goal = np.array([required_sum(samples, number, rule) for number, samples in enumerate(questions, 1)])
    goal += EXCESS * noise + change
    binding = int(np.argmax(counts * rule.bound >= goal)) + BINDING  # questions up to the last one held
    away = -np.minimum(counts * rule.bound, goal)[:binding]
    if binding >= len(questions) or counts[binding - BINDING] * rule.bound < goal[binding - BINDING]:
        raise ParameterError("horizon", f"too short for the worst stream: {questions[-1]} samples")
    back = away[-1] + (counts[binding:] - counts[binding - 1]) * rule.bound
    end = binding + int(np.argmax(back >= 0)) + 1
    if back[-1] < 0:
        raise ParameterError("horizon", f"too short for the worst stream: {questions[-1]} samples")
    second = np.concatenate([away, np.minimum(back, 0.0)])[:end]
    return _Stream(questions[:end], second + change, second)


def halting_bounds(questions: list[int], rule: StoppingConstants) -> Bounds:
    """Pure epsilon of the number of samples and the estimate together, for values in [-R, R]."""
    kept = halting_cost(rule.scales, rule.bound)
    try:
        stream = worst_stream(questions, rule)
    except ParameterError as error:
        return Bounds(kept, 0.0, f"none, the horizon is {error.problem}", "ledger")
    required = np.array([required_sum(count, number, rule) for number, count in enumerate(stream.samples, 1)])
    ratio = log_halting(stream.first, required, rule.scales) - log_halting(stream.second, required, rule.scales)
    shown = ratio + 2 * rule.bound / rule.scales.output
    witness = (
        f"the first value from {rule.bound:g} to {-rule.bound:g}; the sum falls to {stream.second.min():.6g} and is 0 "
        f"after {stream.samples[-1]} samples; the rule halts there, its estimate beyond both sums"
    )
    return Bounds(kept, shown, witness, "ledger; exact law of one pair", 1e-9)
