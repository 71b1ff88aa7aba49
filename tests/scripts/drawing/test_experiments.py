"""Every experiment in conf/experiment composes, runs at a tiny horizon, and draws."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

from experiments.config.compose import Composer
from experiments.config.papers import papers
from experiments.config.plan import plan
from experiments.library.summary import summary_of_plans
from experiments.simulate.complete import complete, runner_of
from experiments.store import stored_cells
from scripts import figures
from scripts.drawing import words
from scripts.drawing.drawing import Band, Series
from scripts.drawing.figure import drawing_of_plan, figure_of
from scripts.drawing.kinds import NAMES
from scripts.drawing.render import render
from tests.rows import require_rows

COMPOSER = Composer()
EXPERIMENTS = COMPOSER.choices("experiment")
TINY = ["horizon=300", "replications=2", "runner.workers=1"]
WRITTEN = ("sajed2019/fig01", "tao2022/rates", "wang2024/fig02", "wang2024/fig07")
WRITTEN += ("atlas/winners", "atlas/profiles", "audit/decision_vs_transcript", "sajed2019/path_tree_variance")
WRITTEN += ("azize2023b/price_of_rho",)
# A search is slow at every horizon.
TINIER = {
    "wu2025/worst_profiles": ["instance=worst_profile", "instance.generations=1", "instance.arms=8", "horizon=7"],
    "wu2025/open_questions": ["horizon=7", "arms=[4,64]"],
    "wu2025/random_prefix": ["arms=[4,64]"],
    "wu2025/sweep_arms": ["arms=[2,64]"],
    "audit/decision_vs_transcript": ["horizon=9"],
    "atlas/bernoulli": ["epsilons=[1]", "at=300"],
    "atlas/trust": ["epsilons=[1]", "at=300"],
    "atlas/winners": [
        *["epsilons=[0.1,1]", "replications=60"],  # with fewer runs a policy takes no part
        *["named=[c1]", "seeds=[1]", "figure.panels=[{title: C1, instance: c1}]"],
    ],
    "atlas/profiles": ["epsilons=[0.1,1]", "at=300"],
    "atlas/identification": ["horizon=1e5"],
    "jourdan2025/samples": ["horizon=1e5"],  # the first batches are of 670 pulls
    "jourdan2025/errors": ["horizon=1e5"],
    "horizons/rare_runs": ["epsilons=[1]", "rhos=[4.5]", "levels=[0.2097]", "equal=[0.80696]", "seeds=[1]"],
    "azize2023b/equal_rho": ["at=300"],
    "azize2023b/equal_level": ["at=300"],
}
AT_THEIR_HORIZONS = ("azize2025/exact_index", "horizons/rare_runs")  # as their panels name them


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """One folder for all, so that cells of several experiments are simulated once."""
    return tmp_path_factory.mktemp("results")


def test_the_papers_figures_are_there():
    printed = {key: list(paper.printed) for key, paper in papers().items()}
    assert [len(printed[key]) for key in ("sajed2019", "tao2022", "wang2024")] == [12, 4, 7]
    for key, names in printed.items():
        require_rows(
            names,
            {*names} & {*EXPERIMENTS},
            f"conf/papers/{key}.yaml: figures: {len(names)}",
            "conf/experiment/NAME.yaml",
        )
    assert {f"tao2022/fig{number:02d}_paper" for number in range(1, 5)} <= set(EXPERIMENTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiment_runs_and_draws(call, capsys, tmp_path, results, name):
    """All lines and words are drawn; files, which are slow to write, are written for one figure of each kind."""
    folders = [f"results_dir={results}", f"figures_dir={tmp_path}/figures"]
    own = TINIER.get(name, [])
    named = {word.partition("=")[0] for word in own} | ({"horizon"} if name in AT_THEIR_HORIZONS else set())
    asked = [f"+experiment={name}", *(word for word in TINY if word.partition("=")[0] not in named), *own, *folders]
    planned = plan([asked], COMPOSER)[0]
    complete([planned], runner_of([planned]))
    capsys.readouterr()  # warnings of cells
    assert summary_of_plans([planned])
    if planned.config.figure is None:
        assert f"{name}: has no figure" in call(*asked, main=figures.main).out
    elif name in WRITTEN:
        outcome = call(*asked, main=figures.main)
        assert (outcome.code, outcome.err) == (0, "")
        assert (tmp_path / "figures" / f"{name}.pdf").stat().st_size > 5_000
        assert (tmp_path / "figures" / f"{name}.png").stat().st_size > 5_000
    else:
        figure = render(drawing_of_plan(planned, stored_cells(planned)))
        figure.set_layout_engine("none")  # slow, and the same as in figures that are written
        figure.draw_without_rendering()
        plt.close(figure)


def test_a_figure_of_each_kind_is_written():
    kinds = [figure_of(Composer().compose([f"+experiment={name}"])).get("kind", "curves") for name in WRITTEN]
    assert {*kinds, "distribution"} == set(NAMES)  # no experiment has a distribution; test_report.py draws some


@pytest.fixture(scope="module")
def cells():
    return stored_cells(plan([["+experiment=sajed2019/fig01"]], Composer())[0])


@pytest.fixture(scope="module")
def drawing(cells):
    return drawing_of_plan(plan([["+experiment=sajed2019/fig01"]], Composer())[0], cells)


@pytest.fixture(scope="module")
def figure(drawing):
    figure = render(drawing)
    yield figure
    plt.close(figure)


def test_curves_are_the_stored_means(drawing, cells):
    series = {mark.label: mark for mark in drawing.rows[0][0].marks if isinstance(mark, Series)}
    assert set(series) == {
        "DP-SE, ε = 0.1, transcript",
        "DP-SE, ε = 0.25, transcript",
        "DP-UCB (mishra2015), ε = 0.1, transcript",
        "DP-UCB (mishra2015), ε = 0.25, transcript",
        "UCB1, not private",
        "Successive elimination, not private",
    }
    found = [stored for stored in cells if words.full_label(stored) in series]
    assert len(found) == len(series)
    for stored in found:
        assert (series[words.full_label(stored)].y == stored.regret.mean(axis=0)).all()
        assert (series[words.full_label(stored)].x == stored.t).all()


def test_the_band_is_students_interval(drawing, cells):
    (band, *_) = [mark for mark in drawing.rows[0][0].marks if isinstance(mark, Band)]
    runs = cells[0].regret[:, -1]
    interval = stats.t.interval(0.95, len(runs) - 1, runs.mean(), runs.std(ddof=1) / len(runs) ** 0.5)
    assert (band.low[-1], band.high[-1]) == pytest.approx(interval)


def test_a_figure_says_what_it_shows(drawing, figure, cells):
    assert drawing.heading == ("Figure 1: C1, K = 5\nT = $5\\cdot10^{7}$, 30 runs; mean and 95 % interval of the mean")
    assert [panel.title for panel in drawing.rows[0]] == ["(a) ε = 0.1 and 0.25", "(b) ε = 0.5 and 1"]
    assert {panel.x.label for panel in drawing.rows[1]} == {"step t"}
    assert drawing.words.startswith("Figure 1: C1, K = 5. Mean pseudo-regret against the step, linear and logarithmic")
    assert (
        f"(a) ε = 0.1 and 0.25: DP-SE, ε = 0.1, transcript ends at {cells[0].regret[:, -1].mean():,.0f};"
        in drawing.words
    )
    assert figure.get_suptitle() == drawing.heading
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(drawing.legend)
    assert [axes.get_title() for axes in figure.axes] == [panel.title for panel in drawing.panels]
    assert [axes.get_xlabel() for axes in figure.axes] == [panel.x.label for panel in drawing.panels]
    assert [axes.get_ylabel() for axes in figure.axes] == [panel.y.label for panel in drawing.panels]


@pytest.mark.slow
def test_nothing_is_clipped(figure):
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    for artist in (figure.legends[0], figure._suptitle):
        box = artist.get_window_extent()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height


def test_a_policy_keeps_its_colour_everywhere(figure):
    for axes in figure.axes:
        colours = {line.get_label().split(",")[0].split(" (")[0]: line.get_color() for line in axes.get_lines()}
        assert colours["DP-SE"] == "#0072B2"
        assert colours["DP-UCB"] == "#D55E00"


def test_the_caption_says_how_often_the_best_arm_is_lost():
    planned = plan([["+experiment=tao2022/fig02"]], Composer())[0]
    found = stored_cells(planned)
    shares = sorted({float((of.pulls.argmax(axis=1) != 0).mean()) for of in found if of.columns["v"] == 0.5})
    line = drawing_of_plan(planned, found).caption[1]
    assert line.startswith(f"share of runs with the best arm behind: (a) v = 0.5: {100 * shares[0]:.2g} to ")
    assert f" to {100 * shares[-1]:.2g} %; (b) v = 0.9: 0 to " in line


def test_figure_3_shows_that_the_changed_law_lies_on_the_boundary():
    drawing = drawing_of_plan(plan([["+experiment=wang2024/fig03"]], Composer())[0], [])
    for values, differences in zip(*drawing.rows, strict=True):
        (band, before, after), (room, zero, change) = values.marks, differences.marks
        np.testing.assert_allclose(change.y, after.y - before.y, atol=1e-15)
        assert not zero.y.any()
        left = change.x < 0.5  # of the mean; there the condition holds with equality
        np.testing.assert_allclose(change.y[left], room.low[left], atol=1e-12)
        assert np.ptp(change.y) > 0.04
        assert (band.low <= after.y + 1e-12).all()


def test_a_wrong_figure_spec_is_one_line(call, tmp_path):
    for change, named in [
        ("figure.band=sdd", "figure.band"),
        ("figure.scales=[linear,cubic]", "figure.scales"),
        ("figure.shares=[best_arm]", "figure.shares"),
        ("figure.kind=pie", "figure.kind"),
        ("figure.panels=[]", "figure.panels"),
        ("figure.panels=[{epsilon: 1}]", "title"),
        ("figure.panels=[{title: a, epsilonn: 1}]", "epsilonn"),
        ("figure.panels=[{title: a, instance: c2}]", "no curve"),
        ("figure.titel=x", "figure.titel"),
    ]:
        outcome = call("+experiment=sajed2019/fig01", change, f"figures_dir={tmp_path}", main=figures.main)
        assert outcome.code == 2
        assert named in outcome.err
        assert outcome.err.count("\n") == 1


def test_figures_ask_for_missing_results(call, tmp_path):
    outcome = call("+experiment=sajed2019/fig01", f"published_dir={tmp_path}", main=figures.main)
    assert outcome.code == 2
    assert "run: python -m experiments.run +experiment=sajed2019/fig01" in outcome.err


@pytest.mark.slow
def test_the_command_is_in_the_files(call, tmp_path):
    from PIL import Image

    call("+experiment=sajed2019/fig01", "runner.workers=1", f"figures_dir={tmp_path}", main=figures.main)
    command = "python -m scripts.figures +experiment=sajed2019/fig01"
    description = Image.open(tmp_path / "sajed2019" / "fig01.png").text["Description"]
    assert description.startswith(command)
    assert "runner" not in description
    assert command.encode() in (tmp_path / "sajed2019" / "fig01.pdf").read_bytes()
