"""An answer in words: tables as rows of texts, and sentences, for the command and for the page."""

import math
import textwrap
from collections.abc import Iterator

from experiments.advice.answer import Answer, Learned, Variation, learns
from experiments.advice.fixed_budget import Namer
from experiments.advice.naming import Naming
from experiments.advice.question import MOST_USERS, Question
from experiments.advice.race import COMMITTING, LEAST_RUNS, Row
from experiments.evidence.contests import FEWEST, MIDDLE
from experiments.text_table import text_table

WIDTH = 120
ROUNDED = "Rounded: each reward x is replaced by 1 with probability x, else by 0, which keeps the means."


def lost(row: Row) -> list[str]:
    """Mean with its interval, or that it is in doubt; median, what 95 % of runs lose at most, and others.

    The others are the share of runs on the best arm, and how many runs. Of few nothing is known of the 95 % quantile.
    """
    half = (row.mean.high - row.mean.low) / 2
    shown, computed = f"{row.mean.estimate:,.0f} ± {half:,.0f}", row.contender.law is not None
    if row.standing.doubt or computed:
        shown = f"{row.mean.estimate:,.0f}" if computed else "in doubt"
    high = f"{row.standing.high:,.0f}" if math.isfinite(row.standing.high) else "not known"
    numbers = f"{row.median:,.0f}", high, f"{100 * row.on_best:.{1 if computed else 0}f} %"
    return [shown, *numbers, "exact" if computed else str(row.runs)]


def rows_of(answer: Answer) -> list[list[str]]:
    """The table by policy, with the best policy without privacy, uniform play, and the lower bound."""
    rows = [["policy", "mean lost", "median", "95 % at most", "best arm pulled most", "runs"]]
    rows += [[row.label, *lost(row)] for row in answer.rows]
    if answer.free is not None:
        rows.append([unbound(answer.free), *lost(answer.free)])
    rows.append(["uniform play", f"{answer.asking.uniform:,.0f}", "", "", "", "exact"])
    if answer.bound is not None:
        rows.append(["lower bound as users grow without end", f"{answer.bound:,.0f}", "", "", "", "theorem"])
    return rows


def unbound(row: Row) -> str:
    """What a row without privacy is called."""
    guarantee = row.contender.policy.guarantee
    return f"{row.label} at epsilon {guarantee.epsilon:g}" if guarantee.private else f"{row.label}, not private"


def sentence(answer: Answer) -> str:
    """The advice, with its reasons."""
    uniform = answer.asking.uniform
    if not answer.rows:
        return "No policy here both promises this and can be simulated in this case."
    if (runs := max(row.runs for row in answer.rows)) < LEAST_RUNS:
        text = f"A first look: {runs} runs of each are too few to recommend one."
        if answer.compiling:
            text += f" Still to come, as they are being compiled, once for this machine: {', '.join(answer.compiling)}."
        return text
    if not answer.learns:
        text = f"Nothing is seen to learn here: none loses clearly less than uniform play does, {uniform:,.0f}."
        return text if answer.learned is None else f"{text} {from_users(answer.learned)}."
    if not answer.best:
        return "No finalist has left its start phase: nothing can be recommended."
    first, *others = answer.best
    high = first.standing.high
    text = f"Take {first.label}: 95 % of its runs lose at most {high:,.0f}; uniform play {uniform:,.0f}."
    if first.standing.doubt:
        text += f" Its mean is in doubt: {first.standing.doubt}."
    if first.contender.law is not None:
        text += " How many explore is the best number for the gaps that were given."
    if isinstance(first.contender.policy, COMMITTING):
        text += (
            " It keeps to the arm that it names: with smaller gaps that may be a wrong one, and it may lose more than"
        )
        text += " uniform play."
    if others:
        names = ", ".join(row.label for row in others)
        text += f" {first.runs} runs do not separate it from {names}: more runs may change the order."
    typical = next((row for row in answer.rows if row.standing == answer.contest.typical), first)
    less = typical.standing.quantiles[MIDDLE].high < first.standing.quantiles[MIDDLE].low
    if typical not in answer.best and less and learns(answer.asking, [typical]):
        text += f" {typical.label} loses less in a typical run, {typical.median:,.0f}, but for 95 % of its"
        text += f" runs no less than {typical.standing.high:,.0f} can be promised."
    return text


