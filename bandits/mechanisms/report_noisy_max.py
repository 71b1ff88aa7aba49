"""Report noisy max: add noise to every score and release the index of the largest."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bandits.arrays import FloatArray, IntArray

NoiseName = Literal["laplace", "gumbel", "exponential"]


@dataclass(frozen=True)
class Noise:
    """Noise of a given `scale`: Laplace, standard Gumbel times scale, or exponential with mean scale.

    If one change of the data moves every score by at most 1, up or down, the released index is
    (2 / scale)-differentially private for all three noises: for Laplace by Dwork and Roth (2014),
    Claim 3.9; Gumbel noise is the exponential mechanism (McSherry and Talwar 2007); exponential noise
    is permute and flip (Ding et al. 2021). 2 / scale is also needed for exponential noise: of two scores
    whose difference moves by 2, one is released with probability e^(-difference / scale) / 2.
    """

    name: NoiseName
    scale: float

    def largest(self, draws: IntArray, rng: np.random.Generator) -> FloatArray:
        """For each entry n of `draws`, the largest of n independent draws of the noise.

        The largest of n draws lies at the quantile of level u^(1/n), u uniform; its survival
        1 - u^(1/n) is computed without cancellation.
        """
        log_level = -rng.standard_exponential(len(draws)) / draws
        if self.name == "gumbel":
            return -self.scale * np.log(-log_level)
        survival = -np.expm1(log_level)
        if self.name == "exponential":
            return -self.scale * np.log(survival)
        lower = math.log(2.0) + log_level  # log(2 u^(1/n)), below 0 on the left of the median
        return self.scale * np.where(lower < 0, lower, -np.log(2 * survival))


def report_noisy_max(scores: FloatArray, counts: IntArray, noise: Noise, rng: np.random.Generator) -> int:
    """The index of the largest score plus noise; `counts` arms share a score, each with independent noise."""
    return int(np.argmax(scores + noise.largest(counts, rng)))
