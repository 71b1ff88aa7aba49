"""What would have changed a verdict: vacuous bounds, the nearest estimates that fail, and planted wrong theorems."""

import math

import pandas as pd
import pytest
from scipy import stats

from bandits.environments.bernoulli import C1
from bandits.policies.elimination import DPSE
from bandits.policies.ucb import UCB1
from experiments import intervals
from experiments.claims import SettingOutcome, promises
from experiments.claims import __main__ as claims_command
from experiments.claims.power import counted, possible_of, scaled
from experiments.claims.settings import Range, Setting
from experiments.claims.verdicts import FormVerdict, Outcome
from experiments.errors import UserError
from experiments.intervals import Interval, exactly
from tests.experiments.claims.made_up import FAILING, HORIZON, PASSING, measured, outcome, stopped, verdict

ARGUMENTS = {"gaps": "gaps", "epsilon": "epsilon", "horizon": "horizon"}
REGRET = {
    "test": "bound",
    "filter": {"policy": "dp_se"},
    "bound": "bandits.bounds.sajed2019.dp_se_regret",
    "arguments": ARGUMENTS,
}


def plant(monkeypatch, factor):
    """Every bound is multiplied by `factor`."""
    whole = promises.value_of
    monkeypatch.setattr(promises, "value_of", lambda *arguments: factor * whole(*arguments))


def test_scaled_limits_by_hand():
    assert scaled(Interval(2.0, 1.6, 2.5), 1.0, 4.0) == pytest.approx((0.8, 5.0))
    assert scaled(Interval(2.0, -1.0, math.inf), 1.0, 4.0) == (0.0, math.inf)  # no positive limit would fail
    assert scaled(exactly(2.0), -math.inf, 4.0) == (-math.inf, 4.0)
    assert scaled(exactly(0.0), -math.inf, 4.0) == (-math.inf, 4.0)


@pytest.mark.slow
def test_a_bound_above_all_that_is_possible_is_vacuous(tmp_path, monkeypatch):
    cell = measured(DPSE(1.0), 50, 1)
    most = float(cell.cell.instance.gaps.max()) * HORIZON
    assert possible_of(cell, "regret", HORIZON) == (0, most)
    assert outcome(tmp_path, [cell], **REGRET) == "holds"
    limit = verdict(tmp_path, [cell], **REGRET).table.at_most[0]
    plant(monkeypatch, 1.001 * most / limit)
    found = verdict(tmp_path, [cell], **REGRET)
    assert (found.outcome, found.power) == ("vacuous here", "")
    assert f"while only 0 to {most:.4g} is possible: no result could have failed in any of 1 setting" in found.evidence


def test_vacuous_settings_do_not_count_and_are_reported(tmp_path):
    cells = [measured(DPSE(epsilon), 50, 1) for epsilon in (1.0, 1e-9)]
    found = verdict(tmp_path, cells, **REGRET)
    assert found.outcome == "holds"
    assert ": passes in 1 setting (1 more are vacuous); closest: epsilon 1" in found.evidence
    assert list(found.table.result) == ["passes", "vacuous"]
    assert outcome(tmp_path, cells[1:], **REGRET) == "vacuous here"


def test_a_setting_is_vacuous_if_nothing_possible_is_outside_its_limits():
    for setting, expected in [
        (Setting({}, exactly(1.0), at_most=2.0, possible=Range(0, 2)), SettingOutcome.VACUOUS),
        (Setting({}, exactly(1.0), at_most=1.9, possible=Range(0, 2)), SettingOutcome.PASSES),
        (Setting({}, exactly(1.0), at_least=0.0, possible=Range(0, 2)), SettingOutcome.VACUOUS),
        (Setting({}, exactly(1.0), at_least=0.1, possible=Range(0, 2)), SettingOutcome.PASSES),
        (Setting({}, exactly(1.0), at_least=0.0, at_most=1.9, possible=Range(0, 2)), SettingOutcome.PASSES),
        (
            Setting({}, exactly(3.0), at_most=2.0, possible=Range(0, 2)),
            SettingOutcome.FAILS,
        ),  # a failure elsewhere is not hidden
        (Setting({}, Interval(1, 0, 5), at_most=4.0), SettingOutcome.OPEN),
        (Setting({}, exactly(math.nan), at_most=2.0, possible=Range(0, 2)), SettingOutcome.NOT_COVERED),
    ]:
        assert setting.result is expected


