"""Verdicts on invented results with a known outcome, malformed claims, and the claims of the papers."""

import math
import re

import numpy as np
import pytest
import yaml

from bandits.bounds.local_privacy import local_bernoulli_lower_bound_slope
from bandits.environments.bernoulli import C1, C2
from bandits.environments.full_information import DeterministicLosses
from bandits.environments.gap_profiles import OneGap
from bandits.policies.elimination import DPSE
from bandits.policies.full_information import RNMFTNL
from bandits.policies.local_bits import KLUCBCF
from bandits.policies.ucb import UCB1
from experiments import intervals
from experiments.cells.exact import ExactCell
from experiments.claims import __main__
from experiments.config.overrides import GROUPS
from experiments.errors import UserError
from experiments.store.stored import Stored
from tests.experiments.claims.made_up import FAILING, HORIZON, PASSING, measured, outcome, stopped, verdict

OCTAVES = [0.1 * 2 ** (step / 3) for step in range(11)]
EIGHT = [0.1 * 1.2**step for step in range(8)]


@pytest.mark.parametrize(
    ("mean", "spread", "expected"),
    [(60, 5, "holds"), (40, 5, "fails"), (50, 5, "undecided"), (51, 100, "undecided")],
)
def test_ratio(tmp_path, mean, spread, expected):
    cells = [measured(UCB1(), mean, spread), measured(DPSE(1.0), 10, 0.1)]
    keys = {"test": "ratio", "numerator": {"policy": "ucb1"}, "denominator": {"policy": "dp_se"}, "by": ["instance"]}
    found = verdict(tmp_path, cells, **keys, at_least=5)
    assert found.outcome == expected
    (row,) = found.table.to_dict("records")
    assert row["estimate"] == pytest.approx(mean / 10)
    assert row["low"] < row["estimate"] < row["high"]
    assert f"{mean / 10:.4g}" in found.evidence
    assert "paper=paper id=mine" in found.command


@pytest.mark.slow
def test_limits_are_corrected_for_many_settings(tmp_path):
    keys = {"test": "ratio", "numerator": {"policy": "ucb1"}, "denominator": {"policy": "dp_se"}, "by": ["arms"]}
    one = [measured(UCB1(), 11, 3), measured(DPSE(1.0), 10, 0.1)]
    assert outcome(tmp_path, one, **keys, at_least=1) == "holds"
    many = [
        measured(policy, mean, spread, C1(arms), pulls=[HORIZON - arms, *[1] * arms][:arms])
        for arms in range(3, 403)
        for policy, mean, spread in ((UCB1(), 11, 3), (DPSE(1.0), 10, 0.1))
    ]
    assert outcome(tmp_path, many, **keys, at_least=1) == "undecided"


@pytest.mark.parametrize(
    ("regrets", "expected"),
    [((30, 20, 20), "holds"), ((30, 20, 21), "fails"), ((30, 20, 20.1), "holds"), ((20, 20.3, 10), "undecided")],
)
def test_monotone_lets_ties_pass(tmp_path, regrets, expected):
    cells = [measured(DPSE(epsilon), mean, 0.5) for epsilon, mean in zip((0.1, 0.5, 1.0), regrets, strict=True)]
    keys = {"along": "epsilon", "direction": "decreasing", "by": ["policy"], "filter": {"policy": "dp_se"}}
    assert outcome(tmp_path, cells, test="monotone", ties=0.02, **keys) == expected


@pytest.mark.parametrize(("growth", "expected"), [(0, "holds"), (1, "fails")])
def test_growth(tmp_path, growth, expected):
    cells = [measured(DPSE(1.0), 50, 10, growth=growth)]
    keys = {"filter": {"policy": "dp_se"}, "stretch": [0.5, 1], "at_most": 0.01}
    found = verdict(tmp_path, cells, test="growth", **keys)
    assert found.outcome == expected
    assert found.table.estimate[0] == pytest.approx(growth, abs=0.03)


