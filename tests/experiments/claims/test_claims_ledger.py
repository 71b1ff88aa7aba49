"""One error for a whole ledger; and what stands beside a verdict: whose threshold it is, what was chosen when."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from bandits.environments.bernoulli import C1
from bandits.mechanisms.start_phases import gauss_paper
from bandits.policies.elimination import DPSE
from bandits.policies.ucb import UCB1
from experiments.claims import claims, counts_in_words
from experiments.claims.checks import sajed2019, tao2022, wang2024, wu2025
from experiments.claims.checks.matching import matching
from experiments.claims.power import in_turn
from experiments.claims.settings import Range, Setting, SettingOutcome
from experiments.claims.verdicts import ClaimVerdict, FormVerdict, Outcome
from experiments.errors import UserError
from experiments.intervals import Interval, exactly
from tests.experiments.claims.made_up import RUNS, measured, outcome, stopped, verdict

RATIO = {"test": "ratio", "numerator": {"policy": "ucb1"}, "denominator": {"policy": "dp_se"}, "by": ["instance"]}
EXACT = {"test": "exact", "check": "experiments.claims.checks.sajed2019.path_share", "threshold": "paper"}
NEVER = {"test": "never", "event": "off_by_more", "filter": {}}
EIGHT = [0.1 * 1.2**step for step in range(8)]


def written(folder, *entries):
    """The claims of a folder with these entries in two files, by their ids."""
    about = {"where": "here", "claim": "It is so."}
    (folder / "claims").mkdir(parents=True)
    items = [about | {"id": f"claim-{number}"} | entry for number, entry in enumerate(entries)]
    (folder / "claims" / "one.yaml").write_text(yaml.safe_dump(items[:2]))
    (folder / "claims" / "two.yaml").write_text(yaml.safe_dump(items[2:]))
    return {claim.id: claim for claim in claims([folder]) if claim.paper in ("one", "two")}


def test_the_summary_by_hand():
    def made(outcome, ours=False, threshold=False, after=False, slack=2.0):
        finding = FormVerdict.of([Setting({}, exactly(1.0), at_most=slack, slack=slack)], "x")
        under = "this" if outcome is Outcome.HOLDS_UNDER else ""
        return ClaimVerdict("a", "b", "c", "d", outcome, under, "", "", ours, threshold, after, "", {"": finding}, "")

    found = [
        made(Outcome.HOLDS),
        made(Outcome.HOLDS, threshold=True, slack=2e4),
        made(Outcome.HOLDS_UNDER, after=True, threshold=True),
        made(Outcome.HOLDS_UNDER, ours=True),
        made(Outcome.FAILS, threshold=True, after=True),
    ]
    assert counts_in_words(found) == (
        "5 claims, 1 of them ours: 2 hold (1 at a threshold of ours), 2 hold under a condition (1 at a threshold of "
        "ours, 1 chosen after the data), 1 fail (1 at a threshold of ours). Verdicts in favour that say nothing: "
        "1 in all settings, 0 in some."
    )


def test_the_printed_order_under_local_privacy_is_outgrown_by_hand():
    """gap^(-1-2/v) over gap^(-1/v), from 0.1 to 0.001: 100^(1 + 1/v) times as much, 10^6 for v = 1/2."""
    for setting in tao2022.local_order_as_printed():
        expected = 100 ** (1 + 1 / setting.labels["v"])
        assert setting.interval.estimate + 1 == pytest.approx(
            expected, rel=1e-3
        )  # beside the largest gap, which the order adds


def test_claims_share_the_error_of_their_ledger_and_forms_that_of_their_claim(tmp_path):
    data = {"experiments": ["made_up"]}
    ratio = data | RATIO | {"at_least": 1}
    variants = {"variants": {"other": {"numerator": {}}, "third": {"numerator": {}}}, "condition_chosen": "as run"}
    found = written(tmp_path, ratio, ratio | variants, ratio, ratio, EXACT, data | NEVER)
    assert [found[f"claim-{number}"].error for number in range(4)] == pytest.approx(
        [0.0125, 0.0125 / 3, 0.0125, 0.0125]
    )


def test_a_users_folder_changes_no_verdict_of_this_repository(tmp_path):
    ours = {(claim.paper, claim.id): claim.error for claim in claims()}
    mine = written(tmp_path, {"experiments": ["made_up"], **RATIO, "at_least": 1})
    assert mine["claim-0"].error == 0.05
    assert {(of.paper, of.id): of.error for of in claims([tmp_path]) if of.paper != "one"} == ours


def test_the_errors_of_this_repository_add_up_to_five_percent():
    taking = [claim for claim in claims() if claim.estimates]
    assert 50 < len(taking) < len(claims())
    assert sum(claim.error * len(claim.forms) for claim in taking) == pytest.approx(0.05)


def test_a_verdict_has_the_error_of_its_claim(tmp_path):
    """The same cells in a claim of one form and in one of three: the latter's interval has a third of the error."""
    cells = [measured(UCB1(), 30, 5), measured(DPSE(1.0), 10, 0.001)]
    other = {"other": {"numerator": {"policy": "ucb1", "arms": 3}}, "third": {"numerator": {"policy": "ucb1"}}}
    alone = verdict(tmp_path, cells, **RATIO, at_least=1).table
    among = verdict(tmp_path, cells, **RATIO, at_least=1, variants=other).table
    from scipy import stats

    widths = [float((table.high - table.low).iloc[0]) for table in (alone, among)]
    expected = stats.t.isf(0.025 / 3, RUNS - 1) / stats.t.isf(0.025, RUNS - 1)
    assert widths[1] / widths[0] == pytest.approx(expected, rel=1e-3)


