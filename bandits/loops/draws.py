"""Draws whose machine code is on disk: numba compiles its own again in each process that compiles a loop with them."""

import numpy as np

from bandits.compiled import compiled


@compiled
def binomial(trials: int, chance: float, rng: np.random.Generator) -> int:
    """How many of `trials` succeed, each with this chance: the draw of `rng.binomial`."""
    return rng.binomial(trials, chance)
