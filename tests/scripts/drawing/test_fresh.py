"""Figures are drawn again if and only if something that they depend on has changed."""

import os
import shutil
import sys

import pytest

from experiments import papers
from experiments.config import compose
from experiments.store.place import Place
from scripts import figures
from scripts.drawing import fresh

CELLS = "cells=[{instance: c1, policy: dp_se, budget.epsilon: [0.1, 0.25, 0.5, 1]}, {instance: c1, policy: ucb1}]"
ASKED = ["+experiment=sajed2019/fig01", "horizon=300", "runner.workers=1", CELLS]
ASKED += ["figure.panels=[{title: a}]"]  # small, as it is drawn often


@pytest.fixture
def draw(call, tmp_path):
    """Run the command in its own folders; return whether it drew the figure, and its output."""
    places = [f"results_dir={tmp_path}/results", f"figures_dir={tmp_path}/figures", "complete=true"]

    def draw(*more, replications=2):
        outcome = call(*ASKED, f"replications={replications}", *places, *more, main=figures.main)
        assert (outcome.code, outcome.err) == (0, "")
        drawn = f"{tmp_path}/figures/sajed2019/fig01.pdf {tmp_path}/figures/sajed2019/fig01.png" in outcome.out
        skipped = "as they would be drawn now, and skipped (redraw=true draws all): sajed2019/fig01" in outcome.out
        assert drawn != skipped
        return drawn

    return draw


@pytest.mark.slow
def test_a_changed_request_draws_it_again(draw, monkeypatch):
    """A second call draws nothing; a new title, more replications and redraw=true draw it again."""
    assert draw()
    with monkeypatch.context() as patch:
        patch.setattr("experiments.config.plan.plan", lambda *_: pytest.fail("planned in vain"))
        assert not draw()
    assert draw("redraw=true")
    assert draw("figure.title=Other")
    assert draw(replications=3)
    assert not draw(replications=3)
    assert draw(replications=2)  # the figure now shows three


@pytest.mark.slow
def test_a_result_that_changed_draws_it_again(draw, tmp_path):
    assert draw()
    (file,) = (tmp_path / "results").glob("*/ucb1-*.parquet")
    os.utime(file, ns=(1, 1))  # as of a copy of the same bytes
    assert not draw()
    file.unlink()
    assert draw(replications=2) in (True, False)  # computed again: its footer has other seconds
    assert (tmp_path / "figures" / "sajed2019" / "fig01.png").exists()


@pytest.mark.slow
@pytest.mark.parametrize("place", [100, -3])
def test_a_damaged_result_is_computed_again_and_the_figure_with_it(call, draw, tmp_path, place):
    assert draw()
    (file,) = (tmp_path / "results").glob("*/ucb1-*.parquet")
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    places = [f"results_dir={tmp_path}/results", f"figures_dir={tmp_path}/figures"]
    outcome = call(*ASKED, "replications=2", *places, main=figures.main)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert f"{file}: damaged: " in outcome.err
    outcome = call(*ASKED, "replications=2", *places, "complete=true", main=figures.main)
    assert (outcome.code, outcome.err.count("\n")) == (0, 1)
    assert f"moved to {file.name}.damaged1, recomputing" in outcome.err
    assert "1 cell computed again: damaged files" in outcome.out
    assert "figures/sajed2019/fig01.pdf" in outcome.out


