"""Figures on pages: files with few colours, each named by a hash of its input, so that none is made again."""

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from experiments.config.compose import REPOSITORY
from experiments.store.whole_files import put
from scripts.pages.text import slug

FOLDER = REPOSITORY / "scratch" / "pictures"
COLOURS = 32  # enough for smooth letters and bands; files have a sixth of the size
QUALITY, METHOD = 0, 1  # effort of lossless WebP: more takes twice the time for a fifth of the size
HOW = (COLOURS, QUALITY, METHOD)


@dataclass(frozen=True)
class PagePicture:
    """A figure on a page: the content of its file, which another build may remove, and its alternative text."""

    content: bytes
    words: str


def picture_of(name: str, file: Path, words: str) -> PagePicture:
    """The picture of the figure `name`, drawn in `file`; writes it unless `FOLDER` has it. Raises `OSError`."""
    content = file.read_bytes()
    digest = hashlib.sha256(content + repr(HOW).encode()).hexdigest()[:12]
    packed = FOLDER / f"{slug(name)}-{digest}.webp"
    try:
        made = packed.read_bytes()
    except FileNotFoundError:
        with Image.open(io.BytesIO(content)) as image:
            made = _packed(image)
        put(packed, made, lasting=False)
        for old in FOLDER.glob(f"{slug(name)}-{'?' * len(digest)}.webp"):
            if old != packed:
                old.unlink(missing_ok=True)
    return PagePicture(made, words)


def _packed(image: Image.Image) -> bytes:
    """An image with few colours as lossless WebP."""
    few = image.convert("RGB").quantize(COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.putpalette(_with_white(few.getpalette() or []))
    content = io.BytesIO()
    few.convert("RGB").save(content, "webp", lossless=True, quality=QUALITY, method=METHOD)
    return content.getvalue()


def _with_white(palette: list[int]) -> list[int]:
    """The palette with its lightest colour as white, which the mean of nearly white pixels is not."""
    colours = [palette[place : place + 3] for place in range(0, len(palette), 3)]
    colours[colours.index(max(colours, key=sum))] = [255, 255, 255]
    return [part for colour in colours for part in colour]