def test_vacuous_settings_turn_no_verdict():
    vacuous = Setting({}, exactly(1.0), at_most=9.0, possible=Range(0, 2))
    for at_most, expected in ((2.0, Outcome.HOLDS), (0.5, Outcome.FAILS)):
        counted_one = Setting({}, exactly(1.0), at_most=at_most)
        assert FormVerdict.of([vacuous, counted_one, vacuous], "x").outcome is expected
    assert FormVerdict.of([vacuous, vacuous], "x").outcome is Outcome.VACUOUS


def test_a_ratio_fails_beyond_the_estimate_that_its_power_names(tmp_path):
    keys = {"test": "ratio", "numerator": {"policy": "ucb1"}, "denominator": {"policy": "dp_se"}, "by": ["instance"]}

    def ratio(of):
        cells = [measured(UCB1(), 10 * of, 0.5 * of), measured(DPSE(1.0), 10, 0.1)]  # noise proportional to the mean
        return verdict(tmp_path, cells, **keys, at_least=1)

    end = ratio(2).table.fails_below[0]
    assert 0.97 < end < 0.995  # half an interval below 1
    assert f"an estimate below {end:.4g} fails" in ratio(2).power
    assert ratio(end * 0.999).outcome == "fails"
    assert ratio(end * 1.001).outcome == "undecided"


def test_shares_that_fail_are_counted():
    for runs, limit, error in ((1000, 0.05, 0.01), (40, 0.5, 0.001)):
        _, most = counted(runs, -math.inf, limit, error)
        least, _ = counted(runs, limit, math.inf, error)
        for share, fails in ((most, False), (most + 1 / runs, True)):
            assert bool(stats.binom.sf(round(share * runs) - 1, runs, limit) < error / 2) is fails
        for share, fails in ((least, False), (least - 1 / runs, True)):
            assert bool(stats.binom.cdf(round(share * runs), runs, limit) < error / 2) is fails
    for count in (0, 7, 40):
        one = stats.binomtest(count, 40).proportion_ci(0.99)
        ends = [end[count] for end in intervals.share_ends(40, 0.01)]
        assert ends == pytest.approx([one.low, one.high], abs=1e-12)


def test_an_event_that_never_happened_may_be_rarer_than_the_runs_show(tmp_path):
    keys = {"test": "never", "filter": {"policy": "dp_nas"}, "event": "off_by_more"}
    found = verdict(tmp_path, [stopped(0)], **keys)
    assert found.table.fails_above[0] == pytest.approx(0.00299, rel=0.01)  # 3 / runs
    assert (1 - found.table.fails_above[0]) ** 1000 == pytest.approx(0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "cells"),
    [
        (REGRET, lambda: [measured(DPSE(e), 5000, 100) for e in (0.5, 1.0)]),
        (
            {
                **REGRET,
                "test": "pulls_bound",
                "bound": "bandits.bounds.sajed2019.dp_se_pulls",
                "arguments": {"gap": "gap", "arms": "arms", "epsilon": "epsilon", "horizon": "horizon"},
            },
            lambda: [measured(DPSE(1.0), 50)],
        ),
        (
            {
                "test": "exceedance",
                "filter": {},
                "event": "samples",
                "at_most": 0.05,
                "bound": "bandits.bounds.sajed2019.stopping_lower_bound",
                "arguments": {
                    "mean": "mean",
                    "bound": "bound",
                    "epsilon": 1e-4,
                    "accuracy": "accuracy",
                    "beta": "beta",
                },
            },
            lambda: [stopped(0)],
        ),
    ],
    ids=["bound", "pulls_bound", "exceedance"],
)
def test_a_bound_fails_once_it_is_nearer_by_its_slack(tmp_path, monkeypatch, keys, cells):
    found = verdict(tmp_path, cells(), **keys)
    assert found.outcome == "holds"
    (finding,) = found.findings.values()
    slack = min(setting.slack for setting in finding.settings)
    assert slack > 1
    assert f"nearer to the data by a factor {slack:.3g}" in found.power
    for factor, fails in ((1.001, True), (0.999, False)):
        with monkeypatch.context() as patch:
            plant(patch, 1 / (factor * slack))
            assert (outcome(tmp_path, cells(), **keys) == "fails") is fails


def test_a_lower_bound_on_most_runs_fails_once_it_is_higher_by_its_slack(tmp_path, monkeypatch):
    problem = {"mean": "mean", "bound": "bound", "epsilon": 0.1, "accuracy": "accuracy", "beta": "beta"}
    keys = {"test": "exceedance", "filter": {}, "event": "samples", "at_least": 0.25, "arguments": problem}
    keys["bound"] = "bandits.bounds.sajed2019.stopping_lower_bound"
    found = verdict(tmp_path, [stopped(0)], **keys)
    slack = found.findings[""].settings[0].slack
    assert (found.outcome, slack) == (
        "holds",
        pytest.approx(50 / 9.9857743, rel=1e-6),
    )  # log(20) / (12 x 0.1 x 0.5 x 0.5)
    plant(monkeypatch, 1.001 * slack)
    assert outcome(tmp_path, [stopped(0)], **keys) == "fails"


