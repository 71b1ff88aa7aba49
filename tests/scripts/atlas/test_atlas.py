"""The atlas: regret over the bound, winners, and the page, from invented numbers."""

import itertools
import math
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from bandits.environments.bernoulli import Bernoulli
from bandits.guarantees import NOT_PRIVATE, Guarantee, Scope
from experiments.config.compose import Composer
from experiments.errors import UserError
from experiments.evidence.contests import entitled
from experiments.store.stored import Cells
from scripts.atlas import __main__ as command
from scripts.atlas import field as atlas_field
from scripts.atlas.choice import Field, Notes
from scripts.atlas.field import field_of, published_field
from scripts.atlas.page import atlas_page
from scripts.pages.prices import Trust, geometric_mean, priced, trust_of
from scripts.site.pages.atlas import pages
from tests.scripts.drawing.test_winners import made_up


def on(stored, *means):
    return replace(stored, cell=replace(stored.cell, instance=Bernoulli(means)))


def test_regret_over_both_bounds_by_hand():
    """Means 1/2 and 1/4, epsilon = 0.1, T = 1000.

    logit(1/2) - logit(1/4) = log 3 > 0.1, so d = -0.1/4 - log(1 - (1 - e^-0.1)/2) = -0.025 + 0.0487505 = 0.0237505.
    The least regret is log(1000) x 0.25 / 0.0237505 = 72.7118. Locally r = 1/2 and 0.4875104, kl = 0.00031204, and it
    is log(1000) x 0.25 / 0.00031204 = 5534.4.
    """
    (entry,) = priced([on(made_up("dp_se", 0.1, 1000, 100.0), 0.5, 0.25)])
    assert math.isclose(entry.central.mean(), 100 / 72.7118, rel_tol=1e-4)
    assert math.isclose(entry.local.mean(), 100 / 5534.4, rel_tol=1e-4)


def test_geometric_mean_by_hand():
    assert math.isclose(geometric_mean([1.0, 4.0, 2.0]), 2.0)
    assert geometric_mean([0.0, 4.0]) == 0.0


def test_what_a_promise_costs_by_hand(cells):
    """Local 200 over the best central 10; 0.1 instead of 1: 20 over 10; medians of 20, 40 and of 10, 20, 200."""
    text = atlas_page(field(cells))
    costs = text[text.index("## What a promise costs") :].splitlines()
    assert "Trusting nobody costs more than each of the last two rows at ε = 1, and at no other ε." in costs
    assert "| trust nobody | – | 20 |" in costs
    assert "| ε in place of 1 | 2 | 1 |" in costs
    assert "| the median policy in place of the best | 1.5 | 2 |" in costs


def test_what_a_guarantee_is():
    assert trust_of(Guarantee(1.0)) is Trust.PURE
    assert trust_of(Guarantee(1.0, 1e-6)) is Trust.APPROXIMATE
    assert trust_of(Guarantee.gaussian(0.5, 1.0)) is Trust.GAUSSIAN
    assert trust_of(Guarantee.concentrated(0.5, 1.0)) is Trust.CONCENTRATED
    assert trust_of(Guarantee(1.0, 1e-6, Scope.SHUFFLE)) is Trust.SHUFFLE
    assert Guarantee(1.0).implies(Trust.CONCENTRATED.required(1.0, 0.0))
    assert Guarantee(1.0, 1e-6, Scope.SHUFFLE).implies(Trust.ROUNDED.required(1.0, 1e-6))
    assert trust_of(Guarantee(1.0, scope=Scope.LOCAL)) is Trust.LOCAL
    assert trust_of(Guarantee(1.0, scope=Scope.DISTRIBUTED)) is Trust.DISTRIBUTED
    assert trust_of(Guarantee(1.0, 1e-6, Scope.DISTRIBUTED)) is Trust.ROUNDED
    assert trust_of(Guarantee(1.0, 1e-6, Scope.DECISION)) is Trust.DECISION
    assert trust_of(NOT_PRIVATE) is Trust.NONE


