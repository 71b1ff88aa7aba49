"""What the stored audits of privacy say: the table of all, and the page about it."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from bandits import Scope
from bandits.audit.costs import AuditVerdict
from bandits.audit.index_rules import MOST_DRAWS
from experiments.audit.parameters import parameters_in
from experiments.audit.rows import AuditRow
from scripts.drawing.numbers import whole
from scripts.pages.tables import Column, Columns, Entries, PageTable, TableEntry, code_entry, page_table

COLUMNS: Columns = [
    Column("policy", choices=True),
    "parameters",
    Column("level", choices=True),
    Column("K", numeric=True),
    Column("T", numeric=True),
    Column("rewards", choices=True),
    Column("paper promises", numeric=True),
    Column("class promises", numeric=True),
    "bounds on",
    Column("kept: at most", numeric=True),
    Column("shown: at least", numeric=True),
    Column("promise of the paper", choices=True),
    Column("promise of the class", choices=True),
    Column("slack", numeric=True),
    "witness",
]
PAGE = """# Privacy

What every policy promises, and how much privacy it really loses. The loss lies between two numbers: it is at most what
is **kept**, for every pair of inputs that differ in one reward, and at least what is **shown**, by one such pair, the
**witness**. Less is better; a promise of ε = 1 is broken if more than 1 is shown.

- *Paper promises* is the theorem of the paper, for the algorithm with these parameters. *Class promises* is what our
  code declares, which is less where the printed algorithm breaks its theorem.
- A promise is *kept* if the loss is at most that, *tight* if both numbers equal it, *violated* if more is shown, and
  else *undecided*. *Not promised*: a policy promises single decisions, and this is the whole sequence. *No verdict*:
  nothing depends on rewards up to this horizon, or the audit would not have seen that the noise is missing.
- For a class of your own, *kept* is what its ledger declares, and *refuted* where more is shown.
- *Slack* is what the class promises divided by what is kept: with 2 half of the budget is not used.
- *Level* is what an observer sees. *Release*: the numbers that a policy computes with noise. *Value*: perturbed values,
  bounded in the proofs of Wang and Zhu, but not covered by their promise. *Decision*: one arm, with the history fixed
  except for one reward. *Transcript*: the sequence of all arms, or when a rule stops and its estimate. *Event*: one
  sequence of arms, which gives a lower bound for transcripts that are too long to enumerate, at δ = 0.
- *Bounds on*: if a promise has a δ, the numbers are about δ at the promised ε; else about ε at δ = 0. *Rewards*: which
  are allowed, and whether the changed reward belongs to a step (`table`) or is the i-th of an arm (`stream`).

{summary}

{table}
## How the numbers are made

Upper bounds follow from the releases that a policy declares (its ledger) or from the exact law of its output; tests
compare both with the code. For policies that compare noisy sums of rewards 0 or 1, the bounds on transcripts are exact
if a sequence of arms depends on at most {draws} draws of noise. For longer transcripts the upper bound comes from the
ledger, and the lower bound from the first choice. {unseen}

`python -m experiments.audit policy=NAME level=... arms=... horizon=...` makes one more audit. Its line `power` says
what *kept* rests on, and what the same audit says of the policy with less noise. With `runs=20_000` the policy is
played, and *kept* needs plays that see a policy without noise. `{command}` makes all of them again. All columns, with
methods and errors, are in `{table_file}`.