def case(asking: Question) -> Iterator[str]:
    """The means of the arms, where they come from, and what the promise says of a single reward."""
    past = asking.past
    if past is None:
        yield f"Means of the arms: {', '.join(f'{value:g}' for value in asking.means)}"
    else:
        arms = zip(past.names, past.intervals, strict=True)
        text = ", ".join(f"{name} {mean.estimate:.4g} ({mean.low:.4g} to {mean.high:.4g})" for name, mean in arms)
        sure = "" if asking.rewards == "clicks" else "about "  # Clopper and Pearson's hold for every law of clicks
        yield f"Means of the arms in the data, with intervals that hold together with probability {sure}95 %: {text}"
        yield (
            "The answer takes these means for the truth. It depends on the data without noise: a decision made from it "
            "is not private for the people in the data."
        )
        if asking.rewards == "heavy":
            yield "Rewards are Pareto ones with these means, as no sample shows how heavy its tail is."
    if asking.contributions > 1:
        promise = asking.promise
        budget = f"epsilon {promise.epsilon:.4g}" if asking.rho is None else f"rho {promise.rho:.4g}"
        yield f"So that {asking.contributions} rewards of a user together keep the promise, each has {budget}."


def changed(answer: Answer) -> Iterator[str]:
    """How the answer changes with gaps, budget, users and trust: a line for each value, and one for a range of gaps."""
    for asking, row in answer.over_range[:1]:
        high = f"95 % of its runs lose at most {row.standing.high:,.0f}, at gap {asking.gap:.3g}"
        yield f"  over the range of gaps take {row.label}: {high}"
    for one in answer.variations:
        if not one.rows:
            continue
        first = one.rows[0]
        uniform = f"uniform play {one.asking.uniform:,.0f}"
        if one.field == "gap" and one.learned is not None:
            yield f"  gaps x {one.value:.3g}: {least(one)}. {from_users(one.learned)}"
        elif one.field == "gap":
            named = {row.contender.name for row in answer.best}
            shown = [first, *(row for row in one.rows[1:] if row.contender.name in named)]
            high = "; ".join(
                f"{row.label}, mean {lost(row)[0]}, 95 % at most {row.standing.high:,.0f}" for row in shown
            )
            yield f"  gaps x {one.value:.3g}: {high}; {uniform}"
        elif one.field == "trust" and one.learns:
            yield f"  trust {one.value}: {first.label}, 95 % at most {first.standing.high:,.0f}"
        else:
            yield f"  {one.field} {_value(one)}: {least(one)}"


def _value(one: Variation) -> str:
    if isinstance(one.value, str):
        return one.value
    return f"{one.value:,}" if one.field == "users" else f"{one.value:g}"


def from_users(learned: Learned) -> str:
    """With how many users something is seen to learn, if that is known."""
    if learned.first is None:
        return f"Up to {learned.most:,} users, the most that were tried, nothing is seen to"
    row = min(learned.first.rows, key=lambda row: row.mean.high)
    return f"With {learned.first.value:,} users {row.label} does; with a quarter of them nothing is seen to"


def least(one: Variation) -> str:
    """The policy of the least risk there, or of the least mean if there are too few runs to tell, and what it loses."""
    uniform, row = f"uniform play {one.asking.uniform:,.0f}", one.rows[0]
    runs = "(exact)" if row.contender.law is not None else f"of {row.runs} runs"
    if not one.learns:
        few = row.runs < FEWEST and row.contender.law is None
        nothing = f"{row.runs} runs do not show that anything learns" if few else "nothing is seen to learn"
        return f"{nothing}; {uniform}"
    first, high = ("least mean: ", "") if row.standing.lacks else ("", f", 95 % at most {row.standing.high:,.0f}")
    best = f"best arm pulled most in {100 * row.on_best:.0f} % {runs}"
    return f"{first}{row.label}, mean {lost(row)[0]}, median {row.median:,.0f}{high}, {best}; {uniform}"


def page(answer: Answer) -> str:
    """The whole answer as text."""
    return "\n".join([*head(answer), *changed(answer), *notes(answer)])


def head(answer: Answer) -> Iterator[str]:
    """The case, the table and the advice."""
    yield from (textwrap.fill(line, WIDTH) for line in case(answer.asking))
    yield from ["", *text_table(rows_of(answer), left=1), "", textwrap.fill(sentence(answer), WIDTH)]


