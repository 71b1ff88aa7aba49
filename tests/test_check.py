"""`make check` passes on committed code and fails after a change of one line, on a copy of the sources."""

import json
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bandits.exact.worst_profiles import WorstProfile
from experiments.again import checked
from experiments.again.comparison import LEVEL, Agreement, Replayed, compare, difference, same_law
from experiments.cells.regret import RegretCell
from experiments.config.compose import REPOSITORY, Composer
from experiments.config.plan import plan
from experiments.errors import UserError
from experiments.store import Store
from experiments.store.stored import Replications
from scripts import check_figures
from scripts.drawing import text_free
from scripts.drawing.drawing import Axis, Drawing, Look, Panel, Series
from scripts.drawing.tables import MEANS, table_of_drawing
from tests import forked
from tests.machine_code import lend

SMALL = [
    "+experiment=sajed2019/fig01",
    "cells=[{instance: c1, policy: [dp_se, successive_elimination]}]",
    "budget.epsilon=0.5",
    "figure.panels=[{title: small}]",
    "horizon=1e6",
    "replications=4",
    "runner.workers=1",
]
POLICY, SEEDS = "bandits/policies/elimination.py", "bandits/seeds.py"
CURVES, PAPER = "scripts/drawing/kinds/curves.py", "conf/papers/sajed2019.yaml"
INTERVALS, RENDER = "experiments/intervals.py", "scripts/drawing/render.py"


@dataclass
class Copy:
    """A copy of the sources with a small experiment, its results and baselines."""

    folder: Path

    def call(self, module, *more):
        """Run a command in the copy; return output and exit code."""
        words = ["-m", module, *SMALL, *more]
        run = forked.python(words, self.folder, PYTHONPATH=str(self.folder), PYTHONDONTWRITEBYTECODE="1")
        return run.stdout + run.stderr, run.returncode

    @contextmanager
    def changed(self, file, old, new):
        """Replace one line of a file within a `with` block."""
        path = self.folder / file
        text = path.read_text()
        assert text.count(old) == 1, f"{file} has {text.count(old)} lines with {old}"
        path.write_text(text.replace(old, new))
        try:
            yield
        finally:
            path.write_text(text)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    copy = Copy(tmp_path_factory.mktemp("copy"))
    for name in ("bandits", "experiments", "scripts", "conf"):
        shutil.copytree(REPOSITORY / name, copy.folder / name, ignore=shutil.ignore_patterns("machine_code"))
    lend(copy.folder / "bandits")
    for module, *more in (["experiments.run"], ["scripts.check_figures", "accept=true"]):
        out, code = copy.call(module, *more)
        assert code == 0, out
    return copy


@pytest.mark.slow
@pytest.mark.parametrize("module", ["experiments.check", "scripts.check_figures"])
def test_unchanged_code_passes(copy, module):
    out, code = copy.call(module)
    assert code == 0, out
    assert ": 0 cells different" in out or ": 0 different" in out
    assert not (copy.folder / "scratch").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (POLICY, "32 * log_mean / gap**2", "31 * log_mean / gap**2"),
        (SEEDS, "spawn_key=(replication,)", "spawn_key=(replication + 1,)"),
        (SEEDS, '.digest(), "big")', '.digest(), "little")'),
    ],
)
def test_a_change_of_simulation_is_found(copy, file, old, new):
    with copy.changed(file, old, new):
        out, code = copy.call("experiments.check")
    assert code == 1, out
    (line, *_) = [line for line in out.splitlines() if line.startswith('{"horizon": 1000000, "instance": ')]
    assert str(copy.folder / "runs" / "c1") in line
    assert "differs from t = " in line
    assert " stored, " in line
    assert "raise the `revision`" in out
    assert "python -m experiments.run +experiment=sajed2019/fig01 " in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (CURVES, "if label in drawn]", "if label in drawn][::-1]", "legend 'DP-SE"),
        (INTERVALS, "deviation / math.sqrt(runs)", "deviation / runs", "band '"),
        (CURVES, "Series(t, regret.mean(axis=0), look", "Series(t, np.median(regret, axis=0), look", "line '"),
        (PAPER, 'dp_se: "#0072B2"', 'dp_se: "#009E73"', "image: root mean square"),
        (CURVES, "np.maximum(mean - half, 0), mean + half", "mean, mean + half", "band '"),
        (RENDER, "axes.plot(series.x, series.y,", "axes.plot(series.x, 2 * series.y,", "image: root mean square"),
    ],
)
def test_a_change_of_a_figure_is_found(copy, file, old, new, message):
    with copy.changed(file, old, new):
        out, code = copy.call("scripts.check_figures")
    assert code == 1, out
    assert f"sajed2019/fig01: {message}" in out
    assert 'make accept FIG="sajed2019/fig01"' in out
    image = copy.folder / "scratch" / "check" / "sajed2019" / "fig01.png"
    assert str(image) in out
    height, width, _ = text_free.read_picture(copy.folder / "tests" / "baselines" / "sajed2019" / "fig01.png").shape
    assert text_free.read_picture(image).shape == (height, 3 * (width + 1), 3)
    shutil.rmtree(copy.folder / "scratch")