def test_other_arms_are_refused():
    with pytest.raises(UserError, match="beta has no Bernoulli arms"):
        priced([made_up("dp_se", 1, 1000, 1.0, "instance=beta")])


@pytest.fixture
def cells():
    """DP-SE is better on both instances at epsilon 0.1, DP-UCB at 1; LDP-UCB-B is local, and far above both."""
    found = []
    for means in ((0.5, 0.25), (0.9, 0.8)):
        found += [on(made_up("dp_se", epsilon, 1000, mean), *means) for epsilon, mean in ((0.1, 20), (1, 20))]
        found += [on(made_up("dp_ucb", epsilon, 1000, mean), *means) for epsilon, mean in ((0.1, 40), (1, 10))]
        found += [on(made_up("ldp_ucb_b", 1, 1000, 200), *means), on(made_up("ucb1", 1, 1000, 5), *means)]
    return found


def field(cells, by_arms=()):
    return Field(priced(cells), priced(by_arms), [0.1, 1.0], 1e-6)


def row(text, label, promise):
    """The cells of the first table row of a policy after the heading "What it costs"."""
    lines = text[text.index("## What it costs") :].splitlines()
    return next(line for line in lines if line.startswith(f"| {label} | {promise} |")).split(" | ")[2:]


def choice_of(text, promise):
    """The rows of the table of a promise."""
    return text[text.index(f"**{promise}") :].splitlines()[2:]


def test_the_page_says_who_wins_and_what_it_costs(cells):
    text = atlas_page(field(cells))
    assert choice_of(text, "Central: the whole")[2] == "| 1,000 | DP-SE 2 | DP-UCB 2 |"
    assert choice_of(text, "Local: every reward")[:3] == [
        "| T | ε = 0.1 | ε = 1 |",
        "| --- | --- | --- |",
        "| 1,000 | – | LDP-UCB-B 2 |",
    ]
    assert choice_of(text, "Central, (ε, δ): the whole sequence of arms is (ε, δ)-private, δ = 10⁻⁶**")[2:3] == [
        "| 1,000 | DP-SE 2 | DP-UCB 2 |"
    ]
    assert "| central | DP-SE | DP-UCB |" in text
    assert "| local | – | LDP-UCB-B |" in text
    entries = [entry for entry in priced(cells) if entry.label == "DP-SE" and entry.budget == 1]
    low, high = sorted(float(entry.central.mean()) for entry in entries)
    tail = math.sqrt(math.prod(float(np.quantile(entry.central, 0.95)) for entry in entries))
    expected = f"{math.sqrt(low * high):.2g} / {tail:.2g} ({low:.2g} to {high:.2g})"
    assert row(text, "DP-SE", "central")[1].startswith(expected)
    assert len(row(text, "LDP-UCB-B", "local")) == 1  # in a table with a single budget
    assert "UCB1" not in text
    assert "2 Bernoulli instances (`bernoulli`), 2 budgets ε\nfrom 0.1 to 1, δ = 10⁻⁶" in text
    assert "200 to 200 runs of each" in text


def test_a_stronger_promise_competes_for_the_weaker(cells):
    """A local policy with less regret wins for distributed and central promises; for one decision with half of ε."""
    means = (0.5, 0.25)
    more = [*cells, on(made_up("ldp_ucb_l", 1, 1000, 2), *means)]
    more += [on(made_up("dp_imed", 0.5, 1000, 4), *means), on(made_up("dp_imed", 0.05, 1000, 5), *means)]
    text = atlas_page(field(more))
    assert (
        choice_of(text, "Central: the whole")[2]
        == "| 1,000 | DP-IMED [0.05] 1 of 1, DP-SE 1 | LDP-UCB-L 1 of 1, DP-UCB 1 |"
    )
    assert choice_of(text, "Distributed: every sum")[2] == "| 1,000 | – | LDP-UCB-L 1 of 1, LDP-UCB-B 1 |"
    decision = choice_of(text, "One decision, (ε, δ): a single arm, given the history, δ = 10⁻⁶;")[2]
    assert decision == "| 1,000 | DP-IMED [0.05] 1 | DP-IMED [0.5] 1 of 1, DP-SE [0.1] 1 |"
    gaussian = choice_of(text, "Central, Gaussian")[2]  # the level of (1, 1e-6) is 0.2367, that of pure 0.1 is 0.125
    assert gaussian == "| 1,000 | – | DP-IMED [0.05] 1 of 1, DP-SE [0.1] 1 |"


