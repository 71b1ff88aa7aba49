"""Bands, and numbers in words."""

import numpy as np

from scripts.drawing import curves
from scripts.report.text import choices, parameter, quantity, whole


def test_bands():
    regret = np.arange(101.0)[:, None] * np.array([1.0, 2.0])
    low, high = curves.band_of(regret, "quantiles")
    np.testing.assert_allclose([low, high], [[5, 10], [95, 190]])
    low, high = curves.band_of(regret, "quarter_sd")
    np.testing.assert_allclose(high - 50 * np.array([1.0, 2.0]), regret.std(axis=0, ddof=1) / 4)


def test_numbers_in_words():
    assert [quantity(value) for value in (1234.4, 0.056789, 1.5e12, 2e-5, 0.0, float("inf"))] == [
        "1,234",
        "0.05679",
        "1.500·10¹²",
        "2.000·10⁻⁵",
        "0",
        "∞",
    ]
    assert [whole(value) for value in (999, 50_000_000, 1 << 20, 12_345_678)] == ["999", "5·10⁷", "2²⁰", "12,345,678"]
    assert parameter((0.9, 0.5)) == "(0.9, 0.5)"
    assert choices([1.0, 0.5, 1.0]) == "0.5, 1"
    assert choices(range(20)) == "20 values, 0 to 19"
