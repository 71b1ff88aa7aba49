"""The statements of floats.md about doubles, computed."""

import math
import re

import numpy as np
import pytest

from bandits.audit.floats import floor_delta, reach, shares_of_low_bits
from experiments.config.compose import REPOSITORY

PAGE = (REPOSITORY / "bandits" / "audit" / "floats.md").read_text()


def test_the_page_shows_what_its_lines_print(capsys):
    block = re.search(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)[1]
    exec(compile(block, "floats.md", "exec"), {})
    said = [line.rpartition("# ")[2] for line in block.splitlines() if line.startswith("print")]
    assert capsys.readouterr().out.split() == said


@pytest.mark.slow
def test_the_learners_of_the_page_run(capsys):
    pytest.importorskip("opendp")
    block = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)[1]
    exec(compile(block, "floats.md", "exec"), {})
    arm, estimate = capsys.readouterr().out.splitlines()
    assert arm == "1"
    assert float(estimate.split()[0]) == pytest.approx(0.5, rel=0.4)  # twice the accuracy of 20 %


def test_noise_ends_where_uniform_numbers_do():
    """The smallest U > 0 of numpy is 2^-53; its Laplace noise is then log 2U."""
    assert reach() == pytest.approx(-math.log(2 * 2.0**-53))
    assert np.abs(np.random.default_rng(1).laplace(size=10**6)).max() < reach()
    assert floor_delta(1.0) == pytest.approx(math.e * 2.0**-53)
    assert floor_delta(0.0) == pytest.approx(2.0**-53)


def test_low_bits_exclude_a_sum_and_never_the_right_one():
    assert shares_of_low_bits(0.0, 0.0, 1.0, 300, 1) == 0
    assert shares_of_low_bits(100.0, 100.0, 1.0, 300, 1) == 0
    assert shares_of_low_bits(0.0, 1.0, 1.0, 300, 1) > 0.5
