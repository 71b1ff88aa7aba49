"""How many users until the best arm is named: the search, its page, and two arms against their exact law."""

from dataclasses import replace

import pytest

from bandits.exact.two_arms import TwoArms
from experiments import UserError
from experiments.advice import naming
from experiments.advice.fixed_budget import MOST_WAYS, Namer, NamingCase, runs_to_show
from experiments.advice.naming import Naming, name_best
from experiments.advice.question import question
from experiments.advice.words import naming_page, naming_sentence
from experiments.intervals import Interval, exactly, share_ends
from scripts import advise as command

CASE = {"means": [0.5, 0.7], "epsilon": 1.0}
THREE = CASE | {"means": [0.5, 0.5, 0.7]}


def namer(label, wrong, users=100, stops=False, bound=1.0):
    return Namer(label, Interval(wrong, wrong / 2, wrong * 1.5), bound, users, stops=stops)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "users"),
        ({"users": 100, "error": 0.05}, "users"),
        ({"error": 0}, "error"),
        ({"error": 0.5}, "error"),
        ({"error": "few"}, "error"),
        ({"error": 0.05, "runs": 58}, "runs"),
        ({"error": 0.05, "runs": 1e9}, "runs"),
        ({"error": 0.05, "runs": "many"}, "runs"),
        ({"error": 0.05, "trust": "nobody"}, "trust"),
        ({"error": 0.05, "rewards": "heavy"}, "rewards"),
        ({"error": 0.05, "means": [0.5, 0.5]}, "means"),
    ],
)
def test_wrong_input_is_one_line_that_names_the_field(fields, field):
    with pytest.raises(UserError, match=rf"^{field}: [^\n]+$"):
        name_best(**CASE | fields)


def test_goals_of_the_command(call):
    assert "advise: goal: must be one of regret, best_arm, got fame" in call("goal=fame", main=command.main).err
    assert "advise: error: only for goal=best_arm" in call("error=0.05", main=command.main).err


def test_the_search_ends_just_above_the_least_number(monkeypatch):
    """A design that errs with probability 10 / users at most 15 / users, by its interval: enough from 300 users on."""
    asked = []

    def namers(case, users, rules=True):
        gap = max(case.means) - sorted(case.means)[-2]
        asked.append((users, case.epsilon, case.trust, round(gap, 9)))
        rule = [namer("rule", 0.01 if users >= 2000 else 1.0, users / 2, stops=True)]
        return [namer("fixed", 10 / users * (0.2 / gap) ** 2), *(rule if rules else [])]

    monkeypatch.setattr(NamingCase, "namers", namers)
    answer = name_best(**THREE, error=0.05, contributions=2, users="?", trust="shuffle")
    assert 300 <= answer.asking.users <= 300 * 4 ** (1 / 16) + 2
    assert answer.sure[0] == answer.asking.users * 16
    assert answer.sure[1].users == answer.asking.users * 8
    assert {(epsilon, trust) for _, epsilon, trust, _ in asked} == {(0.5, "shuffle"), (None, "central")}  # two rewards
    sought = {users for users, epsilon, _, gap in asked if epsilon and gap == 0.2 and users <= 768}
    assert [users for users, _ in answer.curve] == sorted(sought)
    (half, many, _), (twice, few, _) = answer.nearby
    assert (half, twice) == (0.5, 2.0)
    assert 1200 <= many <= 1200 * 4 ** (1 / 16) + 2  # four times as many at half the gap
    assert 75 <= few <= 75 * 4 ** (1 / 16) + 2
    given = name_best(**THREE, users=6400)
    assert given.sure is None
    assert [users for users, _ in given.curve] == [400, 1600, 6400, 25600]
    assert [(users, row.wrong.estimate) for _, users, row in given.nearby] == [
        (6400, pytest.approx(40 / 6400)),
        (6400, pytest.approx(2.5 / 6400)),
    ]


def test_a_range_of_gaps_is_answered_at_its_smallest(monkeypatch):
    """At .1 the fake design needs 4 times as many users as at the middle, .2, and too many below .01."""

    def namers(case, users, rules=True):
        gap = max(case.means) - sorted(case.means)[-2]
        return [namer("fixed", 10 / users * (0.2 / gap) ** 2 if gap > 0.01 else 1.0)]

    monkeypatch.setattr(NamingCase, "namers", namers)
    case = {"arms": 3, "rate": 0.5, "gap": [0.1, 0.4], "epsilon": 1.0}
    answer = name_best(**case, error=0.05)
    assert sorted(answer.asking.means) == [0.4, 0.5, 0.6]
    assert 1200 <= answer.asking.users <= 1200 * 4 ** (1 / 16) + 2
    (middle, _, _), (largest, few, _) = answer.nearby
    assert (middle, largest) == (pytest.approx(2), pytest.approx(4))
    assert 75 <= few <= 75 * 4 ** (1 / 16) + 2
    said = " That is at the smallest gap of the range, 0.1, the hardest; at the largest, 0.4,"
    assert f"{said} about {few:,} are enough." in naming_sentence(answer)
    assert f"\n  gaps x 4: about {few:,} users, fixed, wrong in " in naming_page(answer)
    given = name_best(**case, users=1000)
    assert given.rows[0].wrong.estimate == pytest.approx(0.04)
    assert " the hardest; at the largest, 0.4, 0.25 % of runs err." in naming_sentence(given)
    with pytest.raises(UserError, match=r"^error: no policy is seen to name the best arm so surely with "):
        name_best(**case | {"gap": [0.008, 0.2]}, error=0.05)
    assert "of the range" not in naming_sentence(name_best(**case | {"gap": 0.2}, error=0.05))


