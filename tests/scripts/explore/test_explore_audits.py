"""Every audit is shown with the command that computes its row again."""

import re

import pytest

from experiments.audit import __main__ as audit_command
from experiments.audit.rows import NO_PROMISE
from experiments.audit.table import AUDITS, cases, cases_behind, stored_audits
from scripts.explore.judged import asked_of

MOST_STEPS = 1000  # of an audit that is made again here
ROUNDED = 1e-11  # of a delta, the difference of two sums of floats, on another machine


def test_every_stored_audit_of_a_promise_has_its_command():
    rows = stored_audits()
    assert None not in cases_behind(rows, cases(AUDITS))
    assert [not asked for asked in asked_of(rows, [])] == [row.verdict == NO_PROMISE for row in rows]


def test_a_row_that_no_file_lists_has_none():
    rows, listed = stored_audits()[:3], cases(AUDITS)[:3]
    assert cases_behind(rows, [listed[0], listed[2]]) == [listed[0], None, None]
    assert cases_behind([rows[0], rows[2]], listed) == [listed[0], listed[2]]


def forms():
    """The cheapest row of each policy and set of keys, with its command."""
    found = {}
    for row, asked in zip(stored_audits(), asked_of(stored_audits(), []), strict=True):
        form = row.policy, tuple(word.partition("=")[0] for word in asked.split())
        size = row.arms * row.horizon
        if asked and not row.runs and size <= MOST_STEPS and (form not in found or size < found[form][0]):
            found[form] = size, row, asked
    return [(row, asked) for _, row, asked in found.values()]


@pytest.mark.slow
@pytest.mark.parametrize(("row", "asked"), forms(), ids=lambda of: of if isinstance(of, str) else "")
def test_a_command_makes_its_row_again(row, asked, call):
    outcome = call(*asked.split(), "runner.workers=1", main=audit_command.main)
    assert outcome.code == 0, outcome.err
    found, expected = outcome.out.strip(), audit_command.row_as_text(row)
    assert words(found) == words(expected)
    # Of inputs that are equally bad, rounding may name another on another machine.
    found, expected = (text.partition("\nwitness")[0] for text in (found, expected))
    assert numbers(found) == pytest.approx(numbers(expected), rel=1e-9, abs=ROUNDED)


NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"


def numbers(text):
    return [float(number) for number in re.findall(NUMBER, text)]


def words(text):
    return re.sub(NUMBER, "#", text)
