"""Promises of papers and guarantees declared by our classes: where they differ, and the audit of both."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from omegaconf import OmegaConf
from scipy import special

from bandits import Guarantee, ParameterError, Scope
from bandits.audit.audits import Level, cost_at
from bandits.audit.betting import betting_delta, betting_epsilon
from bandits.audit.ledger import Domain
from bandits.audit.transcripts import Convention
from bandits.environments.heavy_tails import S1
from bandits.mechanisms.start_phases import beta_condition, beta_divergence, beta_paper, beta_sufficient
from bandits.policies.full_information import RNMFTNL
from bandits.policies.given_moments import GivenMoments
from bandits.policies.heavy_tailed import DPRUCB
from bandits.policies.hybrid_ucb import DPUCBInt
from bandits.policies.perturbed_leader import DPFTPLBeta, DPFTPLGauss, DPFTPLNew
from bandits.policies.random_prefix import RandomPrefix
from experiments.audit import table
from experiments.audit.rows import AuditRow, audit
from experiments.config.compose import Composer
from scripts import privacy

KEYS = OmegaConf.create({"level": None, "arms": 2, "convention": "stream", "domain": None, "failure": 1e-6, "runs": 0})
PRINTED = {"rnm_ftnl", "dprucb", "dp_ftpl_beta"}  # policies whose printed form breaks its theorem


def row(*overrides, **keys):
    return audit(list(overrides), OmegaConf.merge(KEYS, keys), Composer())


@pytest.fixture(scope="module")
def stored():
    return [AuditRow(**values) for values in pd.read_parquet(table.ROWS).to_dict("records")]


def test_printed_forms_are_held_to_their_theorems():
    printed, proved = (RNMFTNL(0.5, "exponential", calibration=word) for word in ("printed", "proved"))
    assert (printed.guarantee.epsilon, printed.paper_guarantee.epsilon) == (1.0, 0.5)
    assert proved.guarantee == proved.paper_guarantee == printed.paper_guarantee
    natural = DPRUCB(0.5, tree_budget="natural")
    assert natural.guarantee.epsilon == pytest.approx(1 / math.log(2))
    assert natural.paper_guarantee == Guarantee(0.5) == GivenMoments.of(natural, S1(0.9)).paper_guarantee
    assert DPRUCB(0.5).guarantee == Guarantee.laplace(0.5)  # no paper promises its rho
    prefix = RandomPrefix(0.5, "exponential")  # that noise is ours: no paper promises 0.5 for it
    assert prefix.paper_guarantee == prefix.guarantee
    internal = DPUCBInt(1.0, 0.01, calibrate=False)  # the theorem of its paper gives what the class declares
    assert internal.paper_guarantee == internal.guarantee


def test_the_printed_start_phase_of_beta():
    """97 pulls for (40, 1e-300): there one value has delta 1.3e-239, computed by a sum over all reward sums."""
    policy = DPFTPLBeta(40.0, 1e-300, "printed")
    assert policy.start == beta_paper(40.0, 1e-300) == 97 < beta_sufficient(40.0, 1e-300)
    sums = np.arange(97.0)
    worst = float(beta_divergence(sums + 1 + 13, 97 - sums + 13, 40.0).max())
    assert policy.guarantee.delta == policy.value_delta() == pytest.approx(worst, rel=1e-9, abs=0)
    assert policy.guarantee.scope is policy.paper_guarantee.scope is Scope.DECISION
    assert policy.paper_guarantee.delta == 1e-300 < policy.guarantee.delta
    assert DPFTPLBeta(1.0, 0.01, "printed").guarantee == DPFTPLBeta(1.0, 0.01).guarantee


def test_a_perturbed_value_is_audited_by_itself():
    found = DPFTPLBeta(40.0, 1e-300, "printed").value_cost(1000).delta
    assert found.kept == beta_condition(97, 40.0)
    assert found.shown == pytest.approx(found.kept, rel=1e-9, abs=0)
    gauss = DPFTPLGauss(1.0, 0.01, "exact").value_cost(1000).delta
    assert gauss.kept == gauss.shown == pytest.approx(0.0068295950, rel=1e-8)
    with pytest.raises(ParameterError, match="start phase, not dp_ftpl_new"):
        cost_at(Level.VALUE, DPFTPLNew(1.0, 0.0), 2, 1000, Domain.BINARY, Convention.STREAM)
    with pytest.raises(ParameterError, match="after 97 pulls"):
        DPFTPLBeta(40.0, 1e-300, "printed").value_cost(97)


def log_ratio(pulls, total, rival_pulls, rival_total):
    """Log ratio of P(arm 1 loses to arm 2) without and with its last reward of 1, by (a / b) (E[1 / x] - 1).

    The expectation is over the value x of arm 1 with that reward, given that arm 2 has a larger value.
    """
    extra, rival_extra = pulls // 8 + 1, rival_pulls // 8 + 1
    a, b = total + 1.0 + extra, pulls - total + 0.0 + extra
    x = np.linspace(0, 1, 200_001)[1:-1]
    above = special.betainc(rival_pulls - rival_total + 1.0 + rival_extra, rival_total + 1.0 + rival_extra, 1 - x)
    with np.errstate(divide="ignore"):
        logs = a * np.log(x) + (b - 1) * np.log1p(-x) + np.log(above)
    weights = np.exp(logs - logs.max())
    return math.log(a / b * (float(weights @ (1 / x)) / float(weights.sum()) - 1))


def test_a_decision_after_the_printed_start_phase_costs_far_less_than_its_epsilon():
    """Lemma 8 is sufficient, not necessary: for two arms after 97 pulls or more, no tried history shows epsilon = 25.

    The condition of the proof fails at epsilon = 25, at values at which no rival is; so no decision fails.
    """
    found = [
        log_ratio(pulls, total, rival, share * rival // 4)
        for pulls in (97, 200, 1000)
        for total in sorted({0, 1, pulls // 2, pulls - 1})
        for rival in (97, 300, 1000)
        for share in (0, 1, 2, 4)
    ]
    assert 3 < max(found) < 6


def test_both_promises_are_judged():
    one = "budget.epsilon=1"
    leader = ["policy=rnm_ftnl", "instance=dtol_bernoulli", one]
    found = row(*leader, "policy.noise=exponential", "horizon=4", level="transcript")
    assert (found.paper_epsilon, found.epsilon_claimed, found.epsilon_shown) == (1, 2, pytest.approx(2))
    assert (found.paper_verdict, found.verdict, found.inexcusable) == ("violated", "tight", False)
    found = row(
        "policy=dprucb",
        one,
        "policy.tree_budget=natural",
        "instance=s1",
        "instance.v=0.9",
        "horizon=1000",
        level="release",
    )
    assert found.epsilon_shown == pytest.approx(1.24251, rel=1e-5)
    assert (found.paper_verdict, found.verdict) == ("violated", "kept")
    beta = ["policy=dp_ftpl_beta", "budget.epsilon=40", "budget.delta=1e-300", "policy.start_phase=printed"]
    found = row(*beta, "horizon=1000", level="value")
    assert (found.paper_delta, found.paper_verdict, found.verdict) == (1e-300, "violated", "tight")
    found = row(*beta, "horizon=1000", level="decision")  # an upper bound alone, which every larger budget keeps too
    assert (found.paper_verdict, found.delta_shown) == ("no verdict", 0)
    resampled = [*leader, "policy.noise=gumbel", "horizon=8"]
    ones = [row(*resampled, f"policy.resample={word}", level="transcript") for word in ("true", "false")]
    assert ones[0].epsilon_shown == ones[1].epsilon_shown
    assert ones[0].paper_verdict == ones[0].verdict == "kept"


def test_only_printed_forms_break_a_stored_promise(stored):
    """And the public code of DP-NCB, whose class has an excuse, as it is what its paper published."""
    excused = {found.policy for found in stored if found.verdict == "violated"}
    assert excused == {found.policy for found in stored if found.excuse and found.verdict == "violated"}
    assert excused == {"dp_ncb_code"}
    assert {found.policy for found in stored if found.paper_verdict == "violated"} == PRINTED | excused
    apart = {found.policy for found in stored if found.paper_verdict != found.verdict}
    assert apart == PRINTED
    words = privacy.verdicts_in_words(stored)
    assert words.count("violated") == 2
    assert "Promises of the class" in words
    assert set(re.findall("`([a-z_]+)`", words.partition("Promises of the class")[2])) == excused
    section = next(part for part in words.split("\n\n") if part.startswith("Promises of the paper"))
    for word in ("noise=exponential", "tree_budget=natural", "start_phase=printed"):
        assert word in " ".join(section.split())
    rows = [[str(entry.text) for entry in row] for row in privacy.audit_table(stored).rows]
    broken = [row for row in rows if "violated" in row]
    assert len(broken) >= 10
    assert all(len(row[-1]) > 10 for row in broken), "each with its witness"


def test_what_the_atlas_advises_is_shown_to_spend_its_budget(stored):
    """DP-KLUCB, DP-IMED, AdaP-KLUCB: a transcript of each shows more than half of what is kept, and none shows more."""
    for name in ("dp_klucb", "dp_imed", "adap_klucb"):
        found = [item for item in stored if item.policy == name and item.level == "transcript"]
        assert all(item.epsilon_shown <= item.epsilon_kept + 1e-5 for item in found)
        exact = [item for item in found if item.domain == "binary" and item.horizon == 6]
        assert exact
        assert all(0.5 < item.epsilon_shown == item.epsilon_kept <= 1 + 1e-6 for item in exact)
        assert {item.arms for item in found} >= {2, 3, 10}


def test_what_was_missing_is_there(stored):
    transcripts = [found for found in stored if found.level == "transcript"]
    assert any(found.policy == "rnm_ftnl" and "resample=True" in found.parameters for found in transcripts)
    prefixes = {found.parameters.split(",")[0] for found in transcripts if found.policy == "random_prefix"}
    assert prefixes == {"noise=laplace", "noise=gumbel", "noise=exponential"}
    assert {"dprse", "dist_dp_se", "dist_rdp_se"} <= {found.policy for found in transcripts if found.horizon >= 10_000}
    assert sum(found.arms >= 3 for found in stored) > 100
    sampled = [found for found in stored if found.runs > 0]
    assert sampled
    assert all(0 < found.epsilon_shown <= 1 and found.failure == 1e-6 for found in sampled)


def test_the_step_of_the_ladder_is_the_last_that_is_refuted(monkeypatch):
    """If three promises are refuted: 0, .02 and .04 of epsilon; 0, 1 / runs and the next of delta. If none: 0."""
    runs = np.zeros(1000, dtype=np.int64)
    monkeypatch.setattr("bandits.audit.betting.refuted", lambda *_: 3)
    assert betting_epsilon(runs, runs, 1e-6) == pytest.approx(0.04)
    assert betting_delta(runs, runs, 1e-6, 1.0) == pytest.approx(1e-3 * 1000 ** (1 / 299))
    monkeypatch.setattr("bandits.audit.betting.refuted", lambda *_: 0)
    assert betting_epsilon(runs, runs, 1e-6) == betting_delta(runs, runs, 1e-6, 1.0) == 0
