"""Figures in the report: drawn files with few colours inside the page, and thumbnails of them."""

import base64
import io
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from scripts.drawing.style import RC_PARAMS

COLOURS = 64  # enough for smooth letters and bands; files have a sixth of the size
COLOURS_OF_THUMBNAILS = 24
THUMBNAIL = (320, 200)  # at most, in pixels


@dataclass(frozen=True)
class PagePicture:
    """A figure inside a page: data URLs of it and its thumbnail, its size in CSS pixels, and its alternative text."""

    source: str
    thumbnail: str
    width: int
    height: int
    words: str


def picture_of(file: Path, words: str) -> PagePicture:
    """The picture of a drawn figure."""
    with Image.open(file) as image:
        whole = image.convert("RGB")
    width, height = (round(96 * size / RC_PARAMS["figure.dpi"]) for size in whole.size)
    small = whole.copy()
    small.thumbnail(THUMBNAIL, Image.Resampling.LANCZOS)
    return PagePicture(_url(whole, COLOURS), _url(small, COLOURS_OF_THUMBNAILS), width, height, words)


def _url(image: Image.Image, colours: int) -> str:
    packed = io.BytesIO()
    few = image.quantize(colours, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.putpalette(_with_white(few.getpalette() or []))
    few.convert("RGB").save(packed, "webp", lossless=True, quality=30, method=3)  # more effort gains nothing here
    return f"data:image/webp;base64,{base64.b64encode(packed.getvalue()).decode()}"


def _with_white(palette: list[int]) -> list[int]:
    """The palette with its lightest colour as white, which the mean of nearly white pixels is not."""
    colours = [palette[place : place + 3] for place in range(0, len(palette), 3)]
    colours[colours.index(max(colours, key=sum))] = [255, 255, 255]
    return [part for colour in colours for part in colour]
