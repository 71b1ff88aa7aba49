"""The text of the page on what privacy costs, from the cells of the atlas."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from experiments.evidence.contests import FEWEST, TWICE, UPPER
from scripts.atlas.choice import Field, advice_table, by_arms, choice, costs
from scripts.atlas.elsewhere import LEARNS, NOTHING, bounded, heavy, identification
from scripts.drawing.numbers import parameter, span
from scripts.pages.prices import Priced, Trust, geometric_mean
from scripts.pages.tables import markdown_table
from scripts.pages.text import short

HEADER = """# What privacy costs

Regret of private policies on {instances} Bernoulli instances ({names}), {budgets} budgets ε
from {least} to {most}, δ = {delta} where there is one, and horizons T up to {longest}; {runs} runs of each.
To compare instances, regret is divided by **the bound**: log T times the least slope that regret can have under
ε-privacy of the whole sequence of arms (Azize et al. 2025, `bandits.bounds.azize2025.lower_bound_line`). As T grows,
the quotient of an ε-private policy cannot stay below 1; at a finite T it can be below 1.
Tables give geometric means over instances.

`python -m scripts.figures +experiment=atlas/winners` draws a map of the best policies, `atlas/bernoulli` and
`atlas/trust` draw regret against ε, `atlas/arms` draws it against the number of arms, and `atlas/profiles` shows all
instances together, with the probability that one policy has less regret than another. The site shows them on the page
of this repository, among the papers. To add a policy of your own:
`python -m scripts.atlas --config-dir mine join=NAME complete=true page=mine/atlas.md`.
"""
CHOICE = """## Which policy to take

First choose whom you trust, then look up ε. The table names the policies that are recommended on the most of the
{instances} instances, at T = {horizon}. Run a policy at the ε in brackets if there is one, and a policy that takes ρ at
ρ = ε² / 2. A policy that is *typical* has the least median on the most instances; it is not safe: its 95 % quantile or
its mean is up to that many times the least.

This is known for Bernoulli rewards, with {arms} arms, and for rewards in [0, 1] that are rounded to bits. For heavy
tails, and to name the best arm, see the tables below. It is not known if the losses of all arms are seen (`wu2025`).
Which rewards a promise allows is in [privacy](privacy.md).
"""
DETAILS = """For each promise, the policies are compared whose own promise implies it ([theorems](theorems.md),
section 6), each at the largest such ε that was run, if it has at least {fewest} runs and its start phase is over; below
each table stands who took part and who did not. The *risk* of a policy on an instance is the larger of two quotients:
its 95 % quantile of regret to the least one, and its mean to the least mean that is not in doubt
([glossary](glossary.md)). One policy beats another if its mean is smaller, or that of the other is in doubt, and the
intervals of their 95 % quantiles are disjoint; of their 80 % quantiles if one of them has fewer than {apart} runs.
These intervals are of order statistics, valid for any law of regret, and all of this page hold simultaneously with
probability 95 %; no interval of a mean is. Recommended are the policies that no other beats, if their risk is at most
{twice}; if there is none, of those that no other beats the one of the least risk. The explorer answers by the same
rule.

## At every horizon

"DP-IMED 5+3, DP-KLUCB +3" means: on 5 of the {instances} instances DP-IMED alone is recommended; on 3 more it is one of
several policies, as is DP-KLUCB. "5 of 5" means that a policy takes part on only 5 instances. A place is empty if a
policy was not run there that takes part and is recommended at the horizon before, or has been missing since.
"""
COSTS = """## What a promise costs

The table gives factors by which the least mean regret grows: if nobody is trusted, or only sums are, instead of a
trusted learner; with this ε instead of the largest; and, among the ε-private policies of a trusted learner, with the
median policy instead of the best.
"""
ARMS = """## Few arms and many

The best policies with K arms and equal (`c1`) or unequal (`c2`) gaps at T = {horizon}, and the mean and the 95 %
quantile of the regret of the first, divided by the bound.
"""
BOUNDED = """## Other rewards in [0, 1]

If each reward x is replaced by 1 with probability x and by 0 otherwise, a policy for bits keeps its promise, and its
regret has the same law as on Bernoulli rewards of the same means ([theorems](theorems.md), 6.6): the tables above then
hold for all rewards in [0, 1]. The table compares this, marked (bits), with policies that take the rewards as they are:
Beta rewards with parameters mean c and (1 − mean) c, means in equal steps from 0.9, T = {horizon}. Numbers are mean and
95 % quantile of regret, as shares of the regret of pulling all arms equally often.
"""
HEAVY = """## Heavy tails

