"""All that varies within a panel is in the legend, and labels are drawn literally."""

import dataclasses
from itertools import product
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandits import Guarantee, ParameterError
from bandits.conformance import declares_its_guarantee
from bandits.guarantees import NO_PROMISE
from bandits.policies.base import Policy
from bandits.policies.elimination import DPSE
from bandits.policies.ucb import UCB1
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.errors import UserError
from experiments.simulate import CellJob, run_jobs
from experiments.store import Store, stored_cells
from experiments.store.stored import Cells
from scripts.drawing import words
from scripts.drawing.drawing import Band, Drawing, Series, without_mathtext, wrapped
from scripts.drawing.kinds import kind
from scripts.drawing.legend import PALETTE, colours_of, dashes, marker, names_behind
from scripts.drawing.render import render

CELLS = "{instance: c2, policy: dp_se, policy.beta: [0.001, 0.5], budget.epsilon: [0.1, 1]}"
TWO_PANELS = [{"title": "a", "epsilon": 0.1}, {"title": "b", "epsilon": 1}]
ONE_PANEL = [{"title": "all"}]


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """Stored results of `cells`, at a tiny horizon."""
    folder = tmp_path_factory.mktemp("results")

    def cells(*sweeps):
        horizon = [] if any("horizon" in sweep for sweep in sweeps) else ["horizon=300"]
        shared = [*horizon, "replications=2", f"results_dir={folder}"]
        asked = plan([[f"cells=[{', '.join(sweeps)}]", *shared]], Composer())[0]
        run_jobs([CellJob(request, None) for request in asked.requests], Store(folder), workers=1)
        return stored_cells(asked)

    return cells


def looks_of(drawing: Drawing) -> list[dict[str, set[tuple]]]:
    """The colour, dashes and marker of every label in each panel."""
    found = []
    for panel in drawing.panels:
        looks: dict[str, set[tuple]] = {}
        for mark in panel.marks:
            if isinstance(mark, Series) and mark.label:
                looks.setdefault(mark.label, set()).add((mark.look.colour, mark.look.dashes, mark.look.marker))
        found.append(looks)
    return found


def require_different_labels(drawing: Drawing, lines: int) -> None:
    """Require `lines` labels in every panel, each with its own look, the same in all panels, and all in the legend."""
    known: dict[str, set[tuple]] = {}
    for looks in looks_of(drawing):
        assert len(looks) == lines
        for label, look in looks.items():
            assert known.setdefault(label, look) == look
    assert len({look for (look,) in known.values()}) == len(known)
    assert set(drawing.legend) == set(known)


KINDS = {
    "curves": {},
    "distribution": {},
    "ecdf": {"shows": "ecdf"},
    "sweep": {"x": "arms"},
}


def describe(name, found, panels):
    config = {"title": "t", "panels": panels, **KINDS[name]}
    return kind("distribution" if name == "ecdf" else name)(config, Cells(found), {})


def test_values_of_a_parameter_have_different_labels(cells):
    found = cells(CELLS)
    for name in KINDS:
        drawing = describe(name, found, TWO_PANELS)
        require_different_labels(drawing, 2)
        assert all("β = 0.001" in label or "β = 0.5" in label for label in drawing.legend)


@pytest.mark.parametrize(
    ("sweep", "texts"),
    [
        ("{instance: [c1, c2], policy: dp_se}", ["instance = c1", "instance = c2"]),
        ("{instance: c1, policy: dp_se, horizon: [200, 300]}", ["horizon = 200", "horizon = 300"]),
        (
            "{instance: bernoulli, instance.means: [[0.1, 0.5], [0.1, 0.6]], policy: dp_se}",
            ["(0.1, 0.5)", "(0.1, 0.6)"],
        ),
        ("{instance: s1, policy: dprse, budget.epsilon: 1}, {instance: s1, policy: ldprse}", []),
        ("{instance: c1, policy: dp_se, policy.beta: [0.1, 0.1000001]}", ["β = 0.1", "β = 0.1000001"]),
        ("{instance: c1, policy: dp_se, policy.beta: [null, 0.5]}", ["β = default", "β = 0.5"]),
        ("{instance: c1, policy: dp_ucb, policy.gamma: [0.1, 0.2], policy.confidence: [mishra2015, tight]}", []),
        ("{instance: c1, policy: [ucb1, successive_elimination, thompson_beta, thompson_gauss]}", []),
    ],
)
def test_all_that_varies_is_in_the_labels(cells, sweep, texts):
    found = cells(sweep)
    for name in KINDS:
        drawing = describe(name, found, ONE_PANEL)
        require_different_labels(drawing, len(found))
        for text in texts:
            assert sum(text == label[-len(text) :] or f"{text}," in label for label in drawing.legend) == 1


