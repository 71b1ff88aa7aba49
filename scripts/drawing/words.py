"""How figures write numbers, axes, cells and the texts of users."""

import math
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.cbook import is_math_text
from matplotlib.mathtext import MathTextParser

from bandits.learner import Learner
from experiments.errors import UserError
from experiments.store.stored import Stored
from scripts.drawing.numbers import parameter


def text(given: Any, key: str) -> str:
    """A user's text in a form that matplotlib can draw: mathtext between two $, else literally.

    Raises `UserError` with the `key` of the text if its mathtext cannot be parsed.
    """
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise UserError(f"{key}: must be a text, got {parameter(given)}")
    return "\n".join(_line(line, key) for line in str(given).strip().splitlines())


def _line(line: str, key: str) -> str:
    if not is_math_text(line):
        return re.sub(r"(?<!\\)\$", r"\\$", line)  # a single $ must not start mathtext that a later $ ends
    try:
        MathTextParser("path").parse(line)
    except ValueError as error:
        why = " ".join(str(error).split("\n")[-1].split())
        raise UserError(f"{key}: {line} cannot be drawn as mathematical text: {why}; write \\$ for a dollar") from None
    return line


def legend_name(policy: Learner[Any]) -> str:
    """The name of a policy in legends, checked to be drawable. Raises `UserError` that names its file."""
    return _drawable(policy, "legend()")


def name(policy: Learner[Any]) -> str:
    """The label of a policy, checked to be drawable. Raises `UserError` that names its file."""
    return _drawable(policy, "label")


def _drawable(policy: Learner[Any], what: str) -> str:
    cls = type(policy)
    file = getattr(sys.modules.get(cls.__module__), "__file__", cls.__module__)
    key = f"{file}: {cls.__name__}.{what}"
    try:
        given: Any = policy.label if what == "label" else policy.legend()
    except Exception as error:  # any error of a user's method
        raise UserError(f"{key}: {type(error).__name__}: {error}") from error
    return text(given, f"{file}: {cls.__name__}.label" if given == getattr(policy, "label", None) else key)


def power_of_ten(number: int) -> str:
    """`number` as mathtext, as in 5·10^7; a power of two from 1024 on as 2^20."""
    if number >= 1024 and number.bit_count() == 1:
        return f"$2^{{{number.bit_length() - 1}}}$"
    exponent = math.floor(math.log10(number))
    factor = number / 10**exponent
    return f"$10^{{{exponent}}}$" if factor == 1 else f"${factor:g}\\cdot10^{{{exponent}}}$"


def listed(words: Iterable[str]) -> str:
    """Words as a list, as in "1, 2 and 3"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def horizons(cells: Iterable[Stored]) -> str:
    """The horizons of `cells` as mathtext."""
    return listed(power_of_ten(horizon) for horizon in sorted({stored.cell.horizon for stored in cells}))


def runs(cells: Iterable[Stored]) -> str:
    """The numbers of runs of the simulated cells, as in "20 to 1000"; empty if all are exact."""
    counts = sorted({stored.replications for stored in cells if not stored.exact})
    return " to ".join(map(str, dict.fromkeys([counts[0], counts[-1]]))) if counts else ""


def not_run(run: Iterable[tuple[str, int, Any]], noun: str) -> list[str]:
    """Who was not run at some horizon, as in "TS-CF at T = 10⁷ (3 of 8 instances) and 10¹²".

    run: who was run, at which horizon and place; a place is missing where somebody was run there at another horizon.
    """
    there = dict.fromkeys(run)
    horizons, everywhere = sorted({at for _, at, _ in there}), {place for *_, place in there}
    lines = []
    for who in dict.fromkeys(who for who, *_ in there):
        places = {place for other, _, place in there if other == who}
        lacks = {at: sum((who, at, place) not in there for place in places) for at in horizons}
        shown = [
            parameter(at) + ("" if count == len(everywhere) else f" ({count} of {len(everywhere)} {noun})")
            for at, count in lacks.items()
            if count
        ]
        lines += [f"{who} at T = {listed(shown)}"] if shown else []
    return lines


def axes(scales: Sequence[str]) -> str:
    """The scales of axes as text, as in "linear and logarithmic axes"."""
    words = {"linear": "linear", "log": "logarithmic"}
    return f"{listed(dict.fromkeys(words[scale] for scale in scales))} axes"


def label_of(stored: Stored, behind: str) -> str:
    """The label of the policy of a cell and the suffix `behind`."""
    return name(stored.cell.policy) + behind


def legend_of(stored: Stored, behind: str) -> str:
    """The name of the policy of a cell in legends and the suffix `behind`."""
    return legend_name(stored.cell.policy) + behind


def of_instance(name: str) -> str:
    """The name of an instance as a title: C1, Random means."""
    return name[:1].upper() + name[1:].replace("_", " ")


def full_label(stored: Stored, behind: str = "") -> str:
    """The label of a cell in a legend: policy, the suffix `behind`, budget and scope."""
    policy = stored.cell.policy
    guarantee = policy.guarantee
    if not guarantee.private:
        return f"{legend_name(policy)}{behind}, {guarantee.absence}"
    budget = f"ε = {guarantee.epsilon:g}" + (f", δ = {guarantee.delta:.3g}" if guarantee.delta else "")
    return f"{legend_name(policy)}{behind}, {budget}, {guarantee.scope.value}"
