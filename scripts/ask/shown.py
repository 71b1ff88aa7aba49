"""What the page shows of an answer, as plain data that goes from one process to another."""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.advice.answer import BUDGETS, USERS, Answer
from experiments.advice.naming import Naming
from experiments.advice.race import LEAST_RUNS, Row
from experiments.advice.words import (
    case,
    changed,
    naming_lines,
    naming_sentence,
    notes,
    rows_of,
    rows_of_naming,
    sentence,
    unbound,
)
from scripts.drawing.drawing import Axis, Drawing, Look, Panel, Scale, Series

COLOURS = ("#2f7ed8", "#d9722b", "#2c9a69", "#a862c9", "#b28a00", "#8a8f96")  # readable on white and on black
UNIFORM = "uniform play"
MARKERS = ("o", "s", "^", "D", "v", "x")
COLUMNS = ("changed", "value", "policy", "mean", "median", "quantile_95_at_most", "best_arm_pulled_most", "runs")


@dataclass(frozen=True)
class Shown:
    """An answer, or a part of it.

    Attributes
    ----------
    advice: the sentence that matters most; `first_look` says that it is none yet.
    case: what was asked, and where the numbers come from.
    rows: the table, its head first; shares: of every row below the head, how long its bar is, 1 for uniform play; None
        where there is no bar.
    caption: how to read the table.
    best: numbers of the rows that are recommended.
    changes, remarks: lines below.
    drawings: the curves.
    table: all numbers as CSV.
    """

    advice: str
    case: list[str]
    rows: list[list[str]]
    shares: list[float | None]
    caption: str
    best: list[int]
    changes: list[str]
    remarks: list[str]
    drawings: list[Drawing]
    table: str
    first_look: bool = False


def of_answer(answer: Answer) -> Shown:
    """What is shown of an answer about lost reward."""
    uniform = answer.asking.uniform
    rows = [*answer.rows, *([] if answer.free is None else [answer.free])]
    shares: list[float | None] = [row.lost / uniform for row in rows]
    shares += [1.0] + ([] if answer.bound is None else [answer.bound / uniform])
    best = [answer.rows.index(row) for row in answer.best]
    return Shown(
        sentence(answer),
        list(case(answer.asking)),
        rows_of(answer),
        shares,
        f"Lost is what {answer.asking.users:,} users give less than if all had seen the best one. Uniform play shows "
        "every option equally often, as an A/B test does; bars are shares of what it loses. Median of simulated "
        "runs, and what 95 % of runs lose at most: all of these hold with probability 95 %, and so do all intervals of "
        "means, about. An arm is an option.",
        best,
        [line.strip() for line in changed(answer)],
        list(notes(answer)),
        list(_curves(answer)),
        _csv(COLUMNS, _numbers(answer)),
        bool(answer.rows) and answer.rows[0].runs < LEAST_RUNS,
    )


def of_naming(naming: Naming) -> Shown:
    """What is shown of an answer about the best arm."""
    rows = [*naming.rows, naming.free]
    points = [(users, row) for users, row in naming.curve if row.wrong.estimate < 1]
    series = [("least often wrong", *np.array([(users, row.wrong.estimate) for users, row in points]).reshape(-1, 2).T)]
    spread = np.array([(row.wrong.low, row.wrong.high) for _, row in points]).reshape(-1, 2).T
    drawing = _drawing(
        "How often the wrong option is named",
        "number of users",
        "share of runs",
        series,
        "linear",
        [series[0][0]],
        spread,
    )
    table = [(users, row.label, *row.wrong, row.bound, row.users) for users, row in naming.curve]
    table += [(naming.asking.users, row.label, *row.wrong, row.bound, row.users) for row in rows]
    return Shown(
        naming_sentence(naming),
        list(case(naming.asking)),
        rows_of_naming(naming),
        [row.wrong.estimate for row in rows],
        "Wrong is the share of tests that name another option than the best, or none; at most, with its 95 % interval. "
        "Proved is what it cannot exceed, by a theorem. Users are needed in the mean. An arm is an option.",
        [0],
        list(naming_lines(naming)),
        [],
        [drawing] if len(points) > 1 else [],
        _csv(("users", "policy", "wrong", "low", "high", "proved", "users_in_the_mean"), table),
    )