def test_policies_that_do_not_differ_significantly_are_named(cells):
    near = [on(made_up("dp_klucb", 1, 1000, 10.05), 0.5, 0.25), on(made_up("dp_imed", 1, 1000, 9.95), 0.5, 0.25)]
    text = atlas_page(field([*cells, *near]))
    assert choice_of(text, "Central: the whole")[2].endswith("| DP-UCB 1+1, DP-IMED +1 of 1, DP-KLUCB +1 of 1 |")
    several = [
        *near,
        on(made_up("adap_ucb", 1, 1000, 10.1), 0.5, 0.25),
        on(made_up("adap_klucb", 1, 1000, 10.02), 0.5, 0.25),
    ]
    last = choice_of(atlas_page(field([*cells, *several])), "Central: the whole")[2].split(" | ")[-1]
    assert last == "DP-UCB 1+1, DP-IMED +1 of 1, AdaP-KLUCB +1 of 1, DP-KLUCB +1 of 1, 1 more |"


def test_forms_of_a_policy_and_budgets_in_rho(cells):
    """Forms have labels of their own, budgets have none; of several rho the largest that is allowed takes part."""
    means = (0.5, 0.25)
    forms = [on(made_up("dp_klucb", 1, 1000, 9, f"policy.index={index}"), *means) for index in ("exact", "divergence")]
    forms.append(on(made_up("dp_klucb", 0.1, 1000, 90), *means))
    few, more = (
        on(made_up("adac_ucb", 1, 1000, mean, f"budget.rho={rho}"), *means) for rho, mean in ((0.005, 3), (0.5, 2))
    )
    known = priced([*forms, few, more])
    assert [entry.label for entry in known] == [
        "DP-KLUCB (ratio 2, exact index)",
        "DP-KLUCB (ratio 2)",
        "DP-KLUCB (ratio 2)",
        "AdaC-UCB",
        "AdaC-UCB",
    ]
    assert [entry.trust for entry in known[3:]] == [Trust.CONCENTRATED] * 2
    assert [entry.budget for entry in known[3:]] == pytest.approx([0.1, 1])
    text = atlas_page(field([*cells, few, more]))
    assert choice_of(text, "Central, zCDP")[2] == "| 1,000 | AdaC-UCB 1 of 1, DP-SE 1 | AdaC-UCB 1 of 1, DP-UCB 1 |"
    assert list(entitled(Cells([few, more]), Trust.CONCENTRATED.required(1.0, 0.0))) == [more]


def test_summaries_use_horizons_at_which_every_policy_ran_on_all_instances(cells):
    """At 2,000 steps DP-SE ran on one instance only; up to 1,000 all policies ran on both."""
    longer = on(made_up("dp_se", 1, 2000, 20), 0.5, 0.25)
    assert field([*cells, longer]).whole_until(2000) == 1000
    assert field(cells).whole_until(1000) == 1000
    assert field([longer, on(made_up("dp_ucb", 1, 1000, 20), 0.9, 0.8)]).whole_until(2000) == 2000


