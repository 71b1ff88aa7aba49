"""The file of verdicts, which is read instead of judging again what did not change.

It has a line of JSON for each form of a claim, and below it one for each of its settings, so that a verdict that turns
is a line of a diff. Two digests on the line of a form say what it was judged by: the form with its error, and stored
results. They say nothing of the code that judges; `python -m experiments.claims strict=true` judges all again.
"""

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from experiments.audit.table import picked
from experiments.claims.files import Claim
from experiments.claims.forms import Form
from experiments.claims.promises import Audited
from experiments.claims.results import Key, Results
from experiments.claims.settings import ANYTHING, Range, Setting
from experiments.claims.verdicts import ClaimVerdict, FormVerdict, Outcome
from experiments.config.folders import RESULTS
from experiments.errors import UserError
from experiments.intervals import Approximate, Interval
from experiments.store.whole_files import put

FILE = RESULTS / "verdicts.jsonl"
COMMAND = "python -m experiments.claims accept=true"  # judges all claims and writes the file
DIGITS = 6  # of a number, unless its setting would have another result with so few
ALL_DIGITS = 17
LABEL_DIGITS = 12  # of a number that labels a setting: a computed one, as a delta, is rounded differently elsewhere
DEFAULTED = fields(Setting)[2:]  # those that are left out at their defaults


def digests_of(form: Form, error: float, results: Results) -> tuple[str, str]:
    """Digests of a form with its error, and of the results that it is judged by. Raises `CannotJudgeError`."""
    cells = [one for kept in results.kept(getattr(form, "experiments", ())) for one in (kept, kept.weighted)]
    rows = sorted((one.cell.key, one.replications, one.checksum) for one in cells if one is not None)
    audits = picked(results.audits, form.rows) if isinstance(form, Audited) else []
    fitted_in = getattr(form, "fitted_in", None)
    window = results.figure(fitted_in["experiment"]).get("slopes") if fitted_in else None
    return _digest(form, error, window), _digest(rows, audits)


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def forms_of(verdicts: Iterable[ClaimVerdict]) -> dict[Key, FormVerdict]:
    """The verdict on each form of some claims."""
    return {(claim.paper, claim.id, form): finding for claim in verdicts for form, finding in claim.findings.items()}


def lines(key: Key, finding: FormVerdict) -> list[str]:
    """The lines on a form: its verdict, then its settings."""
    head = dict(zip(("paper", "id", "form"), key, strict=True))
    head |= {"verdict": str(finding.outcome), "evidence": finding.summary, "power": finding.power}
    settings = [_of_setting(setting) for setting in finding.settings]
    return [json.dumps(head | {"judged_by": finding.judged_by}, ensure_ascii=False), *settings]


def _of_setting(setting: Setting) -> str:
    """A setting with `DIGITS` digits, or all if its result depends on them; fields at their defaults are left out."""
    kind = "approximate" if isinstance(setting.interval, Approximate) else "interval"
    for digits in (DIGITS, ALL_DIGITS):
        values = {item.name: _plain(getattr(setting, item.name), digits) for item in DEFAULTED}
        changed = {item.name: values[item.name] for item in DEFAULTED if repr(values[item.name]) != repr(item.default)}
        words = {"setting": _plain(setting.labels, LABEL_DIGITS), kind: _plain(setting.interval, digits), **changed}
        again = _setting(json.loads(json.dumps(words)))
        if (again.result, again.says_nothing) == (setting.result, setting.says_nothing):
            break
    return json.dumps(words | {"result": str(setting.result)}, ensure_ascii=False)


def _plain(value: Any, digits: int) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Mapping):
        return {name: _plain(item, digits) for name, item in value.items()}
    if isinstance(value, list | tuple) and value != ANYTHING:  # a default that stays itself
        return [_plain(item, digits) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def _setting(words: dict[str, Any]) -> Setting:
    interval = Approximate(*words["approximate"]) if "approximate" in words else Interval(*words["interval"])
    more: dict[str, Any] = {item.name: words[item.name] for item in DEFAULTED if item.name in words}
    more |= {name: Range(*more[name]) for name in ("possible", "unseen") if name in more}
    return Setting(words["setting"], interval, **more)


def read_verdicts() -> dict[Key, FormVerdict]:
    """The written verdicts on all forms; none if there is no file. Raises `UserError` for a line that is no verdict."""
    written: dict[Key, FormVerdict] = {}
    settings: list[Setting] = []
    texts = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    for number, text in enumerate(texts, start=1):
        try:
            words = json.loads(text)
            if written and "setting" in words:
                settings.append(_setting(words))
                continue
            settings = []
            told = Outcome(words["verdict"]), words["evidence"], settings, words["power"], tuple(words["judged_by"])
            written[words["paper"], words["id"], words["form"]] = FormVerdict(*told)
        except (ValueError, LookupError, TypeError):
            raise UserError(f"{FILE}: line {number}: is no verdict; remove the file, and run: {COMMAND}") from None
    return written


def write_verdicts(claims: Iterable[Claim], verdicts: Mapping[Key, FormVerdict]) -> None:
    """Write the verdicts on the forms of `claims`, in their order; others are left out. Raises `UserError`."""
    keys = [(claim.paper, claim.id, form) for claim in claims for form in claim.forms]
    text = "".join(f"{line}\n" for key in keys if key in verdicts for line in lines(key, verdicts[key]))
    try:
        put(FILE, text.encode())
    except OSError as error:
        raise UserError(f"{FILE}: cannot be written: {error.strerror or error}") from error


def outdated(written: Mapping[Key, FormVerdict], now: Mapping[Key, FormVerdict]) -> list[str]:
    """For each form whose lines are not those of its verdict `now`: the first such line, and the cause."""
    lengths = (1 + len(finding.settings) for finding in written.values())
    first = dict(zip(written, itertools.accumulate(lengths, initial=1), strict=False))
    problems = []
    for key, finding in now.items():
        name = " ".join(filter(None, key))
        if key not in written:
            problems.append(f"no line: {name}: {finding.outcome}")
            continue
        before, after = lines(key, written[key]), lines(key, finding)
        places = [place for place, pair in enumerate(itertools.zip_longest(before, after)) if pair[0] != pair[1]]
        if places:
            differs = [one != other for one, other in zip(written[key].judged_by, finding.judged_by, strict=True)]
            causes = [cause for cause, other in zip(("its claim", "its results"), differs, strict=True) if other]
            cause = f"{' and '.join(causes) or 'the code'} changed"
            was = written[key].outcome
            turned = "other numbers" if was is finding.outcome else f"{was}, now {finding.outcome}"
            problems.append(f"line {first[key] + places[0]}: {name}: {cause}: {turned}")
    return problems