@pytest.mark.parametrize(("ratio", "expected"), [(1.0, "holds"), (0.7, "fails"), (1.3, "fails")])
def test_growth_of_a_bound(tmp_path, ratio, expected):
    """A linear curve over the second half of the run, against slope x log t, which grows by slope x log 2."""
    slope = local_bernoulli_lower_bound_slope(C1(3).mean_rewards, 1.0)
    cells = [measured(KLUCBCF(1.0), 2 * math.log(2) * slope * ratio, 10)]
    line = {
        "bound": "bandits.bounds.local_privacy.local_bernoulli_asymptote",
        "arguments": {"means": "means", "epsilon": "epsilon", "horizon": "t"},
    }
    keys = {"test": "bound_growth", "filter": {}, "at_least": 0.8, "at_most": 1.2, "stretch": [0.5, 1]}
    found = verdict(tmp_path, cells, **keys, **line)
    assert found.outcome == expected
    assert found.table.estimate[0] == pytest.approx(ratio, rel=0.05)
    for wrong in ({"stretch": [1, 0.5]}, {"arguments": {"means": "means", "epsilon": 1, "horizon": 9}}):
        with pytest.raises(UserError, match=next(iter(wrong))):
            verdict(tmp_path, cells, **{**keys, **line, **wrong})


@pytest.mark.parametrize(("power", "expected"), [(-1, "holds"), (-1.5, "fails")])
def test_slope(tmp_path, power, expected):
    cells = [measured(DPSE(epsilon), 10 * epsilon**power, 0.1) for epsilon in OCTAVES]
    keys = {"filter": {"policy": "dp_se"}, "x": "epsilon", "expected": -1, "tolerance": 0.2}
    for test in ("slope", "octave_slope"):
        found = verdict(tmp_path, cells, test=test, **keys)
        assert found.outcome == expected
        assert found.table.estimate[0] == pytest.approx(power)


def test_a_curve_that_is_no_power_has_a_wide_interval(tmp_path):
    cells = [measured(DPSE(e), mean, 0.1) for e, mean in zip(EIGHT, (40, 15, 12, 30, 9, 8, 7, 8), strict=True)]
    keys = {"filter": {"policy": "dp_se"}, "x": "epsilon", "expected": -1, "tolerance": 0.2}
    assert outcome(tmp_path, cells, test="slope", **keys) == "undecided"


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ({"experiment": "wang2024/fig06", "policy": "dp_ftpl_new"}, "holds"),
        ({"experiment": "wang2024/fig06", "policy": "dp_se"}, "fitted_in: the figure of wang2024/fig06 fits no slope"),
        ({"experiment": "sajed2019/tight", "policy": "dp_se"}, "fitted_in: the figure of sajed2019/tight fits no"),
        ({"experiment": "tao2022/local_horizons", "policy": "dp_se"}, "experiment: tao2022/local_horizons has no figu"),
        ({"policy": "dp_se"}, "fitted_in: must be {experiment, policy}"),
    ],
)
def test_a_window_is_said_once_in_the_figure_that_fits_the_slope(tmp_path, window, expected):
    """Figure 6 fits DP-FTPL-New between 0.0007 and 0.0085: points outside follow another power."""
    powers = {0.0003: -3, **dict.fromkeys((0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.008), -1), 0.02: -3}
    cells = [measured(DPSE(epsilon), 10 * epsilon**power, 0.001) for epsilon, power in powers.items()]
    keys = {"filter": {"policy": "dp_se"}, "x": "epsilon", "expected": -1, "tolerance": 0.01, "test": "slope"}
    if expected == "holds":
        assert outcome(tmp_path, cells, **keys, fitted_in=window) == "holds"
        assert outcome(tmp_path, cells, **keys) != "holds"
    else:
        with pytest.raises(UserError, match=expected):
            outcome(tmp_path, cells, **keys, fitted_in=window)


def test_expected_may_differ_by_group(tmp_path):
    cells = [
        measured(DPSE(e), 10 * e**power, 0.1, instance) for e in EIGHT for instance, power in ((C1(3), -1), (C2(3), -2))
    ]
    keys = {"test": "slope", "filter": {"policy": "dp_se"}, "x": "epsilon", "by": ["instance"], "tolerance": 0.1}
    assert outcome(tmp_path, cells, **keys, expected={"c1": -1, "c2": -2}) == "holds"
    assert outcome(tmp_path, cells, **keys, expected={"c1": -1, "c2": -1}) == "fails"