BOUND = {
    "test": "bound",
    "filter": {},
    "bound": "bandits.bounds.sajed2019.dp_se_regret",
    "arguments": {"gaps": "gaps", "epsilon": "epsilon", "horizon": "horizon"},
}
MONOTONE = {"test": "monotone", "along": "epsilon", "direction": "decreasing", "by": ["policy"], "filter": {}}
SLOPE = {"test": "slope", "filter": {}, "x": "epsilon", "expected": -1, "tolerance": 0.2}
FREQUENCY = {"test": "frequency", "filter": {}, "event": "off_by_more"}
GROWTH = {"test": "growth", "filter": {}, "stretch": [0.5, 1]}


def test_a_claim_states_whose_thresholds_it_has(tmp_path):
    for case, (keys, whose) in enumerate(
        [
            ({**RATIO, "at_least": 1}, ""),
            ({**RATIO, "at_least": 2}, "at_least"),
            ({**RATIO, "at_least": 0.5, "at_most": 2}, "at_least, at_most"),
            (MONOTONE, ""),
            ({**MONOTONE, "ties": 0.01}, "ties"),
            (SLOPE, "tolerance"),
            ({**GROWTH, "at_least": 0}, ""),
            ({**GROWTH, "at_most": 0.05}, "at_most"),
            ({**FREQUENCY, "at_most": "beta"}, ""),
            ({**FREQUENCY, "at_most": 0.25}, "at_most"),
            (NEVER, ""),
            (BOUND, "bound"),
            ({**EXACT, "threshold": None}, "check"),
            ({"test": "not_judged", "reason": "too hard"}, ""),
        ]
    ):
        data = {} if keys["test"] in ("exact", "not_judged") else {"experiments": ["made_up"]}
        without = data | {key: value for key, value in keys.items() if key != "threshold"}
        if not whose:
            assert written(tmp_path / str(case), without)
            continue
        with pytest.raises(UserError, match=f"one.yaml: claim-0: threshold: missing; whose is {whose}: paper or ours"):
            written(tmp_path / str(case), without)
        whole = {"ours": True, "threshold": "ours"}  # the claim is ours, and so is its number
        for number, stated in enumerate(({"ours": True}, whole, {"threshold": "paper"}, {"threshold": "ours"})):
            (claim,) = written(tmp_path / f"{case}-{number}", without | stated).values()
            assert claim.by_our_threshold == (stated == {"threshold": "ours"})


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"threshold": "theirs"}, "threshold: must be paper or ours, got theirs"),
        ({"condition": "some"}, "condition_chosen: missing; when was condition chosen"),
        ({"variants": {"other": {"filter": {}}}}, "condition_chosen: missing; when was variants chosen"),
        ({"condition": "some", "condition_chosen": "later"}, "condition_chosen: must be before the data or after the"),
        ({"condition_chosen": "as run"}, "condition_chosen: there is neither a condition nor a variant"),
        ({"error": 0.1}, "error: unknown"),
    ],
    ids=str,
)
def test_keys_about_thresholds_and_conditions_are_checked(tmp_path, keys, problem):
    with pytest.raises(UserError, match=problem):
        written(tmp_path, {"experiments": ["made_up"], **MONOTONE, **keys})


