"""Every experiment in conf/experiment composes, runs at a tiny horizon, and draws."""

import matplotlib.pyplot as plt
import pytest
from omegaconf import OmegaConf

from experiments.config.compose import REPOSITORY, Composer
from experiments.frames import stored_cells
from experiments.store import Store
from scripts import figures
from scripts.drawing import curves

EXPERIMENTS = Composer().choices("experiment")
TINY = ["horizon=300", "replications=2", "runner.workers=1"]
# A search is slow at any horizon.
TINIER = {"wu2025/worst_profiles": ["instance=worst_profile", "instance.generations=1", "instance.arms=64"]}


def test_the_papers_figures_are_there():
    assert {f"sajed2019/fig{number:02d}" for number in range(1, 13)} <= set(EXPERIMENTS)
    assert {f"tao2022/fig{number:02d}{form}" for number in range(1, 5) for form in ("", "_paper")} <= set(EXPERIMENTS)
    assert {f"wang2024/fig{number:02d}" for number in range(1, 8)} <= set(EXPERIMENTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiment_runs_and_draws(call, tmp_path, name):
    folders = [f"results_dir={tmp_path}/results", f"figures_dir={tmp_path}/figures"]
    asked = [f"+experiment={name}", *TINY, *TINIER.get(name, []), *folders]
    assert call(*asked).code == 0
    outcome = call(*asked, main=figures.main)
    assert (outcome.code, outcome.err) == (0, "")
    if "has no figure" in outcome.out:
        assert Composer().compose(asked).config.figure is None
        return
    assert (tmp_path / "figures" / f"{name}.pdf").stat().st_size > 5_000
    assert (tmp_path / "figures" / f"{name}.png").stat().st_size > 20_000


@pytest.fixture(scope="module")
def drawn():
    composer = Composer()
    asked = ["+experiment=sajed2019/fig01"]
    composed = composer.compose(asked)
    cells = stored_cells(asked, Store(REPOSITORY / "results"), composer)
    figure = curves.draw(OmegaConf.to_container(composed.config.figure), cells)
    yield figure, cells
    plt.close(figure)


def test_curves_are_the_stored_means(drawn):
    figure, cells = drawn
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    assert set(lines) == {
        "DP-SE, ε = 0.1, transcript",
        "DP-SE, ε = 0.25, transcript",
        "DP-UCB (mishra2015), ε = 0.1, transcript",
        "DP-UCB (mishra2015), ε = 0.25, transcript",
        "UCB1, not private",
        "Successive elimination, not private",
    }
    for cell, result in cells:
        label = curves.Curve(cell, result).label
        if label in lines:
            assert (lines[label].get_ydata() == result.regret.mean(axis=0)).all()
            assert (lines[label].get_xdata() == result.t).all()


def test_a_figure_says_what_it_shows(drawn):
    figure, _ = drawn
    assert figure.get_suptitle() == (
        "Figure 1: C1, K = 5\nT = $5\\cdot10^{7}$, 30 runs; mean and 95 % interval of the mean"
    )
    assert [axes.get_title() for axes in figure.axes[:2]] == ["(a) ε = 0.1 and 0.25", "(b) ε = 0.5 and 1"]
    assert {axes.get_xlabel() for axes in figure.axes[2:]} == {"step t"}


def test_nothing_is_clipped(drawn):
    figure, _ = drawn
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    for artist in (figure.legends[0], figure._suptitle):
        box = artist.get_window_extent()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height


def test_a_policy_keeps_its_colour_everywhere(drawn):
    figure, _ = drawn
    for axes in figure.axes:
        colours = {line.get_label().split(",")[0].split(" (")[0]: line.get_color() for line in axes.get_lines()}
        assert colours["DP-SE"] == "#0072B2"
        assert colours["DP-UCB"] == "#D55E00"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("figure.band=sdd", "figure.band"),
        ("figure.scales=[linear,cubic]", "figure.scales"),
        ("figure.kind=pie", "figure.kind"),
        ("figure.panels=[]", "figure.panels"),
        ("figure.panels=[{epsilon: 1}]", "title"),
        ("figure.panels=[{title: a, epsilonn: 1}]", "epsilonn"),
        ("figure.panels=[{title: a, instance: c2}]", "no curve"),
        ("figure.titel=x", "figure.titel"),
    ],
)
def test_a_wrong_figure_spec_is_one_line(call, tmp_path, change, named):
    outcome = call("+experiment=sajed2019/fig01", change, f"figures_dir={tmp_path}", main=figures.main)
    assert outcome.code == 2
    assert named in outcome.err
    assert outcome.err.count("\n") == 1


def test_figures_ask_for_missing_results(call, tmp_path):
    outcome = call("+experiment=sajed2019/fig01", f"results_dir={tmp_path}", main=figures.main)
    assert outcome.code == 2
    assert "run: python -m experiments.run +experiment=sajed2019/fig01" in outcome.err


def test_the_command_is_in_the_files(call, tmp_path):
    from PIL import Image

    call("+experiment=sajed2019/fig01", f"figures_dir={tmp_path}", main=figures.main)
    command = "python -m scripts.figures +experiment=sajed2019/fig01"
    assert Image.open(tmp_path / "sajed2019" / "fig01.png").text["Description"].startswith(command)
    assert command.encode() in (tmp_path / "sajed2019" / "fig01.pdf").read_bytes()
