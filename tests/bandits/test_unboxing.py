"""How a numpy Generator is passed to compiled loops: the same numbers from the same place, and no Python on the way."""

import ctypes
import sys

import numpy as np
import pytest

from bandits.compiled import compiled

GENERATORS = (np.random.PCG64, np.random.SFC64, np.random.MT19937, np.random.Philox)


@compiled
def drawn(rng: np.random.Generator) -> tuple[float, float, float, int]:
    return rng.random(), rng.random(None, np.float32), rng.standard_normal(), rng.integers(0, 2**40)


@pytest.mark.parametrize("kind", GENERATORS)
def test_a_compiled_loop_draws_what_numpy_draws_and_leaves_the_generator_where_it_would(kind):
    rng, same = (np.random.Generator(kind(7)) for _ in range(2))
    assert drawn(rng) == (same.random(), same.random(dtype=np.float32), same.standard_normal(), same.integers(0, 2**40))
    assert rng.random() == same.random()


def test_no_reference_is_kept():
    rng = np.random.default_rng(1)
    counted = [rng, rng.bit_generator, rng.bit_generator.capsule]
    before = [sys.getrefcount(one) for one in counted]
    for _ in range(100):
        drawn(rng)
    assert [sys.getrefcount(one) for one in counted] == before


def test_no_python_runs_in_which_ctrl_c_could_come(monkeypatch):
    """Numba's own way calls `ctypes.cast`; if that raises, as for Ctrl-C, the process crashes."""
    drawn(np.random.default_rng(1))  # so it is compiled
    called, cast = [], ctypes.cast
    monkeypatch.setattr(ctypes, "cast", lambda *given: called.append(given) or cast(*given))
    drawn(np.random.default_rng(1))  # whose pointers nobody has read yet
    assert not called