def test_cells_that_nothing_distinguishes_are_refused(cells):
    found = cells("{instance: c1, policy: dp_se, recorded: [1, 200]}")
    for name in KINDS:
        with pytest.raises(UserError, match=r"^cells: dp_se on c1 occurs twice, and nothing distinguishes the two"):
            describe(name, found, ONE_PANEL)


def test_labels_do_not_repeat_the_title_of_the_panel(cells):
    found = cells("{instance: c2, policy: dp_se, policy.beta: [0.001, 0.5]}")
    drawing = describe("curves", found, [{"title": "a", "beta": 0.001}, {"title": "b", "beta": 0.5}])
    assert list(drawing.legend) == ["DP-SE, ε = 0.25, transcript"]


def other(**words):
    """A policy with another name or class."""
    return dataclasses.dataclass(frozen=True)(
        type("Other", (DPSE,), {"name": "other", "__module__": __name__, **words})
    )


def replaced(stored, policy):
    return dataclasses.replace(stored, cell=dataclasses.replace(stored.cell, policy=policy))


def test_a_policy_labelled_like_ours_does_not_swallow_it(cells):
    for legend in ["label", "legend"]:
        (ours,) = cells("{instance: c2, policy: dp_se}")
        of = other(label="DP-SE") if legend == "label" else other(label="X", legend=lambda self: "DP-SE")
        two_panels = [{"title": "a", "policy": "dp_se"}, {"title": "b", "policy": "other"}]
        for name, panels in product(KINDS, (ONE_PANEL, two_panels)):
            drawing = describe(name, [ours, replaced(ours, of(0.25))], panels)
            labels = {label for looks in looks_of(drawing) for label in looks}
            assert len(labels) == 2
            assert any("DP-SE [dp_se]" in label for label in labels)
            assert any("DP-SE [other]" in label for label in labels)


def test_two_classes_of_one_name_are_refused(cells):
    (ours,) = cells("{instance: c2, policy: dp_se}")
    with pytest.raises(UserError, match=r"bandits.policies.elimination.DPSE and .*Other are both called dp_se"):
        describe("curves", [ours, replaced(ours, other(name="dp_se")(0.25))], ONE_PANEL)


def test_colours_dashes_and_markers_never_repeat():
    policies = [other(name=f"other{number}", label=f"{number}")(1.0) for number in range(60)]
    colours = colours_of([DPSE(1.0), *policies, UCB1()], {"dp_se": PALETTE[0], "other3": PALETTE[1]})
    assert colours["dp_se"] == PALETTE[0]
    assert colours["other3"] == PALETTE[1]
    assert len(set(colours.values())) == 62
    assert list(colours.values())[1:4] == list(PALETTE[2:5])
    for of in (dashes, marker):
        assert len({of(number) for number in range(60)}) == 60


def test_two_papers_with_one_colour_have_two_in_a_figure_of_both():
    """AdaC-UCB and DP-KLUCB were both green; the second gets a colour of the palette, while one is free."""
    policies = [other(name=f"other{number}", label=f"{number}")(1.0) for number in range(9)]
    given = {"other0": PALETTE[0], "other1": PALETTE[0].lower(), "other2": PALETTE[1], "other3": PALETTE[0]}
    assert [*colours_of(policies[:4], given).values()] == [PALETTE[0], PALETTE[2], PALETTE[1], PALETTE[3]]
    many = colours_of(policies, {f"other{number}": PALETTE[number % 7] for number in range(9)})
    assert [*many.values()] == [*PALETTE, *PALETTE[:2]]


def test_texts_are_drawn_literally_or_as_mathematics():
    for written, drawn, read in [
        ("100 % of <b>a_b & c</b>", "100 % of <b>a_b & c</b>", "100 % of <b>a_b & c</b>"),
        ("_under", "_under", "_under"),
        ("US$ 5", r"US\$ 5", "US$ 5"),
        (r"a\$b", r"a\$b", "a$b"),
        ("$x^{2}$ and $y$", "$x^{2}$ and $y$", "x² and y"),
        ("$a$ $", r"\$a\$ \$", "$a$ $"),
        ("two\nlines", "two\nlines", "two\nlines"),
        (5, "5", "5"),
    ]:
        assert words.text(written, "key") == drawn
        assert without_mathtext(drawn) == read


