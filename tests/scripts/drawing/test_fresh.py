"""Figures are drawn again if and only if something that they depend on has changed."""

import json
import os
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from bandits.guarantees import Guarantee, Scope
from bandits.policies.elimination import DPSE
from experiments import intervals
from experiments.config import papers
from experiments.config.compose import REPOSITORY, Composer
from experiments.config.plan import plan
from experiments.store import places_of_plan, stored_cells
from experiments.store.place import Place
from scripts import figures
from scripts.drawing import fresh, imports, kinds, render
from scripts.drawing.citation import CITATION
from scripts.drawing.drawing import Axis, Band, Drawing, Look, Panel, Series
from scripts.drawing.figure import figure_of

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
    assert draw("figure.title=Other")
    assert draw(replications=2)  # nothing else has changed, but the figure has the other title


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
def test_weighted_runs_on_which_a_mean_rests_are_inputs(call, tmp_path):
    words = ["instance=c1", "instance.arms=2", "policy=dp_klucb", "budget.epsilon=1", "horizon=1e9"]
    words += [f"results_dir={tmp_path}", "published_dir=null"]
    digests = []
    for more in (["replications=1"], ["replications=1", "weighted=true"], ["replications=2", "weighted=true"]):
        assert call(*words, *more, "runner.workers=1").code == 0
        planned = plan([[*words, "replications=1"]], Composer())[0]
        digests.append(fresh.digest_of_plan(planned, places_of_plan(planned)))
    assert len(set(digests)) == 3


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
    assert "skipped" in outcome.out, "the same numbers give the same picture"


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
        outcome = call(*asked, main=figures.main)
        assert (outcome.code, outcome.err) == (0, "")
        assert ("own.pdf" in outcome.out) == drawn


@pytest.fixture
def edited(monkeypatch):
    """Make the next commands see other code, as after an edit of any file that describes figures."""
    edits = iter(range(100))
    monkeypatch.setattr(fresh, "renderer", lambda: "not edited")

    def edited():
        digest = f"edit {next(edits)}"
        monkeypatch.setattr(fresh, "code", lambda files: digest)
        monkeypatch.setattr(fresh, "_state", lambda inputs, config_dirs: digest)

    return edited


@pytest.mark.slow
def test_code_that_changes_nothing_is_described_and_not_rendered(draw, edited, monkeypatch):
    """Then a label, a guarantee and an interval change, and the figure with them."""
    described = []
    whole = figures.drawing_of_plan
    monkeypatch.setattr(figures, "drawing_of_plan", lambda *given: described.append(given) or whole(*given))
    assert draw()
    edited()
    assert not draw()
    assert len(described) == 2
    assert not draw()
    assert len(described) == 2
    changes = [
        (DPSE, "label", "Other"),
        (DPSE, "guarantee", property(lambda policy: Guarantee(policy.epsilon, scope=Scope.LOCAL))),
        (intervals, "half_width", lambda *given: 2 * _half_width(*given)),
    ]
    for owner, name, other in changes:
        monkeypatch.setattr(owner, name, other)
        edited()
        assert draw(), name
        assert not draw(), name


_half_width = intervals.half_width
ONE_OF_EACH_KIND = {
    "curves": "sajed2019/fig01",
    "distribution": "azize2025/exact_index",
    "excess": "azize2023b/price_of_rho",
    "laws": "wang2024/fig01",
    "profiles": "atlas/profiles",
    "rates": "tao2022/rates",
    "spending": "audit/decision_vs_transcript",
    "sweep": "ou2024/levels",
    "variances": "sajed2019/path_tree_variance",
    "winners": "atlas/winners",
}


def ran(action):
    """The files of this repository whose code runs in `action`, and its result; imports of packages do not count."""
    files = set()

    def note(frame, event, argument):
        code = frame.f_code
        if not (code.co_name == "<module>" and code.co_filename.endswith("__init__.py")):
            files.add(code.co_filename)

    sys.setprofile(note)
    try:
        result = action()
    finally:
        sys.setprofile(None)
    ours = [REPOSITORY / name for name in imports.OURS]
    return {Path(file) for file in files if any(Path(file).is_relative_to(folder) for folder in ours)}, result


@pytest.mark.slow
@pytest.mark.parametrize("name", kinds.NAMES)
def test_all_code_that_runs_is_an_input(name, tmp_path):
    """What describes a figure and what renders it are found by their imports: no other function runs."""
    asked = plan([[f"+experiment={ONE_OF_EACH_KIND[name]}"]], Composer())[0]
    cells, figure, colours = stored_cells(asked), figure_of(asked.composed), papers.colours()
    files, drawing = ran(lambda: kinds.describe(figure, cells, colours))
    found = fresh.describing_files(figure, [request.cell for request in asked.requests])
    assert files - set(found) == set()
    files, _ = ran(lambda: render.save(drawing, tmp_path / "figure", "command"))
    assert files - set(imports.files_of_ours([fresh.RENDERER])) == set()