Pareto rewards of shape 1.05 + v, means in equal steps from 0.9: mean and 95 % quantile of regret, as shares of the
regret of pulling all arms equally often. "{nothing}": the median of no policy is surely below {learns} of it.
Policies know v and the moment; s is the factor of their confidence constants, 1/12 in place of the printed 1.
"""
IDENTIFIED = """## To name the best arm

The policies that need the fewest pulls until they name an arm, wrongly with probability 0.01 at most, on `c1` (equal
gaps) and `c2` (unequal gaps): mean and 95 % quantile of the pulls of the first.
"""
PRICE = """## What it costs

Mean and 95 % quantile of regret divided by the bound, as mean / quantile. In brackets: the smallest and the largest
mean over instances. *start*: T is within the start phase of the policy and some arm was never pulled, so that regret
depends only on the order of the arms.
"""
LUCK = """## What a bad run costs

Median, mean and 99 % quantile of regret divided by the bound, at T = {horizon}. If the mean is far above the median, it
comes from a few bad runs; choose a policy whose quantile you can accept.
"""
LOCAL = """## Local privacy against its own bound

Without a trusted learner the bound is larger: log T times the slope of theorem 5.2 of [theorems](theorems.md). The
table gives mean regret divided by this bound, at T = {horizon}.
"""
FAIR = """## Which comparisons are fair

In the tables that compare policies, each takes part under every promise that its own implies; such comparisons are
fair, at the same ε and T. A difference between policies with different promises is the price of the promise, not the
merit of a policy. What each policy promises:

{promises}

Policies that take ρ are run at ρ = ε² / 2. An ε-private policy keeps this ρ, and a policy with this ρ need not be
ε-private: their comparison is fair one way only, if the ε-private policy has less regret.