@pytest.mark.parametrize(("mean", "spread", "expected"), [(1e4, 10, "holds"), (1e9, 10, "fails")])
def test_bound(tmp_path, mean, spread, expected):
    arguments = {"gaps": "gaps", "epsilon": "epsilon", "horizon": "horizon"}
    keys = {"filter": {"policy": "dp_se"}, "bound": "bandits.bounds.sajed2019.dp_se_regret", "arguments": arguments}
    assert outcome(tmp_path, [measured(DPSE(1.0), mean, spread)], test="bound", **keys) == expected
    below = {"holds": "fails", "fails": "holds"}[expected]
    late = keys | {"filter": {"policy": "dp_se"}, "side": "lower", "bound": "bandits.bounds.sajed2019.dp_se_regret"}
    if mean > 1e5:  # the regret of the first steps is below any bound
        below = "fails"
    assert outcome(tmp_path, [measured(DPSE(1.0), mean, spread)], test="bound", **late) == below


def test_a_bound_may_change_with_time(tmp_path):
    keys = {"test": "bound", "filter": {"policy": "dp_se"}, "bound": "builtins.float", "arguments": {}}
    cells = [measured(DPSE(1.0), 100, 1)]
    keys |= {"bound": "bandits.bounds.common.suboptimal_gaps"}
    with pytest.raises(UserError, match=r"paper.yaml: mine: arguments: .*gaps"):
        outcome(tmp_path, cells, **keys)
    order = {"arms": "arms", "epsilon": "epsilon", "horizon": "t"}
    keys |= {"bound": "bandits.bounds.sajed2019.dp_se_worst_case_regret", "arguments": order}
    assert outcome(tmp_path, cells, **keys) == "holds"
    assert outcome(tmp_path, [measured(DPSE(1.0), 10 * HORIZON, 1)], **keys) == "fails"  # more than t


def test_where_a_theorem_does_not_apply_is_left_out(tmp_path):
    arguments = {"gaps": [1], "epsilon": "epsilon", "horizon": 10, "v": 0.9, "u": 1}
    gaps = {"bound": "bandits.bounds.tao2022.dprucb_pulls", "arguments": {**arguments, "gap": 0.5}}
    del gaps["arguments"]["gaps"]
    cells = [measured(DPSE(epsilon), 50, 1) for epsilon in (1.0, 2.0)]  # the theorem is for epsilon up to 1
    found = verdict(tmp_path, cells, test="bound", filter={"policy": "dp_se"}, **gaps)
    assert (found.outcome, "1 more are not covered" in found.evidence) == ("holds", True)
    found = verdict(tmp_path, cells[1:], test="bound", filter={"policy": "dp_se"}, **gaps)
    assert (found.outcome, "covers none" in found.evidence) == ("cannot be judged", True)


def test_pulls_bound(tmp_path):
    arguments = {"gap": "gap", "arms": "arms", "epsilon": "epsilon", "horizon": "horizon"}
    keys = {"filter": {"policy": "dp_se"}, "bound": "bandits.bounds.sajed2019.dp_se_pulls", "arguments": arguments}
    assert outcome(tmp_path, [measured(DPSE(1.0), 50)], test="pulls_bound", **keys) == "holds"
    many = measured(DPSE(1.0), 50)
    many.pulls[7, 2] = 10**9  # in a single run
    found = verdict(tmp_path, [many], test="pulls_bound", **keys)
    assert (found.outcome, found.table.arm[0]) == ("fails", 2)


@pytest.mark.parametrize(("wrong", "expected"), [(10, "holds"), (50, "undecided"), (100, "fails")])
def test_frequency(tmp_path, wrong, expected):
    keys = {"filter": {"policy": "dp_nas"}, "event": "off_by_more", "at_most": "beta"}
    assert outcome(tmp_path, [stopped(wrong)], test="frequency", **keys) == expected


@pytest.mark.parametrize(("wrong", "expected"), [(0, "holds"), (1, "fails")])
def test_never(tmp_path, wrong, expected):
    keys = {"filter": {"policy": "dp_nas"}, "event": "off_by_more"}
    assert outcome(tmp_path, [stopped(wrong)], test="never", **keys) == expected


@pytest.mark.parametrize(("divisor", "expected"), [(1.0, "fails"), (1e-6, "holds")])
def test_exceedance(tmp_path, divisor, expected):
    problem = {"mean": "mean", "bound": "bound", "epsilon": divisor, "accuracy": "accuracy", "beta": "beta"}
    keys = {
        "filter": {"policy": "dp_nas"},
        "event": "samples",
        "bound": "bandits.bounds.sajed2019.stopping_lower_bound",
    }
    lower = {"test": "exceedance", "at_most": 0.25, "arguments": problem, **keys}  # always 50 samples
    assert outcome(tmp_path, [stopped(0)], **lower) == expected


