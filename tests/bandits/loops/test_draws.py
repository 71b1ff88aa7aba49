"""Draws of loops are those of numpy's generators."""

from bandits.loops.draws import binomial
from bandits.seeds import stream


def test_a_binomial_draw_is_that_of_the_generator():
    ours, numpys = stream("draws", 0), stream("draws", 0)
    for trials in (1, 7, 40, 10**3, 10**9):
        for chance in (0.0, 0.02, 0.5, 0.93, 1.0):
            assert binomial(trials, chance, ours) == numpys.binomial(trials, chance)
