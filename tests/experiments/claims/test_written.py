"""The file of verdicts: what is read is what was judged, and what changed is judged again."""

import json
import math

import numpy as np
import pytest

from bandits.policies.elimination import DPSE
from bandits.policies.ucb import UCB1
from experiments.claims import Results, claims, judge_claim, judge_claims, written
from experiments.claims.__main__ import main as judge
from experiments.claims.settings import Range, Setting
from experiments.claims.verdicts import FormVerdict, Outcome
from experiments.config.compose import Composer
from experiments.errors import UserError
from experiments.intervals import Approximate, Interval
from tests.experiments.claims.made_up import PASSING, measured, stopped, verdict

KEY = ("paper", "mine", "")
RATIO = {"test": "ratio", "numerator": {"policy": "ucb1"}, "denominator": {"policy": "dp_se"}, "by": ["instance"]}


@pytest.fixture
def file(tmp_path, monkeypatch):
    file = tmp_path / "verdicts.jsonl"
    monkeypatch.setattr(written, "FILE", file)
    return file


def put(file, finding):
    file.write_text("\n".join(written.lines(KEY, finding)))
    return written.read_verdicts()[KEY]


def test_what_is_read_is_what_was_judged(file):
    interval, limits = Interval(2.0, 2.0, 2.0), (1.0, 4.0)
    settings = [
        Setting({"instance": "c1"}, Approximate(np.float64(1 / 3), 0.25, math.inf), at_most=np.float32(1)),
        Setting({"arms": np.int64(3)}, interval, *limits, Range(0.0, 9.0), Range(1.0, 5.0), 2.0, True, 3.0),
        Setting({}, Interval(math.nan, math.nan, math.nan)),
    ]
    finding = FormVerdict(Outcome.UNDECIDED, "so", settings, "much", ("1", "2"))
    again = put(file, finding)
    assert written.lines(KEY, again) == written.lines(KEY, finding)
    assert (again.outcome, again.summary, again.power, again.judged_by) == (Outcome.UNDECIDED, "so", "much", ("1", "2"))
    assert [str(setting) for setting in again.settings] == [str(setting) for setting in settings]
    assert again.settings[1] == settings[1]
    assert again.settings[0].interval.estimate == 0.333333
    assert again.saying_nothing == finding.saying_nothing
    results = [json.loads(line)["result"] for line in written.lines(KEY, again)[1:]]
    assert results == ["open", "the same in every run", "not covered"]


def test_a_computed_label_is_the_same_on_another_processor():
    """A delta of AdaC-UCB as two processors round it: the second called the file out of date."""
    one, other = (
        [Setting({"delta": delta}, Interval(1.0, 1.0, 1.0))] for delta in (0.0183572243181219, 0.0183572243181220)
    )
    findings = [FormVerdict(Outcome.HOLDS, "", settings) for settings in (one, other)]
    assert written.lines(KEY, findings[0]) == written.lines(KEY, findings[1])
    assert "0.0183572243181," in written.lines(KEY, findings[0])[1].replace("}", ",")


def test_a_result_does_not_turn_by_few_digits(file):
    """1.0000001 is above 1, and 1.00000 is not."""
    finding = FormVerdict(Outcome.FAILS, "", [Setting({}, Interval(1.0000001, 1.0000001, 1.0000001), at_most=1.0)])
    (setting,) = put(file, finding).settings
    assert (setting.result, setting.interval.estimate) == ("fails", 1.0000001)


@pytest.mark.parametrize("text", ["<<<<<<< HEAD", '{"setting": {}, "interval": [1, 2, 3]}', "[1]", '{"paper": "a"}'])
def test_a_line_that_is_no_verdict_is_named(file, text):
    put(file, FormVerdict(Outcome.HOLDS, ""))
    file.write_text(f"{text}\n" if "setting" in text else f"{file.read_text()}\n{text}\n")
    with pytest.raises(UserError, match=rf"verdicts.jsonl: line {1 if 'setting' in text else 2}: is no verdict"):
        written.read_verdicts()


@pytest.mark.parametrize("name", ["piecewise-linear", "klucb-below-line"])
def test_a_written_verdict_is_taken_without_reading_rows(name):
    """Its digests follow from footers alone, also those of weighted runs, and are those of the rows that are read."""
    claim = next(claim for claim in claims() if claim.id == name)
    results = Results(Composer(), written=written.read_verdicts())
    judge_claim(claim, results)
    assert (tuple(results.plans), results.read) == (claim.experiments, {})
    (form, *_) = claim.forms.values()
    unread = written.digests_of(form, claim.error, results)
    reading = Results(Composer())
    assert len(reading.cells(form.experiments)) == len(results.kept(form.experiments))
    assert written.digests_of(form, claim.error, reading) == unread