def test_baselines_are_those_of_figures_and_stay_small():
    folder = REPOSITORY / "tests" / "baselines"
    pictures = {path.relative_to(folder).with_suffix("").as_posix(): path for path in folder.rglob("*.png")}
    figures = pd.read_parquet(folder / check_figures.TABLES).figure
    assert set(pictures) == set(figures) <= set(Composer().choices("experiment"))
    assert len([path for path in folder.rglob("*") if path.is_file()]) == len(pictures) + 1
    assert (folder / check_figures.TABLES).stat().st_size < 0.5e6
    assert sum(path.stat().st_size for path in pictures.values()) < 3e6


def curve(*y):
    """A drawing of one curve at x = 1, 10, 100, ..."""
    x = 10.0 ** np.arange(len(y))
    panels = [Panel("", Axis("t"), Axis("regret"), [Series(x, np.array(y), Look("#112233"), "twice")])]
    return table_of_drawing(Drawing("a title", [], "", [panels], (3.0, 3.0)))


def test_what_moved_is_named_with_its_point_and_by_how_much():
    text, rows = check_figures.moved(curve(2, 4, 8), curve(2, 5, 8))
    assert text.startswith(
        "line 'twice' of panels 0 (#112233ff - none 1.4) at x = 10: y 4 in the baseline, 5 now (by 1, "
    )
    assert rows["now"].y.tolist() == [5, 5]  # and in the mean
    assert rows["baseline"].vertex.tolist() == [1, MEANS]
    assert check_figures.moved(curve(2, 4), curve(2, 4 * (1 + 5e-7)))[0] == ""
    assert "8 rows in the baseline, 7 now" in check_figures.moved(curve(2, 4), curve(2, 4)[:-1])[0]
    few, many = curve(*range(50)), curve(*range(23), 23.5, *range(24, 50))
    assert (23.0 in few.y.tolist(), len(few) - len(curve())) == (False, 25)
    assert " in the mean: y 24.5 in the baseline, 24.51 now " in check_figures.moved(few, many)[0]


def test_accepting_some_figures_keeps_the_others(tmp_path):
    """In the order of names, with equal bytes for equal tables; a figure whose picture was removed leaves."""
    file = tmp_path / check_figures.TABLES

    def accepted(**tables):
        for name in tables:
            (tmp_path / f"{name}.png").touch()
        check_figures.accept(tmp_path, tables)
        return {name: rows.y.dropna().tolist() for name, rows in pd.read_parquet(file).groupby("figure", sort=False)}

    assert accepted(b=curve(2, 4), a=curve(1)) == {"a": [1, 1], "b": [2, 4, 3]}
    first = file.read_bytes()
    assert accepted(a=curve(5), c=curve(6)) == {"a": [5, 5], "b": [2, 4, 3], "c": [6, 6]}
    (tmp_path / "c.png").unlink()
    assert accepted(a=curve(1)) == {"a": [1, 1], "b": [2, 4, 3]}
    assert file.read_bytes() == first
    file.write_text("no table")
    with pytest.raises(UserError, match=f"{file}: cannot be written: "):
        accepted(a=curve(1))


