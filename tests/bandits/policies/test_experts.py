import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, chi2, ks_2samp, kstest, norm

from bandits import ParameterError, checkpoint_grid, regret
from bandits.environments.full_information import BernoulliLosses, BetaLosses, DeterministicLosses, binomial_sums
from bandits.environments.gap_profiles import Free, Geometric, OneGap
from bandits.guarantees import Neighbours
from bandits.mechanisms.report_noisy_max import Noise, report_noisy_max
from bandits.policies import full_information as experts
from bandits.policies.full_information import RNMFTNL, DecreasingHedge, FollowTheLeader
from bandits.seeds import stream
from tests.bandits.two_samples import assert_same_law
from tests.plain_loops.full_information import full_information

NOISES = ("laplace", "gumbel", "exponential")


def draws_of(noise, size, rng):
    """Noise as numpy draws it."""
    return getattr(rng, noise.name)(scale=noise.scale, size=size)


def test_largest_of_many_draws_has_the_law_of_the_largest(failure):
    for draws, name in itertools.product([1, 3, 1000], NOISES):
        noise, rng = Noise(name, 2.5), stream(f"largest {name}", draws)
        one_by_one = draws_of(noise, (4000, draws), rng).max(axis=1)
        assert ks_2samp(noise.largest(np.full(4000, draws), rng), one_by_one).pvalue > failure


@pytest.mark.parametrize("name", NOISES)
def test_the_largest_of_a_billion_draws(name, failure):
    """Against log(n) scale + Gumbel, the limit law; its error is of order 1/n."""
    scale, draws = 2.0, 10**9
    largest = Noise(name, scale).largest(np.full(4000, draws), stream(f"billion {name}", 0))
    level = scale * math.log(draws / (2 if name == "laplace" else 1))
    assert kstest((largest - level) / scale, "gumbel_r").pvalue > failure


def test_report_noisy_max_with_gumbel_noise_is_the_exponential_mechanism(failure):
    scores, counts, noise = np.array([0.0, -1.0, -3.0]), np.array([1, 4, 20]), Noise("gumbel", 2.0)
    rng = stream("exponential mechanism", 0)
    released = np.bincount([report_noisy_max(scores, counts, noise, rng) for _ in range(20_000)], minlength=3)
    law = counts * np.exp(scores / 2)
    expected = 20_000 * law / law.sum()
    assert ((released - expected) ** 2 / expected).sum() < chi2.isf(failure, 2)


def test_binomial_sums(failure):
    for arms, rounds in [(5, 4), (7, 1000), (10_000, 16), (1_000_000, 1)]:
        values, counts = binomial_sums(0.3, arms, rounds, stream("binomial sums", arms))
        assert counts.sum() == arms
        assert ((values >= 0) & (values <= rounds) & (values == np.rint(values))).all()
        total, everything = (values * counts).sum(), arms * rounds
        assert abs(total - 0.3 * everything) < norm.isf(failure / 2) * math.sqrt(0.21 * everything) + 1
        if arms == 10_000:
            seen = np.bincount(values.astype(int), weights=counts, minlength=17)
            expected = arms * binom.pmf(np.arange(17), 16, 0.3)
            kept = expected > 5
            assert ((seen - expected) ** 2 / expected)[kept].sum() < chi2.isf(failure, kept.sum())


def test_beta_losses_resampled_are_bernoulli_losses():
    profile = OneGap(5, 0.3)
    beta, bernoulli = BetaLosses(profile, best=0.2), BernoulliLosses(profile, best=0.2)
    for group in (0, 1):
        one, other = (x.resampled_sums(group, 64, stream("resampled", group)) for x in (beta, bernoulli))
        assert (one[0] == other[0]).all()


@pytest.mark.parametrize("instance", [BernoulliLosses, DeterministicLosses, BetaLosses])
def test_losses_and_sums_have_the_means_of_their_groups(instance, failure):
    environment = instance(Geometric(5, 0.15), best=0.1)
    assert environment.number_of_arms == 5
    assert environment.mean_losses[0] == 0.1
    rng = stream(environment.name, 0)
    losses = environment.losses_of(np.array([0, 2]), 10_000, rng)
    assert ((losses >= 0) & (losses <= 1)).all()
    half = norm.isf(failure / 4) * 0.5 / math.sqrt(10_000)
    np.testing.assert_allclose(losses.mean(axis=0), environment.mean_losses[[0, 2]], atol=half)
    values, counts = environment.sums(2, 10_000, rng)
    assert counts.sum() == environment.counts[2]
    np.testing.assert_allclose(values / 10_000, environment.mean_losses[2], atol=half)


def walk(policy, instance, horizon, runs, rng):
    """RNM-FTNL as printed, step by step and arm by arm, runs side by side; plays of every group in every run."""
    group_of = np.repeat(np.arange(len(instance.counts)), instance.counts)
    noise = Noise(policy.noise, policy.scale)
    plays, sums = np.zeros((runs, len(instance.counts)), dtype=int), 0.0
    playing = rng.integers(len(group_of), size=runs)
    for t in range(1, horizon + 1):
        plays[np.arange(runs), group_of[playing]] += 1
        losses = instance.losses_of(group_of, runs, rng)
        assert losses.shape == (runs, len(group_of))
        sums = sums + ((rng.random(losses.shape) < losses) if policy.resample else losses)
        if (t + 1).bit_count() == 1:  # t = 2^r - 1 ends an epoch
            playing, sums = np.argmax(-sums + draws_of(noise, losses.shape, rng), axis=1), 0.0
    return plays


