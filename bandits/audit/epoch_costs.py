"""Exact costs, for two arms, of one decision of an elimination policy.

The difference of two Laplace variables of scale 1 exceeds x >= 0 with the probability exp(-x) (1 + x / 2) / 2, and the
log of this is concave in x. So with two arms the most expensive outcome of an epoch is that the worse arm survives
alone, its mean as far behind as means in [0, 1] can be. More rivals only raise the ratio, as in
`bandits.audit.noisy_max`.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy

from bandits.audit.costs import Bounds, PrivacyCost, unseen_bounds
from bandits.audit.decision_laws import TruncatedLaw, delta_between, largest_of
from bandits.mechanisms.coins import excess, last_above
from bandits.mechanisms.truncated_laplace import TruncatedLaplace

TRIED = 201  # differences of two means
MOST_BITS = 2048  # of an arm in a batch; longer batches show less


def epoch_bounds(rounds: int, threshold: float, scale: float) -> Bounds:
    """Pure epsilon of the set that survives an epoch of two arms: means of `rounds` rewards, each plus Lap(scale)."""
    far = (threshold + 1) / scale
    near = far - 1 / (rounds * scale)
    epsilon = far - near + math.log1p(near / 2) - math.log1p(far / 2)
    witness = f"arm 1 with no reward of 1 against one in {rounds}, arm 2 with {rounds}; arm 1 alone survives"
    return Bounds(epsilon, epsilon, witness, "closed form, two arms")


def gaussian_lead(level: float, epsilon: float, rounds: int, threshold: float, arms: int = 2) -> tuple[float, str]:
    """A delta at `epsilon`, shown by which arm alone leads by more than `threshold` with normal noise; its witness.

    The sums of `rounds` rewards each get Normal(0, 1 / level^2). For two arms with the lead x + threshold the
    probability is Phi(h x), h = level / sqrt(2). Phi(h x + h) - e^epsilon Phi(h x) grows up to
    x = -epsilon / h^2 - 1/2, then it falls. Further arms have no reward of 1; the bound is reduced by the probability
    that one of them is too close.
    """
    h = level / math.sqrt(2)
    best = math.floor(threshold - epsilon / h**2 - 0.5)
    leads = [min(max(lead, -rounds), rounds - 1) for lead in (best, best + 1)]
    more, less = (scipy.special.ndtr(h * (np.array(leads) + extra - threshold)) for extra in (1, 0))
    deltas = list(zip((more - math.exp(epsilon) * less).tolist(), leads, strict=True))
    shown, lead = max(deltas)
    close = float(scipy.special.ndtr(h * (threshold - _least_sum(lead, rounds))))
    return max(shown - (arms - 2) * close, 0.0), _of_leads(lead, rounds, arms)


def coin_lead(coins: int, epsilon: float, rounds: int, threshold: float, arms: int = 2) -> tuple[float, str]:
    """The same with the heads of `coins` fair coins as noise: the difference of two is that of 2 `coins`.

    With the lead k + 1 arm 1 is ahead if 2 `coins` show at most j = k + `coins` - floor(threshold) tails, with the lead
    k if they show fewer. The difference of the probabilities grows in j up to `last_above` and then falls.
    """
    shift = coins - math.floor(threshold)
    lead = min(max(last_above(2 * coins, epsilon) - shift, -rounds), rounds - 1)
    close = float(scipy.stats.binom.sf(_least_sum(lead, rounds) - 1 + shift, 2 * coins, 0.5))
    return max(excess(2 * coins, epsilon, lead + shift) - (arms - 2) * close, 0.0), _of_leads(lead, rounds, arms)


def _least_sum(lead: int, rounds: int) -> int:
    """The sum of the arm that survives alone, if it or its rival has as many rewards of 1 as possible."""
    return rounds + min(lead, 0)


def _of_leads(lead: int, rounds: int, arms: int) -> str:
    others = ", other arms without a reward of 1" if arms > 2 else ""
    return f"sums of {rounds} rewards {lead} apart{others}, one more of the last arm; it alone is ahead"


def bit_lead(rounds: int, least: int, chances: tuple[float, float], changed: float, arms: int = 2) -> tuple[float, str]:
    """Pure epsilon of the event that the last arm is ahead of each rival by a lead, and its witness.

    Each has `rounds` bits; of the bits of the last arm and of a rival at least `least` are to favour the last arm. A
    bit does so with the first of the `chances` if it is its own, with the second, no larger, if it is a rival's. One
    bit of a rival has the probability `changed` under the neighbouring input. Given the bits of the last arm, rivals
    are independent.
    """
    witness = (
        f"the last arm alone survives a batch of {rounds} bits of each arm; rewards are against it, one then for it"
    )
    if rounds > MOST_BITS:
        return 0.0, witness
    own, other = chances
    ones = np.arange(rounds + 1)
    with np.errstate(divide="ignore"):
        weights = scipy.stats.binom.logpmf(ones, rounds, own)
        for _ in range(arms - 2):
            weights += scipy.stats.binom.logsf(least - ones - 1, rounds, other)
        needed = float(scipy.special.logsumexp(weights + scipy.stats.binom.logsf(least - ones - 1, rounds - 1, other)))
        one_less = float(
            scipy.special.logsumexp(weights + scipy.stats.binom.logsf(least - ones - 2, rounds - 1, other))
        )
    if math.isinf(one_less):
        return 0.0, witness
    rest = math.exp(needed - one_less)
    before, after = (chance + (1 - chance) * rest for chance in (other, changed))
    return math.log(after / before), witness


def shown_by_leads(releases: PrivacyCost, leads: Sequence[tuple[float, str]]) -> PrivacyCost:
    """The cost of the arms if the releases cost `releases`: its lower bound on delta is the largest of those found."""
    assert releases.epsilon is not None
    assert releases.delta is not None
    if not leads:
        return replace(releases, epsilon=releases.epsilon.from_ledger(), delta=unseen_bounds(releases.delta))
    shown, witness = max(leads)
    method = f"{releases.delta.method}; closed form, two arms"
    delta = replace(releases.delta, shown=shown, witness=witness, method=method)
    return replace(releases, epsilon=releases.epsilon.from_ledger(), delta=delta)


def phase_delta(epsilon: float, noise_delta: float, count: int, margin: float, bits: bool) -> tuple[float, str]:
    """The largest delta at `epsilon` found for one phase of GDP-Elim-New with two arms, and its witness.

    The phase ends with the arm whose value leads by more than `margin`, or keeps both. Differences of the means are
    tried on a grid around the margin; with `bits`, rewards 0 or 1, only possible differences, on finer and finer grids.
    """
    width = TruncatedLaplace(epsilon, noise_delta, count, 0.0).half_width
    reach = 2 * min(width, 40 / (count * max(epsilon, 1e-12))) + 1 / count

    def shown(lead: float) -> float:
        laws = [_phase_law(epsilon, noise_delta, count, margin, value) for value in (lead, lead + 1 / count)]
        return delta_between(laws[0], laws[1], epsilon)

    low, high = margin - reach, min(margin + reach, 1 - 1 / count)
    leads = np.linspace(low, high, TRIED)
    if bits:
        least, most = math.ceil(max(low, -1.0) * count), math.floor(high * count)
        while most - least >= TRIED:
            wholes = np.unique(np.linspace(least, most, TRIED).astype(int))
            place = int(np.argmax([shown(whole / count) for whole in wholes]))
            least, most = int(wholes[max(place - 2, 0)]), int(wholes[min(place + 2, len(wholes) - 1)])
        leads = np.arange(least, most + 1) / count
    best, where = max((shown(float(lead)), float(lead)) for lead in leads)
    return best, f"means {where:.6g} apart, one reward of {count} changed by 1; the phase ends with the larger, or not"


def _phase_law(
    epsilon: float, noise_delta: float, count: int, margin: float, lead: float
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The probabilities that the arm whose mean is higher by `lead` wins the phase, that its rival does, or neither."""
    ahead = TruncatedLaw(TruncatedLaplace(epsilon, noise_delta, count, lead - margin))
    behind = TruncatedLaw(TruncatedLaplace(epsilon, noise_delta, count, 0.0))
    ahead_of = TruncatedLaw(TruncatedLaplace(epsilon, noise_delta, count, lead + margin))
    won, lost = largest_of([ahead, behind])[0], largest_of([ahead_of, behind])[1]
    return np.array([won, lost, max(0.0, 1 - won - lost)])