def test_what_takes_away_from_a_verdict_is_shown(tmp_path):
    cells = [measured(UCB1(), 30, 1), measured(DPSE(1.0), 10, 1)]
    ratio = RATIO | {"at_least": 2}
    assert verdict(tmp_path, cells, **ratio).shown == "holds"
    assert verdict(tmp_path, cells, **ratio, threshold="ours").shown == "holds (threshold ours)"
    assert verdict(tmp_path, cells, **ratio, ours=True, threshold="ours").shown == "holds (claim of ours)"
    assert verdict(tmp_path, cells, **ratio | {"at_least": 4}, threshold="ours").shown == "fails (threshold ours)"
    after = {"condition": "here", "condition_chosen": "after the data"}
    assert verdict(tmp_path, cells, **ratio, **after).shown == "holds under here (chosen after the data)"
    assert verdict(tmp_path, cells, **ratio | {"at_least": 4}, **after).shown == "fails"  # nothing holds under it
    run = after | {"condition_chosen": "as run"}
    assert verdict(tmp_path, cells, **ratio, **run, threshold="ours").shown == "holds under here (threshold ours)"


def test_a_bound_far_away_says_nothing():
    """From 10,000 times on; the share of such settings is printed, without those that do not count."""

    def shown(*slack):
        settings = [Setting({}, exactly(1.0), at_most=of, slack=of) for of in slack]
        settings.append(Setting({}, exactly(1.0), at_most=1e9, slack=1e9, possible=Range(0, 2)))
        finding = FormVerdict.of(settings, "x")
        return ClaimVerdict(
            "a", "b", "c", "d", finding.outcome, "", "", "", False, False, False, "", {"": finding}, ""
        ).shown

    assert shown(2.0, 9999.0) == "holds"
    assert shown(2.0, 1e4) == "holds (says nothing in 1 of 2 settings)"
    assert shown(1e5, 1e4) == "holds (says nothing)"
    assert shown(0.5, 1e4) == "fails"


def test_what_a_policy_that_learns_nothing_meets_says_nothing():
    """Two arms with gap 0.5 pulled in turn cost 2.5 in 10 steps, and each has 5 pulls."""
    below, at = (Setting({}, exactly(2.0), at_most=limit, slack=1.1, in_turn=2.5) for limit in (2.4, 2.5))
    assert (below.says_nothing, at.says_nothing) == (False, True)
    assert not Setting({}, exactly(3.0), at_least=2.0, slack=1.5, in_turn=2.5).says_nothing  # a lower bound
    stored = measured(UCB1(), 30, 1)
    gaps = stored.cell.instance.gaps
    assert math.isclose(in_turn(stored, "regret", 10), 10 * gaps.sum() / len(gaps))
    assert math.isclose(in_turn(stored, "suboptimal_pulls", 10), 10 * (len(gaps) - 1) / len(gaps))
    assert math.isnan(in_turn(stored, "samples", 10))
    profile = SimpleNamespace(gaps=np.array([0.0, 0.5]), profile=SimpleNamespace(counts=np.array([1, 3])))
    assert in_turn(SimpleNamespace(cell=SimpleNamespace(instance=profile)), "regret", 8) == 3.0


def test_what_no_estimate_would_have_failed_says_nothing():
    wide = Setting({}, Interval(0.5, -1.0, 0.9), at_most=1.0, unseen=Range(high=math.inf))
    assert wide.says_nothing
    assert not Setting({}, Interval(0.5, 0.1, 0.9), at_most=1.0, unseen=Range(high=3.0)).says_nothing
    assert not Setting({}, Interval(0.5, -1.0, 2.0), at_most=1.0, unseen=Range()).says_nothing  # open
    assert Setting({}, exactly(0.1), at_most=0.5, possible=Range(0, 1), unseen=Range(0, 1)).says_nothing


def test_the_share_of_settings_that_fail():
    """Of those that count: one of three fails; the fourth is vacuous."""
    settings = [Setting({}, exactly(value), at_most=2.0) for value in (1.0, 1.5, 3.0)]
    settings.append(Setting({}, exactly(1.0), at_most=9.0, possible=Range(0, 1)))
    assert FormVerdict.of(settings, "x").failing == pytest.approx(1 / 3)
    assert FormVerdict.of(settings[3:], "x").failing == 0


