"""The answers of the explorer: those of the rule, at every ε, and none is far above the least without a word."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.evidence.contests import FEWEST, TWICE, advice, began, contest, entitled, error_of_each
from experiments.store import stored_cells
from experiments.store.stored import Cells
from scripts.explore.about import about_cell, variant_labels
from scripts.explore.answers import all_answers
from scripts.explore.promises import DELTAS, TRUSTS
from scripts.explore.summaries import summary

EXPERIMENTS = ("atlas/bernoulli", "atlas/arms")
PROMISES = ("local", "shuffle, (ε, δ)", "distributed", "central", "central, (ε, δ)", "one decision, (ε, δ)")
EPSILONS = (0.01, 0.1, 0.5, 1, 3)
SIZES = ((5, 10**5), (5, 10**7), (5, 10**12), (10, 10**6), (20, 10**6))
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def asked():
    """Stored cells by key, the cells as the page has them, and all answers."""
    composer = Composer()
    cells = list(
        {
            of.cell.key: of for name in EXPERIMENTS for of in stored_cells(plan([[f"+experiment={name}"]], composer)[0])
        }.values()
    )
    pairs = [(about_cell(of.cell), summary(of, error_of_each(len(cells)))) for of in cells]
    labels = variant_labels([of for of, _ in pairs])
    return SimpleNamespace(cells=cells, pairs=pairs, labels=labels, book=all_answers(pairs, labels, []))


def answer_to(book, arms, horizon, trust, epsilon):
    """As the page looks it up."""
    size = next(of for of in book["sizes"] if (of["kind"], of["arms"], of["horizon"]) == ("bits", arms, horizon))
    of_delta = size["trusts"][trust]
    steps = of_delta[DELTAS.index(1e-6)] if len(of_delta) > 1 else of_delta[0]
    numbers = [number for start, number in steps if start <= epsilon * (1 + 1e-9)]
    return {name: values[numbers[-1]] for name, values in book["answers"].items()} if numbers else None


def questions():
    for arms, horizon in SIZES:
        for short in PROMISES:
            trust = next(place for place, of in enumerate(TRUSTS) if of.short == short)
            for epsilon in EPSILONS:
                yield arms, horizon, trust, epsilon


def test_no_answer_names_a_policy_far_above_the_least_in_silence(asked):
    """Mean and 95 % quantile from the stored runs, for each of 150 questions and each instance, are computed here."""
    every = list(questions())
    assert len(every) == len(PROMISES) * len(EPSILONS) * len(SIZES)
    wrong, answered = [], 0
    for question in every:
        answer = answer_to(asked.book, *question)
        if answer is None:
            continue
        answered += 1
        names = asked.book["names"]
        named = {names[place] for place in answer["records"][: answer["named"]]}
        said = {names[place] for place, *_ in answer["risky"]}
        for place in np.cumsum(answer["contests"]):
            rivals = [asked.cells[cell] for cell in np.cumsum(asked.book["contests"]["rivals"][place])]
            assert all(of.replications >= FEWEST and began(of) for of in rivals)
            means = [of.headline.mean() for of in rivals]
            highs = [np.quantile(of.headline, 0.95) for of in rivals]
            for of, mean, high in zip(rivals, means, highs, strict=True):
                name = asked.labels[about_cell(of.cell).variant]
                far = mean > TWICE * min(means) or high > TWICE * min(highs)
                trusted = question[1] < 10**9  # from there on no number of runs shows the means of all
                if name in named - said and (far if trusted else high > TWICE * min(highs)):
                    wrong.append((question, name, of.cell.instance.name, mean / min(means), high / min(highs)))
    assert answered > 100
    assert wrong == []


def test_the_answers_are_those_of_the_rule(asked):
    """For each question the rule itself, for the cells whose guarantee implies the promise."""
    by_key = {of.key: (of, numbers.standing) for of, numbers in asked.pairs}
    for arms, horizon, trust, epsilon in list(questions())[::7]:
        here = Cells(of for of in asked.cells if of.cell.arms == arms and of.cell.horizon == horizon)
        places = {}
        for of in entitled(here, TRUSTS[trust].required(epsilon, 1e-6)):
            places.setdefault(by_key[of.cell.key][0].instance, []).append(by_key[of.cell.key][1])
        answer = answer_to(asked.book, arms, horizon, trust, epsilon)
        found = advice(
            {place: contest(rivals) for place, rivals in places.items()},
            lambda key: asked.labels[by_key[key][0].variant],
        )
        if answer is None:
            assert not places
            continue
        names = asked.book["names"]
        shown = [(names[of], best) for of, best in zip(answer["records"], answer["best"], strict=True)]
        assert sorted(shown) == sorted((one.name, one.best_on) for one in found.records)
        assert {name for name, _ in shown[: answer["named"]]} == {one.name for one in found.named}
        risks = {names[of]: risk for of, risk in zip(answer["records"], answer["risks"], strict=True)}
        assert risks == pytest.approx({one.name: one.risk for one in found.records}, rel=0.06)
        assert {names[of]: why for of, why in answer["out"]} == found.out


def test_dp_imed_is_typical_and_not_recommended(asked):
    """C1 to C4, ε = 0.01, T = 10^7: its 95 % quantile is many times that of DP-KLUCB."""
    trust = next(place for place, of in enumerate(TRUSTS) if of.short == "central")
    answer = answer_to(asked.book, 5, 10**7, trust, 0.01)
    names = asked.book["names"]
    assert [names[of].partition(" (")[0] for of in answer["records"][: answer["named"]]] == ["DP-KLUCB"]
    assert names[answer["typical"][0][0]].startswith("DP-IMED")
    assert not any(math.isnan(risk) for risk in answer["risks"])