def test_no_row_is_shown_without_a_policy_that_is_recommended_above(cells):
    """At 2,000 steps DP-UCB, recommended at 1,000 for epsilon = 1, was not run; DP-SE, recommended for 0.1, was."""
    longer = [on(made_up("dp_se", epsilon, 2000, 20), *of) for of in ((0.5, 0.25), (0.9, 0.8)) for epsilon in (0.1, 1)]
    text = atlas_page(field([*cells, *longer]))
    assert choice_of(text, "Central: the whole")[2:7] == [
        "| 1,000 | DP-SE 2 | DP-UCB 2 |",
        "| 2,000 | DP-SE 2 | – |",
        "",
        "Took part: DP-SE; DP-UCB at T = 1,000; LDP-UCB-B at T = 1,000.",
        "",
    ]
    assert "Was not run: DP-UCB at T = 2,000; LDP-UCB-B at T = 2,000." in text
    assert "Not shown, as a policy was not run that is recommended at a shorter T: T = 2,000, ε = 1 (DP-UCB)." in text
    still = [on(made_up("dp_se", 1, 4000, 20), *of) for of in ((0.5, 0.25), (0.9, 0.8))]
    everything = field([*cells, *longer, *still])
    assert everything.absent(Trust.PURE, 1.0, 4000) == {"DP-UCB": 1000}
    one = on(made_up("dp_ucb", 1, 2000, 10), 0.5, 0.25)  # on one of the instances alone
    assert field([*cells, *longer, one]).absent(Trust.PURE, 1.0, 2000) == {"DP-UCB": 1000}
    both = [one, on(made_up("dp_ucb", 1, 2000, 10), 0.9, 0.8)]
    assert field([*cells, *longer, *both]).absent(Trust.PURE, 1.0, 2000) == {}


def test_who_takes_no_part_is_named(cells):
    few = on(made_up("dp_imed", 1, 1000, 1.0), 0.5, 0.25)
    few = replace(few, rows={name: rows[:20] for name, rows in few.rows.items()})
    text = atlas_page(field([*cells, few]))
    assert "Took no part on some instance at some ε: DP-IMED (20 runs) at T = 1,000." in text
    assert choice_of(text, "Central: the whole")[2] == "| 1,000 | DP-SE 2 | DP-UCB 2 |"


@pytest.fixture(scope="module")
def published():
    """The plans of the published cells, and these."""
    plans = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atlas_field, "field_of", lambda *of_all: plans.extend(of_all) or field_of(*of_all))
        return plans, published_field(Composer())


@pytest.mark.slow
def test_no_stored_row_is_shown_without_a_policy_that_is_recommended_above(published):
    """Of the published cells, by the definition: who is recommended at the horizon before has a cell there."""
    _, everything = published
    assert everything.epsilons == [0.01, 0.03, 0.1, 0.3, 1, 3]
    notes, shown = Notes(everything), 0
    for trust in (Trust.LOCAL, Trust.SHUFFLE, Trust.PURE):
        for epsilon in everything.epsilons:
            for before, at in itertools.pairwise(everything.horizons):
                if notes.advice(trust, epsilon, at) is None:
                    continue
                shown += 1
                here = everything.entrants(trust, epsilon, at)
                for place, rivals in everything.entrants(trust, epsilon, before).items():
                    best = {one.key for one in everything.contest(rivals).best}
                    named = {of.label for of in rivals if of.stored.cell.key in best}
                    assert named <= {of.label for of in here[place]}, (trust, epsilon, at)
    assert shown > 20


def test_few_arms_and_many(cells):
    arms = [made_up("dp_se", 1, 1000, mean, f"instance.arms={arms}") for arms, mean in ((2, 20.0), (50, 900.0))]
    arms += [made_up("dp_ucb", 1, 1000, 30.0, "instance.arms=2")]
    arms += [made_up("ldp_ucb_b", 1, 1000, 30.0, "instance.arms=50")]
    text = atlas_page(field(cells, arms))
    table = text[text.index("## Few arms and many") :].splitlines()
    found = {entry.stored.cell.key: float(entry.central.mean()) for entry in priced(arms)}
    low = found[arms[0].cell.key]
    assert next(line for line in table if "K = 2 " in line).startswith(f"| `c1`, K = 2 | DP-SE: {low:.2g} / ")
    assert next(line for line in table if "K = 50 " in line).count("LDP-UCB-B: ") == 2