def notes(answer: Answer) -> Iterator[str]:
    """What stands below: what a word means, and who is not in the table."""
    if any(row.contender.rounded for row in answer.rows):
        yield ROUNDED
    if answer.dropped:
        yield textwrap.fill(f"Not in the table: {'; '.join(answer.dropped)}.", WIDTH)


def rows_of_naming(naming: Naming) -> list[list[str]]:
    """The table by policy, with the best one without privacy."""
    rows = [["policy", "wrong arm or none", "at most", "proved", "users"]]
    for row in [*naming.rows, naming.free]:
        wrong = f"{100 * row.wrong.estimate:.3g} %", f"{100 * row.wrong.high:.3g} %"
        proved = f"{100 * row.bound:.3g} %" if row.bound < 1 else ""
        rows.append([row.label + (", not private" if row is naming.free else ""), *wrong, proved, f"{row.users:,.0f}"])
    return rows


def naming_page(naming: Naming) -> str:
    """The answer about the best arm as text."""
    lines = [textwrap.fill(line, WIDTH) for line in case(naming.asking)]
    if naming.asking.rewards == "bounded":
        lines.append(ROUNDED)
    lines += ["", *text_table(rows_of_naming(naming), left=1), "", textwrap.fill(naming_sentence(naming), WIDTH)]
    return "\n".join([*lines, *(f"  {line}" for line in naming_lines(naming))])


def naming_lines(naming: Naming) -> Iterator[str]:
    """For each number of users that was tried, who is least often wrong; where no policy names an arm, no line.

    Then the same with other gaps.
    """
    for users, row in naming.curve:
        if row.wrong.estimate < 1:
            yield f"{users:,} users: {_wrong(row)}"
    for factor, number, best in naming.nearby:
        if number is None or best is None:
            yield f"gaps x {factor:.3g}: no number of users up to {MOST_USERS:,} is seen to be enough"
        elif naming.error is None:
            yield f"gaps x {factor:.3g}: {_wrong(best)}"
        else:
            yield f"gaps x {factor:.3g}: about {number:,} users, {_wrong(best)}"


def _wrong(row: Namer) -> str:
    low, wrong, high = (100 * share for share in (row.wrong.low, row.wrong.estimate, row.wrong.high))
    interval = f" ({low:.3g} to {high:.3g} %)" if low < high else ""
    return f"{row.label}, wrong in {wrong:.3g} %{interval}"


def over_the_range(naming: Naming) -> str:
    """That the answer is for the smallest gap of the range that was given, and what the largest needs; else empty."""
    if not naming.asking.ranged:
        return ""
    gap, (_, (factor, users, row)) = naming.asking.gap, naming.nearby
    assert row is not None  # what is enough at the smallest gap is at a larger one
    there = f"{100 * row.wrong.estimate:.3g} % of runs err" if naming.error is None else f"about {users:,} are enough"
    text = f" That is at the smallest gap of the range, {gap:.3g}, the hardest; at the largest, {gap * factor:.3g},"
    return f"{text} {there}."


def naming_sentence(naming: Naming) -> str:
    """The advice about the best arm, with what it rests on."""
    users, best = naming.asking.users, naming.rows[0]
    if naming.error is None:
        text = f"With {users:,} users take {best.label}: {100 * best.wrong.estimate:.3g} % of its runs name a wrong arm"
        text += "." if best.computed else f", at most {100 * best.at_most:.3g} %."
    else:
        best = next(row for row in naming.rows if row.at_most <= naming.error)
        text = f"About {users:,} users are enough for {best.label} to err in at most {100 * naming.error:g} % of runs."
    text += over_the_range(naming)
    if naming.asking.delta and naming.asking.trust in ("shuffle", "distributed"):
        text += " No halving here uses the delta with this trust, only rules that stop by themselves."
    if not best.stops:
        text += (
            " That is so for these means: if the best arm is less far ahead, it is wrong more often and cannot tell."
        )
    if naming.sure is not None:
        users, rule = naming.sure
        text += f" {rule.label} stops by itself and errs so seldom whatever the means are, here after {rule.users:,.0f}"
        text += f" users in the mean; with {users:,} it stops in time."
    return text
