"""Ticks and their numbers are those of matplotlib."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.ticker import NullFormatter

from scripts.drawing.drawing import Axis, Drawing, Look, Panel, Series
from scripts.drawing.render import MinorTicks, PlainNumbers, PlainPowers, plain_number, render


def test_a_formula_in_plain_letters():
    for formula, written in [
        (r"$\mathdefault{10^{-3}}$", "10⁻³"),
        (r"$\mathdefault{10^{0}}$", "10⁰"),
        (r"$\mathdefault{2\times10^{12}}$", "2×10¹²"),
        (r"$\mathdefault{-10^{4}}$", "−10⁴"),
        (r"$\mathdefault{0}$", "0"),
        ("", ""),
    ]:
        assert plain_number(formula) == written


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


def picture(ends, size, ours):
    """An empty panel with logarithmic axes, drawn again at another size, and how many minor ticks matplotlib keeps."""
    figure, axes = plt.subplots(figsize=(4, 3))
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends[::-1])
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
        if ours:
            axes.add_artist(MinorTicks(axis, axes))
    figure.canvas.draw()
    figure.set_size_inches(size)
    figure.canvas.draw()
    found = np.asarray(figure.canvas.buffer_rgba()).astype(int)
    marks = sum(len(axis.get_minor_ticks()) for axis in (axes.xaxis, axes.yaxis))
    plt.close(figure)
    return found, marks


@pytest.mark.slow
def test_ticks_without_numbers_look_as_those_of_matplotlib():
    """For every final size of the panel, which determines where they are."""
    for ends, size in itertools.product([(1, 1e4), (0.3, 700), (1e-3, 1e9), (1, 1e30)], [(4, 3), (1.5, 1)]):
        theirs, _ = picture(ends, size, ours=False)
        ours, marks_of_matplotlib = picture(ends, size, ours=True)
        assert marks_of_matplotlib == 0
        assert np.abs(ours - theirs).max() <= 4  # of 255


@pytest.mark.parametrize(
    ("low", "high", "numbers"),
    [
        (0.01, 0.04, ["0.01", "0.02"]),
        (0.2, 2.0, ["0.2", "0.5", "1", "2"]),
        (2.0, 64.0, ["2", "5", "10", "20", "50"]),
        (0.1, 1.0, ["10⁻¹", "10⁰"]),
        (0.05, 20.0, ["10⁻¹", "10⁰", "10¹"]),
    ],
)
def test_an_axis_with_fewer_than_two_powers_of_ten_has_numbers_between_them(low, high, numbers):
    series = Series(np.array([low, high]), np.ones(2), Look("black"), "a")
    panel = Panel("one", Axis("x", "log", low=low, high=high, decades_only=True), Axis("y"), [series])
    figure = render(Drawing("a title", [], "", [[panel]], (3.0, 3.0)))
    try:
        figure.canvas.draw()
        (axes,) = figure.axes
        seen = [(tick.get_loc(), tick.label1.get_text()) for tick in axes.xaxis.get_major_ticks()]
        assert [text for x, text in seen if low <= x <= high] == numbers
    finally:
        plt.close(figure)