def test_texts_that_cannot_be_drawn_are_one_line():
    for written in [r"$\frac{$", "$}$", r"$\nonsense$", "$_$ $^$", None, ["a"], True]:
        with pytest.raises(UserError, match=r"^figure\.title: ") as error:
            words.text(written, "figure.title")
        assert "\n" not in str(error.value)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from([*"ab1 $$$%_^&<>{}\\#~\"'\n", r"\frac", "<script>"]), max_size=15).map("".join))
def test_any_label_is_drawn_or_refused(label):
    """Every accepted label can be drawn, also beside mathematics of ours."""
    try:
        drawn = words.text(label, "key")
    except UserError:
        return
    figure = plt.figure()
    figure.text(0, 0, f"{drawn}, T = $10^{{5}}$")
    figure.draw_without_rendering()
    plt.close(figure)


@pytest.mark.slow
@pytest.mark.parametrize("label", ["_mine", "US$", "<script>alert(1)</script> & 5 %", r"$\alpha_1$", "", "  "])
def test_labels_of_policies_are_drawn(cells, label):
    (ours,) = cells("{instance: c2, policy: dp_se}")
    for name in KINDS:
        drawing = describe(name, [replaced(ours, other(label=label)(0.25)), ours], ONE_PANEL)
        require_different_labels(drawing, 2)
        assert "[other]" in drawing.legend[0] or words.text(label, "") in drawing.legend[0]
        assert not any(isinstance(mark, Band) and mark.label for panel in drawing.panels for mark in panel.marks)
    figure = render(drawing)  # every kind of figure makes its legend from a drawing
    figure.draw_without_rendering()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(drawing.legend)
    plt.close(figure)


def test_labels_that_cannot_be_drawn_name_the_file(cells):
    (ours,) = cells("{instance: c2, policy: dp_se}")

    def fails(self):
        raise ZeroDivisionError("oops")

    for of, message in (
        (other(label=r"$\frac{$"), r"test_labels.py: Other.label: \$.frac\{\$ cannot be drawn"),
        (other(label=5, legend=lambda self: None), r"test_labels.py: Other.legend\(\): must be a text"),
        (other(label="x", legend=fails), r"test_labels.py: Other.legend\(\): ZeroDivisionError: oops"),
    ):
        with pytest.raises(UserError, match=message):
            describe("curves", [replaced(ours, of(0.25))], ONE_PANEL)


def test_names_stand_behind_shared_labels_only(cells):
    found = cells("{instance: c2, policy: [dp_se, ucb1]}")
    assert names_behind(found) == {"dp_se": "", "ucb1": ""}


def test_headings_are_broken_where_the_figure_ends():
    """Four inches are 60 characters, powers counted as they are drawn, and no line ends within mathematical text."""
    long = "mean of $10^{5}$ runs $a b$; " + "scope " * 20
    drawing = Drawing("Title", [long.strip(), ""], "", [[]], (4.0, 3.0))
    first, *rest = drawing.heading.split("\n")
    assert first == "Title"
    assert " ".join(rest).split() == long.split()
    assert max(map(len, map(without_mathtext, rest))) <= 60
    assert len(rest) == 4  # 22 + 20 x 6 characters in three lines, and the empty one
    assert wrapped("$a b c d$ e", 3) == ["$a b c d$", "e"]


class SaysNothing(UCB1):
    """UCB1 without a declared guarantee."""

    guarantee = Policy.guarantee


def test_legends_distinguish_no_privacy_from_no_promise():
    ends = [
        words.full_label(SimpleNamespace(cell=SimpleNamespace(policy=policy))) for policy in (UCB1(), SaysNothing())
    ]
    assert ends == ["UCB1, not private", "UCB1, no promise"]


def test_a_policy_without_a_guarantee_is_found_by_the_conformance_suite():
    declares_its_guarantee(UCB1())
    with pytest.raises(AssertionError, match="no guarantee: declare"):
        declares_its_guarantee(SaysNothing())


def test_a_promise_is_declared():
    with pytest.raises(ParameterError, match="declared"):
        Guarantee(1.0, declared=False)
    assert not NO_PROMISE.private
