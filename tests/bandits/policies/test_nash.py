"""DP-NCB and LDP-NCB (Sarkar, Pandey and Ray Chowdhury 2025)."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from bandits import ParameterError
from bandits.audit.ledger import Domain
from bandits.audit.transcripts import Convention
from bandits.environments.bernoulli import C1
from bandits.loops.nash import clipped_mean, local_nash_bound, nash_bound
from bandits.policies import nash
from bandits.policies.nash import DPNCB, LDPNCB, DPNCBCode, first_steps
from bandits.seeds import stream


def test_indices_by_hand():
    """T = 10^6, so W = 1001 and log W = 6.908755; of 50 rewards with mean 0.3, epsilon = 0.5."""
    assert first_steps(10**6) == 1001
    log, ours, code = math.log(1001), DPNCB(0.5).rule(10**6), DPNCBCode(0.5).rule(10**6)
    width = 6 * math.sqrt(2 * 0.3 * log / 50)
    noise = 3.1 * log * 4  # two releases of scale 2
    assert nash_bound(ours, 0.3, 50.0) == pytest.approx(0.3 + width + (noise + 4 * math.sqrt(2 * noise * log)) / 50)
    two = 3.1 * log**2 / (0.5 * 50)
    three = 4 * math.sqrt(2 * 3.1) * log**1.5 / (math.sqrt(0.5) * 50)
    assert nash_bound(code, 0.3, 50.0) == pytest.approx(0.3 + width + two + three)
    assert nash_bound(code, 0.0, 0.0) == math.inf
    assert [clipped_mean(total, 4.0) for total in (-1.0, 2.0, 9.0)] == [0, 0.5, 1]
    local = LDPNCB(0.5).rule(10**6)
    long = math.log(10**6)
    expected = 0.3 + 6 * math.sqrt(2 * 0.3 * long / 50) + 2 * math.sqrt(8 * 3.1 * long / 50)
    expected += 12 * 6.2**0.25 * log**0.75 / (math.sqrt(0.5) * 50**0.75)
    assert local_nash_bound(local, 0.3, 50.0) == pytest.approx(expected)


def test_phases_by_hand():
    """T = 10^7: W = 3163; the code's first phase ends by a sum above 1600 (9 log W + log(W)^2), more than W."""
    assert DPNCB(0.5).phases(10**7) == (3163, math.inf, False, 2.0)
    steps, most, repeated, scale = DPNCBCode(1.0).phases(10**7)
    assert (steps, repeated) == (3163, True)
    assert most == pytest.approx(1600 * (9 * 8.0593 + 8.0593**2), rel=1e-4)
    assert scale == pytest.approx(math.log(10**7))


def test_what_is_released_as_published():
    """The reward of the first phase is in every release of its arm: batches of 2, 4, ..., 512 end within 967 steps."""
    code = DPNCBCode(1.0)
    steps = first_steps(1_000)
    batches = [2**j for j in range(1, 20) if 2 ** (j + 1) - 2 <= 1_000 - steps]
    (release,) = code.ledger(2, 1_000)
    assert release.cost(Domain.UNIT).shown == pytest.approx(len(batches) / math.log(1_000))
    cost = code.transcript_cost(2, 10**7, Domain.UNIT, Convention.STREAM)
    assert cost.epsilon.kept == pytest.approx(22 / math.log(10**7))
    assert code.guarantee.epsilon == 1.0
    assert [release.cost(Domain.UNIT).kept for release in DPNCB(0.5).ledger(2, 10**7)] == [0.5, 0.5]


def test_an_exact_sum_ends_the_first_phase():
    """At T = 10^12 a transcript is possible for one table and not for its neighbour."""
    code = DPNCBCode(1.0)
    cost = code.transcript_cost(2, 10**12, Domain.BINARY, Convention.STREAM)
    assert (cost.epsilon.kept, cost.epsilon.shown) == (math.inf, math.inf)
    assert "504333 steps" in cost.epsilon.witness
    with pytest.raises(ParameterError, match="exact sum"):
        code.ledger(2, 10**12)
    ends = [code.transcript_cost(2, horizon, Domain.BINARY, Convention.STREAM) for horizon in (2 * 10**11, 22 * 10**10)]
    assert [math.isfinite(cost.epsilon.kept) for cost in ends] == [True, False]


def test_the_witness_in_runs(monkeypatch):
    """With a sum above 3 the first phase of at most 11 steps ends after four rewards of 1; then two pulls are equal."""
    monkeypatch.setattr(nash, "FIRST_SUM", 3.5 / (math.log(11) + math.log(11) ** 2))
    code, begun = DPNCBCode(1.0, c=1.0), [0, 0, 0, 0, 1, 0]
    assert code.phases(100)[:2] == (11, pytest.approx(3.5))
    ones, changed = np.ones((2, 100)), np.ones((2, 100))
    changed[0, 2] = 0.0
    # of 3,000 runs 3000 / 64 = 47 begin so under `changed`: none with probability e^-47
    counts = [
        sum(code.play(table, 100, stream("witness", run))[:6].tolist() == begun for run in range(3000))
        for table in (ones, changed)
    ]
    monkeypatch.undo()
    assert counts[0] == 0
    assert counts[1] > 10


def test_the_first_phase_is_uniform(failure):
    """Of 1,001 steps of two arms one has Binomial(1001, 1/2): squared deviations of 40 runs are chi-squared."""
    low, high = chi2.ppf(failure / 10, 40), chi2.isf(failure / 10, 40)
    for policy in (DPNCB(1.0), DPNCBCode(1.0), LDPNCB(0.001)):
        ends = np.array([1001, 1200])
        pulls = [policy.simulate(C1(2), 10**6, ends, stream("uniform", run))[0, 0] for run in range(40)]
        assert low < np.square(np.array(pulls) - 500.5).sum() / (1001 / 4) < high


def test_what_is_refused():
    with pytest.raises(ParameterError, match="epsilon"):
        DPNCB(0.0)
    for policy in (DPNCB, DPNCBCode, LDPNCB):
        with pytest.raises(ParameterError, match="alpha: must be a number > 3"):
            policy(1.0, alpha=3.0)
        with pytest.raises(ParameterError, match="c: must be a number > 0"):
            policy(1.0, c=0.0)