def test_what_is_proved_is_enough_where_runs_cannot_show_it(monkeypatch):
    """No run errs, but their interval ends at .004; the theorem says .16 / users: less than .001 from 160 users on."""
    asked = []

    def namers(case, users, rules=True):
        asked.append(case.runs)
        others = Namer("other", Interval(0.0, 0.0, 0.004), 1.0, users)
        return [others, Namer("halving", Interval(0.001, 0.0, 0.008), 0.16 / users, users)]

    monkeypatch.setattr(NamingCase, "namers", namers)
    found = name_best(**THREE, error=0.001)
    assert 160 <= found.asking.users <= 160 * 4 ** (1 / 16) + 2
    assert naming_sentence(found).startswith(f"About {found.asking.users} users are enough for halving to err in")
    assert set(asked) == {runs_to_show(0.001)}


def test_runs_are_enough_to_see_a_small_error(monkeypatch):
    """Of so many runs without an error, ten ways together, the interval ends below the error, and not of fewer."""
    for error in (0.001, 0.005, 0.05):
        runs = runs_to_show(error)
        assert share_ends(runs, 0.05 / MOST_WAYS)[1][0] <= error < share_ends(runs - 1, 0.05 / MOST_WAYS)[1][0]
    with pytest.raises(UserError, match=r"^runs: must be at least 5989 to see an error of at most 0.001, got 1000$"):
        name_best(**THREE, error=0.001, runs=1000)


@pytest.mark.slow
def test_a_small_error_is_reached_with_few_users(tmp_path):
    """The theorem says 5.5e-7 for 400 users."""
    found = name_best(means=[0.9, 0.5, 0.1], epsilon=1, error=0.001, results_dir=str(tmp_path))
    assert found.asking.users < 400
    assert all(users is not None for _, users, _ in found.nearby)


def test_two_arms_may_need_more_users_than_there_are(monkeypatch):
    monkeypatch.setattr(TwoArms, "pulls_for", lambda design, error: naming.MOST_USERS // 2 + 1)
    with pytest.raises(UserError, match=r"^error: no policy is seen to name the best arm so surely with "):
        name_best(**CASE, error=0.05)


def test_the_page_by_hand():
    asking = question(**CASE, users=300)
    rows = [namer("DP-Halving", 0.02, bound=0.2), namer("DP-TT", 1.0, stops=True)]
    answer = Naming(asking, 0.05, rows, namer("Halving", 0.01), [(75, rows[0])], (4800, namer("DP-TT", 0.0, 900, True)))
    text = naming_page(answer)
    assert [line.split() for line in text.splitlines() if line.startswith("DP-Halving")] == [
        ["DP-Halving", "2", "%", "3", "%", "20", "%", "100"]
    ]
    assert "Halving, not private" in text
    assert text.endswith("\n  75 users: DP-Halving, wrong in 2 % (1 to 3 %)")
    said = naming_sentence(answer)
    assert said.startswith(
        "About 300 users are enough for DP-Halving to err in at most 5 % of runs. That is so for these"
    )
    assert said.endswith("here after 900 users in the mean; with 4,800 it stops in time.")


@pytest.mark.slow
def test_two_arms_are_those_of_their_exact_law(tmp_path):
    """One noisy difference of sums errs least; with two users fewer it errs more often than asked for."""
    answer = name_best(**CASE, error=0.05, runs=100, results_dir=str(tmp_path))
    users, best = answer.asking.users, answer.rows[0]
    exact = TwoArms((0.7, 0.5), epsilon=1.0)
    assert best.wrong == exactly(exact.wrong(users // 2))
    assert exact.wrong(users // 2) <= 0.05 < exact.wrong(users // 2 - 1)
    assert [row.label for row in answer.rows].count("DP-Halving") == 1
    assert not any("uniform" in row.label for row in answer.rows)
    assert [at for at, _ in answer.curve] == [number for number in (round(users / 4), users, 4 * users) if number >= 32]
    (_, many, half), (_, few, twice) = answer.nearby
    assert half.wrong.estimate <= 0.05 < TwoArms((0.5, 0.6), epsilon=1.0).wrong(many // 2 - 1)
    assert twice.wrong.estimate <= 0.05 < TwoArms((0.5, 0.9), epsilon=1.0).wrong(few // 2 - 1)


def test_who_is_said_to_suffice_errs_seldom_by_its_interval():
    """The rule is less often wrong in its runs, 4 %, but its interval ends at 6 %."""
    rows = [namer("rule", 0.04, stops=True), namer("fixed", 0.045)]
    rows[1] = replace(rows[1], wrong=exactly(0.045))
    said = naming_sentence(Naming(question(**CASE, users=300), 0.05, rows, namer("Halving", 0.01), []))
    assert said.startswith("About 300 users are enough for fixed to err in at most 5 % of runs.")
