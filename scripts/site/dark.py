"""Pictures of figures for a dark page.

A pixel of a figure is paper, ink, or some share of an ink on paper, as at the edge of a line or in a band. All shares
of one ink lie on a ray from white; what a picture has most of it is the ink itself. On a dark page the paper is dark
and an ink keeps its hue, as in the explorer: inverted, two blues of different policies would change places. An ink that
is too dark becomes lighter. One that fills areas becomes darker, as the words on them become light.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from PIL import Image

from bandits.arrays import FloatArray, IntArray

PAPER = np.array([20.0, 24.0, 30.0])  # the ground of the theme in the dark
LIGHT = np.array([228.0, 231.0, 234.0])  # black ink on it
READABLE = 4.5  # the least contrast of an ink with the paper, and of words with a filled area
FILLED = 0.01  # of the pixels: more than a line has
FULL = 120.0  # what a filled area lacks of white if its ink is not pale
LONGER = 1.15  # how much farther from white a second colour of one ink is at least
GREY = 12.0  # by which the parts of a grey differ at most
NEAR = 0.06  # sine of the angle between rays of one ink, and
ROUNDED = 10.0  # how far from its ray a colour may be, as it is rounded


def in_the_dark(picture: bytes) -> bytes:
    """The picture, a PNG on white, as a PNG for a dark page."""
    image: Image.Image = Image.open(io.BytesIO(picture))
    if image.mode != "P":
        ground = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(ground, image.convert("RGBA")).convert("RGB").quantize()
    palette = np.array(image.getpalette(), dtype=np.float64).reshape(-1, 3)
    counts = np.bincount(np.asarray(image).ravel(), minlength=len(palette))[: len(palette)]
    image.putpalette(np.rint(dark_colours(palette, counts)).astype(int).ravel().tolist())
    content = io.BytesIO()
    image.save(content, "png")
    return content.getvalue()


def dark_colours(colours: FloatArray, pixels: IntArray) -> FloatArray:
    """For each colour on white, shape (colours, 3) in 0..255, that on a dark page; so many `pixels` have it."""
    frequent = colours[pixels > FILLED * pixels.sum()]
    fills = [_Ink.filled(colour) for colour in frequent if _fills(colour, colours[pixels > 0])]
    areas = [_Ink(colour, dark) for colour in frequent for ink in fills if (dark := _share([ink], colour)) is not None]
    lines, made = list[_Ink](), np.empty_like(colours)
    for place in np.argsort(colours.sum(axis=1), kind="stable"):
        colour = colours[place]
        dark = _share(fills, colour)
        if dark is None:
            dark = _edge(areas, colour)
        if dark is None:
            dark = _share(lines, colour)
        if dark is None:
            lines.append(_Ink.line(colour))
            dark = _share(lines[-1:], colour)
        made[place] = dark
    return made


def _share(inks: Sequence["_Ink"], colour: FloatArray) -> FloatArray | None:
    """A colour that is a share of an ink on paper, the nearest of these, on a dark page; None if it is of none."""
    along = [(*_along(255 - colour, 255 - ink.colour), ink) for ink in inks]
    share, _, ink = min((one for one in along if one[0] <= LONGER), key=itemgetter(1), default=(0.0, 0.0, None))
    return None if ink is None else np.asarray(PAPER + min(share, 1.0) * (ink.dark - PAPER))


def _edge(areas: Sequence["_Ink"], colour: FloatArray) -> FloatArray | None:
    """A colour at the edge of a word on a filled area, the nearest of these, on a dark page; None if it is at none."""
    along = [(*_along(colour, area.colour), area) for area in areas]
    share, _, area = min((one for one in along if one[0] < 1), key=itemgetter(1), default=(0.0, 0.0, None))
    return None if area is None else np.asarray(LIGHT + share * (area.dark - LIGHT))


def _along(vector: FloatArray, ray: FloatArray) -> tuple[float, float]:
    """How far along a ray a vector is, in lengths of it, infinite if it is aside of it; and how far aside."""
    share = float(vector @ ray) / max(float(ray @ ray), 1.0)
    aside = float(np.linalg.norm(vector - share * ray))
    return share if aside <= max(NEAR * float(np.linalg.norm(vector)), ROUNDED) else np.inf, aside


def _fills(colour: FloatArray, colours: FloatArray) -> bool:
    """Whether a frequent colour is an ink that fills areas, not a band: of that a line has more."""
    lengths = [_along(255 - other, 255 - colour)[0] for other in colours]
    return bool(np.ptp(colour) > GREY and not any(LONGER < length < np.inf for length in lengths))


@dataclass(frozen=True)
class _Ink:
    """An ink as it is on white, and on a dark page."""

    colour: FloatArray
    dark: FloatArray

    @classmethod
    def line(cls, colour: FloatArray) -> "_Ink":
        if np.ptp(colour) <= GREY:
            return cls(colour, PAPER + (255 - colour.mean()) / 255 * (LIGHT - PAPER))
        return cls(colour, _moved(colour, LIGHT, PAPER))

    @classmethod
    def filled(cls, colour: FloatArray) -> "_Ink":
        missing = 255 - colour
        most = _moved(255 - missing * (255 / float(missing.max())), PAPER, LIGHT)
        return cls(colour, PAPER + min(float(np.linalg.norm(missing)) / FULL, 1.0) * (most - PAPER))


def _moved(colour: FloatArray, end: FloatArray, beside: FloatArray) -> FloatArray:
    """The colour, moved so far towards `end` that it can be told from what is beside it."""
    steps = (colour + share * (end - colour) for share in np.linspace(0, 1, 51))
    return next(step for step in steps if contrast(step, beside) >= READABLE)


def contrast(first: FloatArray, second: FloatArray) -> float:
    """The contrast of two colours as accessibility guidelines (WCAG 2) have it, from 1 to 21."""
    parts = np.array([first, second]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    low, high = sorted((linear @ [0.2126, 0.7152, 0.0722]).tolist())
    return float((high + 0.05) / (low + 0.05))