def test_ratios_that_are_one_in_every_run_do_not_count(tmp_path):
    same = [measured(policy, 10, 0) for policy in (UCB1(), DPSE(1.0))]
    found = verdict(tmp_path, same, **RATIO, at_least=1)
    assert (found.outcome, found.table.result[0]) == ("vacuous here", "the same in every run")
    assert found.evidence == "in 1 setting all runs that are compared come to one number"
    assert outcome(tmp_path, same, **RATIO, at_least=1.1) == "fails"
    other = [measured(policy, mean, 0, C1(5)) for policy, mean in ((UCB1(), 20), (DPSE(1.0), 10))]
    found = verdict(tmp_path, same + other, **RATIO | {"by": ["arms"]}, at_least=1)
    assert ": passes in 1 setting (1 more are the same in every run); closest: " in found.evidence
    apart = [measured(policy, 10, 1e-9) for policy in (UCB1(), DPSE(1.0))]
    assert verdict(tmp_path, apart, **RATIO, at_least=0.9).outcome == "holds"


def test_what_never_varies_and_differs_counts(tmp_path):
    cells = [measured(UCB1(), 20, 0), measured(DPSE(1.0), 10, 0)]
    assert verdict(tmp_path, cells, **RATIO, at_least=1).outcome == "holds"


def test_exact_ratios_of_one_count(tmp_path):
    """A computed value never varies, so two equal ones are a result."""
    from tests.experiments.claims.test_claims_by_hand import computed

    cells = [computed("laplace", 4.0), computed("gumbel", 4.0)]
    keys = {"test": "ratio", "numerator": {"noise": "laplace"}, "denominator": {"noise": "gumbel"}, "by": ["instance"]}
    assert verdict(tmp_path, cells, **keys, at_least=1).outcome == "holds"


def test_steps_and_slopes_of_one_number_do_not_count(tmp_path):
    flat = [measured(DPSE(epsilon), 10, 0) for epsilon in EIGHT]
    found = verdict(tmp_path, flat, **MONOTONE, ties=0.01)
    assert (found.outcome, set(found.table.result)) == ("vacuous here", {"the same in every run"})
    slope = SLOPE | {"expected": 0}
    assert outcome(tmp_path, flat, **slope) == "vacuous here"
    noisy = [*flat[:7], measured(DPSE(EIGHT[7]), 10, 1)]  # the means are as flat as before
    table = verdict(tmp_path, noisy, **slope).table
    assert (table.result[0], table.estimate[0]) == ("passes", 0)
    assert 0 < table.high[0] < 0.1


def test_no_chance_is_shared_by_computed_points(tmp_path):
    """One of 2 forms: the interval through computed points is the same as alone, through measured ones it is wider."""
    from experiments.cells.exact import ExactCell
    from experiments.store.stored import Stored

    def exact(arms):
        from bandits.environments.full_information import DeterministicLosses
        from bandits.environments.gap_profiles import OneGap
        from bandits.policies.full_information import RNMFTNL

        cell = ExactCell(DeterministicLosses(OneGap(arms, 0.5)), RNMFTNL(0.5, "gumbel"), 4)
        value = math.log(arms) * (1 + 0.1 * (arms.bit_length() % 2))
        return Stored({"t": np.array([[1, 2, 3, 4]]), "regret": np.full((1, 4), value)}, {}, cell)

    keys = SLOPE | {"x": "log_arms", "expected": 1}
    cells = [exact(1 << power) for power in range(2, 11)]
    widths = [
        verdict(tmp_path, cells, **keys, **more).table[["low", "high"]].iloc[0].tolist()
        for more in ({}, {"variants": {"other": {"filter": {"arms": [1 << power for power in range(2, 11)]}}}})
    ]
    assert widths[0] == pytest.approx(widths[1], rel=1e-12)