def _curves(answer: Answer) -> Iterator[Drawing]:
    """Cost against budget and users, and how often the best option is found."""
    asking = answer.asking
    rows = [*answer.rows, *(row for one in answer.variations for row in one.rows)]
    names = [*sorted({row.label for row in rows}), UNIFORM]  # a policy has one colour in all pictures
    budget = "epsilon" if asking.rho is None else "rho"
    here = {budget: getattr(asking, budget), "users": asking.users}
    for name, label in ((budget, "ε" if budget == "epsilon" else "ρ"), ("users", "number of users")):
        places = [(float(one.value), one.asking, one.rows) for one in answer.variations if one.field == name]
        if len(places) < (len(BUDGETS) if name == budget else len(USERS) - 1):  # so that none is drawn many times
            continue
        places = sorted([*places, (here[name], asking, answer.rows)], key=lambda place: place[0])
        lost = _by_policy([(x, row, row.median) for x, _, rows in places for row in rows])
        uniform = np.array([[x, there.uniform] for x, there, _ in places]).T
        yield _drawing(
            f"Lost in a typical run against {label}", label, "lost reward", [*lost, (UNIFORM, *uniform)], "log", names
        )
        if name == "users":
            power = _by_policy([(x, row, row.on_best) for x, _, rows in places for row in rows])
            yield _drawing("How often the best option gets most users", label, "share of runs", power, "linear", names)


_Points = tuple[str, np.ndarray, np.ndarray]


def _by_policy(points: Sequence[tuple[float, Row, float]]) -> list[_Points]:
    """Curves of the policies that stand at most places, at least two: at most four."""
    by: dict[str, list[tuple[float, float]]] = {}
    for x, row, y in points:
        by.setdefault(row.label, []).append((x, y))
    most = sorted((label for label in by if len(by[label]) > 1), key=lambda label: -len(by[label]))[:4]
    return [(label, *np.array(by[label]).T) for label in sorted(most)]


def _drawing(
    title: str,
    x: str,
    y: str,
    curves: Sequence[_Points],
    scale: Scale,
    names: Sequence[str],
    spread: np.ndarray | None = None,
) -> Drawing:
    series, words = [], []
    for label, at, values in curves:
        uniform, number = label == UNIFORM, names.index(label) % (len(COLOURS) - 1)
        look = Look(
            COLOURS[-1] if uniform else COLOURS[number],
            "dashed" if uniform else "solid",
            MARKERS[-1 if uniform else number],
        )
        low, high = (None, None) if spread is None else spread
        series.append(Series(at, values, look, label, low, high))
        ends = f"{values[0]:,.3g} at {at[0]:,.6g}, {values[-1]:,.3g} at {at[-1]:,.6g}" if len(at) else "nothing"
        words.append(f"{label}: {ends}")
    low = 0.0 if scale == "linear" else None
    panel = Panel("", Axis(x, "log"), Axis(y, scale, low=low), series, words=words)
    return Drawing(title, [], f"{y} against {x}", [[panel]], (4.4, 2.9), legend=[label for label, *_ in curves])


def _numbers(answer: Answer) -> Iterator[tuple[object, ...]]:
    for row in answer.rows:
        yield "", "", row.label, *_of_row(row)
    if answer.free is not None:
        yield "privacy", "none", unbound(answer.free), *_of_row(answer.free)
    for one in answer.variations:
        yield from ((one.field, one.value, row.label, *_of_row(row)) for row in one.rows)
    yield "", "", UNIFORM, answer.asking.uniform, "", "", "", ""


def _of_row(row: Row) -> tuple[float | int | str, ...]:
    high = row.standing.high
    return row.lost, row.median, high if math.isfinite(high) else "", row.on_best, row.runs


def _csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()