@pytest.mark.slow
@pytest.mark.parametrize("resample", [False, True])
@pytest.mark.parametrize(
    ("instance", "noise"),
    [
        (BernoulliLosses(Free((0.2, 0.6), (1, 4)), best=0.1), "laplace"),
        (DeterministicLosses(Free((0.2, 0.6), (1, 4)), best=0.1), "exponential"),
        (BetaLosses(Free((0.2, 0.6), (1, 4)), best=0.1), "gumbel"),
    ],
)
def test_epochs_have_the_law_of_the_walk(instance, noise, resample, failure):
    policy, rng = RNMFTNL(1.0, noise, resample), stream(f"walk {noise} {resample}", 0)
    horizon, runs = 31, 1500
    walked = walk(policy, instance, horizon, runs, rng) @ instance.gaps
    checkpoints = np.array([horizon])
    drawn = [regret(policy.simulate(instance, horizon, checkpoints, rng), instance.gaps)[0] for _ in range(runs)]
    assert_same_law(walked, drawn, failure)


@pytest.mark.slow
def test_a_million_arms_are_cheap():
    instance = BernoulliLosses(Geometric(1_000_000, 0.01))
    pulls = RNMFTNL(1.0).simulate(instance, 2**30, np.array([2**30]), stream("million", 0))
    assert pulls.sum() == 2**30
    assert pulls[0].argmax() == 0


def test_what_is_promised():
    for noise, calibration, spent in (
        ("laplace", "printed", 0.5),
        ("gumbel", "printed", 0.5),
        ("exponential", "printed", 1.0),
        ("exponential", "proved", 0.5),
    ):
        policy = RNMFTNL(0.5, noise, calibration=calibration)
        assert policy.guarantee.epsilon == spent
        assert policy.guarantee.neighbours is Neighbours.ONE_LOSS_VECTOR
        assert policy.scale == 2 / spent


def test_exponential_noise_as_printed_spends_twice_epsilon():
    """Two arms, losses 0 and 1 against 1 and 0 in one round: the less likely release changes by e^(2 epsilon)."""
    epsilon = 0.7

    def chance(difference, scale):  # of the arm that trails by `difference`
        return math.exp(-difference / scale) / 2

    assert math.isclose(chance(1, 1 / epsilon) / chance(3, 1 / epsilon), math.exp(2 * epsilon))
    assert math.isclose(chance(1, 2 / epsilon) / chance(3, 2 / epsilon), math.exp(epsilon))
    rng, noise = stream("trailing arm", 0), Noise("exponential", 1 / epsilon)
    counts = np.ones(2, dtype=int)
    trailing = sum(report_noisy_max(np.array([0.0, -1.0]), counts, noise, rng) for _ in range(20_000))
    assert abs(trailing / 20_000 - chance(1, 1 / epsilon)) < norm.isf(1e-9) * 0.5 / math.sqrt(20_000)


@pytest.mark.parametrize("policy", [FollowTheLeader(), DecreasingHedge()], ids=repr)
def test_walking_policies_do_not_depend_on_the_size_of_blocks(policy, monkeypatch):
    """Up to the order of draws: with deterministic losses only the policy draws."""
    instance, checkpoints = DeterministicLosses(OneGap(3, 0.5)), checkpoint_grid(500)
    many = policy.simulate(instance, 500, checkpoints, stream("blocks", 0))
    monkeypatch.setattr(experts, "BLOCK", 7 * 3)
    assert (policy.simulate(instance, 500, checkpoints, stream("blocks", 0)) == many).all()


@pytest.mark.parametrize("policy", [FollowTheLeader(), DecreasingHedge()], ids=repr)
def test_blocks_play_as_a_loop_over_the_steps_where_losses_never_vary(policy, monkeypatch):
    """Also with blocks so early that many of their steps are in doubt."""
    monkeypatch.setattr(experts, "COST", 0.1)
    monkeypatch.setattr(experts, "WALKED", 4)
    instance, checkpoints = DeterministicLosses(Geometric(16, 0.05), 0.2), checkpoint_grid(4000)
    for run in range(3):
        plays = policy.simulate(instance, 4000, checkpoints, stream("never", run))
        assert (plays == full_information(policy, instance, 4000, checkpoints, stream("never", run))).all()


def test_the_leader_may_lose_in_every_step_of_a_block_but_the_last():
    """For the doubt that counts, a lead shrinks by the losses of rounds - 1 steps; the forecast has one step more."""
    leads = {}

    class Recording(FollowTheLeader):
        def doubt(self, others, step):
            leads.setdefault(step, []).append(float(others.min()))
            return super().doubt(others, step)

    Recording().simulate(DeterministicLosses(OneGap(64, 0.5), 0.25), 5000, np.array([5000]), stream("recording", 0))
    changes = [float(np.diff(values[-2:])[0]) for values in leads.values() if len(values) > 1]
    assert len(changes) >= 3
    assert changes == pytest.approx([0.25] * len(changes))


