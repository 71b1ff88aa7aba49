"""Figures in the report: files with few colours beside its pages, each with a thumbnail.

A file is named by a hash of what it is made from, so that one that is there is not made again.
"""

import hashlib
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from experiments.whole_files import put
from scripts.drawing.render import RC_PARAMS
from scripts.pages.text import slug

FOLDER = "pictures"
COLOURS = 32  # enough for smooth letters and bands; files have a sixth of the size
COLOURS_OF_THUMBNAILS = 24
THUMBNAIL = (320, 200)  # at most, in pixels
QUALITY, METHOD = 30, 3  # effort of lossless WebP; more gains nothing here
HOW = (COLOURS, COLOURS_OF_THUMBNAILS, THUMBNAIL, QUALITY, METHOD)


@dataclass(frozen=True)
class PagePicture:
    """A figure of the report: its file and thumbnail, its size in CSS pixels, and its alternative text."""

    source: str
    thumbnail: str
    width: int
    height: int
    words: str


def picture_of(name: str, file: Path, words: str, report: Path) -> PagePicture:
    """The picture of the figure `name`, drawn in `file`; writes what the folder `report` lacks. Raises `OSError`."""
    content = file.read_bytes()
    digest = hashlib.sha256(content + repr(HOW).encode()).hexdigest()[:12]
    stem = f"{FOLDER}/{slug(name)}-{digest}"
    source, thumbnail = f"{stem}.webp", f"{stem}-small.webp"
    with Image.open(io.BytesIO(content)) as image:  # decoded only where pixels are needed
        if not (report / source).exists():
            put(report / source, _packed(image, COLOURS), lasting=False)
        if not (report / thumbnail).exists():
            put(report / thumbnail, _packed(_small(image), COLOURS_OF_THUMBNAILS), lasting=False)
        width, height = (round(96 * size / RC_PARAMS["figure.dpi"]) for size in image.size)
    return PagePicture(source, thumbnail, width, height, words)


def remove_outdated(pictures: Iterable[PagePicture], report: Path) -> None:
    """Remove the files of earlier drawings of these figures. Raises `OSError`."""
    kept = {place for picture in pictures for place in (picture.source, picture.thumbnail)}
    names = {_without_digest(place) for place in kept}
    for file in (report / FOLDER).glob("*.webp"):
        place = f"{FOLDER}/{file.name}"
        if place not in kept and _without_digest(place) in names:
            file.unlink()


def _without_digest(place: str) -> str:
    return re.sub(r"-[0-9a-f]{12}(?=(-small)?\.webp$)", "", place)


def _small(image: Image.Image) -> Image.Image:
    small = image.convert("RGB")
    small.thumbnail(THUMBNAIL, Image.Resampling.LANCZOS)
    return small


def _packed(image: Image.Image, colours: int) -> bytes:
    """An image with few colours as lossless WebP."""
    few = image.convert("RGB").quantize(colours, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.putpalette(_with_white(few.getpalette() or []))
    content = io.BytesIO()
    few.convert("RGB").save(content, "webp", lossless=True, quality=QUALITY, method=METHOD)
    return content.getvalue()


def _with_white(palette: list[int]) -> list[int]:
    """The palette with its lightest colour as white, which the mean of nearly white pixels is not."""
    colours = [palette[place : place + 3] for place in range(0, len(palette), 3)]
    colours[colours.index(max(colours, key=sum))] = [255, 255, 255]
    return [part for colour in colours for part in colour]