Policies with δ > 0 (here δ = {delta}) or with Gaussian privacy promise less than ε-privacy, and a promise about one
decision is far weaker than one about the whole sequence: [privacy](privacy.md) says how large the ε of a sequence
gets. For these policies the bound is only a unit, not a lower bound. A pure policy that beats policies with δ > 0
also promises more than they do. Policies that take T as a parameter know it here. On C1 to C4 the first arm is the
best; where the order of arms matters, as indices tie or a batch is cut short, every run has them in a random order
({ordered}). The instances were fixed before any policy was run on them: five are from papers, three were
drawn at random.
"""


def atlas_page(field: Field) -> str:
    """The text of the page."""
    private = [entry for entry in field.entries if entry.budget in field.epsilons or entry.trust is Trust.ROUNDED]
    measured = _best_measured(private)
    whole = field.whole_until(measured)
    there = _at(private, measured)
    parts = [
        _header(field, private),
        CHOICE.format(
            instances=len(field.places),
            horizon=parameter(whole),
            arms=span({entry.stored.cell.arms for entry in field.entries}),
        ),
        advice_table(field, whole),
        DETAILS.format(instances=len(field.places), fewest=FEWEST, apart=field.fewest_runs, twice=short(TWICE)),
        *filter(None, (choice(trust, field) for trust in Trust if trust is not Trust.NONE)),
        COSTS,
        costs(field, whole),
    ]
    if field.by_arms:
        (horizon,) = {entry.horizon for entry in field.by_arms}
        parts += [ARMS.format(horizon=parameter(horizon)), by_arms(field)]
    parts += list(_elsewhere(field))
    parts += [
        PRICE,
        *(f"**T = {parameter(at)}**\n\n{_by_policy(_at(private, at), _price)}" for at in field.horizons),
        LUCK.format(horizon=parameter(measured)),
        _by_policy(there, _luck),
    ]
    local = _of(there, Trust.LOCAL)
    if local:
        parts += [LOCAL.format(horizon=parameter(measured)), _by_policy(local, _over_local)]
    promises = "\n".join(
        f"- {trust.in_words(field.delta)}: {', '.join(_labels(_of(private, trust)))}." for trust in _trusts(private)
    )
    ordered = ", ".join(sorted({one.label for one in private if one.stored.cell.policy.order_matters}))
    return "\n".join([*parts, FAIR.format(promises=promises, delta=parameter(field.delta), ordered=ordered)])


def _elsewhere(field: Field) -> Iterator[str]:
    """The sections about other rewards and about naming the best arm, if they have cells."""
    for part, text, rows in (
        (field.bounded, BOUNDED, bounded),
        (field.heavy, HEAVY, heavy),
        (field.identified, IDENTIFIED, identification),
    ):
        if part.cells:
            promised = [stored.cell.policy.guarantee for stored in part.cells]
            budgets = sorted({guarantee.epsilon for guarantee in promised if guarantee.private})
            horizon = parameter(max(stored.cell.horizon for stored in part.cells))
            yield text.format(horizon=horizon, nothing=NOTHING, learns=f"{LEARNS:.0%}".replace("%", " %"))
            yield rows(part, field.standings, budgets, field.delta)


def _header(field: Field, entries: Sequence[Priced]) -> str:
    budgets = sorted(field.epsilons)
    names = dict.fromkeys(entry.stored.cell.instance.name for entry in entries)
    return HEADER.format(
        instances=len({entry.place for entry in entries}),
        names=", ".join(f"`{name}`" for name in names),
        budgets=len(budgets),
        least=parameter(budgets[0]),
        most=parameter(budgets[-1]),
        delta=parameter(field.delta),
        longest=parameter(max(entry.horizon for entry in entries)),
        runs=span({entry.stored.replications for entry in entries}),
    )


def _best_measured(entries: Iterable[Priced]) -> int:
    """The horizon of the cell with the most runs, the longest in case of a tie."""
    return max((entry.stored.replications, entry.horizon) for entry in entries)[1]


def _of(entries: Iterable[Priced], trust: Trust) -> list[Priced]:
    return [entry for entry in entries if entry.trust is trust]


def _trusts(entries: Iterable[Priced]) -> list[Trust]:
    promised = {entry.trust for entry in entries}
    return [trust for trust in Trust if trust in promised]


def _labels(entries: Iterable[Priced]) -> list[str]:
    return list(dict.fromkeys(entry.label for entry in entries))


def _at(entries: Iterable[Priced], horizon: int, budget: float | None = None) -> list[Priced]:
    """The entries at a horizon, and with a budget if one is given."""
    return [entry for entry in entries if entry.horizon == horizon and budget in (None, entry.budget)]


def _grouped(entries: Iterable[Priced], key: Callable[[Priced], str]) -> list[list[Priced]]:
    groups: dict[str, list[Priced]] = {}
    for entry in entries:
        groups.setdefault(key(entry), []).append(entry)
    return list(groups.values())


def _by_policy(entries: Sequence[Priced], shown: Callable[[Sequence[Priced]], str]) -> str:
    """Tables with a row for each policy and a column for each budget; `shown` gives the text of an entry.

    Promises whose policies have the same budgets share a table.
    """
    sharing: dict[tuple[float, ...], list[Trust]] = {}
    for trust in _trusts(entries):
        sharing.setdefault(tuple(sorted({entry.budget for entry in _of(entries, trust)})), []).append(trust)
    return "\n".join(
        markdown_table(
            ["policy", "promise", *(f"ε = {parameter(budget)}" for budget in budgets)],
            [row for trust in trusts for row in _rows(trust, _of(entries, trust), budgets, shown)],
        )
        for budgets, trusts in sharing.items()
    )


def _rows(
    trust: Trust, entries: Sequence[Priced], budgets: Sequence[float], shown: Callable[[Sequence[Priced]], str]
) -> list[list[str]]:
    rows = []
    for of_policy in _grouped(entries, lambda entry: entry.label):
        at = [[entry for entry in of_policy if entry.budget == budget] for budget in budgets]
        rows.append([of_policy[0].label, trust.short, *(_entry(there, shown) for there in at)])
    return rows


def _entry(entries: Sequence[Priced], shown: Callable[[Sequence[Priced]], str]) -> str:
    if not all(entry.began for entry in entries):
        return "start"
    return shown(entries) if entries else "–"


def _price(entries: Sequence[Priced]) -> str:
    means = [float(entry.central.mean()) for entry in entries]
    high = geometric_mean(float(np.quantile(entry.central, UPPER[0])) for entry in entries)
    return f"{short(geometric_mean(means))} / {short(high)} ({short(min(means))} to {short(max(means))})"


def _luck(entries: Sequence[Priced]) -> str:
    quantiles = [(*np.quantile(entry.central, [0.5, 0.99]), entry.central.mean()) for entry in entries]
    median, high, mean = (short(geometric_mean(values)) for values in zip(*quantiles, strict=True))
    return f"{median} / {mean} / {high}"


def _over_local(entries: Sequence[Priced]) -> str:
    return short(geometric_mean(float(entry.local.mean()) for entry in entries))
