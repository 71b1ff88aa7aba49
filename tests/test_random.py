import numpy as np

from bandits.compiled import compiled
from bandits.mechanisms.laplace import laplace
from bandits.random import entropy, stream

# If one of these fails, a library changed its stream: stored results can no longer be extended or
# reproduced with the installed versions, and every policy's numbers move.


@compiled
def compiled_draws(rng: np.random.Generator) -> tuple[float, float, int, int]:
    return rng.random(), rng.standard_exponential(), rng.binomial(1000, 0.3), rng.binomial(10, 0.3)


def test_canary_of_numpy():
    rng = stream("canary", 0)
    drawn = [rng.random(), rng.standard_exponential(), rng.laplace(), *rng.binomial([10, 1000, 10**9], 0.3)]
    np.testing.assert_allclose(drawn, CANARY_NUMPY, rtol=1e-14)


def test_canary_of_numba():
    rng = stream("canary", 1)
    np.testing.assert_allclose([*compiled_draws(rng), laplace(2.0, rng)], CANARY_NUMBA, rtol=1e-14)


def test_entropy_is_that_of_the_text():
    assert entropy("") == 0xE3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855


def test_streams_differ_by_cell_and_replication():
    firsts = {stream(cell, replication).random() for cell in ("a", "b") for replication in range(50)}
    assert len(firsts) == 100


CANARY_NUMPY = [0.7261933642085894, 0.6633726995074516, -1.355968872957171, 2, 294, 299993648]
CANARY_NUMBA = [0.2203737616950776, 0.11042062703493019, 305, 5, -0.10298280504815982]
