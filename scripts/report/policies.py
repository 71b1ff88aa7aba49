"""The table of policies in the report: promise, scope, neighbours, feedback, parameters and citation."""

import dataclasses
from typing import Any

from markupsafe import Markup

from bandits.learner import Learner
from experiments.config.build import build
from experiments.config.compose import Composer
from experiments.errors import UserError
from scripts.drawing import words
from scripts.drawing.drawing import without_mathtext
from scripts.drawing.numbers import parameter
from scripts.pages.tables import Column, PageTable, TableEntry
from scripts.pages.text import without_places
from scripts.report.exhibits import Gap

AT_TWO_BUDGETS = (["budget.epsilon=0.5"], ["budget.epsilon=1"])
AT_TWO_RHOS = (["budget.rho=0.125"], ["budget.rho=0.5"])  # of zCDP, at these epsilon squared / 2
OF_BUDGET = ("epsilon", "delta", "rho")
CANNOT = "cannot be built"
COLUMNS = [
    Column("policy"),
    Column("promise", choices=True),
    Column("covers", choices=True),
    Column("neighbours"),
    Column("learns from", choices=True),
    Column("parameters"),
    Column("citation"),
]


def policies(composer: Composer) -> PageTable:
    """The table of every policy in `conf/policy` and in the folders of --config-dir, at its default parameters."""
    rows = [_row(choice, composer) for choice in composer.choices("policy")]
    return PageTable("policies", f"{len(rows)} policies", COLUMNS, rows, stacked=True, headed=True)


def _row(choice: str, composer: Composer) -> list[TableEntry]:
    try:
        takes_rho = "budget.rho" in str(composer.node("policy", choice))
        first, second = (_built(choice, budget, composer) for budget in (AT_TWO_RHOS if takes_rho else AT_TWO_BUDGETS))
        return _shown(choice, first, second)
    except UserError as error:
        why = str(error)
    except Exception as error:  # any error of a property of a user's policy
        why = f"{composer.file_of('policy', choice)}: policy={choice}: {type(error).__name__}: {error}"
    code = TableEntry(Markup("<code>{}</code>").format(choice))
    return [
        code,
        TableEntry(CANNOT, kind="gap"),
        TableEntry(without_places(" ".join(why.split()))),
        *[TableEntry("")] * 4,
    ]


def not_shown(table: PageTable) -> list[Gap]:
    """A gap for each policy that could not be built, or whose properties raise an error."""
    return [
        Gap(
            f"policy {Markup(name.text).striptags()}",
            str(why.text),
            f"python -m experiments.run policy={Markup(name.text).striptags()} plan=true",
        )
        for name, promise, why, *_ in table.rows
        if promise.text == CANNOT
    ]


def _shown(choice: str, first: Learner[Any], second: Learner[Any]) -> list[TableEntry]:
    guarantee = first.guarantee
    return [
        TableEntry(Markup("{} <code>policy={}</code>").format(without_mathtext(words.name(first)), choice)),
        TableEntry(_promise(first, second)),
        TableEntry(guarantee.scope.value),
        TableEntry(guarantee.neighbours.value if guarantee.private else "–"),
        TableEntry(first.faces.feedback),
        TableEntry(_parameters(first)),
        TableEntry(first.citation),
    ]


def _built(choice: str, budget: list[str], composer: Composer) -> Learner[Any]:
    """The policy at a budget, with a delta if it cannot be built without one. Raises `UserError`."""
    files = {"policy": composer.file_of("policy", choice)}
    composed = composer.compose(budget)
    pure, approximate = ({"policy": choice, "budget": kind} for kind in ("pure", "approximate"))
    try:
        return build(composer.choose(composed, pure).keys, "policy", files, Learner)
    except UserError:
        return build(composer.choose(composed, approximate).keys, "policy", files, Learner)


def _promise(first: Learner[Any], second: Learner[Any]) -> str:
    """The promise as text: pure or approximate, and its epsilon in terms of the ε of the budget."""
    guarantee = first.guarantee
    if not guarantee.private:
        return guarantee.absence
    factors = {round(policy.guarantee.epsilon / epsilon, 9) for policy, epsilon in ((first, 0.5), (second, 1.0))}
    if len(factors) > 1:
        text = f"{second.guarantee.epsilon:.3g} at ε = 1"
    else:
        (factor,) = factors
        text = "ε" if factor == 1 else f"{factor:g} ε"
    if hasattr(first, "rho"):
        return "ρ-zCDP, √(2ρ)-GDP" if guarantee.level is not None else "ρ-zCDP"
    if not hasattr(first, "delta") and not guarantee.delta:
        return f"{text}-DP, pure"
    return f"({text}, δ)-DP, {'approximate' if guarantee.delta else 'pure at δ = 0'}"


def _parameters(policy: Learner[Any]) -> str:
    """The default parameters without the budget."""
    values = {item.name: getattr(policy, item.name) for item in dataclasses.fields(policy)}  # type: ignore[arg-type]
    return ", ".join(f"{name} {parameter(value)}" for name, value in values.items() if name not in OF_BUDGET)
