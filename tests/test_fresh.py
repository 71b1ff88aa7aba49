"""Figures are drawn again when something that they depend on changed, and only then."""

import os
import shutil

import pytest

from experiments.config import compose
from scripts import figures
from scripts.drawing import fresh

CELLS = "cells=[{instance: c1, policy: dp_se, budget.epsilon: [0.1, 0.25, 0.5, 1]}, {instance: c1, policy: ucb1}]"
ASKED = ["+experiment=sajed2019/fig01", "horizon=300", "runner.workers=1", CELLS]
ASKED += ["figure.panels=[{title: a}]"]  # small, as it is drawn often


@pytest.fixture
def draw(call, tmp_path):
    """Run the command in folders of its own; whether it drew the figure, and what it said."""
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
def test_a_second_call_draws_nothing(draw, monkeypatch):
    assert draw()
    monkeypatch.setattr("experiments.config.command_line.CommandLine.plans", lambda _: pytest.fail("planned in vain"))
    assert not draw()


@pytest.mark.slow
def test_more_replications_draw_it_again(draw):
    assert draw()
    assert draw(replications=3)
    assert not draw(replications=3)
    assert draw(replications=2)  # the figure now shows three


@pytest.mark.slow
def test_another_title_draws_it_again(draw):
    assert draw()
    assert draw("figure.title=Other")


@pytest.mark.slow
def test_a_result_that_changed_draws_it_again(draw, tmp_path):
    assert draw()
    (file,) = (tmp_path / "results").glob("*/ucb1-*.parquet")
    os.utime(file, ns=(1, 1))  # as a copy of the same bytes has
    assert not draw()
    file.unlink()
    assert draw("runner.workers=2", replications=2) in (True, False)  # computed again: its footer has other times
    assert (tmp_path / "figures" / "sajed2019" / "fig01.png").exists()


def test_a_figure_that_is_asked_for_twice_is_refused(call, tmp_path):
    asked = ["-m", "+experiment=sajed2019/fig01", "horizon=300,400", f"figures_dir={tmp_path}"]
    outcome = call(*asked, main=figures.main)
    assert outcome.code == 2
    assert outcome.err.startswith("error: +experiment=sajed2019/fig01: asked for 2 times")


@pytest.mark.slow
@pytest.mark.parametrize("ending", fresh.FORMATS)
def test_a_missing_picture_is_drawn_again(draw, tmp_path, ending):
    assert draw()
    (tmp_path / "figures" / "sajed2019" / f"fig01.{ending}").unlink()
    assert draw()


@pytest.mark.slow
@pytest.mark.parametrize("note", ["", "{", "[]", '{"figures": 1, "commands": {}}'])
def test_a_note_that_says_nothing_is_no_error(draw, tmp_path, note):
    assert draw()
    (tmp_path / "figures" / fresh.NOTE).write_text(note)
    assert draw()


@pytest.mark.slow
def test_redraw_draws_it_again(draw):
    assert draw()
    assert draw("redraw=true")


@pytest.mark.slow
def test_an_experiment_of_ones_own_that_was_edited_is_drawn_again(call, tmp_path):
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
        compose._compose_choices.cache_clear()  # as in a process of its own
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
    before = fresh.digest_of_figure({}, [], [], "")
    assert fresh.digest_of_figure({}, [], [], "") == before
    path = tmp_path / place
    file = (
        path if path.is_file() else next(found for found in sorted(path.rglob("*")) if found.suffix in (".py", ".yaml"))
    )
    file.write_text(file.read_text() + "\n")
    assert fresh.digest_of_figure({}, [], [], "") != before


def test_everything_else_is_an_input_too(tmp_path):
    (tmp_path / "cell").write_bytes(b"numbers")
    digests = {
        fresh.digest_of_figure({"title": "a"}, ["key 2"], [tmp_path / "cell"], "command"),
        fresh.digest_of_figure({"title": "b"}, ["key 2"], [tmp_path / "cell"], "command"),
        fresh.digest_of_figure({"title": "a"}, ["key 3"], [tmp_path / "cell"], "command"),
        fresh.digest_of_figure({"title": "a"}, ["key 2"], [], "command"),
        fresh.digest_of_figure({"title": "a"}, ["key 2"], [tmp_path / "cell"], "other"),
    }
    (tmp_path / "cell").write_bytes(b"other numbers")
    digests.add(fresh.digest_of_figure({"title": "a"}, ["key 2"], [tmp_path / "cell"], "command"))
    assert len(digests) == 6