def test_exact_results_need_no_interval(tmp_path):
    cell = ExactCell(DeterministicLosses(OneGap(8, 0.5)), RNMFTNL(0.5, "gumbel"), 1000)
    exact = Stored({"t": cell.checkpoints[None], "regret": cell.replicate(0)["regret"][None]}, {}, cell)
    keys = {"filter": {"record": "exact"}, "bound": "bandits.bounds.wu2025.deterministic_regret"}
    keys["arguments"] = {"arms": "arms", "epsilon": "epsilon"}
    found = verdict(tmp_path, [exact], test="bound", **keys)
    assert found.outcome == "holds"
    assert found.table.low[0] == found.table.high[0] == found.table.estimate[0]
    assert outcome(tmp_path, [exact], test="growth", filter={}, stretch=[0.5, 1], at_most=0.01) == "holds"


def test_a_single_run_is_not_enough(tmp_path):
    one = measured(DPSE(1.0), 50)
    one = one.first(1)
    keys = {"filter": {"policy": "dp_se"}, "stretch": [0.5, 1], "at_most": 2}
    assert outcome(tmp_path, [one], test="growth", **keys) == "cannot be judged"


def test_checks_and_reasons(tmp_path):
    printed, proved = (f"experiments.claims.checks.{name}" for name in (FAILING, PASSING))
    assert outcome(tmp_path, [], test="exact", check=proved) == "holds"
    assert outcome(tmp_path, [], test="exact", check=printed) == "fails"
    assert verdict(tmp_path, [], test="exact", check=proved, condition="two arms").shown == "holds under two arms"
    found = verdict(tmp_path, [], test="not_judged", reason="too hard")
    assert (found.outcome, found.evidence) == ("not judged", "too hard")


RATIO = {
    "test": "ratio",
    "numerator": {"policy": "ucb1"},
    "denominator": {"policy": "dp_se"},
    "by": ["instance"],
    "at_least": 1,
}
MALFORMED = [
    ({"test": "ratios"}, ["test", "ratios", "ratio"]),
    ({"test": ["a"]}, ["test", "['a'] is unknown"]),
    ({"test": {"a": "b"}}, ["test", "is unknown"]),
    ({"main": ["a"], "variants": {"other": {}}}, ["main", "a text"]),
    ({"at_leest": 1}, ["at_leest", "at_least"]),
    ({"outcome": "holds"}, ["outcome", "unknown"]),
    ({"at_least": "much"}, ["at_least", "a number"]),
    ({"at_least": None}, ["at_least", "at_most"]),
    ({"numerator": "ucb1"}, ["numerator", "mapping"]),
    ({"numerator": {"polcy": "ucb1"}}, ["numerator.polcy", "policy"]),
    ({"numerator": {"policy": "ucb2"}}, ["numerator.policy", "ucb1"]),
    ({"by": ["instanc"]}, ["by", "instance"]),
    ({"by": "instance"}, ["by", "a list"]),
    ({"by": []}, ["by", "distinguish", "epsilon"]),
    ({"quantity": "regrets"}, ["quantity", "regret"]),
    ({"quantity": "samples", "denominator": {"epsilon": 1.0}}, ["samples is not recorded of"]),
    ({"at_least": 3, "at_most": 1}, ["at_least", "at most at_most"]),
    ({"experiments": ["sajed2019/fig99"]}, ["experiments", "sajed2019/fig99"]),
    ({"variants": ["a"]}, ["variants", "mapping"]),
    ({"variants": {"other": {"bye": 1}}}, ["bye", "by"]),
    ({"where": None}, ["where", "a text"]),
    ({"id": None}, ["id", "item 1"]),
    ({"test": "exact"}, ["at_least", "unknown"]),
]


