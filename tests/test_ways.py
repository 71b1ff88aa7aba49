"""The ways of docs/ways.md lead where the page says, typed as they are shown, and have a time each."""

import re

import pytest

from scripts.bench.ways import PAGE, Took, blocks, with_times
from tests.newcomer import commands_in, copy_repository, typed

TEXT = PAGE.read_text(encoding="utf-8")
MADE = {  # what each way leaves behind
    "Reproduce a figure": ["figures/sajed2019/fig01.pdf"],
    "Compare my policy": [f"mine/figures/my_policy.{ending}" for ending in ("pdf", "tex", "bib")],
    "A figure for a paper": [f"mine/figures/sajed2019/fig01.{ending}" for ending in ("pdf", "svg")],
    "Check a claim": ["mine/results"],
    "A paper of my own": ["mine/site/papers/my_paper.html", "mine/figures/my_paper/fig01.pdf"],
}


def test_each_way_has_commands_and_a_time():
    assert re.findall(r"^## (.*)$", TEXT, flags=re.MULTILINE) == [*MADE]
    assert len(blocks(TEXT)) == TEXT.count("```sh") == len(MADE)
    assert len(re.findall(r"^Time: \d+ s, \d+ s of the processor\.$", TEXT, flags=re.MULTILINE)) == len(MADE)
    assert all(line.startswith(".venv/bin/python ") for block in blocks(TEXT) for line in commands_in(block))


def test_times_stand_below_their_commands():
    page = "Measured: not yet.\n\n## A\n\n```sh\na\n```\n\nTime: none.\n\n## B\n\n```sh\nb\n```\n\nTime: none.\n"
    done = with_times(page, "a machine", [Took(1.4, 2.6), Took(70, 9)])
    assert done == (
        "Measured on a machine, beside whatever else it did.\n\n## A\n\n```sh\na\n```\n\nTime: 1 s, 3 s of the "
        "processor.\n\n## B\n\n```sh\nb\n```\n\nTime: 70 s, 9 s of the processor.\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("block", "made"), [*zip(blocks(TEXT), MADE.values(), strict=True)], ids=MADE)
def test_the_way_leads_there(tmp_path, block, made):
    copy_repository(tmp_path)
    for command in commands_in(block):
        process = typed(tmp_path, command)
        assert (process.returncode, process.stderr) == (0, ""), command
    for name in made:
        assert (tmp_path / name).exists(), name
