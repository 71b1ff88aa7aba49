"""The form of the page: its fields in words, the examples, and what a user typed as the fields of a question."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from experiments.errors import UserError, nearest

GOALS = {"regret": "Show the best option to as many users as possible", "best_arm": "Only find out which one is best"}
TRUSTS = {
    "central": "One server that sees all answers and is trusted",
    "distributed": "A server that sees only sums over many users",
    "shuffle": "A server that sees answers in random order",
    "local": "Nobody: each device adds noise before it sends",
}
REWARDS = {
    "clicks": "Yes or no, as a click or a cure",
    "bounded": "A number from 0 to 1, as a dose or a rating",
    "heavy": "An amount with rare large values, as a price",
}


@dataclass(frozen=True)
class FormField:
    """A field of the form.

    Attributes
    ----------
    name: its key in `conf/advise.yaml`, which stands in the link too.
    label: what stands above it; `hint`: below it.
    choices: what may be chosen, by the word of the command; the first is meant if the link says nothing.
    """

    name: str
    label: str
    hint: str = ""
    choices: Mapping[str, str] | None = None

    @property
    def usual(self) -> str:
        """What it is if nothing is said."""
        return next(iter(self.choices)) if self.choices else ""


FIELDS = (
    FormField("goal", "What for", choices=GOALS),
    FormField("rewards", "What a user gives", choices=REWARDS),
    FormField("arms", "Number of options", "as 8"),
    FormField("rate", "Typical mean", "0.03 if 3 % click"),
    FormField("gap", "Lead of the best", "0.003; range: 0.001, 0.01"),
    FormField("users", "Number of users", "as 2e6; each sees one"),
    FormField("error", "Or: allowed risk of a wrong pick", "0.05; then the number of users is the answer"),
    FormField("epsilon", "Privacy budget ε", "1 is usual, 0.1 strict"),
    FormField("trust", "Who is trusted", choices=TRUSTS),
    FormField("means", "Or: mean of each", "0.03, 0.033 instead"),
    FormField("data", "Or: a CSV file on this machine", "its path; columns arm and reward"),
    FormField("contributions", "Answers of one user", "1 if left out; ε is about all of them"),
    FormField("delta", "δ", "0 if left out; as 1e-6"),
    FormField("rho", "ρ, in place of ε", "of zero-concentrated privacy"),
    FormField("moment", "Finite moment", "of amounts: 1.01 to 2; 1.5 if left out"),
    FormField("runs", "Simulated runs", "100 if left out, 1,000 to find out which is best"),
)
NAMED = {field.name: field for field in FIELDS}
EXAMPLES = {
    "Clicks": {"rewards": "clicks", "arms": "8", "rate": "0.03", "gap": "0.003", "users": "2e6", "epsilon": "0.5"},
    "Doses": {"rewards": "bounded", "means": "0.4, 0.5, 0.55, 0.7", "users": "20000", "epsilon": "1"},
    "Prices": {"rewards": "heavy", "means": "1, 1.5, 2.5", "moment": "1.8", "users": "200000", "epsilon": "1"},
    "A/B test": {"goal": "best_arm", "means": "0.03, 0.036", "error": "0.05", "epsilon": "0.5"},
}
TEXTS = ("data",)  # fields that are no number
LISTS = ("means", "gap")  # fields that may be several


def words_of(form: Mapping[str, str]) -> dict[str, str]:
    """What the form says beyond the usual, in the order of the fields. Raises `UserError` for an unknown field."""
    for name in form:
        if name not in NAMED:
            raise UserError(f"{name}: unknown field; {nearest(name, list(NAMED))}")
    stripped = {name: form.get(name, "").strip() for name in NAMED}
    return {name: text for name, text in stripped.items() if text and text != NAMED[name].usual}


def typed_values(form: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a question, as numbers and lists of numbers. Raises `UserError`, one line that names the field."""
    return {name: _value(name, text) for name, text in words_of(form).items()}


def _value(name: str, text: str) -> Any:
    choices = NAMED[name].choices
    if choices and text not in choices:
        raise UserError(f"{name}: {text} is unknown; {nearest(text, list(choices))}")
    if choices or name in TEXTS:
        return text
    plain = text.strip("[] ").replace(" %", "%")
    if name not in LISTS:
        plain = re.sub(r"(?<=\d),(?=\d{3}(?:\D|$))", "", plain)  # a comma in 1,000,000
    parts = re.split(r"[,;\s]+", plain)
    numbers = [_number(name, part) for part in parts if part]
    if len(numbers) == 1 and name != "means":
        return numbers[0]
    if not numbers or name not in LISTS:
        raise UserError(f"{name}: must be a number, got {text}")
    return numbers


def _number(name: str, text: str) -> float | int:
    try:
        if text.endswith("%"):
            return float(text[:-1]) / 100
        return json.loads(text) if re.fullmatch(r"[1-9]\d*", text) else float(text)
    except ValueError:
        raise UserError(f"{name}: must be a number, got {text}") from None


def link_of(form: Mapping[str, str]) -> str:
    """The address of the question, without the host."""
    words = words_of(form)
    return f"/?{urlencode(words)}" if words else "/"


def command_of(form: Mapping[str, str]) -> str:
    """The command that answers the same question."""
    values = typed_values(form)
    words = [f"{name}={_written(value)}" for name, value in values.items()]
    return shlex.join([".venv/bin/python", "-m", "scripts.advise", *words])


def _written(value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(_written, value))}]"
    return f"{int(value)}" if isinstance(value, float) and value.is_integer() else f"{value}"


def labelled(error: str) -> tuple[str, str]:
    """The field that an error names, and the line with its label in place of its key; no field if it names none."""
    name, _, rest = error.partition(": ")
    return (name, f"{NAMED[name].label}: {rest}") if name in NAMED and rest else ("", error)
