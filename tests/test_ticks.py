"""Numbers at ticks are the ones that matplotlib would set as formulas."""

import matplotlib.pyplot as plt
import pytest

from scripts.drawing.ticks import PlainNumbers, PlainPowers, plain


@pytest.mark.parametrize(
    ("formula", "written"),
    [
        (r"$\mathdefault{10^{-3}}$", "10⁻³"),
        (r"$\mathdefault{10^{0}}$", "10⁰"),
        (r"$\mathdefault{2\times10^{12}}$", "2×10¹²"),
        (r"$\mathdefault{-10^{4}}$", "−10⁴"),
        (r"$\mathdefault{0}$", "0"),
        ("", ""),
    ],
)
def test_a_formula_in_plain_letters(formula, written):
    assert plain(formula) == written


def written(scale, formatter, low, high):
    """The labels of an axis, and the power at its end."""
    figure, axes = plt.subplots()
    axes.set(yscale=scale, ylim=(low, high))
    axes.yaxis.set_major_formatter(formatter)
    figure.canvas.draw()
    found = [text.get_text() for text in axes.get_yticklabels()], axes.yaxis.get_offset_text().get_text()
    plt.close(figure)
    return found


def test_ticks_of_both_scales():
    assert {"10⁻²", "10⁻¹", "10⁰", "10¹"} <= set(written("log", PlainPowers(), 0.01, 10)[0])
    labels, offset = written("linear", PlainNumbers(), 0, 4e6)
    assert offset == "×10⁶"
    assert {"0.5", "1.0", "3.5"} <= set(labels)
    assert written("linear", PlainNumbers(), 0, 4)[1] == ""
    assert written("linear", PlainNumbers(), 0, 4e-9)[1] == "×10⁻⁹"