def test_a_policy_that_has_not_left_its_start_wins_nothing(cells):
    """DP-UCB pulled only the best arm, by its start: it has no regret, but it does not count."""
    start = [
        replace(of, rows={**of.rows, "regret": 0 * of.regret, "pulls": of.pulls * [5, 0, 0, 0, 0]})
        if of.cell.policy.name == "dp_ucb"
        else of
        for of in cells
    ]
    text = atlas_page(field(start))
    assert "| 1,000 | DP-SE 2 | DP-SE 2 |" in text
    assert [cell.removesuffix(" |") for cell in row(text, "DP-UCB", "central")] == ["start", "start"]


def test_the_page_has_median_mean_and_quantile(cells):
    """19 runs of 10 and one of 1000: median 10, mean 59.5, 99 % quantile 1000, all over the bound."""
    (stored,) = [of for of in cells if of.cell.policy.name == "dp_ucb" and of.cell.policy.epsilon == 1][:1]
    regret = np.full((200, 1), 10.0)
    regret[:10] = 1000.0
    rare = replace(stored, rows={**stored.rows, "regret": regret})
    bound = 10 / float(priced([stored])[0].central.mean())
    text = atlas_page(field([rare]))
    shown = next(line for line in text[text.index("bad run costs") :].splitlines() if line.startswith("| DP-UCB"))
    assert shown.split(" | ")[2].removesuffix(" |").split(" / ") == [
        f"{value / bound:.2g}" for value in (10, 59.5, 1000)
    ]


@pytest.mark.parametrize("words", [[], ["join=dp_se"], ["results_dir=elsewhere"]])
def test_a_page_needs_a_file(words, monkeypatch):
    line = SimpleNamespace(plans=lambda: [None, None], jobs=[[]], composer=None, config=None)
    monkeypatch.setattr(command, "read_command_line", lambda: line)
    monkeypatch.setattr(sys, "argv", ["atlas", *words])
    with pytest.raises(UserError, match=r"page: missing; give page=FILE"):
        command.main()


def test_several_values_of_a_key_are_refused(monkeypatch):
    line = SimpleNamespace(plans=lambda: [None] * 4, jobs=[[]], composer=None, config=None)
    monkeypatch.setattr(command, "read_command_line", lambda: line)
    monkeypatch.setattr(sys, "argv", ["atlas", "page=a.md", "horizon=1e5,1e6"])
    with pytest.raises(UserError, match=r"give one value of each"):
        command.main()


def test_a_page_is_written_from_the_plans(cells, tmp_path, monkeypatch, capsys):
    """In a copy without results too: the plans are made up."""
    line = SimpleNamespace(plans=lambda: [None, None], jobs=[[]], composer=None, config=None)
    monkeypatch.setattr(command, "read_command_line", lambda: line)
    monkeypatch.setattr(command, "elsewhere_plans", lambda *_: [None, None, None])
    monkeypatch.setattr(command, "flag", lambda config, key: False)
    monkeypatch.setattr(command, "field_of", lambda *plans: field(cells))
    monkeypatch.setattr(sys, "argv", ["atlas", f"page={tmp_path}/atlas.md"])
    command.main()
    assert sys.argv == ["atlas", "-m", "+experiment=atlas/bernoulli,atlas/arms"]
    assert capsys.readouterr().out == f"{tmp_path}/atlas.md\n"
    assert (tmp_path / "atlas.md").read_text(encoding="utf-8") == atlas_page(field(cells))


@pytest.mark.slow
def test_the_page_of_the_site_is_what_the_command_writes(published, tmp_path, monkeypatch):
    """The whole page, from stored results; of the command the plans alone: another test has what it makes of them."""
    plans, whole = published
    monkeypatch.setattr("scripts.site.pages.atlas.published_field", lambda _: whole)
    (page,) = pages(None, None)
    assert page.text.count("\n## ") > 8
    assert page.text.count("\n| ") > 100
    monkeypatch.setattr(sys, "argv", ["atlas", f"page={tmp_path}/atlas.md"])
    asked = []
    monkeypatch.setattr(command, "field_of", lambda *of_all: asked.extend(of_all))
    monkeypatch.setattr(command, "atlas_page", lambda _: "")
    command.main()
    assert [of.requests for of in asked] == [of.requests for of in plans]
    assert [of.config.epsilons for of in asked[:1]] == [whole.epsilons]
