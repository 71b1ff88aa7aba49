"""The ziggurat of Pareto rewards: its layers, single draws by hand, and the law of many."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binomtest, chisquare, kstest

from bandits.environments.pareto import LAYERS, pareto, ziggurat
from bandits.seeds import stream
from tests.plain_loops.steps import pareto_draws

SHAPES = [1.01, 1.55, 1.95, 3.0, 50.0, 1e6]


@pytest.mark.parametrize("shape", [1.01, 1.55, 3.0, 50.0])
def test_all_layers_have_the_same_area_and_fill_what_is_under_the_density(shape):
    layers = ziggurat(shape)
    r = layers.inner[0]

    def under(first, last):
        return quad(lambda z: (1 + z) ** -(shape + 1), first, last, epsabs=0, epsrel=1e-12)[0]

    area = r * (1 + r) ** -(shape + 1) + under(r, math.inf)
    assert layers.widths[0] * layers.heights[1] == pytest.approx(area, rel=1e-9)
    assert layers.widths[1:] * np.diff(layers.heights[1:]) == pytest.approx(np.full(LAYERS - 1, area), rel=1e-9)
    assert layers.heights[1:] == pytest.approx((1 + layers.inner) ** -(shape + 1), rel=1e-12)
    assert (layers.inner[:-1] == layers.widths[1:]).all()
    assert layers.inner[-1] == 0
    assert layers.heights[-1] == 1
    outside = sum(
        layers.widths[i] * (layers.heights[i + 1] - layers.heights[i])
        - under(layers.inner[i], layers.widths[i])
        + layers.heights[i] * (layers.widths[i] - layers.inner[i])
        - layers.inner[i] * (layers.heights[i + 1] - layers.heights[i])
        for i in range(1, LAYERS)
    )
    assert LAYERS * area - outside == pytest.approx(1 / shape, rel=1e-9)


def test_draws_by_hand():
    """Inside, in the tail, and beside the density, where the draw is rejected above it and made again."""
    layers = ziggurat(1.5)
    narrow, wide = layers.inner[7], layers.widths[7]
    z = (narrow + wide) / 2
    height = ((1 + z) ** -2.5 - layers.heights[7]) / (layers.heights[8] - layers.heights[7])

    def drawn(*uniform):
        numbers = iter(uniform)
        rng = SimpleNamespace(random=lambda: next(numbers), standard_exponential=lambda: 3.0)
        value = pareto.py_func(layers, rng)
        assert next(numbers, None) is None
        return value

    middle = (7 + z / wide) / LAYERS
    assert drawn((7 + 0.5 * narrow / wide) / LAYERS) == pytest.approx(1 + narrow / 2, rel=1e-12)
    assert drawn(middle, height - 1e-9) == pytest.approx(1 + z, rel=1e-12)
    assert drawn(middle, height + 1e-9, 0.5 / LAYERS) == pytest.approx(1 + 0.5 * layers.widths[0], rel=1e-12)
    assert drawn(0.999 / LAYERS) == pytest.approx((1 + layers.inner[0]) * math.exp(2.0), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_the_law_of_many_draws(shape, failure):
    """In 1,000 bins of the same probability, and in the tail up to a probability of 1e-5."""
    number = 2_000_000
    survival = pareto_draws(ziggurat(shape), number, stream("pareto", 0)) ** -shape
    assert kstest(survival, "uniform").pvalue > failure
    assert chisquare(np.histogram(survival, 1000, (0, 1))[0]).pvalue > failure
    for chance in (1e-3, 1e-4, 1e-5):
        assert binomtest(int((survival < chance).sum()), number, chance).pvalue > failure