@pytest.mark.slow
def test_all_code_of_a_command_counts_and_no_other(call, tmp_path):
    """What parses, plans, simulates, describes, draws and remembers: an edit of any other file does not even plan."""
    words = (*ASKED, "replications=2", "complete=true", f"figures_dir={tmp_path}/figures")
    files, outcome = ran(lambda: call(*words, f"results_dir={tmp_path}/results", main=figures.main))
    assert (outcome.code, outcome.err) == (0, "")
    code = set(fresh.code_of_plans(plan([list(ASKED)], Composer())))
    assert files - code == set()
    assert code.isdisjoint(
        {*(REPOSITORY / "bandits" / "deploy").iterdir(), *(REPOSITORY / "scripts" / "site").iterdir()}
    )
    note = json.loads((tmp_path / "figures" / fresh.NOTE).read_text())
    assert [set(map(str, code)) <= set(about["files"]) for about in note["commands"].values()] == [True]


def test_a_command_is_made_anew_after_an_edit_of_its_code_but_not_of_a_comment(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("a = 1")
    cache, inputs = fresh.FigureCache(tmp_path), fresh.CommandInputs([], [], [str(file)])
    cache.remember("command", inputs, [])
    assert cache.figures_if_unchanged("command", []) == []
    file.write_text("a = 1  # one")
    assert cache.figures_if_unchanged("command", []) == []
    file.write_text("a = 2")
    assert cache.figures_if_unchanged("command", []) is None
    file.unlink()
    assert cache.figures_if_unchanged("command", []) is None
    for wrong in (["a.py"], 3, None):  # of another version, or damaged
        cache.commands["command"]["files"] = wrong
        assert cache.figures_if_unchanged("command", []) is None


def test_the_code_of_a_figure_is_found_by_its_imports():
    """Those that were once left out of a list; and what no figure depends on is left out."""
    found = {str(file.relative_to(REPOSITORY)) for file in imports.files_of_ours([fresh.KINDS])}
    assert {"bandits/guarantees.py", "experiments/store/stored.py", "experiments/intervals.py"} <= found
    assert {"experiments/evidence/contests.py", "scripts/drawing/words.py", "experiments/cells/exact.py"} <= found
    assert found.isdisjoint({"scripts/figures.py", "scripts/exhibits/page.py", "experiments/simulate/job.py"})
    assert "bandits/policies/private_ucb.py" not in found
    (request,) = plan([["policy=dp_ucb"]], Composer())[0].requests
    assert REPOSITORY / "bandits/policies/private_ucb.py" in fresh.describing_files({}, [request.cell])
    bound = {"overlays": [{"bound": "bandits.bounds.azize2025.lower_bound_line"}]}
    assert REPOSITORY / "bandits/bounds/azize2025.py" in fresh.describing_files(bound, [])
    rendering = {file.name for file in imports.files_of_ours([fresh.RENDERER])}
    assert {"render.py", "drawing.py", "numbers.py"} <= rendering
    assert "words.py" not in rendering


def test_all_other_inputs(tmp_path, monkeypatch):
    place = Place(tmp_path / "cell", "c1/ucb1-0123456789abcdef")
    place.file.write_bytes(b"numbers")
    own = tmp_path / "own.py"
    own.write_text("one")
    digests = [
        fresh.digest_of_inputs({"title": "a"}, ["key 2"], [place], ["command", {"ucb1": "red"}], [own]),
        fresh.digest_of_inputs({"title": "b"}, ["key 2"], [place], ["command", {"ucb1": "red"}], [own]),
        fresh.digest_of_inputs({"title": "a"}, ["key 3"], [place], ["command", {"ucb1": "red"}], [own]),
        fresh.digest_of_inputs({"title": "a"}, ["key 2"], [], ["command", {"ucb1": "red"}], [own]),
        fresh.digest_of_inputs({"title": "a"}, ["key 2"], [place], ["other", {"ucb1": "red"}], [own]),
        fresh.digest_of_inputs({"title": "a"}, ["key 2"], [place], ["command", {"ucb1": "blue"}], [own]),
        fresh.digest_of_inputs({"title": "a"}, ["key 2"], [place], ["command", {"ucb1": "red"}], []),
    ]
    own.write_text("two")
    digests.append(fresh.digest_of_inputs({"title": "a"}, ["key 2"], [place], ["command", {"ucb1": "red"}], [own]))
    place.file.write_bytes(b"other numbers")
    digests.append(fresh.digest_of_inputs({"title": "a"}, ["key 2"], [place], ["command", {"ucb1": "red"}], [own]))
    monkeypatch.setattr(fresh, "_libraries", lambda: "numpy-9.dist-info")
    digests.append(fresh.digest_of_inputs({"title": "a"}, ["key 2"], [place], ["command", {"ucb1": "red"}], [own]))
    assert len(set(digests)) == len(digests) == 10


def test_every_field_of_a_drawing_is_drawn(monkeypatch):
    """A change of any of its fields, of the panels, marks, looks and axes in it, of one number, or of the command."""
    axis, look, points = Axis("x"), Look("red"), np.array([1.0, 2.0])
    line, band = Series(points, points, look, "a", points, points), Band(points, points, points, "red")
    panel = Panel("title", axis, axis, [line, band])
    drawing = Drawing("title", ["caption"], "shown", [[panel]], (1.0, 2.0))

    def of_marks(*marks):
        return replace(drawing, rows=[[replace(panel, marks=list(marks))]])

    nearly = np.array([1.0, np.nextafter(2.0, 3.0)])
    others = [
        *(replace(drawing, **{item.name: "other"}) for item in fields(Drawing)),
        *(replace(drawing, rows=[[replace(panel, **{item.name: "other"})]]) for item in fields(Panel)),
        *(replace(drawing, rows=[[replace(panel, x=replace(axis, **{item.name: 7}))]]) for item in fields(Axis)),
        *(of_marks(replace(line, **{item.name: nearly}), band) for item in fields(Series)),
        *(of_marks(line, replace(band, **{item.name: nearly})) for item in fields(Band)),
        *(of_marks(replace(line, look=replace(look, **{item.name: 7})), band) for item in fields(Look)),
        of_marks(band, line),
        of_marks(line),
    ]
    digests = [fresh.digest_of_drawing(other, "command") for other in (drawing, *others)]
    digests.append(fresh.digest_of_drawing(drawing, "other"))
    assert fresh.digest_of_drawing(of_marks(replace(line, x=points.copy()), band), "command") == digests[0]
    for name, changed in (("_libraries", lambda: "numpy-9.dist-info"), ("code", lambda files: "edited")):
        with monkeypatch.context() as patch:
            patch.setattr(fresh, name, changed)
            digests.append(fresh.digest_of_drawing(drawing, "command"))
    assert len(set(digests)) == len(digests)


BOUND = """
from pathlib import Path

import elsewhere

FACTOR = float(Path(__file__).with_name("factor.txt").read_text())


def line(t):
    return FACTOR * elsewhere.SLOPE * t
"""
PAPER = "authors: I\nyear: 2030\ntitle: Mine\ncolours: {dp_se: '#000000'}\n"
OVERLAYS = "overlays:\n    - {label: line, bound: own_bound.line, arguments: {t: t}}"


@pytest.mark.slow
def test_files_of_the_user_are_inputs_wherever_they_are(call, tmp_path, monkeypatch):
    """The user's bound, a table beside it, a module of own_dirs, colours."""
    folder, place = tmp_path / "mine", tmp_path / "lib"
    (folder / "experiment").mkdir(parents=True)
    (folder / "papers").mkdir()
    place.mkdir()
    monkeypatch.setattr(sys, "path", sys.path[:])
    (folder / "experiment" / "own.yaml").write_text(
        "# @package _global_\nhorizon: 300\nreplications: 2\ncells:\n  - {instance: c1, policy: dp_se}\n"
        f"figure:\n  title: Own\n  panels:\n    - {{title: (a)}}\n  {OVERLAYS}\n"
    )
    edits = {
        folder / "own_bound.py": (BOUND, BOUND.replace("* t", "* t + 1")),
        folder / "factor.txt": ("1", "2"),
        place / "elsewhere.py": ("SLOPE = 0.01\n", "SLOPE = 0.02\n"),
        folder / "papers" / "own.yaml": (PAPER, PAPER.replace("#000000", "#00ff00")),
    }
    for file, (before, _) in edits.items():
        file.write_text(before)
    asked = ["--config-dir", folder, "+experiment=own", "complete=true", "runner.workers=1", f"own_dirs=[{place}]"]
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
        for name in ("elsewhere", "own_bound"):  # as in a new process
            sys.modules.pop(name, None)
        assert drawn(), file
        assert not drawn(), file
    for name in ("elsewhere", "own_bound"):
        sys.modules.pop(name, None)


def test_the_citation_in_the_files_of_figures_is_an_input(monkeypatch, tmp_path):
    assert CITATION in fresh.code_of_plans([])
    before = fresh.renderer()
    monkeypatch.setattr(fresh, "CITATION", tmp_path / "CITATION.cff")
    assert fresh.renderer() != before
