"""The PNG of a figure: few colours, which are those that were drawn."""

from io import BytesIO

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image

from scripts.drawing.files import figure_file

COLOURS = [(0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (230, 159, 0), (86, 180, 233)]
ABOUT = {"Description": "a command", "Source": "Bücher, 2026"}


def drawn(ground="white"):
    """A figure of six bands of pure colours, below letters and a shaded area."""
    figure = Figure(figsize=(3, 2), dpi=120, facecolor=ground)
    for place, colour in enumerate(COLOURS):
        figure.add_artist(band(place / 6, 0, 1 / 6, 0.3, [part / 255 for part in colour]))
    figure.add_artist(band(0.1, 0.4, 0.8, 0.2, (0, 0, 1, 0.15)))
    figure.text(0.1, 0.7, "letters", size=20)
    with Image.open(BytesIO(figure_file(figure, "png", ABOUT))) as image:
        image.load()
    return image


def band(x, y, width, height, colour):
    return Rectangle((x, y), width, height, facecolor=colour, edgecolor="none")


def test_a_png_has_few_colours_and_a_white_ground():
    image = drawn()
    pixels = np.asarray(image.convert("RGB")).astype(int)
    assert image.mode == "P"
    assert pixels[2, 2].tolist() == [255, 255, 255]
    for place, colour in enumerate(COLOURS):
        shown = pixels[-20, int((place + 0.5) * 360 / 6)]
        assert abs(shown - colour).max() <= 4, colour
    assert abs(pixels[120, 180] - [217, 217, 255]).max() <= 4  # the shaded area, 15 % blue


def test_a_ground_without_colour_stays_so():
    image = drawn("none")
    assert np.asarray(image.convert("RGBA"))[2, 2, 3] == 0


def test_a_png_has_the_size_and_the_words_of_its_figure():
    image = drawn()
    assert image.size == (360, 240)
    assert [round(each) for each in image.info["dpi"]] == [120, 120]
    assert {name: image.text[name] for name in ABOUT} == ABOUT
