"""Test whether two simulations have the same law, one has a mean, or errs rarely enough, on as few runs as do."""

import math

import numpy as np
from scipy.stats import binomtest, ks_2samp, norm

MOST = 0.9  # an outcome varies if its most frequent value has at most this share
STAGES = ((4, 0.1), (2, 0.01))  # one in so many runs is enough if no p-value is below this
FEWEST = 40  # runs of a stage


def varies(values):
    """Whether no single value has a share above `MOST`."""
    _, counts = np.unique(np.asarray(values), return_counts=True)
    return counts.max() <= MOST * counts.sum()


def _of_columns(first, second):
    """The least p-value of a Kolmogorov-Smirnov test of each column, and whether a column varies in both samples."""
    first, second = (np.asarray(sample, dtype=float).reshape(len(sample), -1) for sample in (first, second))
    assert first.shape[1] == second.shape[1]
    pairs = list(zip(first.T, second.T, strict=True))
    return min(ks_2samp(*pair, method="asymp").pvalue for pair in pairs), any(all(map(varies, pair)) for pair in pairs)


def assert_same_law(first, second, failure):
    """Compare two samples, shapes (runs, columns), by a Kolmogorov-Smirnov test of each column at level `failure`.

    At least one column must vary in both samples, since two loops also agree if they make no choice at all, for example
    before any arm is eliminated. Ties make the test conservative.
    """
    least, vary = _of_columns(first, second)
    assert least > failure
    assert vary, "nothing varies"


def assert_same_law_of(draw, runs, failure):
    """Draw and compare two samples as `assert_same_law` does: `draw(run)` returns a row of each. Returns both.

    A quarter of the runs is enough if no column has a p-value below 0.1 by then and the last one varies, half of them
    if none is below 0.01. Else all are drawn, and only they can fail, so that this happens by chance no more often than
    `failure`. A difference D that n runs show at 1e-9 has p = 2 exp(-D^2 n / 4) = 0.01 after a quarter and 7e-5 after
    half: the chance to see a shift of normal values falls from 84 to 83 %, from 50 to 48, from 16 to 15.
    """

    def judge(rows):
        first, second = (np.array(sample).reshape(len(rows), -1) for sample in zip(*rows, strict=True))
        least, vary = _of_columns(first, second)
        return least, vary and varies(first[:, -1]) and varies(second[:, -1])

    first, second = map(np.array, zip(*drawn(draw, runs, judge), strict=True))
    assert_same_law(first, second, failure)
    return first, second


def assert_mean_of(draw, expected, runs, failure):
    """Draw values by `draw(run)`, a row each, in the same stages: their means must be `expected`."""

    def least(rows):
        values = np.array(rows)
        errors = values.std(axis=0) / math.sqrt(len(values))
        return (2 * norm.sf(np.abs(values.mean(axis=0) - expected) / errors)).min(), True

    assert least(drawn(draw, runs, least))[0] > failure


def assert_rarely(draw, wrong, chance, runs, failure):
    """Draw outcomes by `draw(run)` in the same stages: the outcome `wrong` has a probability of at most `chance`.

    Returns the outcomes that were drawn.
    """

    def least(rows):
        return binomtest(rows.count(wrong), len(rows), chance, alternative="greater").pvalue, True

    rows = drawn(draw, runs, least)
    assert least(rows)[0] > failure
    return rows


def drawn(draw, runs, judge):
    """A part of the runs, or all: `judge(rows)` gives the least p-value and whether there is enough to judge."""
    rows = []
    for part, plain in STAGES:
        rows += [draw(run) for run in range(len(rows), min(runs, max(FEWEST, runs // part)))]
        least, enough = judge(rows)
        if enough and least >= plain:
            return rows
    return rows + [draw(run) for run in range(len(rows), runs)]
