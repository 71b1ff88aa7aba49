"""DP-Bernstein: a private stopping rule whose samples follow the variance, which Sajed and Sheffet (2019) leave open.

Block k = 1, 2, ... takes n = 2^k fresh values in [-R, R], in n/2 pairs (x, x'). With L = log(4.5 k (k + 1) / beta):

    m = (sum + Lap(4R/epsilon)) / n,    V = (sum over pairs of (x - x')^2 / 2 + Lap(4R^2/epsilon)) / (n/2),
    s = R sqrt(2L/n) + sqrt(max(0, V + 8 R^2 L / (epsilon n)) + 2 R^2 L / n),
    w = s sqrt(2L/n) + 2RL/(3n) + 4RL/(epsilon n),

and the rule halts with the estimate m at the first block with |m| >= (1 + 1/accuracy) w.

Private: a value moves the sum by at most 2R and the sum over pairs by at most 2R^2, which costs epsilon/2 each. Blocks
are disjoint, and earlier blocks only decide whether a block is taken, so the transcript costs no more than a block.
Accurate with probability at least 1 - beta. Proofs of both, and how many samples it takes: bernstein_stopping.md.

Simulation. Of a stream with two values a block is three counts of pairs, one multinomial draw: O(log samples). Other
streams are drawn value by value.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bandits.audit.ledger import Release
from bandits.audit.releases import SumAndSpread
from bandits.environments.streams import Stream, TwoPointStream
from bandits.guarantees import Guarantee, Neighbours
from bandits.mechanisms.laplace import laplace
from bandits.parameters import require_epsilon
from bandits.policies.stopping_rules import (
    BLOCK,
    Halt,
    StoppingRule,
    require_bounded,
    require_max_samples,
    require_promise,
)


@dataclass(frozen=True)
class DPBernstein(StoppingRule):
    """DP-Bernstein, ours: halts by a private bound on the deviation, with fresh values in every block.

    Guarantee: epsilon-DP of the number of samples and the estimate together, one value of the stream changed, and
    Pr[|estimate - mean| > accuracy |mean|] <= beta for i.i.d. values in [-bound, bound] with mean other than 0 (proofs
    above). With mean 0 it halts with probability at most beta. Raises `ParameterError` for an epsilon, accuracy or beta
    out of range.
    """

    name: ClassVar[str] = "dp_bernstein"
    label: ClassVar[str] = "DP-Bernstein"
    citation: ClassVar[str] = "ours; the open problem of Sajed and Sheffet (2019), section 6"
    epsilon: float
    accuracy: float
    beta: float

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        require_promise(self)

    def simulate(self, stream: Stream, max_samples: int, rng: np.random.Generator) -> Halt:
        require_max_samples(max_samples)
        block, samples = 1, 2  # blocks 1 to k have 2^(k + 1) - 2 values
        while samples <= max_samples:
            total, pairs = block_sums(stream, 2 ** (block - 1), rng)
            require_bounded(stream, abs(total), 2**block)
            estimate = self.estimate(block, total, pairs, stream.bound, rng)
            if estimate is not None:
                return Halt(samples, estimate)
            block += 1
            samples += 2**block
        return Halt(max_samples, None)

    def sum_scale(self, bound: float) -> float:
        """4R/epsilon, the scale of the noise on the sum of a block."""
        return 4 * bound / self.epsilon

    def pair_scale(self, bound: float) -> float:
        """4R^2/epsilon, the scale of the noise on the sum over the pairs of a block."""
        return 4 * bound**2 / self.epsilon

    def log_term(self, block: int) -> float:
        """L of block 1, 2, ..."""
        return math.log(4.5 * block * (block + 1) / self.beta)

    def width(self, block: int, spread: float, bound: float) -> float:
        """w, the bound on the error of m, after block 1, 2, ... with V = `spread`."""
        n, log = 2.0**block, self.log_term(block)
        noise = 8 * bound**2 * log / (self.epsilon * n)
        deviation = bound * math.sqrt(2 * log / n) + math.sqrt(max(0.0, spread + noise) + 2 * bound**2 * log / n)
        return deviation * math.sqrt(2 * log / n) + 2 * bound * log / (3 * n) + 4 * bound * log / (self.epsilon * n)

    def estimate(self, block: int, total: float, pairs: float, bound: float, rng: np.random.Generator) -> float | None:
        """m if the rule halts on a block with these two sums, else None."""
        n = 2**block
        mean = (total + laplace(self.sum_scale(bound), rng)) / n
        spread = (pairs + laplace(self.pair_scale(bound), rng)) / (n / 2)
        halts = abs(mean) >= (1 + 1 / self.accuracy) * self.width(block, spread, bound)
        return mean if halts else None

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.laplace(self.epsilon, neighbours=Neighbours.ONE_VALUE)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The two sums of one block, for values in [-1, 1]; all blocks cost the same.

        The transcript has the number of blocks and the last m, not V. It costs as much: if m is just large enough for
        the least w, the rule halts only if V is below its noiseless value on both inputs.
        """
        if horizon < 2:
            return ()
        return (SumAndSpread("sums of a block", "", -1.0, 1.0, self.sum_scale(1.0), self.pair_scale(1.0)),)


def block_sums(stream: Stream, pairs: int, rng: np.random.Generator) -> tuple[float, float]:
    """The sum of `pairs` pairs of fresh values, and that of (x - x')^2 / 2 over the pairs."""
    if isinstance(stream, TwoPointStream):
        high = stream.chance
        mixed, both, _ = rng.multinomial(pairs, [2 * high * (1 - high), high**2, (1 - high) ** 2])
        total = 2 * pairs * stream.low + (stream.high - stream.low) * (2 * int(both) + int(mixed))
        return float(total), (stream.high - stream.low) ** 2 / 2 * int(mixed)
    total = spread = 0.0
    for start in range(0, pairs, BLOCK):
        values = stream.draw(2 * min(BLOCK, pairs - start), rng)
        require_bounded(stream, float(np.abs(values).max()), 1)
        total += float(values.sum())
        spread += float(((values[::2] - values[1::2]) ** 2).sum()) / 2
    return total, spread
