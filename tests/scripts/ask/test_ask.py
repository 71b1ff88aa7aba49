"""The form of the page, and what it shows of an answer."""

import csv
import io
import shlex

import numpy as np
import pytest

from experiments import UserError
from experiments.advice.answer import Answer, Variation
from experiments.advice.contenders import contenders
from experiments.advice.naming import name_best
from experiments.advice.question import question
from experiments.advice.race import judged
from experiments.config.compose import Composer
from scripts.ask.desk import Desk
from scripts.ask.form import EXAMPLES, FIELDS, command_of, labelled, link_of, typed_values, words_of
from scripts.ask.pictures import compact, png, svg, thinned
from scripts.ask.shown import of_answer, of_naming
from tests.experiments.advice.test_advice import CASE, row


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("2e6", 2e6),
        ("2,000,000", 2_000_000),
        (" 8 ", 8),
        ("3 %", 0.03),
        ("3%", 0.03),
        ("much", None),
        ("0.1, 0.2", None),
    ],
)
def test_numbers_as_people_type_them(typed, value):
    if value is None:
        with pytest.raises(UserError, match=r"^users: must be a number, got [^\n]+$"):
            typed_values({"users": typed})
    else:
        assert typed_values({"users": typed}) == {"users": value}


@pytest.mark.parametrize("typed", ["0.1, 0.2", "[0.1,0.2]", "0.1 0.2", "10%; 20%"])
def test_lists_as_people_type_them(typed):
    assert typed_values({"means": typed}) == {"means": [0.1, 0.2]}
    assert typed_values({"gap": typed}) == {"gap": [0.1, 0.2]}


def test_a_comma_in_a_list_is_never_that_of_a_thousand():
    assert typed_values({"means": "100,150,250"}) == {"means": [100, 150, 250]}
    assert typed_values({"means": "100,150, 250"}) == {"means": [100, 150, 250]}


def test_a_choice_that_there_is_not_is_refused():
    assert typed_values({"goal": "best_arm"}) == {"goal": "best_arm"}
    with pytest.raises(UserError, match=r"^goal: best is unknown; did you mean best_arm\?"):
        typed_values({"goal": "best"})


def test_what_is_usual_is_not_in_the_link():
    form = {"goal": "regret", "trust": "local", "users": " 2e6 ", "epsilon": ""}
    assert words_of(form) == {"users": "2e6", "trust": "local"}
    assert link_of(form) == "/?users=2e6&trust=local"
    assert link_of({"goal": "regret"}) == "/"
    with pytest.raises(UserError, match=r"^user: unknown field; did you mean users\?"):
        words_of({"user": "1"})