@pytest.fixture
def stored(call, tmp_path):
    """A cell that is stored in `tmp_path`, its result, and the command line that asks for it."""
    asked = ["policy=dp_se", "horizon=1e5", "replications=20", f"results_dir={tmp_path}", "runner.workers=1"]
    call(*asked)
    (request,) = plan([asked], Composer())[0].requests
    return request.cell, Store(tmp_path).read(request.cell), asked


def from_elsewhere(cell, result, root, change):
    """Store `result` as if another platform had made it, with changed regret."""
    runs = [run | {"platform": "VAX"} for run in result.footer["runs"]]
    rows = {**result.rows, "regret": change(result.regret)}
    Store(root).path(cell).unlink()
    Store(root).write(replace(result, rows=rows, footer=result.footer | {"runs": runs}))


def test_rounding_on_another_platform_is_reported_and_allowed(call, tmp_path, stored):
    cell, result, asked = stored
    from_elsewhere(cell, result, tmp_path, lambda regret: np.nextafter(regret, np.inf))
    outcome = call(*asked, main=checked.check)
    assert outcome.code == 0
    assert "stored on VAX" in outcome.out
    assert "1e-09 is allowed" in outcome.out
    assert ": 0 cells different; of those that may be rounded differently 1 compared, 0 not compared" in outcome.out


def test_another_law_on_another_platform_is_found(call, tmp_path, stored):
    cell, result, asked = stored
    from_elsewhere(cell, result, tmp_path, lambda regret: 2 * regret)
    outcome = call(*asked, main=checked.check)
    assert outcome.code == 1
    assert f"another law; 20 fresh replications beside 20 stored: p = 1.5e-11, level {LEVEL:g}" in outcome.out


def test_the_two_sample_test_takes_rounded_values_as_equal():
    values = np.linspace(1, 2, 20)
    assert same_law(values, values * (1 + 1e-12)) == 1
    assert same_law(np.ones(20), np.full(20, 1 + 1e-12)) == 1
    assert same_law(values, values + 5) < LEVEL


def simulated(call, folder, asked):
    """Run one cell into a folder: the words that ask for it there, the store, and its results."""
    asked = [*asked, f"results_dir={folder}", "runner.workers=1"]
    assert call(*asked).code == 0
    (request,) = plan([asked], Composer())[0].requests
    store = Store(folder)
    return asked, store, store.read(request.cell)


def test_another_path_on_another_platform_is_compared_by_its_law(call, tmp_path):
    """As if rounding had changed a choice, and everything after it."""
    asked, _, result = simulated(call, tmp_path, ["instance=c2", "policy=ucb1", "horizon=1000", "replications=20"])
    assert len(set(result.regret[:, -1])) > 10
    from_elsewhere(result.cell, result, tmp_path, lambda regret: np.roll(regret, 1, axis=0))
    outcome = call(*asked, main=checked.check)
    assert outcome.code == 0, outcome.out
    assert "the same law; 20 fresh replications beside 20 stored" in outcome.out


@pytest.mark.parametrize(("factor", "code"), [(1 + 1e-12, 0), (1 + 1e-6, 1)])
def test_computed_cells_have_a_tolerance(call, overwrite, tmp_path, factor, code):
    """The rounding of their sums depends on the processor, which `provenance.machine` does not name."""
    asked = ["instance=dtol_deterministic", "policy=rnm_ftnl", "budget.epsilon=0.5", "exact=true", "horizon=1000"]
    asked, store, result = simulated(call, tmp_path, asked)
    overwrite(store, replace(result, rows={**result.rows, "regret": factor * result.regret}))
    outcome = call(*asked, main=checked.check)
    assert outcome.code == code, outcome.out
    assert ("computed values differ by a relative 1.0e-06, 1e-09 is allowed" in outcome.out) == bool(code)