def test_bounds_that_match_and_those_that_do_not():
    """Both of order log T / gap: ratio 7. A further log T trebles the ratio; the other way round it is below 1."""

    def standings(ratio):
        base, further = {"horizon": 1e100, "gap": 0.1}, {"horizon": 1e300, "gap": 1e-3}
        return [setting.result for setting in matching(ratio, base, further)]

    assert standings(lambda horizon, gap: 7.0) == [SettingOutcome.PASSES] * 3
    assert standings(lambda horizon, gap: math.log(horizon)) == [
        SettingOutcome.PASSES,
        SettingOutcome.FAILS,
        SettingOutcome.PASSES,
    ]
    assert standings(lambda horizon, gap: 1 / 7) == [SettingOutcome.FAILS, SettingOutcome.PASSES, SettingOutcome.PASSES]
    assert standings(lambda horizon, gap: 7.0 * gap**-0.01) == [
        SettingOutcome.PASSES,
        SettingOutcome.PASSES,
        SettingOutcome.PASSES,
    ]
    assert standings(lambda horizon, gap: 7.0 * gap**-0.1) == [
        SettingOutcome.PASSES,
        SettingOutcome.PASSES,
        SettingOutcome.FAILS,
    ]


@pytest.mark.parametrize(
    ("module", "check", "upper", "extra"),
    [
        (sajed2019, "upper_over_lower_bound", "dp_se_regret", lambda gaps, epsilon, horizon: math.log(horizon)),
        (sajed2019, "upper_over_lower_bound", "dp_se_regret", lambda gaps, epsilon, horizon: math.log(len(gaps) + 1)),
        (tao2022, "upper_over_lower_bound", "dprse_regret", lambda gaps, *_, u: math.log(1 / gaps[0])),
        (tao2022, "local_upper_over_lower_bound", "ldprse_regret", lambda gaps, epsilon, *_, u: epsilon**-0.1),
        (wang2024, "transcript_bounds", "gdp_elim_new_regret", lambda gaps, epsilon, *_: math.log(1 / epsilon)),
        (wu2025, "upper_over_lower_bound", "deterministic_regret", lambda arms, epsilon: math.log(arms)),
    ],
)
def test_a_factor_that_only_the_upper_bound_has_is_seen(monkeypatch, module, check, upper, extra):
    assert {setting.result for setting in getattr(module, check)()} == {SettingOutcome.PASSES}
    right = getattr(module, upper)
    monkeypatch.setattr(module, upper, lambda *values, **named: right(*values, **named) * extra(*values, **named))
    assert SettingOutcome.FAILS in {setting.result for setting in getattr(module, check)()}


def test_a_lower_bound_above_the_upper_one_is_seen(monkeypatch):
    monkeypatch.setattr(
        sajed2019, "private_lower_bound", lambda gaps, epsilon, horizon: 1e6 * math.log(horizon) / epsilon
    )
    assert SettingOutcome.FAILS in {setting.result for setting in sajed2019.upper_over_lower_bound()}


def test_the_local_bounds_of_the_paper_are_below_those_that_are_proved(monkeypatch):
    assert {setting.result for setting in tao2022.local_lower_bounds()} == {SettingOutcome.PASSES}
    right = tao2022.local_worst_case_lower_bound
    monkeypatch.setattr(tao2022, "local_worst_case_lower_bound", lambda *values: 100 * right(*values))
    assert SettingOutcome.FAILS in {setting.result for setting in tao2022.local_lower_bounds()}


def test_two_minimax_bounds_are_a_root_of_a_logarithm_apart(monkeypatch):
    """Without the root the ratio would grow by sqrt(1.4) - 1; a further logarithm is seen."""
    assert {setting.result for setting in sajed2019.minimax_over_lower_bound()} == {SettingOutcome.PASSES}
    right = sajed2019.dp_se_worst_case_regret
    monkeypatch.setattr(
        sajed2019, "dp_se_worst_case_regret", lambda *values: right(*values) * math.sqrt(math.log(values[2]))
    )
    failing = [s.labels for s in sajed2019.minimax_over_lower_bound() if s.result is SettingOutcome.FAILS]
    assert [(labels["outweighs"], labels["of"].split(", ")[1][:7]) for labels in failing] == [("learning", "horizon")]


@pytest.mark.parametrize("extra", [lambda mean, *_: math.log(1 / mean), lambda mean, *rest: math.log(1 / rest[2])])
def test_stopping_bounds_that_do_not_match_are_seen(monkeypatch, extra):
    assert {setting.result for setting in sajed2019.stopping_bounds()} == {SettingOutcome.PASSES}
    right = sajed2019.dp_exponential_nas_samples
    monkeypatch.setattr(sajed2019, "dp_exponential_nas_samples", lambda *values: right(*values) * extra(*values))
    assert SettingOutcome.FAILS in {setting.result for setting in sajed2019.stopping_bounds()}


