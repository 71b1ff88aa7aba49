"""The least epsilon at which a guarantee implies the promise of a trust model: with it the page ranks at any epsilon.

`Guarantee.implies` decides, as in the atlas (`scripts.pages.prices`), so that both pages agree. A promise at an epsilon
implies the same promise at every larger one, so one number is enough.
"""

import math
from dataclasses import replace
from functools import cache

from bandits.guarantees import Guarantee, Neighbours, Scope
from scripts.pages.prices import Trust

DELTAS = (1e-10, 1e-6, 1e-3, 1e-2)  # that the page offers; each is that of some stored policy
TRUSTS = tuple(trust for trust in Trust if trust is not Trust.NONE)
REACH = 1e4  # the epsilon looked for is within this factor of that of the guarantee
LARGEST = 1e40  # an epsilon above is that of a cell that stands for no noise: it promises nothing
CLOSE = 1e-4  # relative; found epsilons are too large by at most this


@cache
def least_epsilon(guarantee: Guarantee, trust: Trust, delta: float) -> float:
    """The least epsilon at which the guarantee implies what the trust model asks for at `delta`; infinite if none.

    It is exact where it is that of the guarantee or twice that, else too large by at most `CLOSE` of itself.
    """
    if not guarantee.private or guarantee.epsilon > LARGEST:
        return math.inf
    if guarantee.epsilon == 0:
        return 0.0
    if trust is Trust.GAUSSIAN:  # a level is at most that of (ε, δ) if it implies (ε, δ), which costs far less to see
        transcript = guarantee.about(Scope.TRANSCRIPT)
        if transcript is None or math.isinf(transcript.least_level):
            return math.inf
        of_level = Guarantee.gaussian(transcript.least_level, guarantee.epsilon)
        return least_epsilon(of_level, Trust.APPROXIMATE, delta)

    def kept(epsilon: float) -> bool:
        return guarantee.implies(_asked(trust, epsilon, delta, guarantee.neighbours))

    low, high = guarantee.epsilon / REACH, guarantee.epsilon * REACH
    if not kept(high):
        return math.inf
    for epsilon in (guarantee.epsilon, 2 * guarantee.epsilon):
        if kept(epsilon) and not kept(epsilon * (1 - CLOSE)):
            return epsilon
    while high > low * (1 + CLOSE):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if kept(middle) else (middle, high)
    return high


@cache
def _asked(trust: Trust, epsilon: float, delta: float, neighbours: Neighbours) -> Guarantee:
    """What the trust model asks for, between the neighbours of this kind of rewards."""
    return replace(trust.required(epsilon, delta), neighbours=neighbours)


def least_epsilons(guarantee: Guarantee) -> list[list[float]]:
    """`least_epsilon` for each of `TRUSTS`, and for each of `DELTAS`, or once if the trust model has no delta."""
    return [[least_epsilon(guarantee, trust, delta) for delta in deltas_of(trust)] for trust in TRUSTS]


def deltas_of(trust: Trust) -> tuple[float, ...]:
    """The deltas that can be chosen for a trust model; only 0 if its promise is pure."""
    return DELTAS if "δ > 0" in trust else (0.0,)
