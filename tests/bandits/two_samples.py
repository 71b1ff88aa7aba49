"""Test whether two simulations of the same quantity have the same law, and that the quantity really varies."""

import numpy as np
from scipy.stats import ks_2samp

MOST = 0.9  # an outcome varies if its most frequent value has at most this share


def varies(values):
    """Whether no single value has a share above `MOST`."""
    _, counts = np.unique(np.asarray(values), return_counts=True)
    return counts.max() <= MOST * counts.sum()


def assert_same_law(first, second, failure):
    """Compare two samples, shapes (runs, columns), by a Kolmogorov-Smirnov test of each column at level `failure`.

    At least one column must vary in both samples, since two loops also agree if they make no choice at all, for example
    before any arm is eliminated. Ties make the test conservative.
    """
    first, second = (np.asarray(sample, dtype=float).reshape(len(sample), -1) for sample in (first, second))
    assert first.shape[1] == second.shape[1]
    for one, other in zip(first.T, second.T, strict=True):
        assert ks_2samp(one, other, method="asymp").pvalue > failure
    assert any(varies(one) and varies(other) for one, other in zip(first.T, second.T, strict=True)), "nothing varies"
