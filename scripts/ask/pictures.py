"""The curves of an answer as SVG for the page, whose colours follow its theme, and as PNG to take away."""

import re
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO

from scripts.drawing.render import render  # isort: skip  # must come before any import of matplotlib

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from scripts.drawing.drawing import Drawing, in_rows
from scripts.drawing.render import own_look

INK = "#000000"
NEAR = 8  # numbers on an axis, at most


def svg(drawing: Drawing) -> str:
    """A picture that scales with its place; text and lines without a colour have that of the page."""
    figure = render(replace(drawing, title=""))
    _number(figure, drawing)
    try:
        with own_look(), mpl.rc_context({"svg.fonttype": "none", "font.family": "sans-serif"}):
            figure.savefig(file := BytesIO(), format="svg", transparent=True, metadata={"Date": None})
    finally:
        plt.close(figure)
    text = file.getvalue().decode()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    text = re.sub(r"(<text )", r'\1fill="currentColor" ', text)
    return re.sub(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" aria-hidden="true">', text, count=1)


def png(title: str, drawings: Sequence[Drawing]) -> bytes:
    """All curves in one picture."""
    panels = [replace(drawing.panels[0], title=drawing.title, legend="best") for drawing in drawings]
    figure = render(Drawing(title, [], "", in_rows(panels, len(panels)), (4.4 * len(panels), 3.6)))
    _number(figure, *drawings)
    try:
        with own_look():
            figure.savefig(file := BytesIO(), format="png")
    finally:
        plt.close(figure)
    return file.getvalue()


def _number(figure: Figure, *drawings: Drawing) -> None:
    """Number the places of the points, and costs in plain digits."""
    for axes, drawing in zip(figure.axes, drawings, strict=True):
        panel = drawing.panels[0]
        places = thinned(sorted({float(x) for mark in panel.marks for x in mark.x}))
        axes.set_xticks(places, [compact(x) for x in places])
        axes.xaxis.set_minor_locator(NullLocator())
        if panel.y.scale == "log":
            low, high = axes.get_ylim()
            leading = "12346" if high / low < 10 else "125" if high / low < 1000 else "1"
            formatter = FuncFormatter(lambda y, _, leading=leading: compact(y) if f"{y:e}"[0] in leading else "")
            axes.yaxis.set_major_formatter(formatter)
            axes.yaxis.set_minor_formatter(formatter)


def thinned(places: Sequence[float]) -> list[float]:
    """Those of some increasing places that are at least the `NEAR`th part of their range apart, on a log scale."""
    near = (places[-1] / places[0]) ** (1 / NEAR)
    kept = [places[0]]
    for place in places[1:]:
        if place >= kept[-1] * near:
            kept.append(place)
    return kept


def compact(number: float) -> str:
    """A number of few signs: 0.125, 1,500, 125k, 2M, 1e+09."""
    for unit, sign in ((1e6, "M"), (1e4, "k")):
        if unit <= number < 1e9:
            return f"{number / (1e3 if sign == 'k' else unit):.4g}{sign}"
    return f"{number:,.4g}" if number < 1e4 else f"{number:.3g}"