def test_the_command_of_a_form_asks_the_same():
    words = shlex.split(command_of({"means": "0.5, 0.9", "users": "2e3", "epsilon": "0.5"}))
    assert words[:3] == [".venv/bin/python", "-m", "scripts.advise"]
    assert words[3:] == ["users=2000", "epsilon=0.5", "means=[0.5,0.9]"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_questions(name):
    values = typed_values(EXAMPLES[name])
    values.pop("goal", None)
    if values.pop("error", None):
        values["users"] = 1000
    assert question(**values).epsilon > 0


def test_errors_have_the_label_of_their_field():
    assert labelled("users: must be a number, got x") == ("users", "Number of users: must be a number, got x")
    assert labelled("no field: at all") == ("", "no field: at all")
    assert len({field.label for field in FIELDS}) == len(FIELDS)


@pytest.fixture(scope="module")
def answer():
    """Two policies at other budgets and numbers of users; 95 % lose at most 101 and 301."""
    asking = question(**CASE)
    (one, *_), _ = contenders(asking, Composer())
    rows = [row("fast", 100, one), row("slow", 300, one)]
    varied = [Variation("epsilon", value, asking, rows) for value in (0.25, 0.5, 2.0, 4.0)]
    varied += [Variation("users", users, asking, rows[:1]) for users in (125, 500, 8000)]
    return Answer(asking, *judged(rows), ["late (not run)"], variations=varied)


def test_what_is_shown_of_an_answer(answer):
    shown = of_answer(answer)
    assert shown.advice.startswith("Take fast: 95 % of its runs lose at most 101;")
    assert shown.best == [0]
    assert shown.shares == pytest.approx([100.5 / 400, 300.5 / 400, 1])
    assert len(shown.rows) == len(shown.shares) + 1
    titles = [drawing.title for drawing in shown.drawings]
    assert len(titles) == 3
    against_epsilon, against_users, power = (drawing.panels[0].marks for drawing in shown.drawings)
    assert [mark.label for mark in against_epsilon] == ["fast", "slow", "uniform play"]
    assert against_epsilon[0].x.tolist() == [0.25, 0.5, 1, 2, 4]
    assert [mark.label for mark in against_users] == ["fast", "uniform play"]
    assert power[0].y.tolist() == [0.75] * 4
    assert against_epsilon[0].look.colour == against_users[0].look.colour == power[0].look.colour
    rows = list(csv.DictReader(io.StringIO(shown.table)))
    assert (rows[0]["policy"], rows[0]["mean"], rows[0]["quantile_95_at_most"], rows[0]["runs"]) == (
        "fast",
        "100.5",
        "101.0",
        "200",
    )
    assert sum(line["changed"] == "epsilon" for line in rows) == 8
    assert rows[-1]["policy"] == "uniform play"
    assert of_answer(Answer(answer.asking, [], answer.contest, [])).rows[1][0] == "uniform play"


def test_pictures_follow_the_theme_and_are_taken_away(answer):
    shown = of_answer(answer)
    picture = svg(shown.drawings[0])
    assert picture.startswith('<svg viewBox="')
    assert "#000000" not in picture
    assert "currentColor" in picture
    assert all(f">{number}<" in picture for number in ("0.25", "0.5", "1", "2", "4"))
    assert png(shown.advice, shown.drawings).startswith(b"\x89PNG")
    assert [compact(number) for number in (0.125, 1500, 125_000, 2e6, 1e10)] == [
        "0.125",
        "1,500",
        "125k",
        "2M",
        "1e+10",
    ]
    assert thinned([1.0, 1.1, 10.0, 99.0, 100.0]) == [1, 10, 99]


def test_what_is_shown_of_the_best_arm(tmp_path):
    naming = name_best(results_dir=str(tmp_path), means=[0.3, 0.4], users=320, epsilon=0.2, runs=60)
    shown = of_naming(naming)
    assert shown.rows[1][0] == naming.rows[0].label == "DP-Knockout"
    assert shown.shares[0] == naming.rows[0].wrong.estimate
    (drawing,) = shown.drawings
    assert drawing.panels[0].marks[0].y.tolist() == [there.wrong.estimate for _, there in naming.curve]
    assert np.isclose(float(list(csv.reader(io.StringIO(shown.table)))[1][2]), naming.curve[0][1].wrong.estimate)


def test_a_question_runs_once():
    """Without its process: what runs or was answered is not sent again, and another question stops what runs."""
    desk, sent, stopped = Desk(), [], []
    desk._process = type("Process", (), {"is_alive": lambda self: True})()
    desk._pipe = type("Pipe", (), {"send": lambda self, values: sent.append(values)})()
    desk.stop = lambda: (stopped.append(1), setattr(desk._inquiry, "state", "stopped"), setattr(desk, "_inquiry", None))
    first = desk.ask({"users": "5"}, {"users": 5})
    assert desk.ask({"users": "5"}, {"users": 5}) is first
    assert (len(sent), stopped) == (1, [])
    second = desk.ask({"users": "6"}, {"users": 6})
    assert (first.state, second.state, stopped, len(sent)) == ("stopped", "running", [1], 2)
    desk._take("end", None)
    assert second.state == "answered"
    assert desk.ask({"users": "6"}, {"users": 6}) is second
    assert desk.ask({"users": "5"}, {"users": 5}) is not first
    assert len(sent) == 3
    desk._take("wrong", "users: no")
    assert desk.find({"users": "5"}).line == "users: no"
