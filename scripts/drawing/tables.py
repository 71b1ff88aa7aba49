"""What a figure shows, as tables: read from the lines, bands, error bars and legends that were drawn."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.offsetbox import DrawingArea, TextArea
from matplotlib.patches import Patch
from numpy.typing import NDArray

from bandits.arrays import FloatArray

KEPT = 25  # vertices of a line that a table keeps; the mean over all of them is kept besides
ARTISTS = ("artist", "panels", "part", "text", "look", "vertices", "x", "y", "low", "high")
POINTS = ("artist", "x", "y", "low", "high")
NUMBERS = ("x", "y", "low", "high")
DIGITS = {"x": ".12g", "y": ".8g", "low": ".8g", "high": ".8g"}


@dataclass(frozen=True)
class Artist:
    """Something drawn: a curve with or without intervals, a band, or a text.

    Attributes
    ----------
    part: "line", "line with intervals" or "band"; of a text where it stands; of anything else its class.
    text: the text, or what the legend that is drawn says of this look.
    look: colour, dashes, marker and width.
    points: columns x, y, low, high, whichever there are, a value for each vertex.
    """

    part: str
    text: str
    look: str
    points: dict[str, FloatArray]

    @property
    def content(self) -> tuple[str, ...]:
        """Equal for equal artists, as those of a linear and a logarithmic panel of the same curves."""
        return (self.part, self.text, self.look, *(f"{name}{values.tolist()}" for name, values in self.points.items()))

    @property
    def vertices(self) -> int:
        return len(next(iter(self.points.values()), ()))


def tables(figure: Figure) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All artists of a figure, a row each with the means of their numbers, and their points, thinned."""
    panels: dict[tuple[str, ...], list[int]] = {}
    artists: dict[tuple[str, ...], Artist] = {}
    for panel, artist in _artists(figure):
        artists[artist.content] = artist
        panels.setdefault(artist.content, []).append(panel)
    rows, points = [], []
    for number, (content, artist) in enumerate(artists.items()):
        where = " ".join(str(panel) for panel in panels[content] if panel >= 0)
        told = {"artist": str(number), "panels": where, "part": artist.part, "text": artist.text, "look": artist.look}
        means = {name: _written(name, _mean(values)) for name, values in artist.points.items()}
        rows.append(told | {"vertices": str(artist.vertices or "")} | means)
        points += [
            {"artist": str(number)} | {name: _written(name, values[at]) for name, values in artist.points.items()}
            for at in kept(artist.vertices)
        ]
    return _table(rows, ARTISTS), _table(points, POINTS)


def kept(vertices: int) -> list[int]:
    """The places of at most `KEPT` of so many vertices, first and last among them."""
    return sorted({int(at) for at in np.linspace(0, vertices - 1, min(KEPT, vertices))})


def _table(rows: Sequence[dict[str, str]], columns: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(columns), dtype=str).fillna("")


