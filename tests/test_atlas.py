"""The atlas: regret over the bound, who wins, and the page, from made-up numbers."""

import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from bandits.environments.bernoulli import Bernoulli
from bandits.guarantees import NOT_PRIVATE, Guarantee, Scope
from experiments.errors import UserError
from scripts.atlas import __main__ as command
from scripts.atlas.page import page
from scripts.atlas.prices import Trust, geometric_mean, priced, trust_of
from tests.test_winners import made_up


def on(stored, *means):
    return replace(stored, cell=replace(stored.cell, instance=Bernoulli(means)))


def test_what_a_guarantee_is():
    assert trust_of(Guarantee(1.0)) is Trust.PURE
    assert trust_of(Guarantee(1.0, 1e-6)) is Trust.APPROXIMATE
    assert trust_of(Guarantee.gaussian(0.5, 1.0)) is Trust.GAUSSIAN
    assert trust_of(Guarantee(1.0, scope=Scope.LOCAL)) is Trust.LOCAL
    assert trust_of(Guarantee(1.0, scope=Scope.DISTRIBUTED)) is Trust.DISTRIBUTED
    assert trust_of(Guarantee(1.0, 1e-6, Scope.DISTRIBUTED)) is Trust.ROUNDED
    assert trust_of(Guarantee(1.0, 1e-6, Scope.DECISION)) is Trust.DECISION
    assert trust_of(NOT_PRIVATE) is Trust.NONE


def test_regret_over_both_bounds_by_hand():
    """Means 1/2 and 1/4, epsilon = 0.1, T = 1000.

    logit(1/2) - logit(1/4) = log 3 > 0.1, so d = -0.1/4 - log(1 - (1 - e^-0.1)/2) = -0.025 + 0.0487505 = 0.0237505.
    The least regret is log(1000) x 0.25 / 0.0237505 = 72.7118. Locally r = 1/2 and 0.4875104, kl = 0.00031204, and it
    is log(1000) x 0.25 / 0.00031204 = 5534.4.
    """
    (entry,) = priced([on(made_up("dp_se", 0.1, 1000, 100.0), 0.5, 0.25)])
    assert math.isclose(entry.central.mean(), 100 / 72.7118, rel_tol=1e-4)
    assert math.isclose(entry.local.mean(), 100 / 5534.4, rel_tol=1e-4)


def test_other_arms_are_refused():
    with pytest.raises(UserError, match="beta has no Bernoulli arms"):
        priced([made_up("dp_se", 1, 1000, 1.0, "instance=beta")])


def test_geometric_mean_by_hand():
    assert math.isclose(geometric_mean([1.0, 4.0, 2.0]), 2.0)
    assert geometric_mean([0.0, 4.0]) == 0.0


@pytest.fixture
def cells():
    """DP-SE is better on both instances at 0.1, DP-UCB at 1; LDP-UCB-B is local, and far above both."""
    found = []
    for means in ((0.5, 0.25), (0.9, 0.8)):
        found += [on(made_up("dp_se", epsilon, 1000, mean), *means) for epsilon, mean in ((0.1, 20), (1, 20))]
        found += [on(made_up("dp_ucb", epsilon, 1000, mean), *means) for epsilon, mean in ((0.1, 40), (1, 10))]
        found += [on(made_up("ldp_ucb_b", 1, 1000, 200), *means), on(made_up("ucb1", 1, 1000, 5), *means)]
    return found


def row(text, label, promise):
    """The cells of the first table row of a policy after the heading "What it costs"."""
    lines = text[text.index("## What it costs") :].splitlines()
    return next(line for line in lines if line.startswith(f"| {label} | {promise} |")).split(" | ")[2:]


def test_the_page_says_who_wins_and_what_it_costs(cells):
    text = page(priced(cells))
    central = text[text.index("**Central: the whole") :].splitlines()
    assert central[4] == "| 1,000 | DP-SE 2 | DP-UCB 2 |"
    local = text[text.index("**Local: every reward") :].splitlines()
    assert local[2:5] == ["| T | ε = 1 |", "| --- | --- |", "| 1,000 | LDP-UCB-B 2 |"]
    ratios = [float(entry.central.mean()) for entry in priced(cells) if entry.label == "DP-SE" and entry.budget == 1]
    low, high = sorted(ratios)
    assert row(text, "DP-SE", "central")[1].startswith(f"{math.sqrt(low * high):.2g} ({low:.2g} to {high:.2g})")
    assert len(row(text, "LDP-UCB-B", "local")) == 1  # in a table with its one budget
    assert "UCB1" not in text
    assert "2 Bernoulli instances (`bernoulli`), 2 budgets ε\nfrom 0.1 to 1" in text
    assert "20 runs of each" in text


def test_a_policy_that_has_not_left_its_start_wins_nothing(cells):
    """DP-UCB pulled the best arm alone: no regret at all, and no merit."""
    start = [
        replace(of, rows={**of.rows, "regret": 0 * of.regret, "pulls": of.pulls * [5, 0, 0, 0, 0]})
        if of.cell.policy.name == "dp_ucb"
        else of
        for of in cells
    ]
    text = page(priced(start))
    assert "| 1,000 | DP-SE 2 | DP-SE 2 |" in text
    assert [cell.removesuffix(" |") for cell in row(text, "DP-UCB", "central")] == ["start", "start"]


def test_the_page_has_median_mean_and_quantile(cells):
    """19 runs of 10 and one of 1000: median 10, mean 59.5, 99 % quantile 10 + 0.81 x 990 = 811.9, over the bound."""
    (stored,) = [of for of in cells if of.cell.policy.name == "dp_ucb" and of.cell.policy.epsilon == 1][:1]
    regret = np.full((20, 1), 10.0)
    regret[3] = 1000.0
    rare = replace(stored, rows={**stored.rows, "regret": regret})
    bound = 10 / float(priced([stored])[0].central.mean())
    text = page(priced([rare]))
    said = next(line for line in text[text.index("bad run costs") :].splitlines() if line.startswith("| DP-UCB"))
    assert said.split(" | ")[2].removesuffix(" |").split(" / ") == [
        f"{value / bound:.2g}" for value in (10, 59.5, 811.9)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("words", [["join=dp_se"], ["results_dir=elsewhere"], ["horizon=1e4"]])
def test_the_published_page_shows_what_is_published(words, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["atlas", *words])
    with pytest.raises(UserError, match=r"page: missing; docs/atlas\.md shows what is published"):
        command.main()