@pytest.mark.parametrize("key", ["at_least", "quantity", "by"])
def test_a_variant_that_changes_what_is_claimed_is_one_line(tmp_path, key):
    keys = {"test": "ratio", "numerator": {}, "denominator": {}, "by": ["instance"], "at_least": 1}
    with pytest.raises(UserError, match=rf"paper.yaml: mine: variants.other.{key}: a variant may not change what is"):
        verdict(tmp_path, [], **keys, variants={"other": {key: 2}})


def test_a_claim_may_hold_in_some_places_only(tmp_path):
    cells = [measured(policy, mean, 1) for policy, mean in ((UCB1(), 30), (DPSE(1.0), 10), (DPSE(0.5), 50))]
    keys = {"test": "ratio", "numerator": {"policy": "ucb1"}, "by": ["instance"], "at_least": 1}
    one, half = ({"policy": "dp_se", "epsilon": epsilon} for epsilon in (1.0, 0.5))
    found = verdict(tmp_path, cells, **keys, denominator=one, variants={"half": {"denominator": half}}, main="one")
    assert found.shown == "holds (half: fails)"
    found = verdict(tmp_path, cells, **keys, denominator=half, variants={"one": {"denominator": one}})
    assert found.shown == "fails (one: holds)"
    limited = {"condition": "here", "condition_chosen": "as run", "main": "one", "denominator": one}
    found = verdict(tmp_path, cells, **keys, **limited, variants={"half": {"denominator": half}})
    assert found.shown == "holds under here (half: fails)"
    assert (found.ours, "one: an estimate below" in found.power) == (False, True)


def test_a_proof_says_more_than_what_was_tested_and_is_refuted_by_it(tmp_path):
    check = "experiments.claims.checks.{}"
    proved = {"test": "exact", "proof": "docs/theorems.md", "ours": True}
    found = verdict(tmp_path, [], **proved, check=check.format(PASSING), condition="two arms")
    assert (found.shown, found.ours) == ("proved (claim of ours)", True)
    assert verdict(tmp_path, [], **proved, check=check.format(FAILING)).outcome == "fails"


def test_cells_are_left_out_of_growth(tmp_path):
    cells = [measured(DPSE(1.0), 50, 10, growth=0), measured(DPSE(0.5), 50, 10, growth=1)]
    keys = {"test": "growth", "filter": {"policy": "dp_se"}, "stretch": [0.5, 1], "at_most": 0.01}
    assert outcome(tmp_path, cells, **keys) == "fails"
    assert outcome(tmp_path, cells, **keys, without={"epsilon": 0.5}) == "holds"
    with pytest.raises(UserError, match=r"mine: without\.epsilom: is not a column"):
        outcome(tmp_path, cells, **keys, without={"epsilom": 0.5})


@pytest.mark.parametrize(("later", "expected"), [(15, "fails"), (10.2, "holds"), (10.7, "undecided")])
def test_extra_growth(tmp_path, later, expected):
    cells = [
        measured(policy, mean, 0.5, C1(arms))
        for arms, means in ((3, (20, 10)), (5, (20 + later, 20)))  # 10 more, then `later` more
        for policy, mean in zip((DPSE(1.0), UCB1()), means, strict=True)
    ]
    keys = {"test": "extra_growth", "numerator": {"policy": "dp_se"}, "denominator": {"policy": "ucb1"}}
    found = verdict(tmp_path, cells, **keys, along="arms", by=["instance"], at_most=1.07)
    assert found.outcome == expected
    assert found.table.estimate[0] == pytest.approx(later / 10)


@pytest.mark.slow
def test_every_setting_is_written(call, tmp_path):
    file = tmp_path / "settings.csv"
    assert call("id=by-5x", f"csv={file}", main=claims_command.main).code == 0
    found = pd.read_csv(file)
    assert (len(found), set(found.form), set(found.id)) == (128, {"mishra2015", "tight"}, {"by-5x"})
    refused = call("id=dpucb-log-power", f"csv={tmp_path}/no/where.csv", main=claims_command.main)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert refused.err.startswith(f"error: csv={tmp_path}/no/where.csv: cannot be written: ")
