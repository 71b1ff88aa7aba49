"""A figure as a table, which is its baseline in comparisons."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex

from bandits.arrays import FloatArray
from scripts.drawing.drawing import Band, Dashes, Drawing, Look, Mark, Panel, Series, Texts, labels
from scripts.drawing.render import RC_PARAMS

KEPT = 25  # vertices of a line that a table keeps, beside the mean over all of them
MEANS = -1  # in place of a vertex: the row of an artist with its words and the means of its numbers
TYPES = dict.fromkeys(("panels", "part", "text", "look"), "object") | {"vertex": "int32"}
NUMBERS = {"x": "float64", "y": "float32", "low": "float32", "high": "float32"}  # x differs in few digits of many


@dataclass(frozen=True)
class Artist:
    """Something drawn: a curve with or without intervals, a band, or a text.

    Attributes
    ----------
    part: "line", "line with intervals", "band" or "text"; for a text around the panel its place, such as "x label".
    text: the text itself, or the label of a curve.
    look: colour, dashes, marker and width.
    points: the columns among x, y, low, high that it has, one value for each vertex.
    """

    part: str
    text: str
    look: str
    points: dict[str, FloatArray]

    @property
    def content(self) -> tuple[str, ...]:
        """A key that is equal for equal artists, such as the same curve in a linear and a logarithmic panel."""
        return (self.part, self.text, self.look, *(f"{name}{values.tolist()}" for name, values in self.points.items()))


def table_of_drawing(drawing: Drawing) -> pd.DataFrame:
    """Every artist of a figure: a row for each of at most `KEPT` vertices, then one of `MEANS`; of texts that alone.

    Columns: panels, part, text and look in words, vertex, x, y, low, high; numbers that an artist lacks are NaN.
    """
    panels: dict[tuple[str, ...], list[int]] = {}
    artists: dict[tuple[str, ...], Artist] = {}
    for panel, artist in _artists(drawing):
        artists[artist.content] = artist
        panels.setdefault(artist.content, []).append(panel)
    rows: list[dict[str, object]] = []
    for content, artist in artists.items():
        where = " ".join(str(panel) for panel in panels[content] if panel >= 0)
        words = {"panels": where, "part": artist.part, "text": artist.text, "look": artist.look}
        rows += [
            words | {"vertex": at} | {name: values[at] for name, values in artist.points.items()}
            for at in kept(len(next(iter(artist.points.values()), ())))
        ]
        rows.append(words | {"vertex": MEANS} | {name: _mean(values) for name, values in artist.points.items()})
    return pd.DataFrame(rows, columns=[*TYPES, *NUMBERS]).astype(TYPES | NUMBERS)


def kept(vertices: int) -> list[int]:
    """Indices of at most `KEPT` vertices, evenly spread, the first and the last included."""
    return sorted({int(at) for at in np.linspace(0, vertices - 1, min(KEPT, vertices))})


def _mean(values: FloatArray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")


def _artists(drawing: Drawing) -> Iterator[tuple[int, Artist]]:
    """Every artist with the number of its panel, -1 for the whole figure."""
    yield -1, Artist("figure title", drawing.heading, "", {})
    yield from ((-1, artist) for artist in _legend(drawing.panels, drawing.legend))
    for number, panel in enumerate(drawing.panels):
        yield from ((number, artist) for artist in _of_panel(panel))


def _of_panel(panel: Panel) -> Iterator[Artist]:
    texts = {"title": panel.title, "x label": panel.x.label, "y label": panel.y.label}
    scales = {"x scale": panel.x.scale, "y scale": panel.y.scale}
    names = {"x names": ", ".join(panel.x.names), "y names": ", ".join(panel.y.names)}
    yield from (Artist(part, text, "", {}) for part, text in (texts | scales | names).items() if text)
    if panel.legend is not None:
        yield from _legend([panel], labels([panel]))
    for mark in panel.marks:
        if not isinstance(mark, Mark):
            raise TypeError(f"a baseline does not know how to hold a {type(mark).__name__}")
        if isinstance(mark, Series):
            interval = {} if mark.low is None or mark.high is None else {"low": mark.low, "high": mark.high}
            width = RC_PARAMS["lines.linewidth"] if mark.look.width is None else mark.look.width
            part = "line with intervals" if interval else "line"
            yield Artist(part, mark.label, f"{_look(mark.look)} {width:g}", {"x": mark.x, "y": mark.y, **interval})
        elif isinstance(mark, Texts):
            for place, text in enumerate(mark.texts):
                at = slice(place, place + 1)
                yield Artist("text", text, mark.side, {"x": mark.x[at], "y": mark.y[at]})
    for mark in panel.marks:
        if isinstance(mark, Band):
            yield Artist("band", mark.label, _colour(mark), {"x": mark.x, "low": mark.low, "high": mark.high})


def _legend(panels: Sequence[Panel], entries: Sequence[str]) -> Iterator[Artist]:
    """The entries of a legend: each label with the look of the first curve or band that has it."""
    first: dict[str, Series | Band] = {}
    for mark in itertools.chain.from_iterable(panel.marks for panel in panels):
        if not isinstance(mark, Texts):
            first.setdefault(mark.label, mark)
    for label in entries:
        mark = first[label]
        yield Artist("legend", label, _look(mark.look) if isinstance(mark, Series) else _colour(mark), {})


def _colour(mark: Band) -> str:
    return to_hex((mark.colour, 1.0 if mark.opacity is None else mark.opacity), keep_alpha=True)


def _look(look: Look) -> str:
    """Colour, dashes and marker."""
    return f"{to_hex(look.colour, keep_alpha=True)} {_dashes(look.dashes)} {look.marker}"


def _dashes(dashes: Dashes) -> str:
    if isinstance(dashes, str):
        return {"solid": "-", "dashed": "--", "dotted": ":", "none": "none"}[dashes]
    offset, lengths = dashes
    return f"{offset:g}:{'-'.join(f'{length:g}' for length in lengths)}"