@pytest.mark.slow
def test_instances_that_a_processor_may_round_are_compared_by_their_law(call, overwrite, tmp_path):
    """Their estimates may differ in bits, but the law of the samples, the headline, must not."""
    asked = ["instance=uniform_stream", "instance.mean=0.4", "policy=exponential_nas", "horizon=1e6", "replications=30"]
    asked, store, result = simulated(call, tmp_path, asked)
    overwrite(store, replace(result, rows={**result.rows, "estimate": np.nextafter(result.rows["estimate"], 1)}))
    outcome = call(*asked, main=checked.check)
    assert (outcome.code, "1e-09 is allowed" in outcome.out) == (0, True)
    overwrite(store, replace(result, rows={**result.rows, "estimate": np.roll(result.rows["estimate"], 1)}))
    outcome = call(*asked, main=checked.check)
    assert (outcome.code, "the same law; 20 fresh replications" in outcome.out) == (0, True)
    overwrite(store, replace(result, rows={**result.rows, "samples": 8 * result.rows["samples"]}))
    assert call(*asked, main=checked.check).code == 1


SEARCH = [
    "instance=worst_profile",
    "instance.arms=8",
    "instance.scales=1",
    "instance.generations=2",
    "instance.least_gap=0.01",
    "policy=rnm_ftnl",
    "budget.epsilon=0.5",
    "horizon=100",
    "replications=3",
]


@pytest.mark.slow
@pytest.mark.parametrize("outdone", ["search", "both", "nothing"])
def test_searches_are_compared_though_they_are_few(call, monkeypatch, tmp_path, outdone):
    """Half of the regret of the found profile contradicts that profile; half of all regret the old search."""
    asked, _, _ = simulated(call, tmp_path, SEARCH)
    search, regret = WorstProfile.search, WorstProfile.regret

    def halved(self, policy, horizon, rng):
        profile, found, tried = search(self, policy, horizon, rng)
        return profile, found / 2, tried

    if outdone == "search":
        monkeypatch.setattr(WorstProfile, "search", halved)
    if outdone == "both":
        monkeypatch.setattr(WorstProfile, "regret", lambda *args: regret(*args) / 2)
    outcome = call(*asked, main=checked.check)
    assert outcome.code == (outdone != "nothing"), outcome.out
    assert ("a relative 5.0e-01, 0.01 is allowed" in outcome.out) == (outdone == "search")
    assert ("its numbers contradict one another, by a relative 5.0e-01" in outcome.out) == (outdone == "both")


def pair_of(result, **changed):
    """The first replication, and the same one with other values, as if simulated now."""
    stored = {name: values[:1] for name, values in result.rows.items()}
    return Replayed(stored, stored | changed)


def test_a_cell_that_cannot_be_compared_is_reported(stored):
    cell, result, _ = stored
    pair = pair_of(result, regret=2 * result.regret[:1])
    few = compare(cell, pair, result.first(5).headline, True)
    assert (few.agreement, "too few" in few.evidence) == (Agreement.NOT_COMPARED, True)
    late = compare(cell, pair, result.headline, False)
    assert (late.agreement, "no time left" in late.evidence) == (Agreement.NOT_COMPARED, True)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_could_not_be_compared_is_a_difference_unless_the_platform_explains_it(call, tmp_path, elsewhere):
    """Five replications of a cell that depends on rounding are too few for a two-sample test."""
    asked = ["instance=uniform_stream", "instance.mean=0.4", "policy=exponential_nas", "horizon=1e6", "replications=5"]
    asked, store, result = simulated(call, tmp_path, asked)
    runs = [run | {"platform": "VAX"} if elsewhere else run for run in result.footer["runs"]]
    store.path(result.cell).unlink()
    changed = {**result.rows, "estimate": 2 * result.rows["estimate"]}
    store.write(replace(result, rows=changed, footer=result.footer | {"runs": runs}))
    outcome = call(*asked, main=checked.check)
    assert outcome.code == (not elsewhere), outcome.out
    assert (
        f"{int(not elsewhere)} cells different; of those that may be rounded differently 0 compared, 1 not"
        in outcome.out
    )
    assert "5 stored replications are too few" in outcome.out