@pytest.mark.slow
def test_experiments_that_lack_cells_are_drawn_after_the_others(call, tmp_path):
    """One is complete, one lacks its cell, one lacks its cell and has no figure."""
    text = "# @package _global_\nhorizon: 300\nreplications: 2\ncells:\n  - {{instance: c1, policy: {}}}\n"
    figure = "figure:\n  title: Own\n  panels:\n    - {title: (a)}\n"
    (tmp_path / "mine" / "experiment").mkdir(parents=True)
    for name, policy in (("one", "dp_se"), ("two", "ucb1"), ("bare", "thompson_beta")):
        file = tmp_path / "mine" / "experiment" / f"{name}.yaml"
        file.write_text(text.format(policy) + (figure if name != "bare" else ""))
    folders = [f"results_dir={tmp_path}/results", f"figures_dir={tmp_path}/figures"]
    own = ["--config-dir", tmp_path / "mine", "runner.workers=1", *folders]
    assert call(*own, "+experiment=one").code == 0
    asked = [*own, "-m", "+experiment=two,bare,one"]
    outcome = call(*asked, main=figures.main)
    assert outcome.code == 2
    assert "1 of 1 cells are not stored yet" in outcome.err
    outcome = call(*asked, "complete=true", main=figures.main)
    assert (outcome.code, outcome.err) == (0, "")
    lines = [words.partition(" (")[0] for words in outcome.out.splitlines()]
    pictures = {
        name: " ".join(f"{tmp_path}/figures/{name}.{ending}" for ending in fresh.FORMATS) for name in ("one", "two")
    }
    assert lines == [pictures["one"], "cells: 0 stored already, 2 simulated", pictures["two"], "bare: has no figure"]
    (again,) = call(*asked, "complete=true", main=figures.main).out.splitlines()
    assert again.endswith("skipped (redraw=true draws all): two, one")
    (damaged,) = (tmp_path / "results").glob("*/ucb1-*.parquet")
    content = bytearray(damaged.read_bytes())
    content[100] ^= 1  # in its rows, so that its footer is sound
    damaged.write_bytes(content)
    outcome = call(*asked, "redraw=true", main=figures.main)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert outcome.err.startswith(f"error: {damaged}: damaged: ")
    assert pictures["one"] in outcome.out


def test_a_figure_that_is_asked_for_twice_is_refused(call, tmp_path):
    asked = ["-m", "+experiment=sajed2019/fig01", "horizon=300,400", f"figures_dir={tmp_path}"]
    outcome = call(*asked, main=figures.main)
    assert outcome.code == 2
    assert outcome.err.startswith("error: +experiment=sajed2019/fig01: asked for 2 times")


@pytest.mark.slow
def test_a_missing_picture_and_a_note_that_says_nothing_draw_it_again(draw, tmp_path):
    assert draw()
    for ending in fresh.FORMATS:
        (tmp_path / "figures" / "sajed2019" / f"fig01.{ending}").unlink()
        assert draw()
    for note in ["", "{", "[]", '{"figures": 1, "commands": {}}']:
        (tmp_path / "figures" / fresh.NOTE).write_text(note)
        assert draw()


@pytest.mark.slow
def test_an_edited_experiment_of_a_user_is_drawn_again(call, tmp_path):
    (tmp_path / "mine" / "experiment").mkdir(parents=True)
    file = tmp_path / "mine" / "experiment" / "own.yaml"
    text = (
        "# @package _global_\nhorizon: 300\nreplications: 2\n"
        "cells:\n  - {instance: c1, policy: dp_se}\nfigure:\n  title: Own\n  panels:\n    - {title: (a)}\n"
    )
    asked = ["--config-dir", tmp_path / "mine", "+experiment=own", "complete=true", "runner.workers=1"]
    asked += [f"results_dir={tmp_path}/results", f"figures_dir={tmp_path}/figures"]
    for content, drawn in ((text, True), (text, False), (text.replace("Own", "Changed"), True)):
        file.write_text(content)
        compose._compose_choices.cache_clear()  # as in a new process
        outcome = call(*asked, main=figures.main)
        assert (outcome.code, outcome.err) == (0, "")
        assert ("own.pdf" in outcome.out) == drawn