{scopes}
"""


def audit_table(rows: Iterable[AuditRow]) -> PageTable:
    """The table of audits."""
    return page_table("audits", "Audits of privacy", COLUMNS, [entries(row) for row in rows])


def privacy_page(
    rows: Sequence[AuditRow], table: str, command: str = "make audit", table_file: str = "results/audit.parquet"
) -> str:
    """The page about audits, in Markdown; `table` is the text of their table, `command` what stores `table_file`."""
    page = PAGE.format(
        command=command,
        table_file=table_file,
        summary=verdicts_in_words(rows),
        table=table,
        draws=MOST_DRAWS,
        unseen=_unseen(rows),
        scopes=_scopes(rows),
    )
    excused = sorted({f"- `{row.policy}` ({set_parameters(row)}): {row.excuse}" for row in rows if row.excuse})
    return "\n".join([page, "## Excuses\n", *excused, ""]) if excused else page


def verdicts_in_words(rows: Sequence[AuditRow]) -> str:
    """The number of rows with each verdict, for both promises, and the violated promises."""
    paragraphs = [f"{len(rows)} audits."]
    for whose, name in (("the paper", "paper_verdict"), ("the class", "verdict")):
        counts = Counter(getattr(row, name) for row in rows)
        numbers = ", ".join(
            f"{number} {verdict}" for verdict, number in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        )
        violated = [row for row in rows if getattr(row, name) == AuditVerdict.VIOLATED]
        broken = sorted({f"`{row.policy}` ({_settings(row)}; {row.level})" for row in violated})
        listed = f"Violated, each in one audit or more: {'; '.join(broken)}." if broken else "None is violated."
        paragraphs.append(f"Promises of {whose}: {numbers}. {listed}")
    return "\n\n".join(paragraphs)


def _unseen(rows: Sequence[AuditRow]) -> str:
    """How many kept promises rest on an upper bound alone."""
    kept = [row for row in rows if row.verdict == AuditVerdict.KEPT]
    alone = sum(row.deciding[2] == 0 for row in kept)
    return (
        f"Of {len(kept)} kept promises of classes {len(kept) - alone} have a lower bound above 0, from exact laws or "
        f"from plays; {alone} rest on an upper bound alone, as of the ledger: no lower bound above 0 was computed."
    )


def set_parameters(row: AuditRow) -> str:
    """The parameters of a row but for those that are None: a policy then has none, or computes it."""
    return ", ".join(_set(row))


def _set(row: AuditRow) -> list[str]:
    return [part for part in parameters_in(row.parameters) if not part.endswith("=None")]


def _settings(row: AuditRow) -> str:
    """The parameters of a row that are neither None nor False, and its epsilon if that is not 1."""
    budget = "" if row.paper_epsilon == 1 else f", ε = {digits(row.paper_epsilon)}"
    return ", ".join(part for part in _set(row) if not part.endswith("=False")) + budget


def _scopes(rows: Sequence[AuditRow]) -> str:
    """The privacy loss over the longest audited transcripts of policies that promise single decisions."""
    longest: dict[str, AuditRow] = {}
    for row in sorted(rows, key=lambda row: row.horizon):
        if row.level == "event" and row.scope == Scope.DECISION and math.isfinite(row.epsilon_shown):
            longest[row.policy] = row
    texts = [
        f"`{row.policy}` with ε = {digits(row.epsilon_claimed)} shows {digits(row.epsilon_shown)} over "
        f"{row.horizon:,} steps"
        for row in longest.values()
    ]
    if not texts:
        return ""
    return (
        "Scopes differ: a promise about one decision is no promise about the transcript. Figures 4 and 5 of "
        f"wang2024 show policies of both kinds. At δ = 0 {'; '.join(texts)}."
    )


def entries(row: AuditRow) -> Entries:
    """The entries of a row, one for each of the `COLUMNS`."""
    bounds, kept, shown = row.deciding
    return [
        code_entry(row.policy),
        set_parameters(row),
        row.level,
        *(TableEntry(whole(value), value) for value in (row.arms, row.horizon)),
        " ".join(filter(None, [row.domain, row.convention])),
        _claimed(row.paper_epsilon, row.paper_delta),
        _claimed(row.epsilon_claimed, row.delta_claimed),
        bounds,
        "refuted" if row.refuted else _number(kept),
        _number(shown),
        row.paper_verdict,
        row.verdict,
        _number(math.nan if row.refuted else row.slack),
        row.witness,
    ]


def _claimed(epsilon: float, delta: float) -> TableEntry:
    """Epsilon of a promise, and delta if it is not 0; sorted by epsilon."""
    number = _number(epsilon)
    return TableEntry(f"{number.text}, {digits(delta)}", number.rank) if delta > 0 else number


def _number(value: float) -> TableEntry:
    return TableEntry(digits(value), None if math.isnan(value) else min(value, 1e308))


def digits(value: float) -> str:
    """A number with six digits, so that bounds that differ in the fifth digit do not look equal."""
    if math.isnan(value):
        return "–"
    return "∞" if math.isinf(value) else f"{value:.6g}"