def test_a_logarithm_of_time_is_seen_where_privacy_outweighs_learning(monkeypatch):
    """It is what the paper removes. Arms that are pulled in turn would fail everywhere."""
    settings = wu2025.price_by_horizon()
    assert {(s.result, s.says_nothing) for s in settings} == {(SettingOutcome.PASSES, False)}
    assert all(setting.in_turn > setting.at_most for setting in settings)
    right = wu2025._resampled_regret

    def more(arms, gap, epsilon, noise, horizon):
        return right(arms, gap, epsilon, noise, horizon) + math.log(arms) * math.log(horizon) / epsilon

    monkeypatch.setattr(wu2025, "_resampled_regret", more)
    where = {s.labels["outweighs"] for s in wu2025.price_by_horizon() if s.result is SettingOutcome.FAILS}
    assert where == {"privacy"}


def test_a_second_logarithm_of_arms_is_seen(monkeypatch):
    settings = wu2025.rate_with_resampling()
    assert {(s.result, s.says_nothing) for s in settings} == {(SettingOutcome.PASSES, False)}
    right = wu2025._resampled_regret

    def more(arms, gap, epsilon, noise, horizon):
        return right(arms, gap, epsilon, noise, horizon) + math.log(arms) ** 2 / epsilon

    monkeypatch.setattr(wu2025, "_resampled_regret", more)
    failing = [s for s in wu2025.rate_with_resampling() if s.result is SettingOutcome.FAILS]
    assert len(failing) == 9  # all but those where learning outweighs privacy


def test_the_printed_powers_of_u_are_outgrown_by_hand(monkeypatch):
    """From u = 1 to 10^6 by 10^(6/v - 6/(1+v)); with u^(1/v) in the print, not at all."""
    for check in (tao2022.first_epoch_over_lemma_4, tao2022.first_epoch_over_theorem_4):
        for setting in check():
            v = setting.labels["v"]
            assert setting.interval.estimate + 1 == pytest.approx(10 ** (6 / v - 6 / (1 + v)), rel=0.01)
    right = tao2022.dprse_regret_order
    monkeypatch.setattr(
        tao2022,
        "dprse_regret_order",
        lambda gaps, epsilon, horizon, v, u: right(gaps, epsilon, horizon, v, u ** (1 + 1 / v)),
    )
    assert {setting.result for setting in tao2022.first_epoch_over_theorem_4()} == {SettingOutcome.PASSES}


def test_the_printed_minimax_bound_is_outgrown(monkeypatch):
    assert {setting.result for setting in tao2022.first_epoch_over_minimax()} == {SettingOutcome.FAILS}
    right = tao2022.dprse_worst_case_regret_order

    def mended(arms, epsilon, horizon, v, u):
        return right(arms, epsilon, horizon, v, u) * u ** (1 / (1 + v) - v / (1 + v) ** 2)

    monkeypatch.setattr(tao2022, "dprse_worst_case_regret_order", mended)
    assert {setting.result for setting in tao2022.first_epoch_over_minimax()} == {SettingOutcome.PASSES}


def test_a_start_phase_that_is_too_short_is_seen(monkeypatch):
    fails = {(s.labels["epsilon"], s.labels["delta"]) for s in wang2024.beta_start_phase() if s.interval.estimate > 1}
    assert fails == {(40.0, 1e-300)}
    assert {s.result for s in wang2024.beta_start_phase_up_to_183()} == {SettingOutcome.PASSES}
    monkeypatch.setattr(wang2024, "gauss_paper", lambda *budget: max(1, gauss_paper(*budget) - 1))
    assert SettingOutcome.FAILS in {setting.result for setting in wang2024.gauss_start_phase()}


def test_what_no_run_may_show_takes_no_share():
    """It has no interval that could miss; neither has a computed value, or a bound on every run."""
    kinds = {next(iter(claim.forms.values())).test for claim in claims() if not claim.estimates}
    assert kinds == {"never", "exact", "audit", "pulls_bound", "not_judged"}


def test_frequencies_say_something(tmp_path):
    assert verdict(tmp_path, [stopped(0)], **FREQUENCY, at_most="beta").shown == "holds"
