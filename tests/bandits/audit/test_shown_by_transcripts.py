"""Lower bounds on what transcripts cost, each against an independent computation."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, laplace, norm

from bandits.audit.epoch_costs import bit_lead, coin_lead, epoch_bounds, gaussian_lead
from bandits.audit.gaussian_choices import Margin, first_choice_delta, repeated_delta
from bandits.audit.ledger import Domain
from bandits.audit.noisy_max import noisy_max_cost, vote_cost
from bandits.audit.transcripts import Convention
from bandits.environments.bernoulli import Bernoulli
from bandits.loops.bit_top_two import bit_fit, bit_pair, bit_slack, logs
from bandits.policies.batched_index import AdaCUCB
from bandits.policies.bit_top_two import CTBTT
from bandits.policies.heavy_tailed import Moment
from bandits.policies.robust_elimination import RobustBitSE, RobustSE
from bandits.policies.sparse_vector import SVTSE
from bandits.policies.sub_gaussian import DPSEGauss, ShuffleSE
from bandits.policies.top_two import DPTT, AdaPTT
from bandits.seeds import stream

RUNS = 40_000


def transcript(policy, arms, horizon, domain=Domain.UNIT):
    return policy.transcript_cost(arms, horizon, domain, Convention.STREAM)


def histories(policy, rewards, horizon):
    """The probability of every sequence of arms that ends with a named arm, by all bits and coins."""
    found = {}

    def follow(pulls, sums, arms, chance):
        if len(arms) == horizon:
            return
        if len(arms) < len(rewards):
            choices = [(len(arms), 1.0)]
        else:
            of = [
                np.array([function(n, s, logs()) for n, s in zip(pulls, sums, strict=True)])
                for function in (bit_fit, bit_slack)
            ]
            leader, challenger = bit_pair(np.array(pulls), np.array(sums), *of, policy.beta, logs())
            if challenger < 0:
                key = (*arms, leader)
                found[key] = found.get(key, 0.0) + chance
                return
            choices = [(leader, 0.5), (challenger, 0.5)]
        for arm, coin in choices:
            one = expit(policy.epsilon) if rewards[arm][pulls[arm]] else expit(-policy.epsilon)
            for bit, likely in ((1, one), (0, 1 - one)):
                more, total = list(pulls), list(sums)
                more[arm] += 1
                total[arm] += bit
                follow(more, total, (*arms, arm), chance * coin * likely)

    follow([0] * len(rewards), [0] * len(rewards), (), 1.0)
    return found


def test_the_earliest_stop_of_ctb_tt_shows_all_of_epsilon():
    """By enumeration of all bits and coins; a beta of 0.9 stops after few pulls."""
    policy, horizon = CTBTT(0.7, 0.9), 9
    pulls = policy._earliest(2)
    assert pulls.sum() < horizon
    first, second = ([[1] * 9, [0] * 9], [[0] + [1] * 8, [0] * 9])
    laws = [histories(policy, rewards, horizon) for rewards in (first, second)]
    ratios = [math.log(laws[0][key] / laws[1][key]) for key in laws[0]]
    assert max(map(abs, ratios)) == pytest.approx(0.7, rel=1e-12)
    bounds = transcript(policy, 2, horizon).epsilon
    assert (bounds.kept, bounds.shown) == pytest.approx((0.7, 0.7))
    assert transcript(policy, 2, int(pulls.sum()) - 1).epsilon.shown == 0
    assert transcript(CTBTT(0.7, 0.05), 3, 100).epsilon.shown == pytest.approx(0.7)
    assert transcript(CTBTT(0.7, 0.05), 10, 100).epsilon.shown == pytest.approx(0.7)


def test_the_first_stop_of_adap_tt(failure):
    """How often arm 1 is named after two pulls, with rewards 0 and 1 and with 1 and 1."""
    policy = AdaPTT(0.5, 0.9, "plotted")
    needed = math.sqrt(4 * (math.log(1 / 0.9) + 2 * (math.log(1 / 0.9) / 0.5) ** 2))
    rng = stream("adap_tt stops", 0)
    chances = []
    for own in (0.0, 1.0):
        x = (needed + 1 - own) * 0.5
        chances.append(math.exp(-x) * (1 + x / 2) / 2)
        named = sum(policy.simulate(Bernoulli((own, 1.0)), 2, rng).arm == 0 for _ in range(RUNS))
        assert binom.cdf(named, RUNS, chances[-1]) > failure
        assert binom.sf(named - 1, RUNS, chances[-1]) > failure
    assert transcript(policy, 2, 10).epsilon.shown == pytest.approx(math.log(chances[1] / chances[0]))


@pytest.mark.parametrize(("rounds", "threshold", "scale"), [(8, 0.5, 0.3), (64, 1.3, 0.05), (2, 3.0, 1.0)])
def test_more_rivals_only_raise_the_ratio(rounds, threshold, scale):
    """The chance that arm 1 alone survives among K arms, by adding up over its noise; of two arms it is the formula."""
    noise = np.linspace(-40, 60, 400_001) * scale
    density = laplace.pdf(noise, scale=scale)
    ratios = []
    for rivals in (1, 2, 9):
        chances = [
            (density * laplace.cdf(noise - 1 + own / rounds - threshold, scale=scale) ** rivals).sum() for own in (0, 1)
        ]
        ratios.append(math.log(chances[1] / chances[0]))
    shown = epoch_bounds(rounds, threshold, scale).shown
    assert ratios[0] == pytest.approx(shown, rel=1e-5)
    assert ratios == sorted(ratios)
    assert ratios[-1] <= 1 / (rounds * scale) * (1 + 1e-5)


@pytest.mark.parametrize("arms", [3, 10])
def test_batches_and_epochs_of_more_arms(arms):
    """Every promise has both numbers, and what is shown is below it."""
    cases = [
        (RobustSE(1.0), 10**4, Domain.SIGNED, 0.98),
        (RobustBitSE(1.0), 10**4, Domain.SIGNED, 0.7),
        (SVTSE(1.0), 10**9, Domain.UNIT, 0.99),
    ]
    for policy, horizon, domain, least in cases:
        found = transcript(policy, arms, horizon, domain).epsilon
        assert least < found.shown <= found.kept == pytest.approx(1.0)
        assert transcript(policy, arms, arms, domain).epsilon.shown == 0  # before any batch ends


def test_bits_of_a_batch_by_enumeration():
    rounds, own, other, changed = 3, 0.5, 0.2, 0.5
    chances = []
    for last in (other, changed):
        bits = [own] * rounds + [other] * (rounds - 1) + [last]
        chances.append(
            sum(
                math.prod(p if bit else 1 - p for p, bit in zip(bits, word, strict=True))
                for word in itertools.product((0, 1), repeat=2 * rounds)
                if sum(word) >= 5
            )
        )
    assert bit_lead(rounds, 5, (own, other), changed)[0] == pytest.approx(math.log(chances[1] / chances[0]))
    three = []
    for last in (other, changed):
        own_bits, rival, second = [own] * rounds, [other] * rounds, [other] * (rounds - 1) + [last]
        three.append(
            sum(
                math.prod(p if bit else 1 - p for p, bit in zip(own_bits + rival + second, word, strict=True))
                for word in itertools.product((0, 1), repeat=3 * rounds)
                if sum(word[:6]) >= 5 and sum(word[:3] + word[6:]) >= 5
            )
        )
    assert bit_lead(rounds, 5, (own, other), changed, 3)[0] == pytest.approx(math.log(three[1] / three[0]))
    assert bit_lead(rounds, 6, (0.2, 0.2), 0.8)[0] == pytest.approx(math.log(4))  # all bits are needed
    assert bit_lead(rounds, 7, (0.2, 0.2), 0.8)[0] == 0


@pytest.mark.parametrize("domain", [Domain.SIGNED, Domain.NONNEGATIVE])
@pytest.mark.parametrize("kind", [RobustSE, RobustBitSE])
def test_what_robust_batches_show_depends_on_no_moment(kind, domain):
    policy = kind(1.0, 0.01)
    batches = [policy.epoch_of(moment, 2, 6, 1000) for moment in (Moment(1.0, 1.0), Moment(7.0, 0.4))]
    shown = [policy.batch_bounds(batch, 2, domain).shown for batch in batches]
    assert shown[0] == pytest.approx(shown[1], rel=1e-9)
    found = transcript(policy, 2, 1000, domain).epsilon
    assert 0.9 * found.kept < found.shown <= found.kept
    assert transcript(policy, 2, 2, domain).epsilon.shown == 0


def test_the_first_question_of_a_sparse_vector_by_hand():
    """Tails of Lap(8) + Lap(4) and of the difference of two Lap(2), at epsilon = 1."""
    policy, horizon = SVTSE(1.0), 1000
    question = policy.question(2, 1, 1, horizon)

    def ending(spread):
        x = question.required - spread
        return (64 * math.exp(-x / 8) - 16 * math.exp(-x / 4)) / 96

    def alone(lead):
        x = (2 * question.off - lead) / 2
        return math.exp(-x) * (1 + x / 2) / 2

    expected = math.log(ending(1) * alone(1) / (ending(0) * alone(0)))
    assert transcript(policy, 2, horizon).epsilon.shown == pytest.approx(expected, rel=1e-6)
    assert 0.99 < transcript(policy, 2, 10**9).epsilon.shown <= 1
    assert transcript(policy, 2, 5).epsilon.shown == 0  # the epoch ends with step 4; two more steps show it


def test_votes_by_hand():
    """Gumbel noise of scale 2: before the votes are 0, 2, 0, then 1, 1, 0."""
    before, after = 1 / (2 + math.e), math.exp(0.5) / (2 * math.exp(0.5) + 1)
    assert vote_cost("gumbel", 2.0, 3, 2).shown == pytest.approx(math.log(after / before))
    for noise in ("laplace", "gumbel", "exponential"):
        assert vote_cost(noise, 2.0, 2, 8).shown == pytest.approx(noisy_max_cost(noise, 2.0, 2, 8).kept)
        few = vote_cost(noise, 2.0, 3, 4)
        assert 0 < few.shown < few.kept


def test_votes_against_draws(failure):
    rng, scale = stream("votes", 0), 2.0
    for noise, draw in (("laplace", rng.laplace), ("exponential", rng.exponential)):
        named = [
            (np.array(v) + draw(scale=scale, size=(RUNS, 4))).argmax(axis=1) == 0 for v in ([0, 2, 0, 0], [1, 1, 0, 0])
        ]
        shares = [float(share.mean()) for share in named]
        off = math.sqrt(sum((1 - share) / (share * RUNS) for share in shares))
        assert norm.sf(abs(math.log(shares[1] / shares[0]) - vote_cost(noise, scale, 4, 2).shown) / off) > failure


@pytest.mark.parametrize("arms", [2, 3, 5])
def test_the_first_normal_choice(arms, failure):
    """The most expensive rewards against draws: one is changed, and all other rewards are 1 or 0."""
    level, epsilon = 3.0, 1.0
    rng = stream("first normal choice", arms)
    noise = rng.normal(scale=1 / level, size=(RUNS, arms))
    worst = 0.0
    for others in itertools.combinations_with_replacement((0, 1), arms - 1):
        laws = [np.bincount((noise + np.array([own, *others])).argmax(axis=1), minlength=arms) / RUNS for own in (0, 1)]
        for first, second in (laws, laws[::-1]):
            worst = max(worst, float(np.maximum(first - math.exp(epsilon) * second, 0).sum()))
    exact = first_choice_delta(level, epsilon, arms).shown
    # Each share is off by at most 1 / (2 sqrt(RUNS)), 7 sigma; positive parts add up to those of one event.
    assert abs(worst - exact) < 7 * (1 + math.e) / (2 * math.sqrt(RUNS))
    if arms == 2:  # closed form
        h = level / math.sqrt(2)
        assert exact == pytest.approx(norm.cdf(0) - math.e * norm.cdf(-h))
        policy = AdaCUCB(4.5)
        found = transcript(policy, 2, 3, Domain.BINARY).delta
        assert found.kept == found.shown == first_choice_delta(3.0, 3.0, 2).shown
        assert found.kept < transcript(policy, 2, 3, Domain.UNIT).delta.kept  # rewards between 0 and 1 may show more


def test_choices_in_a_row():
    """Two comparisons by two-dimensional sums; and the first alone is the first choice."""
    level, epsilon = 1.5, 0.5
    grid = np.linspace(-9, 9, 4001)
    mass = norm.pdf(grid) * (grid[1] - grid[0])
    choices = [Margin(1, 0.0), Margin(2, -0.4)]
    deltas = []
    for mean in (0, 1):
        chances = []
        for reward in (0, 1):
            own = reward + grid / level
            first = norm.cdf((mean - own) * level)
            second = np.array([mass[(mean + grid / (2 * level) - 0.4) > value].sum() for value in own])
            chances.append((float(mass @ first), float(mass @ (first * second))))
        deltas += [chances[0][k] - math.exp(epsilon) * chances[1][k] for k in (0, 1)]
    assert repeated_delta(level, epsilon, choices)[0] == pytest.approx(max(deltas), abs=2e-3)
    alone, _ = repeated_delta(level, epsilon, choices[:1])
    assert alone == pytest.approx(first_choice_delta(level, epsilon, 2).shown, rel=1e-9)


def test_more_arms_of_epochs():
    """The bound of three arms is that of two but for the chance that the third is too close."""
    level, epsilon, rounds, threshold = 1.2, 0.3, 6, 2.5
    h = level / math.sqrt(2)
    two, three = (gaussian_lead(level, epsilon, rounds, threshold, arms)[0] for arms in (2, 3))
    lead = math.floor(threshold - epsilon / h**2 - 0.5)
    close = norm.cdf(h * (threshold - rounds - min(lead, 0)))
    assert two - three == pytest.approx(close, abs=1e-9) or two - three == pytest.approx(
        norm.cdf(h * (threshold - rounds - min(lead + 1, 0))), abs=1e-9
    )
    pair, several = (coin_lead(9, epsilon, rounds, threshold, arms)[0] for arms in (2, 4))
    assert pair - several == pytest.approx(min(pair, 2 * float(binom.sf(rounds - 1 + 9 - 2, 18, 0.5))), rel=1e-9)


@pytest.mark.parametrize("policy", [DPSEGauss(0.5), ShuffleSE(1.0, 1e-6)])
def test_equal_sums_rarely_remove_an_arm(policy):
    assert all(0 <= policy.strays(epoch) < 1e-6 for epoch in policy.epochs(3, 10**6))
    assert transcript(policy, 3, 10**6).delta.shown > 0
    assert transcript(policy, 3, 100).delta.shown == 0


def test_the_first_leader_of_dp_tt_is_shown_by_its_next_pull():
    """Its first batches have ceil(4 / 0.7) = 6 pulls: after 12 steps a run that goes on has shown nothing."""
    shown = [
        DPTT(0.7, 0.1).transcript_cost(2, horizon, Domain.UNIT, Convention.STREAM).epsilon.shown for horizon in (12, 13)
    ]
    assert shown[0] == 0
    assert shown[1] == pytest.approx(0.5802, abs=1e-4)
