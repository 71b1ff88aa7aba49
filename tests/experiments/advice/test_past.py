"""Past rewards from a file: what is read, how the arms are played, and what the page says of them."""

import math

import numpy as np
import pytest

from experiments import UserError
from experiments.advice.answer import Answer, Variation
from experiments.advice.contenders import contenders
from experiments.advice.past import read_past
from experiments.advice.question import question
from experiments.advice.race import judged
from experiments.advice.words import case, page
from experiments.config.compose import Composer
from experiments.intervals import mean
from tests.experiments.advice.test_advice import CASE, row


@pytest.fixture
def csv(tmp_path):
    def write(text):
        path = tmp_path / "past.csv"
        path.write_text(text)
        return str(path)

    return write


def test_observed_rewards_are_drawn_again_by_arm(csv):
    path = csv("arm,reward,day\nb,0.5,1\na,0.25,1\nb,1,2\na,0.25,2\na,1,2\n")
    past = read_past(path)
    assert (past.names, past.values, past.counts) == (("a", "b"), ((0.25, 1.0), (0.5, 1.0)), ((2, 1), (1, 1)))
    assert past.means == (0.5, 0.75)
    asking = question(data=path, users=2000, epsilon=1)
    assert asking.rewards == "bounded"
    private, _ = contenders(asking, Composer())
    names = {one.name: one for one in private}
    assert not names["dp_se"].rounded
    assert names["dp_imed"].rounded
    plain, rounded = (names[name].planned.requests[0].cell.instance for name in ("dp_se", "dp_imed"))
    assert plain.mean_rewards.tolist() == list(asking.means) == list(rounded.mean_rewards)
    assert (plain.name, rounded.name) == ("empirical", "bernoulli")


def test_heavy_rewards_that_were_observed_give_means_to_pareto_ones(csv):
    path = csv("arm,reward\nb,3\na,0.5\nb,5\na,2.5\n")
    asking = question(data=path, users=2000, epsilon=1, rewards="heavy", moment=1.8)
    assert (asking.rewards, sorted(asking.means), asking.past.heavy) == ("heavy", [1.5, 4], True)
    (first, *_), _ = contenders(asking, Composer())
    instance = first.planned.requests[0].cell.instance
    assert (instance.name, list(instance.means), instance.v) == ("pareto", list(asking.means), 0.8)
    rows, rivals = judged([row("a", 100)])
    assert "Rewards are Pareto ones with these means" in page(Answer(asking, rows, rivals, []))
    with pytest.raises(UserError, match=r"^data: .*line 2: needs an arm and a reward above 0, got arm b, reward 0$"):
        question(data=csv("arm,reward\nb,0\na,1\n"), users=2000, epsilon=1, rewards="heavy")


def test_observed_clicks_are_clicks_with_exact_intervals(csv):
    path = csv("arm,reward\n" + "a,1\n" * 3 + "a,0\n" * 7 + "b,0\n" * 10)
    asking = question(data=path, users=2000, epsilon=1)
    assert (asking.rewards, sorted(asking.means)) == ("clicks", [0, 0.3])
    low = read_past(path).intervals[1]
    assert low.high == pytest.approx(1 - (0.05 / 4) ** (1 / 10))  # Clopper and Pearson, of 0 in 10, two arms


def test_many_values_are_grouped_and_keep_their_mean(csv):
    rewards = np.random.default_rng(1).random(1000).round(6)
    past = read_past(csv("arm,reward\n" + "".join(f"a,{x}\nb,0\n" for x in rewards)))
    assert len(past.values[0]) == 20
    assert past.means[0] == pytest.approx(rewards.mean())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arm,price\na,1\n", "has no column reward"),
        ("arm,reward\na,1\nb,2\n", "line 3: needs an arm and a reward in [0, 1], got arm b, reward 2"),
        ("arm,reward\na,1\nb,much\nb,2\n", "line 3: "),
        ("arm,reward\na,1\n,1\n", "line 3: "),
        ("", "past.csv has no column arm"),
        ('arm,reward\na,"1\n', "past.csv cannot be read as CSV: unexpected end of data"),
        ("arm,reward\na,1\n", "past.csv must have 2 or more arms, got 1"),
        ("arm,reward,reward\na,1,0\nb,0,1\n", "past.csv has more than one column reward"),
        ("arm,reward\nold,1,0\nnew,0,1\n", "line 2: needs 2 values, as the first line has, got 3"),
        ("arm,reward\na,1\nb,0,\n", "line 3: needs 2 values"),
        ("arm,reward\na,1\nb\n", "line 3: needs 2 values, as the first line has, got 1"),
        ("arm,reward\n\na,1\n\nb,2\n", "line 5: needs an arm"),
        ('arm,reward\n"a\nb",1\nb,\n', "line 4: needs an arm and a reward in [0, 1], got arm b, reward nothing"),
        ('arm,reward\na,1\n"b\nc",2\n', "line 4: needs an arm and a reward in [0, 1], got arm b c, reward 2"),
        ("arm,reward\na,1\nb,1\n", "past.csv: one arm must be the best by 2e-09, two have about the mean 1"),
    ],
)
def test_wrong_files_are_one_line_that_names_the_line(csv, text, words):
    with pytest.raises(UserError, match=r"^data: [^\n]+$") as error:
        question(data=csv(text), users=2000, epsilon=1)
    assert words in str(error.value)


def test_any_text_names_an_arm(csv):
    past = read_past(csv("\ufeffarm,reward\nNone,1\nNA,0\n1,1\n\n1.0,0\nNA,1\n"))
    assert (past.names, past.means) == (("1", "1.0", "NA", "None"), (1, 0, 0.5, 1))


def test_the_page_of_observed_rewards_names_arms_and_warns(csv):
    path = csv("arm,reward\n" + "left,1\n" * 3 + "left,0\n" * 7 + "right,0\n" * 10)
    asking = question(data=path, users=2000, epsilon=1, contributions=2)
    rows, rivals = judged([row("a", 100)])
    there = [Variation("users", 8000, question(**CASE), rows), Variation("trust", "central", asking, rows)]
    text = page(Answer(asking, rows, rivals, [], variations=there))
    assert "left 0.3 (0.0" in text
    assert "is not private for the people in the data" in " ".join(text.split())
    assert "each has epsilon 0.5." in text
    said = "  users 8,000: a, mean 100 ± 0, median 100, 95 % at most 101, best arm pulled most in 75 % of 200 runs; "
    assert f"{said}uniform play 400\n" in text
    assert text.endswith("  trust central: a, 95 % at most 101")


def test_intervals_are_of_the_rewards_not_of_grouped_ones(csv):
    """Of heavy tails most of the variance is within the group of the largest."""
    rewards = np.random.default_rng(1).pareto(2.1, 1000).round(6) + 1e-6
    path = csv("arm,reward\n" + "".join(f"a,{reward}\n" for reward in rewards) + "b,1\n")
    found, single = read_past(path, heavy=True).intervals
    assert found == pytest.approx(mean(rewards, 0.025))
    assert (single.low, single.high) == (-math.inf, math.inf)
    assert read_past(path, heavy=True).in_order([1, 0]).intervals == [single, found]


def test_the_page_says_about_95_percent_where_intervals_are_approximate(csv):
    said = "with intervals that hold together with probability"
    for rewards, words in (("a,0\na,1\nb,0\nb,0\n", "95 %"), ("a,0.5\na,1\nb,0\nb,1\n", "about 95 %")):
        first, *_ = case(question(data=csv(f"arm,reward\n{rewards}"), users=2000, epsilon=1))
        assert f"{said} {words}: " in first