@pytest.mark.parametrize(("keys", "named"), MALFORMED, ids=lambda value: str(value)[:40])
def test_a_malformed_claim_is_one_line(tmp_path, keys, named):
    cells = [measured(UCB1(), 20, 1), measured(DPSE(1.0), 10, 1), measured(DPSE(0.5), 10, 1)]
    with pytest.raises(UserError) as error:
        verdict(tmp_path, cells, **(RATIO | keys))
    message = str(error.value)
    assert "claims/paper.yaml: " in message
    assert "\n" not in message
    for word in [*named, *(["mine"] if "id" not in keys else [])]:
        assert word in message


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"bound": "bandits.bounds.sajed2019.dp_se_regre"}, ["bound", "dp_se_regret"]),
        ({"bound": "bandit.bounds.sajed2019.dp_se_regret"}, ["bound", "there is no module bandit"]),
        ({"arguments": {"gaps": "gap", "epsilon": "epsilon", "horizon": "horizon"}}, ["gap", "gaps"]),
        ({"arguments": {"gaps": "gaps"}}, ["arguments", "epsilon"]),
        ({"side": "left"}, ["side", "upper or lower"]),
        ({"arguments": {"gaps": "gaps", "epsilon": -1, "horizon": "horizon"}}, ["arguments.epsilon", "> 0", "got -1"]),
        ({"arguments": {"gaps": "gaps", "epsilon": "epsilon", "horizon": 1}}, ["arguments.horizon", "at least 2"]),
    ],
)
def test_a_malformed_bound_is_one_line(tmp_path, keys, named):
    arguments = {"gaps": "gaps", "epsilon": "epsilon", "horizon": "horizon"}
    good = {"test": "bound", "filter": {}, "bound": "bandits.bounds.sajed2019.dp_se_regret", "arguments": arguments}
    with pytest.raises(UserError) as error:
        verdict(tmp_path, [measured(DPSE(1.0), 10, 1)], **(good | keys))
    for word in ("paper.yaml: mine: ", *named):
        assert word in str(error.value)


def test_a_claim_of_a_user_is_judged(call, tmp_path):
    mine = {"id": "mine", "where": "here", "claim": "It is so.", "experiments": ["sajed2019/fig03"], **RATIO}
    mine["threshold"] = "ours"
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "my_paper.yaml").write_text(yaml.safe_dump([mine | {"by": ["epsilon"], "at_most": 9}]))
    found = call("--config-dir", tmp_path, "paper=my_paper", main=__main__.main)
    assert found.code == 2
    assert "my_paper.yaml: mine: by: must be columns in which" in found.err
    again = mine | {"by": ["instance"], "denominator": {"policy": "dp_se", "epsilon": 0.5}, "at_least": 0.001}
    (tmp_path / "claims" / "my_paper.yaml").write_text(yaml.safe_dump([again]))
    found = call("--config-dir", tmp_path, "id=mine", main=__main__.main)
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith("my_paper mine: holds (threshold ours)\n")
    assert "1 claims, 0 of them ours: 1 hold (1 at a threshold of ours)." in found.out


def test_missing_results_name_the_command(call, tmp_path):
    found = call("id=beta-long-start", f"published_dir={tmp_path}", main=__main__.main)
    assert found.code == 0
    text = " ".join(found.out.split())
    assert "wang2024 beta-long-start: cannot be judged" in text
    assert "run: python -m experiments.run +experiment=wang2024/fig04" in text


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(["paper=sajed2018"], "sajed2019"), (["id=by-6x"], "by-5x"), (["paper=tao2022", "id=by-5x"], "tao2022")],
)
def test_an_unknown_claim_is_one_line(call, arguments, named):
    found = call(*arguments, main=__main__.main)
    assert (found.code, found.err.count("\n")) == (2, 1)
    assert named in found.err


def test_help_lists_no_claims_as_choices(call, tmp_path):
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "my_policy.yaml").touch()
    helped = call("--config-dir", tmp_path, "--help", main=__main__.main)
    assert (helped.code, helped.err) == (0, "")
    choices = helped.out.partition("== Choices ==")[2]
    assert re.findall(r"^([a-z]+):", choices, flags=re.MULTILINE) == list(GROUPS)
    assert "my_policy" in choices


def test_fieller_covers_as_often_as_it_says():
    rng = np.random.default_rng(0)
    misses = 0
    for _ in range(2000):
        interval = intervals.ratio(rng.normal(10, 3, 20), rng.normal(5, 1, 30), 0.1)
        misses += not interval.low <= 2 <= interval.high
    assert 120 < misses < 240  # 200 expected; fewer, as the degrees of freedom are conservative
    before, after = rng.normal(10, 3, (2, 500))
    wide, narrow = intervals.ratio(after, before, 0.05), intervals.paired_ratio(before + 0.1 * after, before, 0.05)
    assert wide.high - wide.low > narrow.high - narrow.low


def test_a_ratio_to_nothing_is_unbounded():
    noise = np.linspace(-1, 1, 9)
    interval = intervals.ratio(5 + noise, 0.1 + noise, 0.05)
    assert interval.high == np.inf
    assert interval.low < 50
