"""Do two ways to simulate the same thing follow one law, in something that is really a matter of chance?"""

import numpy as np
from scipy.stats import ks_2samp

MOST = 0.9  # share of the most frequent value, above which an outcome is taken as hardly varying


def varies(values):
    """Whether no value is nearly all of them."""
    _, counts = np.unique(np.asarray(values), return_counts=True)
    return counts.max() <= MOST * counts.sum()


def assert_same_law(first, second, failure):
    """Compare the columns of two samples, shapes (runs, columns), by tests of Kolmogorov and Smirnov at `failure` each.

    Some column must vary in both: two loops that make no choice at all, as before any arm is eliminated, agree too.
    Values that tie make the test conservative.
    """
    first, second = (np.asarray(sample, dtype=float).reshape(len(sample), -1) for sample in (first, second))
    assert first.shape[1] == second.shape[1]
    for one, other in zip(first.T, second.T, strict=True):
        assert ks_2samp(one, other, method="asymp").pvalue > failure
    assert any(varies(one) and varies(other) for one, other in zip(first.T, second.T, strict=True)), "nothing varies"
