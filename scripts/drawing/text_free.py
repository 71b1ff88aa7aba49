"""Small images of figures without text and legends, to compare them independently of fonts."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import NDArray
from PIL import Image

from scripts.drawing.render import own_look

PANEL = (2.4, 1.8)  # inches
DOTS_PER_INCH = 60
MARGIN = 0.04  # of a panel, on each side
TOLERANCE = 0.5  # root mean square difference of colour values from 0 to 255

Picture = NDArray[np.uint8]  # shape (height, width, 3)


def text_free(figure: Figure) -> Picture:
    """The panels of `figure` without text, at a fixed size. It changes `figure`, which cannot be used afterwards."""
    for legend in (*figure.legends, *(axes.get_legend() for axes in figure.axes)):
        if legend is not None:
            legend.remove()
    figure.set_layout_engine("none")
    for text in figure.findobj(Text):
        text.set_visible(False)
    for axes in figure.axes:
        axes.tick_params(which="both", labelbottom=False, labelleft=False)
        for axis in (axes.xaxis, axes.yaxis):
            axis.get_offset_text().set_visible(False)
        _place(axes)
    rows, columns = _grid(figure)
    figure.set_dpi(DOTS_PER_INCH)
    figure.set_size_inches(PANEL[0] * columns, PANEL[1] * rows)
    canvas: Any = FigureCanvasAgg(figure)  # untyped
    with own_look():
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def _grid(figure: Figure) -> tuple[int, int]:
    place = figure.axes[0].get_subplotspec()
    assert place is not None
    return place.get_gridspec().nrows, place.get_gridspec().ncols


def _place(axes: Axes) -> None:
    """Put the panel at its place in the grid, ignoring the space that its labels needed."""
    place = axes.get_subplotspec()
    assert place is not None
    rows, columns = place.get_gridspec().nrows, place.get_gridspec().ncols
    left, bottom = place.colspan.start / columns, 1 - place.rowspan.stop / rows
    width, height = 1 / columns, 1 / rows
    axes.set_position(
        (left + MARGIN * width, bottom + MARGIN * height, (1 - 2 * MARGIN) * width, (1 - 2 * MARGIN) * height)
    )


def distance(first: Picture, second: Picture) -> float:
    """Root mean square difference of two images; infinite if their sizes differ."""
    if first.shape != second.shape:
        return float("inf")
    return float(np.sqrt(np.mean((first.astype(float) - second.astype(float)) ** 2)))


def side_by_side(baseline: Picture, new: Picture) -> Picture:
    """One image of baseline, new image and their difference, which is dark where they differ."""
    height, width = (max(sizes) for sizes in zip(baseline.shape[:2], new.shape[:2], strict=True))
    framed = [_framed(picture, height, width) for picture in (baseline, new)]
    difference = 255 - np.minimum(np.abs(framed[0].astype(int) - framed[1]) * 4, 255)
    return np.concatenate([*framed, difference.astype(np.uint8)], axis=1)


def _framed(picture: Picture, height: int, width: int) -> Picture:
    """The picture on a white background of this size, with a grey line at its right."""
    framed = np.full((height, width + 1, 3), 255, dtype=np.uint8)
    framed[: picture.shape[0], : picture.shape[1]] = picture
    framed[:, -1] = 128
    return framed


def read_picture(path: Path) -> Picture:
    """The image in a file."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def write_picture(picture: Picture, path: Path) -> None:
    """Write the image as an optimised PNG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture).save(path, optimize=True)
