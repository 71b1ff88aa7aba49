"""Ask about your own case: which private policy to take, and what it loses.

    python -m scripts.advise arms=8 users=2e6 epsilon=0.5 rate=0.03 gap=0.003
    python -m scripts.advise means=[0.03,0.033,0.027] users=1e6 epsilon=1 trust=local

Every policy whose promise implies the wanted one is simulated in this case now, the hopeless ones a few times only;
what was simulated is stored, and not simulated again. The first time, the loops of all policies are compiled, which
takes minutes. The best arm stands at one place, drawn from the means. From Python: `from experiments import advise`.
"""

import contextlib
import sys
import textwrap
from collections.abc import Iterator

from omegaconf import OmegaConf

from experiments.advice.answer import Answer, Row, advise
from experiments.advice.question import FIELDS
from experiments.config.command_line import exit_on_user_error, read_command_line
from experiments.errors import UserError

WIDTH = 120


def lost(row: Row) -> list[str]:
    """Mean with its interval, or that it is in doubt; median, 95 % quantile, share of runs on the best arm, runs."""
    half = (row.mean.high - row.mean.low) / 2
    shown = "in doubt" if row.standing.doubt else f"{row.mean.estimate:,.0f} ± {half:,.0f}"
    numbers = f"{row.median:,.0f}", f"{row.standing.high:,.0f}", f"{100 * row.on_best:.0f} %", str(row.runs)
    return [shown, *numbers]


def table(answer: Answer) -> Iterator[str]:
    """The table by policy, with the best policy without privacy, uniform play, and the lower bound."""
    rows = [["policy", "mean lost", "median", "95 %", "best arm pulled most", "runs"]]
    rows += [[row.label, *lost(row)] for row in answer.rows]
    if answer.free is not None:
        rows.append([f"{answer.free.label}, not private", *lost(answer.free)])
    rows.append(["uniform play", f"{answer.asking.uniform:,.0f}", "", "", "", "exact"])
    if answer.bound is not None:
        rows.append(["lower bound as users grow without end", f"{answer.bound:,.0f}", "", "", "", "theorem"])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        yield "  ".join([first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]).rstrip()


def sentence(answer: Answer) -> str:
    """The advice, with its reasons."""
    uniform = answer.asking.uniform
    if not answer.rows:
        return "No policy here both promises this and can be simulated in this case."
    if not answer.learns:
        return f"Nothing learns here: all lose about what uniform play does, {uniform:,.0f}."
    if not answer.best:
        return "No finalist has left its start phase: nothing can be recommended."
    first, *others = answer.best
    high = first.standing.high
    text = f"Take {first.label}: 95 % of its runs lose at most about {high:,.0f}; uniform play {uniform:,.0f}."
    if others:
        names = ", ".join(row.label for row in others)
        text += f" {first.runs} runs do not separate it from {names}: more runs may change the order."
    typical = next((row for row in answer.rows if row.standing == answer.contest.typical), first)
    if typical not in answer.best:
        text += f" {typical.label} loses less in a typical run, {typical.median:,.0f}, but 5 % of its runs lose"
        text += f" {typical.standing.high:,.0f} or more."
    return text


def beside(answer: Answer) -> Iterator[str]:
    """The best policy at other gaps."""
    for factor, uniform, rows in answer.gaps:
        if rows:
            high = rows[0].standing.high
            yield f"  gaps x {factor:.3g}: {rows[0].label}, 95 % quantile {high:,.0f}; uniform play {uniform:,.0f}"


def page(answer: Answer) -> str:
    """The whole answer as text."""
    means = ", ".join(f"{value:g}" for value in answer.asking.means)
    lines = [textwrap.fill(f"Means of the arms: {means}", WIDTH), "", *table(answer), ""]
    lines += [textwrap.fill(sentence(answer), WIDTH), *beside(answer)]
    if answer.dropped:
        lines.append(textwrap.fill(f"Not in the table: {'; '.join(answer.dropped)}.", WIDTH))
    return "\n".join(lines)


def main() -> None:
    """Entry point of `python -m scripts.advise`."""
    command = read_command_line("advise")
    if len(command.jobs) > 1:
        raise UserError("advise: answers one question, so without -m")
    if command.jobs:
        config = OmegaConf.to_container(command.config, resolve=True)
        assert isinstance(config, dict)
        fields = {name: config[name] for name in FIELDS}
        try:
            with contextlib.redirect_stdout(sys.stderr):  # the answer alone is the output
                answer = advise(print, config["results_dir"], config["runs"], **fields)
        except UserError as error:
            raise UserError(f"advise: {error}") from None
        print(page(answer))


if __name__ == "__main__":
    exit_on_user_error(main)