def test_sums_of_blocks_have_the_law_of_sums_of_steps(failure):
    instance = BernoulliLosses(Free((0.2, 0.5), (3, 6)), 0.1)
    members = [np.array([4]), np.array([0, 9, 2]), np.array([1, 3, 5, 6, 7, 8])]
    rng = stream("fresh sums", 0)
    drawn = np.array([experts.fresh_sums(instance, members, 11, rng) for _ in range(400)])
    for group, mean in enumerate(instance.mean_losses):
        ideal = binom.rvs(11, mean, size=400 * len(members[group]), random_state=rng)
        assert ks_2samp(drawn[:, members[group]].ravel(), ideal).pvalue > failure
    few = BernoulliLosses(OneGap(9, 0.5), 0.1)  # more arms than sums: each sum comes with its number of arms
    arms = np.array([experts.fresh_sums(few, [np.array([8]), np.arange(8)], 1, rng) for _ in range(400)])
    assert ks_2samp(arms[:, 0], arms[:, 7]).pvalue > failure


@pytest.mark.parametrize("policy", [FollowTheLeader(), DecreasingHedge()], ids=repr)
@pytest.mark.parametrize(
    "instance",
    [BetaLosses(Geometric(8, 0.2), 0.1), BernoulliLosses(OneGap(10, 0.3), 0.1)],
    ids=lambda instance: instance.name,
)
def test_blocks_have_the_law_of_a_loop_over_the_steps(policy, instance, failure, monkeypatch):
    """Even short blocks draw sums of losses, so that sums matter while other arms are still played."""
    monkeypatch.setattr(experts, "COST", 60)
    monkeypatch.setattr(experts, "WALKED", 32)
    checkpoints, runs = np.array([60, 200, 800]), 300
    blocks, loop = (
        np.array([play(checkpoints, stream(f"law {number}", run)) for run in range(runs)])
        for number, play in enumerate(
            (
                lambda checkpoints, rng: policy.simulate(instance, 800, checkpoints, rng),
                lambda checkpoints, rng: full_information(policy, instance, 800, checkpoints, rng),
            )
        )
    )
    assert_same_law(blocks.reshape(runs, -1), loop.reshape(runs, -1), failure)
    assert_same_law(regret(blocks, instance.gaps), regret(loop, instance.gaps), failure)


def test_most_steps_of_a_run_are_not_looked_at(monkeypatch):
    """Fewer than a tenth of the decisions of 20,000 steps."""
    looked = 0

    def counted(policy, sums, steps, levels):
        nonlocal looked
        looked += len(steps)
        return DecreasingHedge.choose(policy, sums, steps, levels)

    class Counted(DecreasingHedge):
        choose = counted

    Counted().simulate(BetaLosses(Geometric(32, 0.1), 0.1), 20_000, np.array([20_000]), stream("looked", 0))
    assert looked < 2_000


def test_follow_the_leader_pays_for_the_first_step_only_when_losses_never_vary():
    pulls = FollowTheLeader().simulate(DeterministicLosses(OneGap(4, 0.5)), 100, np.array([1, 100]), stream("ftl", 0))
    assert pulls[1, 0] >= 99
    first = [
        FollowTheLeader().simulate(DeterministicLosses(OneGap(4, 0.5)), 1, np.array([1]), stream("ftl", run))[0, 0]
        for run in range(400)
    ]
    assert 50 < sum(first) < 150  # the first arm is drawn at random: 100 of 400


def test_hedge_plays_in_proportion_to_its_weights(failure):
    sums = np.tile([0.0, 2.0], (20_000, 1))
    steps = np.full(20_000, 9)
    plays = DecreasingHedge().choose(sums, steps, stream("hedge", 0).random(20_000))
    rate = 2 * math.sqrt(math.log(2) / 9)
    chance = math.exp(-2 * rate) / (1 + math.exp(-2 * rate))
    assert abs(plays.mean() - chance) < norm.isf(failure / 2) * math.sqrt(chance * (1 - chance) / 20_000)


def test_bad_parameters():
    for make, message in [
        (lambda: BernoulliLosses(OneGap(3, 0.5), best=0.6), r"best: must be a number in \[0, 0.5\]"),
        (lambda: DeterministicLosses(OneGap(3, 0.5), best=-0.1), "best: "),
        (lambda: BetaLosses(OneGap(3, 0.5), best=0.0), "best: must be above 0, and every mean loss below 1"),
        (lambda: BetaLosses(OneGap(3, 0.5), best=0.5), "best: "),
        (lambda: BetaLosses(OneGap(3, 0.5), concentration=0.0), "concentration: "),
        (lambda: RNMFTNL(0.0), "epsilon: "),
        (lambda: RNMFTNL(math.nan), "epsilon: "),
    ]:
        with pytest.raises(ParameterError, match=f"^{message}"):
            make()