@pytest.mark.parametrize("place", fresh.DRAWING)
def test_code_and_colours_are_inputs(monkeypatch, tmp_path, place):
    """The digest of a figure changes with every file that `DRAWING` names, or that is in a folder which it names."""
    for name in fresh.DRAWING:
        source, copy = fresh.REPOSITORY / name, tmp_path / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, copy) if source.is_dir() else shutil.copy(source, copy)
    monkeypatch.setattr(fresh, "REPOSITORY", tmp_path)
    before = fresh.digest_of_figure({}, [], [], "", [])
    assert fresh.digest_of_figure({}, [], [], "", []) == before
    path = tmp_path / place
    file = (
        path if path.is_file() else next(found for found in sorted(path.rglob("*")) if found.suffix in (".py", ".yaml"))
    )
    file.write_text(file.read_text() + "\n")
    fresh._code.cache_clear()  # as in the process of the next command
    assert fresh.digest_of_figure({}, [], [], "", []) != before


def test_everything_else_is_an_input_too(tmp_path):
    place = Place(tmp_path / "cell", "c1/ucb1-0123456789abcdef")
    place.file.write_bytes(b"numbers")
    digests = {
        fresh.digest_of_figure({"title": "a"}, ["key 2"], [place], "command", []),
        fresh.digest_of_figure({"title": "b"}, ["key 2"], [place], "command", []),
        fresh.digest_of_figure({"title": "a"}, ["key 3"], [place], "command", []),
        fresh.digest_of_figure({"title": "a"}, ["key 2"], [], "command", []),
        fresh.digest_of_figure({"title": "a"}, ["key 2"], [place], "other", []),
    }
    place.file.write_bytes(b"other numbers")
    digests.add(fresh.digest_of_figure({"title": "a"}, ["key 2"], [place], "command", []))
    assert len(digests) == 6


BOUND = """
from pathlib import Path

import elsewhere

FACTOR = float(Path(__file__).with_name("factor.txt").read_text())


def line(t):
    return FACTOR * elsewhere.SLOPE * t
"""
PAPER = "authors: I\nyear: 2030\ntitle: Mine\ncolours: {mine: '#000000'}\n"
OVERLAYS = "overlays:\n    - {label: line, bound: own_bound.line, arguments: {t: t}}"


@pytest.mark.slow
def test_files_of_the_user_are_inputs_wherever_they_are(call, tmp_path, monkeypatch):
    """The user's bound, a table that it names, a module outside of the folder, colours."""
    folder, place = tmp_path / "mine", tmp_path / "lib"
    (folder / "experiment").mkdir(parents=True)
    (folder / "papers").mkdir()
    place.mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(place)])
    (folder / "experiment" / "own.yaml").write_text(
        "# @package _global_\nhorizon: 300\nreplications: 2\ncells:\n  - {instance: c1, policy: dp_se}\n"
        f"figure:\n  title: Own\n  panels:\n    - {{title: (a)}}\n  {OVERLAYS}\n"
    )
    edits = {
        folder / "own_bound.py": (BOUND, f"{BOUND}# edited\n"),
        folder / "factor.txt": ("1", "2"),
        place / "elsewhere.py": ("SLOPE = 0.01\n", "SLOPE = 0.02\n"),
        folder / "papers" / "own.yaml": (PAPER, PAPER.replace("#000000", "#00ff00")),
    }
    for file, (before, _) in edits.items():
        file.write_text(before)
    asked = ["--config-dir", folder, "+experiment=own", "complete=true", "runner.workers=1"]
    asked += [f"results_dir={tmp_path}/results", f"figures_dir={tmp_path}/figures"]

    def drawn():
        papers._papers.cache_clear()  # as in a new process
        outcome = call(*asked, main=figures.main)
        assert (outcome.code, outcome.err) == (0, "")
        assert ("own.pdf" in outcome.out) != ("skipped" in outcome.out)
        return "own.pdf" in outcome.out

    assert drawn()
    assert not drawn()
    (folder / "notes.txt").write_text("of no figure")
    assert not drawn()
    for file, (_, after) in edits.items():
        file.write_text(after)
        sys.modules.pop("elsewhere", None)  # which is in no folder that is followed
        assert drawn(), file
        assert not drawn(), file
    for name in ("elsewhere", "own_bound"):
        sys.modules.pop(name, None)
