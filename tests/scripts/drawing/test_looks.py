"""Sizes, scales and looks of each kind of figure, from invented numbers."""

from dataclasses import fields

import numpy as np
import pytest

from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.store.stored import Cells, Stored
from scripts.drawing.drawing import Band, Series, Texts
from scripts.drawing.kinds import NAMES, describe

COLOURS = {"dp_se": "red", "dp_ucb": "blue", "ucb1": "black", "zcdp_klucb": "green", "dprse": "red"}


def cells_of(*words):
    return [request.cell for request in plan([[*words]], Composer())[0].requests]


def made_up(*words, t=(10, 100, 1000), level=1.0, runs=2):
    """The only cell of these words, with so many runs of regret t / 10 and 3 t / 10 in turn, times `level`."""
    (cell,) = cells_of("horizon=1000", f"recorded={len(t)}", *words)
    regret = level * np.outer([1.0, 3.0] * (runs // 2), t) / 10
    return Stored({"t": np.tile(t, (runs, 1)), "regret": regret, "pulls": np.full((runs, 5), 200)}, {}, cell)


def along_epsilon():
    private = [made_up("policy=dp_se", f"budget.epsilon={epsilon}", level=1 / epsilon) for epsilon in (0.1, 0.2, 0.4)]
    return [*private, made_up("policy=ucb1", level=0.5)]


def transcripts():
    """Of a policy that promises decisions, met by the lower bound at 3 alone, and of one that promises transcripts."""
    words = ["instance=neighbouring_rewards", "instance.at_delta=0", "budget.epsilon=1", "budget.delta=0"]
    found = []
    for policy, shown in (("dp_ftpl_new", 1.0), ("dp_se", 0.5)):
        for horizon in (3, 300):
            (cell,) = cells_of(*words, f"policy={policy}", f"horizon={horizon}")
            kept = shown * (1 if horizon == 3 else 2)
            found.append(Stored({"epsilon_kept": np.array([kept]), "epsilon_shown": np.array([shown])}, {}, cell))
    return found


def two_arms():
    """Pulls 10 / gap^2 of the second of two arms."""
    found = []
    for gap in (0.1, 0.05, 0.025, 0.0125):
        means = f"instance.means=[0.3,{0.3 - gap}]"
        (cell,) = cells_of("instance=pareto", "instance.v=0.5", "policy=dprse", "horizon=1e6", means)
        pulls = np.array([[1e6 - 10 / gap**2, 10 / gap**2]] * 2)
        found.append(Stored({"pulls": pulls}, {}, cell))
    return found


def with_rho():
    words = ["instance=c1", "policy=zcdp_klucb"]
    return [made_up(*words, f"policy.rho={rho}", level=level) for rho, level in ((1e99, 1), (1.0, 3), (0.5, 5))]


ONE = [{"title": "one"}]
LAW = {"law": "gauss", "epsilon": 0.5, "delta": 0.01, "panels": [{"title": "one", "count": 10, "total": 3}]}
BOUND = {"label": "bound", "bound": "bandits.bounds.azize2025.lower_bound_line", "filter": {"policy": "dp_se"}}
BOUND |= {"arguments": {"means": "means", "epsilon": "epsilon", "horizon": "horizon"}}
SLOPE = {"panel": 0, "policy": "dp_se", "between": [0.1, 0.4]}
UNIT = {"unit": {"label": "gap", "word": "least_gap"}, "against": "dp_se"}


def two(second="dp_ucb", further=2.0, **more):
    return [made_up("policy=dp_se", **more), made_up(f"policy={second}", level=further, **more)]


FIGURES = {
    "curves": lambda: ({"panels": ONE * 2}, two("ucb1")),
    "curves, runs": lambda: ({"panels": ONE, "scales": ["linear"], "band": "runs"}, two()[:1]),
    "distribution": lambda: ({"panels": ONE * 2}, two()),
    "distribution, ecdf": lambda: ({"panels": ONE, "shows": "ecdf", "scale": "log"}, two(further=10.0)),
    "excess": lambda: ({"panels": ONE, "free": 1e99}, with_rho()),
    "laws": lambda: (LAW, []),
    "profiles": lambda: ({"panels": ONE, **UNIT}, two()),
    "rates": lambda: ({}, two_arms()),
    "spending": lambda: ({"panels": ONE}, transcripts()),
    "sweep": lambda: ({"x": "epsilon", "panels": ONE * 5, "overlays": [BOUND]}, along_epsilon()),
    "sweep, slopes": lambda: (
        {"x": "epsilon", "panels": ONE, "scales": ["log", "linear"], "slopes": [SLOPE]},
        along_epsilon(),
    ),
    "variances": lambda: ({"epsilon": 2.0, "panels": [{"title": "a", "shows": "sums", "items": 4}]}, []),
    "winners": lambda: ({"panels": ONE}, two(runs=60)),
}


def said(one, *without):
    """What differs from the defaults of a dataclass, as text."""
    names = [of.name for of in fields(one) if of.name not in without and getattr(one, of.name) != of.default]
    values = ((name, getattr(one, name)) for name in names)
    return " ".join(f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in values)


def described(kind, config, cells):
    """All of a figure but its numbers and words; panels that are alike once."""
    drawing = describe({"kind": kind, "title": "t", **config}, Cells(cells), COLOURS)
    width, height = drawing.size
    rows = " ".join(str(len(row)) for row in drawing.rows)
    yield f"{width:.4g} x {height:.4g}, panels {rows}, {drawing.spare_legend_rows} spare"
    yield from dict.fromkeys("\n".join(_panel(panel)) for panel in drawing.panels)


def _panel(panel):
    legend = f", legend {panel.legend}" if panel.legend else ""
    x, y = (f"{axis.scale} {said(axis, 'label', 'scale')}".strip() for axis in (panel.x, panel.y))
    yield f"x {x}, y {y}{legend}"
    for mark in panel.marks:
        ends = " with intervals" if isinstance(mark, Series) and mark.high is not None else ""
        if isinstance(mark, Band):
            yield f"band {said(mark, 'x', 'low', 'high', 'label')}"
        elif isinstance(mark, Texts):
            yield f"texts {said(mark, 'x', 'y')}"
        else:
            yield f"{said(mark.look)}{ends}{' in steps' if mark.steps else ''}"


# Size in inches, panels of each row, rows of the legend that are in the size; the axes and marks of different panels.
EXPECTED = {
    "curves": """
        7 x 6.1, panels 2 2, 3 spare
        x linear, y linear
        colour=red
        band colour=red opacity=0.2
        colour=0.55 width=0.9 order=1
        band colour=0.55 opacity=0.2
        x log low=0.01 high=1300, y log low=1.333
        colour=red
        band colour=red opacity=0.2
        colour=0.55 width=0.9 order=1
        band colour=0.55 opacity=0.2
    """,
    "curves, runs": """
        4.1 x 3.8, panels 1, 3 spare
        x linear, y linear
        colour=red
        colour=red width=0.4 opacity=0.25 order=0.5
        colour=red width=0.4 opacity=0.25 order=0.5
    """,
    "distribution": """
        7.4 x 2, panels 2, 0 spare
        x linear, y linear low=1.6 high=-0.6 numbered=False
        colour=red width=1
        colour=red width=7 opacity=0.35 blunt=True
        colour=red dashes=none marker=| marker_size=3 opacity=0.4
        colour=red dashes=none marker=o marker_size=4
        colour=blue width=1
        colour=blue width=7 opacity=0.35 blunt=True
        colour=blue dashes=none marker=| marker_size=3 opacity=0.4
        colour=blue dashes=none marker=o marker_size=4
    """,
    "distribution, ecdf": """
        4.4 x 3.4, panels 1, 0 spare
        x log decades_only=True, y linear
        colour=red in steps
        colour=blue in steps
    """,
    "excess": """
        4.4 x 3.6, panels 1, 0 spare
        x log decades_only=True, y log low=0.4585
        colour=#0072B2 marker=o marker_size=3 with intervals
        colour=0.55 width=0.9
    """,
    "laws": """
        3 x 3.3, panels 1, 1 spare
        x linear, y linear
        band colour=0.85
        colour=#0072B2
        colour=#D55E00 dashes=dashed
    """,
    "profiles": """
        5.4 x 6.2, panels 1 1, 0 spare
        x log decades_only=True, y linear low=0 high=1.02
        band colour=red opacity=0.2
        colour=red
        band colour=blue opacity=0.2
        colour=blue
        x linear low=-0.03 high=1.03, y linear low=0.6 high=-0.6 numbered=False
        colour=0.6 dashes=dashed width=0.8
        colour=blue width=2
        colour=blue dashes=none marker=o marker_size=5
        texts texts=['DP-UCB'] side=left
    """,
    "rates": """
        4.6 x 3.6, panels 1, 0 spare
        x log decades_only=True, y log, legend upper left
        colour=red dashes=none marker=o marker_size=3
        colour=red width=1.2
        colour=0.55 width=1.2
    """,
    "spending": """
        5.4 x 4.2, panels 1, 0 spare
        x log, y log low=0.1
        colour=#0072B2 marker=o marker_size=3.5
        colour=#0072B2 dashes=dotted width=0.8 marker_size=3.5
        colour=red marker_size=3.5
    """,
    "sweep": """
        10.8 x 6.8, panels 3 2, 0 spare
        x log decades_only=True, y log
        colour=red marker=o marker_size=3 with intervals
        colour=0.55 marker=o marker_size=3 with intervals
        colour=0.55 width=0.9
    """,
    "sweep, slopes": """
        4.4 x 3.6, panels 1, 0 spare
        x log decades_only=True, y linear low=0, legend best
        colour=red marker=o marker_size=3 with intervals
        colour=0.55 marker=o marker_size=3 with intervals
        colour=red dashes=dashed width=1
    """,
    "variances": """
        5.4 x 4.2, panels 1, 0 spare
        x linear, y log
        colour=#D55E00
        colour=#CC79A7 dashes=dashed
        colour=#56B4E9 dashes=dotted
        colour=#0072B2
        colour=#009E73 dashes=dotted
        colour=#009E73
    """,
    "winners": """
        2.05 x 1.44, panels 1, 0 spare
        x linear low=-0.5 high=0.5 names=['1,000'], y linear low=-0.5 high=0.5 names=['0.25']
        band colour=red opacity=0.65
        texts texts=['DP-SE']
    """,
}


def test_every_kind_has_a_figure_here():
    assert {name.partition(",")[0] for name in FIGURES} == set(NAMES)


@pytest.mark.parametrize("name", FIGURES)
def test_sizes_scales_and_looks(name):
    lines = [line for block in described(name.partition(",")[0], *FIGURES[name]()) for line in block.split("\n")]
    assert lines == [line.strip() for line in EXPECTED[name].strip().split("\n")]


def test_shares_of_two_policies_stand_beside_each_other():
    """5 % for each label, as shares often coincide at 0; a policy without epsilon is a line over all of them."""
    figure = {"kind": "sweep", "title": "t", "x": "epsilon", "value": "best_arm_behind", "panels": ONE}
    (panel,) = describe(figure, Cells(along_epsilon()), COLOURS).panels
    first, second = (mark.x.tolist() for mark in panel.marks)
    assert first == pytest.approx([0.1 / 1.05, 0.2 / 1.05, 0.4 / 1.05])
    assert second == [0.1, 0.4]