def _mean(values: FloatArray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")


def _written(name: str, value: float) -> str:
    return format(float(value), DIGITS[name])


def _artists(figure: Figure) -> Iterator[tuple[int, Artist]]:
    """Everything drawn with the number of its panel, -1 for what belongs to the whole figure."""
    yield -1, Artist("figure title", figure.get_suptitle(), "", {})
    for legend in figure.legends:
        yield from ((-1, Artist("legend", text, look, {})) for look, text in entries(legend))
    for panel, axes in enumerate(axes for axes in figure.axes if axes.get_visible()):
        yield from ((panel, artist) for artist in _of_panel(axes, figure.legends))


def _of_panel(axes: Axes, legends: Sequence[Legend]) -> Iterator[Artist]:
    texts = {"title": axes.get_title(), "x label": axes.get_xlabel(), "y label": axes.get_ylabel()}
    scales = {"x scale": axes.get_xscale(), "y scale": axes.get_yscale()}
    yield from (Artist(part, text, "", {}) for part, text in (texts | scales).items() if text)
    own = axes.get_legend()
    if own is not None:
        yield from (Artist("legend", text, look, {}) for look, text in entries(own))
    told: dict[str, list[str]] = {}
    for look, text in itertools.chain.from_iterable(map(entries, [own] if own is not None else legends)):
        told.setdefault(look, []).append(text)
    yield from _curves(axes, told)
    yield from _bands(axes, told)
    for thing in (*axes.patches, *axes.images, *axes.texts, *axes.tables):
        yield Artist(type(thing).__name__, getattr(thing, "get_text", str)(), "", {})


def entries(legend: Legend) -> list[tuple[str, str]]:
    """Look and text of every entry of a legend, as drawn."""
    found = []
    for box in _boxes(legend):
        inside = box.get_children()
        handles = [child for child in inside if isinstance(child, DrawingArea)]
        texts = [child for child in inside if isinstance(child, TextArea)]
        if handles and texts:
            found.append((_look_of_handle(handles[0].get_children()), texts[0].get_text()))
    return found


def _boxes(artist: Any) -> Iterator[Any]:
    """Everything that packs others inside a legend, outermost first."""
    children = artist.get_children() if hasattr(artist, "get_children") else []
    for child in children:
        yield child
        if not isinstance(child, DrawingArea | TextArea):
            yield from _boxes(child)


def _look_of_handle(artists: Sequence[Any]) -> str:
    """The look of a legend's handle; that of an error bar is made of several lines, the last has the marker."""
    lines = [artist for artist in artists if isinstance(artist, Line2D)]
    if lines:
        dashed = next((line for line in lines if line.get_linestyle() not in ("None", "none", "")), lines[-1])
        return _look(lines[-1], dashed)
    patches = [artist for artist in artists if isinstance(artist, Patch)]
    return to_hex(patches[0].get_facecolor(), keep_alpha=True) if patches else ""


def _look(line: Line2D, dashed: Line2D | None = None) -> str:
    """Colour, dashes and marker. `get_linestyle` calls all dashes of one's own the same."""
    dashed = dashed or line
    style = dashed.get_linestyle()
    if style == "--":
        offset, lengths = dashed._unscaled_dash_pattern  # type: ignore[attr-defined]
        style = f"{offset:g}:{'-'.join(f'{length:g}' for length in lengths or ())}"
    style = "none" if style in ("None", "none", "") else style
    marker = "none" if line.get_marker() in ("None", "none", "", " ", None) else line.get_marker()
    return f"{to_hex(line.get_color(), keep_alpha=True)} {style} {marker}"


def _curves(axes: Axes, told: dict[str, list[str]]) -> Iterator[Artist]:
    """Every line, error bars with the line that they belong to; their caps say nothing more."""
    bars = [container for container in axes.containers if isinstance(container, ErrorbarContainer)]
    of_line = {id(bar.lines[0]): bar.lines[2] for bar in bars}
    caps = {id(cap) for bar in bars for cap in bar.lines[1]}
    for line in axes.lines:
        if id(line) in caps:
            continue
        x, y = (np.asarray(values, dtype=float) for values in line.get_data())
        look = _look(line)
        points = {"x": x, "y": y} | _intervals(of_line.get(id(line), ()))
        part = "line with intervals" if "low" in points else "line"
        yield Artist(part, " | ".join(told.get(look, [])), f"{look} {line.get_linewidth():g}", points)


def _intervals(bars: Sequence[LineCollection]) -> dict[str, FloatArray]:
    if not bars:
        return {}
    ends = np.array([segment[:, 1] for segment in bars[0].get_segments()], dtype=float)
    return {"low": ends.min(axis=1), "high": ends.max(axis=1)}


def _bands(axes: Axes, told: dict[str, list[str]]) -> Iterator[Artist]:
    for polygons in axes.collections:
        if not isinstance(polygons, PolyCollection):
            continue
        look = to_hex(polygons.get_facecolor()[0], keep_alpha=True)
        text = " | ".join(told.get(look, []))
        yield from (Artist("band", text, look, _edges(path.vertices)) for path in polygons.get_paths())


def _edges(vertices: NDArray[Any]) -> dict[str, FloatArray]:
    """The lower and the upper edge of a band at every x."""
    x, at = np.unique(vertices[:, 0], return_inverse=True)
    low, high = np.full(len(x), np.inf), np.full(len(x), -np.inf)
    np.minimum.at(low, at, vertices[:, 1])
    np.maximum.at(high, at, vertices[:, 1])
    return {"x": x, "low": low, "high": high}
