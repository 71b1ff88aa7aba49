"""Claims that are judged by rows of the audit table."""

import dataclasses

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from omegaconf import OmegaConf

from bandits import ParameterError
from experiments.audit.rows import AUDIT_KEYS, NO_VERDICT, audit
from experiments.audit.table import ROWS, picked, store, stored_audits
from experiments.config.compose import CONF, Composer
from experiments.errors import UserError
from experiments.store.results_file import CHECKSUM
from tests.experiments.claims.made_up import outcome, verdict


@pytest.fixture(scope="module")
def rows():
    """Audits of DP-SE at two budgets, and of a noise that costs twice what the paper promises."""
    about = OmegaConf.load(CONF / "audit.yaml")
    about = OmegaConf.create({key: about[key] for key in AUDIT_KEYS} | {"level": "release"})
    of = ["policy=dp_se", "horizon=1000"]
    printed = ["policy=rnm_ftnl", "instance=dtol_bernoulli", "policy.noise=exponential", "horizon=8"]
    asked = [[*of, "budget.epsilon=1"], [*of, "budget.epsilon=4"], [*printed, "budget.epsilon=0.5"]]
    return [audit(words, about, Composer()) for words in asked]


@pytest.fixture
def judged(tmp_path, rows):
    store(rows, tmp_path / "audit.parquet")
    return lambda **keys: verdict(tmp_path, [], test="audit", **keys)


def test_a_claim_is_held_to_what_audits_keep_and_show(judged):
    kept = judged(rows={"policy": "dp_se"})
    assert (kept.outcome, list(kept.table.estimate), list(kept.table.epsilon)) == ("holds", [1.0, 1.0], [1, 4])
    twice = judged(rows={"policy": "rnm_ftnl", "noise": "exponential", "resample": False})
    assert (twice.outcome, list(twice.table.low)) == ("fails", [pytest.approx(2)])
    half = judged(rows={"policy": "dp_se"}, at_most=0.5)
    assert "worst: policy dp_se, level release, arms 2, horizon 1000, epsilon" in half.evidence  # the row that decides
    assert judged(rows={"policy": "rnm_ftnl"}, at_most=2).outcome == "holds"
    assert judged(rows={"policy": "rnm_ftnl"}, at_most=1.99).outcome == "fails"


def test_what_no_audit_covers_cannot_be_judged(judged):
    for conditions in ({"policy": "ucb1"}, {"policy": "dp_se", "epsilon": [1, 2]}, {"policy": ["dp_se", "ucb1"]}):
        found = judged(rows=conditions)
        assert found.outcome == "cannot be judged"
        assert "conf/audits.yaml" in found.evidence
    with pytest.raises(UserError, match=r"mine: rows\.polcy: no audit has polcy; did you mean policy"):
        judged(rows={"polcy": "dp_se"})


def test_bounds_apart_leave_a_claim_open(tmp_path, rows):
    row = dataclasses.replace(rows[0], epsilon_shown=0.5, epsilon_kept=2.0)
    store([row], tmp_path / "audit.parquet")
    assert outcome(tmp_path, [], test="audit", rows={"policy": "dp_se"}) == "undecided"


def test_an_audit_without_a_verdict_decides_no_claim(tmp_path, rows):
    blind = dataclasses.replace(rows[0], epsilon_shown=0.0, epsilon_kept=0.0, paper_verdict=NO_VERDICT)
    store([blind], tmp_path / "audit.parquet")
    assert outcome(tmp_path, [], test="audit", rows={"policy": "dp_se"}) == "vacuous here"
    store([blind, rows[1]], tmp_path / "audit.parquet")
    judged = verdict(tmp_path, [], test="audit", rows={"policy": "dp_se"})
    assert (judged.outcome, list(judged.table.result)) == ("holds", ["vacuous", "passes"])
    assert judged.evidence.count("1 setting")


def test_shares_of_a_promise_with_delta(rows):
    with_delta = dataclasses.replace(rows[0], paper_delta=0.01, delta_shown=0.005, delta_kept=0.01)
    assert with_delta.share == (0.5, 1.0)
    assert dataclasses.replace(with_delta, epsilon_claimed=2.0).share != (0.5, 1.0)  # delta at another epsilon


def test_own_audits_count_beside_those_of_the_repository(rows):
    assert len(picked(rows, {"horizon": [8, 1000]})) == 3
    assert picked(rows, {"beta": None, "epsilon": 4}) == [rows[1]]
    with pytest.raises(ParameterError, match="noize"):
        picked(rows, {"noize": "gumbel"})


def test_audits_that_were_changed_are_refused(tmp_path, rows):
    path = tmp_path / "audit.parquet"
    store(rows, path)
    rows = stored_audits(path)  # with words where rows that were just made have enums
    store(rows, path)
    assert repr(stored_audits(path)) == repr(rows)
    written = pq.read_table(path)
    changed = written.set_column(
        written.schema.get_field_index("epsilon_kept"), "epsilon_kept", pa.array([0.5] * len(rows))
    )
    pq.write_table(changed, path)  # with the checksum of before
    with pytest.raises(UserError, match=r"audit\.parquet: damaged: its rows were changed since they were written"):
        stored_audits(path)


def test_the_published_audits_have_a_checksum():
    """Which `stored_audits` compares: claims, report and explorer read all rows with it."""
    assert CHECKSUM in pq.read_schema(ROWS).metadata, "store(stored_audits(), ROWS) of experiments.audit.table adds it"
    assert stored_audits()