def test_what_changed_is_judged_again(tmp_path):
    """The claim or a cell; else the verdict that is written counts, whatever it is."""
    cells = [measured(UCB1(), 30, 1), measured(DPSE(1.0), 10, 1)]
    before = verdict(tmp_path, cells, **RATIO, at_least=2)
    (claim,) = (claim for claim in claims([tmp_path]) if claim.paper == "paper")
    planted = FormVerdict(Outcome.FAILS, "planted", judged_by=before.findings[""].judged_by)

    def now(claim, cells):
        return judge_claim(claim, Results(Composer(), (), {KEY: planted}, {"made_up": cells})).evidence

    assert before.outcome == "holds"
    assert now(claim, cells) == "planted"
    verdict(tmp_path, cells, **RATIO, at_least=2.5)
    (stricter,) = (c for c in claims([tmp_path]) if c.paper == "paper")
    assert "at least 2.5" in now(stricter, cells)
    cells[1].footer["rows"] = "another checksum"
    assert "at least 2" in now(claim, cells)


def test_an_outdated_line_is_named_with_its_cause():
    one = Setting({}, Interval(1.0, 1.0, 1.0), at_most=2.0)
    other = Setting({}, Interval(1.5, 1.5, 1.5), at_most=2.0)
    before = {
        ("a", "first", ""): FormVerdict(Outcome.HOLDS, "", [one, one]),
        ("a", "second", "main"): FormVerdict(Outcome.HOLDS, "", [one, one]),
    }
    (first, second) = before
    assert written.outdated(before, before) == []
    turned = FormVerdict(Outcome.FAILS, "", [one, one], "", ("changed", ""))
    assert written.outdated(before, {first: turned}) == ["line 1: a first: its claim changed: holds, now fails"]
    moved = FormVerdict(Outcome.HOLDS, "", [one, other])
    assert written.outdated(before, {second: moved}) == ["line 6: a second main: the code changed: other numbers"]
    fewer = FormVerdict(Outcome.HOLDS, "", [one], "", ("", "changed"))
    assert written.outdated(before, {second: fewer}) == ["line 4: a second main: its results changed: other numbers"]
    assert written.outdated({}, {first: turned}) == ["no line: a first: fails"]


def test_the_command_writes_the_file_and_says_what_is_out_of_date(call, file):
    assert call("id=beta-flat", "strict=true", main=judge).code == 1
    for name in ("exponential-private", "gauss-constant"):
        outcome = call(f"id={name}", "accept=true", main=judge)
        assert (outcome.code, "1 claims" in outcome.out) == (0, True)
    assert {key[1] for key in written.read_verdicts()} == {"exponential-private", "gauss-constant"}
    assert call("id=gauss-constant", "strict=true", main=judge).code == 0
    file.write_text(file.read_text().replace('"verdict": "fails"', '"verdict": "holds"'))
    outcome = call("id=exponential-private", "strict=true", main=judge)
    assert outcome.code == 1
    assert ": wu2025 exponential-private: the code changed: holds, now fails" in outcome.out
    assert "1 verdicts out of date; run: python -m experiments.claims accept=true" in outcome.out
    refused = call("accept=true", "--config-dir", file.parent, main=judge)
    assert "this repository alone" in refused.err


def test_a_claim_that_fails_to_compute_leaves_the_others(tmp_path):
    verdict(tmp_path, [], test="exact", check=f"experiments.claims.checks.{PASSING}")
    (mine,) = (claim for claim in claims([tmp_path]) if claim.paper == "paper")
    broken = Results(Composer(), (), None)  # any error, as of a user's computation
    (unjudged, *_) = (claim for claim in claims() if claim.id == "no-server-no-price")
    wrong: list[str] = []
    assert [claim.outcome for claim in judge_claims([mine, unjudged], broken, wrong)] == ["not judged"]
    assert len(wrong) == 1
    assert "paper.yaml: mine: AttributeError: " in wrong[0]
    with pytest.raises(UserError, match="mine: AttributeError"):
        list(judge_claims([mine], broken))


def test_only_intervals_that_hold_for_every_law_are_not_called_approximate(tmp_path):
    """Fieller's and Student's are approximate, Clopper and Pearson's is not; a computed number has no interval."""
    cells = [measured(UCB1(), 30, 1), measured(DPSE(1.0), 10, 1)]
    arguments = {"gaps": "gaps", "epsilon": "epsilon", "horizon": "horizon"}
    bound = {"test": "bound", "filter": {"policy": "dp_se"}, "bound": "bandits.bounds.sajed2019.dp_se_regret"}
    assert "] (approximate), claimed at least 2" in verdict(tmp_path, cells, **RATIO, at_least=2).evidence
    assert "] (approximate), claimed at most" in verdict(tmp_path, cells, **bound, arguments=arguments).evidence
    frequency = {"test": "frequency", "filter": {}, "event": "off_by_more", "at_most": 0.5}
    evidence = verdict(tmp_path, [stopped(20)], **frequency).evidence
    assert "[" in evidence
    assert "approximate" not in evidence
    assert (
        "approximate" not in verdict(tmp_path, [], test="exact", check=f"experiments.claims.checks.{PASSING}").evidence
    )
