"""The files of figures for a paper, from stored results: their width, formats, metadata, and wrong keys."""

import re

import pytest
from PIL import Image

from scripts.drawing.citation import own_entry
from scripts.drawing.output import read_output
from scripts.figures import main

FIGURE = ("+experiment=sajed2019/fig01", "policy=dp_se")


@pytest.fixture
def draw(call, tmp_path):
    def draw(*words):
        return call(*FIGURE, *words, f"figures_dir={tmp_path}", main=main)

    return draw


def inches(file):
    """Width and height on the page of a PDF."""
    _, _, width, height = re.search(rb"/MediaBox \[ ([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+) \]", file.read_bytes()).groups()
    return float(width) / 72, float(height) / 72


@pytest.mark.slow
def test_width_files_and_title(draw, tmp_path):
    stem = tmp_path / "sajed2019" / "fig01"
    outcome = draw("figure.width=column", "figure.style=ieee", "figure.format=svg,pdf,png", "figure.title=null")
    assert (outcome.code, outcome.out.split()) == (0, [f"{stem}.{ending}" for ending in ("svg", "pdf", "png")])
    assert inches(stem.with_suffix(".pdf"))[0] == pytest.approx(3.5)
    with Image.open(stem.with_suffix(".png")) as image:
        assert image.width == 525  # 3.5 inches at 150 points
        assert "figure.width=column" in image.text["Description"]
        assert image.text["Source"] == own_entry()
        assert image.text["Title"].startswith("Mean pseudo-regret against the step")
    svg = ("figure.width=column", "figure.style=ieee", "figure.format=svg", "figure.title=null")
    assert draw(*svg).out.split() == [f"{stem}.svg"]  # another command, which its metadata name
    first = stem.with_suffix(".svg").read_bytes()
    assert "skipped" in draw(*svg).out
    stem.with_suffix(".svg").unlink()
    assert draw(*svg).out.split() == [f"{stem}.svg"]
    assert stem.with_suffix(".svg").read_bytes() == first


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("figure.width=colum", "figure.width: must be column, text or a number of inches in 1..30, got colum"),
        ("figure.width=0.5", "figure.width: must be column, text or a number of inches in 1..30, got 0.5"),
        ("figure.format=pdf,jpg", "figure.format: jpg is unknown; did you mean"),
        ("figure.format=[]", "figure.format: must be some of pdf, png, svg, pgf, got []"),
        ("figure.style=iee", "figure.style: iee is unknown; did you mean ieee?"),
        ("figure.style=[icml]", "figure.style: ['icml'] is unknown; "),
        ("figure.widht=3", "figure.widht: unknown; known: band"),
    ],
)
def test_wrong_keys_are_one_line(draw, word, message):
    outcome = draw(word)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_numbers_of_a_style_are_those_of_configs(tmp_path):
    """`3e0` is a number for Hydra and a text for a plain reader of YAML."""
    (tmp_path / "mine" / "style").mkdir(parents=True)
    (tmp_path / "mine" / "style" / "wide.yaml").write_text("{column: 3e0, text: 6.5}\n")
    output = read_output({"width": "column", "style": "wide"}, [tmp_path / "mine"])
    assert output.width == 3