def test_a_small_budget_leaves_cells_out_by_their_keys(stored):
    cell, result, asked = stored
    samples = []
    for horizon, seconds in ((100, 0.001), (200, 0.002), (300, 50.0), (400, 50.0), (500, 50.0)):
        footer = json.loads(json.dumps(result.footer))
        footer["runs"][-1]["typical_seconds"] = seconds
        other = RegretCell(cell.instance, cell.policy, horizon)
        samples.append(checked.sample_of(replace(result, footer=footer, cell=other), Path("x"), asked))
    chosen = checked.within(samples, 110)
    assert {sample.cell.horizon for sample in chosen} >= {100, 200}
    assert len(chosen) == 4
    assert checked.within(samples[::-1], 110) == chosen
    assert len(checked.within(samples, 1000)) == 5
    assert [sample.stored.replications for sample in samples] == [5, 5, 1, 1, 1]
    assert samples[0].stored.numbers.tolist() != samples[1].stored.numbers.tolist()


def test_a_wrong_budget_is_one_line(call, stored):
    outcome = call(*stored[2], "check_seconds=soon", main=checked.check)
    assert outcome.code == 2
    assert outcome.err == "error: check_seconds: must be a number above 0, got soon\n"


@pytest.mark.slow
def test_an_error_of_one_figure_is_one_line_and_the_others_are_compared(call):
    wrong = ["+experiment=wang2024/fig01", "figure.panels=[{title: a}]"]
    outcome = call("-m", *wrong, "budget.epsilon=1,2", main=check_figures.main)
    assert (outcome.code, outcome.err) == (1, "")
    *lines, counted = outcome.out.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("wang2024/fig01: ") and "KeyError: 'count'" in line for line in lines)
    assert counted == "2 figures compared with their baselines: 2 different or not drawn"


def test_a_missing_baseline_is_reported_with_the_command_that_makes_it(call, tmp_path):
    asked = ["+experiment=wang2024/fig01", f"baselines_dir={tmp_path}/new", f"check_dir={tmp_path}/check"]
    outcome = call(*asked, main=check_figures.main)
    assert outcome.code == 1
    assert "wang2024/fig01: no baseline to read" in outcome.out
    assert 'make accept FIG="wang2024/fig01"' in outcome.out
    assert "accept: must be true or false, got maybe" in call(*asked, "accept=maybe", main=check_figures.main).err
    assert call(*asked, main=check_figures.main).code == 1  # nothing was accepted
    assert call(*asked, "accept=true", main=check_figures.main).code == 0
    assert call(*asked, main=check_figures.main).code == 0


def test_what_differs_is_named_with_all_its_digits_beyond_roundings():
    """At t = 1 a last digit, as another processor may round; at t = 4 what was changed."""
    t = np.array([[1, 2, 4]])
    then = np.array([[0.1 + 0.2, 1.0, 2.0]])
    stored = Replications({"t": t, "regret": then}, {})

    def now(*regret):
        return Replications({"t": t, "regret": np.array([regret])}, {})

    assert difference(stored, now(*then[0])) is None
    both = difference(stored, now(0.3, 1.0, 2.0000001))
    assert both == "replication 0 differs from t = 4 on: regret 2.0 stored, 2.0000001 now"
    rounded = difference(stored, now(0.3, 1.0, 2.0))
    assert rounded == "replication 0 differs from t = 1 on: regret 0.30000000000000004 stored, 0.3 now"


def test_what_differs_of_a_cell_without_a_curve_has_no_step():
    """The regret of weighted runs is one number for a replication: there is no t to name."""
    stored = Replications({"regret": np.array([3.0]), "weight": np.array([1.0])}, {})
    now = Replications({"regret": np.array([4.0]), "weight": np.array([1.0])}, {})
    assert difference(stored, now) == "replication 0 differs: regret 3.0 stored, 4.0 now"
