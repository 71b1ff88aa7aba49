"""The cost of an epoch that a sparse vector ends: by theorem, and from the exact law of one pair of inputs."""

from dataclasses import dataclass

import numpy as np

from bandits.audit.costs import Bounds
from bandits.audit.halting import BINDING, EXCESS, halting_cost, log_halting
from bandits.audit.ledger import Domain, Release, require_domain
from bandits.loops.stopping import Scales


@dataclass(frozen=True)
class SumSpread(Release):
    """When the spread of sums of rewards in [0, 1] is seen to be large, at n = 2, 4, 8, ..., and then the noisy sums.

    The noise of the threshold is Lap(4/epsilon), of a question Lap(8/epsilon), of a sum Lap(2/epsilon).

    Attributes
    ----------
    required: of the spread at each question, shape (questions,).
    """

    mechanism: str
    calibration: str
    required: tuple[float, ...]
    epsilon: float

    @property
    def scales(self) -> Scales:
        """The scales of the noise of the threshold, of a question and of a sum."""
        return Scales(4 / self.epsilon, 8 / self.epsilon, 2 / self.epsilon)

    def cost(self, domain: Domain) -> Bounds:
        """`kept`: a reward moves the spread and one sum by at most 1. `shown`: for two arms, see `ending`.

        The noisy sum of the arm whose reward changes lies beyond both centers.
        """
        require_domain(0.0, domain)
        _, ratio, told = self.ending()
        kept = halting_cost(self.scales, 0.5)
        witness = f"{told}, the noisy sum beyond both centers"
        return Bounds(kept, ratio + 1 / self.scales.output, witness, "ledger; exact law of one pair", 1e-9)

    def ending(self) -> tuple[int, float, str]:
        """For two arms: a question, the log ratio of the probabilities to end there, and the two inputs.

        Arm 2 first leads by so much that not ending takes a large B, at `BINDING` questions; then both sums are equal,
        so that ending takes a small noise. One more reward of arm 1 makes each of the two easier. With too few
        questions the epoch ends at the first one.
        """
        scales = self.scales
        required = np.array(self.required)
        pulls = 2.0 ** np.arange(1, len(required) + 1)
        lead = np.ceil(required + EXCESS * scales.question + 1)
        reached = pulls / 2 >= lead  # since the question before
        ahead = int(np.argmax(reached)) + BINDING
        if ahead >= len(required) or not reached.any():
            ahead = 0
        away = np.append(np.where(reached[:ahead], -lead[:ahead], -1.0), 0.0)
        ratio = log_halting(away + 1, required[: ahead + 1], scales) - log_halting(away, required[: ahead + 1], scales)
        leads = f"arm 2 leads by {lead[ahead - 1]:.6g} after {pulls[ahead - 1]:.0f} pulls of each, " if ahead else ""
        told = f"one reward of arm 1 from 0 to 1; {leads}sums are equal after {pulls[ahead]:.0f}; the epoch ends there"
        return ahead, ratio, told

    def touches(self) -> int:
        return len(self.required) + 1
