"""Pictures for a dark page: colours by hand, and that words and lines can be read."""

import io

import numpy as np
import pytest
from PIL import Image

from scripts.site.dark import LIGHT, PAPER, contrast, dark_colours, in_the_dark

WHITE, BLACK, GREY = [255, 255, 255], [0, 0, 0], [153, 153, 153]
BLUE, SKY, LIME = [0, 114, 178], [86, 180, 233], [165, 224, 82]


def darkened(*colours, pixels=None):
    counts = np.array([10_000, *[1] * (len(colours) - 1)] if pixels is None else pixels)
    return dark_colours(np.array(colours, dtype=float), counts)


def test_contrasts_of_the_guidelines():
    """Black on white has 21; #767676 on white is the lightest grey with 4.5, as the guidelines say."""
    assert contrast(np.zeros(3), np.full(3, 255.0)) == pytest.approx(21)
    assert contrast(np.full(3, 0x76), np.full(3, 255.0)) == pytest.approx(4.54, abs=0.005)


def test_paper_ink_and_their_shares():
    """White is paper, black is light, a share of an ink is that share between paper and ink; of 153 black has 0.6."""
    half = [(255 + part) / 2 for part in BLUE]
    paper, black, grey, blue, halved = darkened(WHITE, BLACK, GREY, BLUE, half)
    assert paper == pytest.approx(PAPER)
    assert black == pytest.approx(LIGHT)
    assert grey == pytest.approx(PAPER + 0.4 * (LIGHT - PAPER))
    assert halved == pytest.approx((PAPER + blue) / 2, abs=0.5)
    assert darkened(WHITE, GREY)[1] == pytest.approx(grey)  # also where nothing is black


def test_inks_keep_their_hue_and_can_be_read():
    """An ink that is light enough stays as it is; the darker of two blues stays the darker."""
    _, blue, sky, lime = darkened(WHITE, BLUE, SKY, LIME)
    assert sky == pytest.approx(SKY)
    assert lime == pytest.approx(LIME)
    assert contrast(blue, PAPER) >= 4.5 > contrast(np.array(BLUE, dtype=float), PAPER)
    assert blue.sum() < sky.sum()
    assert blue.argsort().tolist() == np.argsort(BLUE).tolist()


def test_words_on_filled_areas():
    """A filled area is dark enough for light words, whose edges are between both; a pale one is nearer to the paper."""
    green, pale = [89, 192, 164], [205, 236, 228]  # 0.3 of the first
    edge = [part / 2 for part in green]
    _, black, full, light, between = darkened(WHITE, BLACK, green, pale, edge, pixels=[600, 9, 300, 90, 1])
    assert contrast(full, LIGHT) >= 4.5
    assert full.argmax() == 1
    assert light == pytest.approx(PAPER + 0.3 * (full - PAPER), abs=1)
    assert between == pytest.approx((black + full) / 2, abs=1)


@pytest.mark.parametrize("mode", ["P", "RGB", "RGBA"])
def test_a_picture(mode):
    pixels = Image.new("RGB", (40, 30), "white")
    pixels.paste((0, 0, 0), (10, 10, 12, 12))
    image = pixels.quantize(16) if mode == "P" else pixels.convert(mode)
    if mode == "RGBA":
        image.paste((0, 0, 0, 0), (0, 0, 5, 5))  # lets through the white of a page
    content = io.BytesIO()
    image.save(content, "png")
    dark = Image.open(io.BytesIO(in_the_dark(content.getvalue()))).convert("RGB")
    assert dark.size == (40, 30)
    assert [dark.getpixel(place) for place in ((0, 0), (11, 11), (39, 29))] == [
        (20, 24, 30),
        (228, 231, 234),
        (20, 24, 30),
    ]
