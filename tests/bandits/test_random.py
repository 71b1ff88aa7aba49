import shutil
import subprocess
import sys

import numpy as np
import pytest

from bandits.compiled import compiled
from bandits.mechanisms.laplace import laplace
from bandits.seeds import entropy, stream
from experiments.config.compose import REPOSITORY

# If one of these fails, a library changed its stream: with the installed versions all numbers change, and stored
# results can be neither extended nor reproduced.


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


@pytest.mark.slow
def test_an_edited_source_gets_machine_code_of_its_own(tmp_path):
    """Numba would not notice that a loop called by a compiled loop has changed."""
    package = tmp_path / "bandits"
    shutil.copytree(REPOSITORY / "bandits", package, ignore=shutil.ignore_patterns("__pycache__"))
    noise = package / "mechanisms" / "laplace.py"
    command = "from bandits.loops.stopping import stopping_noise; import numpy as np; r = np.random.default_rng(1)\n"
    command += "print([stopping_noise(20.0, r) for _ in range(5)])"

    def printed() -> str:
        run = subprocess.run([sys.executable, "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
        return run.stdout

    before = printed()
    assert printed() == before
    noise.write_text(noise.read_text().replace("magnitude = scale *", "magnitude = 3 * scale *"))
    assert printed() != before
