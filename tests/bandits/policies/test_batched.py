"""Runs that request noisy sums of batches: the law of `simulate`, and steps by hand."""

import numpy as np
import pytest

from bandits import regret
from bandits.environments.bernoulli import Bernoulli
from bandits.policies.batched import play_batches
from bandits.policies.batched_index import DPIMED, DPKLUCB, ZCDPKLUCB, AdaCUCB, AdaPKLUCB, AdaPUCB
from bandits.policies.distributed import DistDPSE
from bandits.policies.elimination import DPSE
from bandits.policies.halving import DPHalving
from bandits.policies.knockout import DPKnockout, DPKnockoutGauss
from bandits.policies.lazy import AnytimeLazyUCB, LazyDPTS
from bandits.policies.nash import DPNCB
from bandits.seeds import stream
from tests.bandits.two_samples import assert_same_law_of

CLOSE, FAR = Bernoulli((0.9, 0.8, 0.6)), Bernoulli((0.95, 0.5, 0.05))
CASES = [  # every policy that `bandits.deploy.Session` takes, where regret varies: policy, instance, horizon, runs
    (DPSE(1e4, beta=0.99), CLOSE, 2600, 250),
    (DPHalving(0.1, 300), CLOSE, 400, 250),
    (DPKnockout(0.1, 300), CLOSE, 400, 250),
    (DPKnockoutGauss(0.005, 300), CLOSE, 400, 250),
    (DPKLUCB(1.0), CLOSE, 400, 250),
    (DPKLUCB(1.0, 3, 1.5, index="exact"), CLOSE, 400, 250),
    (DPIMED(1.0), CLOSE, 400, 250),
    (AdaPUCB(1.0), CLOSE, 400, 250),
    (AdaCUCB(2.0), FAR, 400, 250),
    (ZCDPKLUCB(0.5), CLOSE, 400, 250),
    (AdaPKLUCB(3.0), FAR, 600, 250),
    (AnytimeLazyUCB(20.0, "natural"), FAR, 600, 100),
    (LazyDPTS(1.0), CLOSE, 150, 150),
    (DPNCB(20.0, 0.05), FAR, 2600, 150),
    (DistDPSE(2.0, batch_base=4), FAR, 2600, 150),
]
POLICIES = [case[0] for case in CASES]
NAMES = [f"{policy.name}-{getattr(policy, 'index', '')}" for policy in POLICIES]


def played(policy, instance, horizon, rng):
    """Pulls of a run on drawn rewards, with simulated noise."""
    run = policy.batched_run(instance.number_of_arms, horizon)

    def released(sums):
        if run.grid != 2**20:
            noise = policy.noise(run.grid).draw(len(sums), rng)
            return [total + one / run.grid for total, one in zip(sums, noise, strict=True)]
        if run.rho is not None:
            return [total + rng.normal(scale=(2 * run.rho) ** -0.5) for total in sums]
        return [total + rng.laplace(scale=1 / run.epsilon) for total in sums]

    steps, pulls = play_batches(run, released, rng), np.zeros(instance.number_of_arms)
    arm = next(steps)
    for _ in range(horizon):
        pulls[arm] += 1
        arm = steps.send(instance.sample(arm, rng))
    return pulls


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "instance", "horizon", "runs"), CASES, ids=NAMES)
def test_the_law_is_that_of_simulate(policy, instance, horizon, runs, failure):
    def draw(run):
        walked = played(policy, instance, horizon, stream("played", run))
        (fast,) = policy.simulate(instance, horizon, np.array([horizon]), stream("simulated", run))
        return [np.append(pulls, regret(pulls, instance.gaps)) for pulls in (walked, fast)]

    assert_same_law_of(draw, runs, failure)


def test_an_epoch_by_hand():
    """All sums of an epoch are due together; once one arm is left, no reward is used."""
    policy = DPSE(1e4, beta=0.99)
    rounds = policy.epoch_of(3, 1, 100).rounds
    run, rng = policy.batched_run(3, 100), np.random.default_rng(1)
    for step in range(3 * rounds):
        assert (run.due, run.learning) == ((), True)
        assert run.next_arm(rng) == step % 3
        run.pull(step % 3)
    assert run.due == (0, 1, 2)
    run.absorb([0.0, 1.0 * rounds, 0.99 * rounds])
    assert (run.due, run.learning, run.summary()) == ((), True, {"viable": [1, 2], "epoch": 2})
    for _ in range(2 * policy.epoch_of(2, 2, 100).rounds):
        run.pull(run.next_arm(rng))
    run.absorb([0.0, 1e6])
    assert not run.learning
    for _ in range(5):
        assert run.next_arm(rng) == 2
        run.pull(2)
        assert run.due == ()


def test_batches_of_an_index_by_hand():
    run, rng = DPKLUCB(1.0, 2, 2.0).batched_run(2, 100), np.random.default_rng(1)
    seen = []
    for total in (2.5, -1.0, 1.0):
        while not run.due:
            seen.append(run.next_arm(rng))
            run.pull(seen[-1])
        assert run.due == (seen[-1],)
        run.absorb([total])
    assert seen == [0, 0, 1, 1, 0, 0]
    assert run.summary() == {"counts": [4.0, 2.0], "sums": [3.5, -1.0]}


def test_a_lazy_mean_forgets_by_hand():
    """Means of 1, 2, 4 rewards; other arms keep their open batches."""
    run, rng = AnytimeLazyUCB(1.0).batched_run(2, 100), np.random.default_rng(1)
    for arm, pulls, total in ((0, 1, 5.0), (1, 1, -50.0), (0, 2, 9.0), (0, 4, 2.0)):
        for pull in range(pulls):
            assert run.due == (), pull
            assert run.next_arm(rng) == arm
            run.pull(arm)
        assert run.due == (arm,)
        run.absorb([total])
    assert run.summary() == {"counts": [4.0, 1.0], "means": [0.5, -50.0]}


def test_phases_of_dp_ncb_by_hand():
    """W = 4 of 9 steps: arms 0, 0, 2 and 0; arm 1 has no pull, and comes first.

    With c = 1e-6 and epsilon = 1e6 the index is the mean, but for an arm without rewards. Arm 2 has a sum of .9 of one
    reward, then 1.2 more of a batch of two: .7 of three, less than .8 of arm 1; so that goes on, with a batch of four.
    """
    run, rng = DPNCB(1e6, 1e-6).batched_run(3, 9), np.random.default_rng(1)
    assert {run.next_arm(rng) for _ in range(50)} == {0, 1, 2}
    assert run.draws_arms
    for arm in (0, 0, 2, 0):
        assert run.due == ()
        run.pull(arm)
    assert run.due == (0, 2)
    run.absorb([1.5, 0.9])
    assert (run.draws_arms, run.due) == (False, ())
    for arm, pulls, total in ((1, 2, 2.4), (1, 4, 3.2), (2, 2, 1.2)):
        for _ in range(pulls):
            assert (run.next_arm(rng), run.due) == (arm, ())
            run.pull(arm)
        assert run.due == (arm,)
        run.absorb([total])
    assert run.summary() == {"means": [0.5, 0.8, pytest.approx(0.7)], "counts": [3.0, 4.0, 3.0]}
    assert run.next_arm(rng) == 1


def test_residues_are_decoded_by_hand():
    """A noisy sum of 3.5 of 4 rewards, on a grid of 8, does not change if a multiple of the modulus is added."""
    policy = DistDPSE(4.0, batch_base=4)
    run, rng = policy.batched_run(2, 100), np.random.default_rng(1)
    grid, modulus = run.grid, policy.batch(2, 1, 100).modulus
    assert (grid, run.epoch.rounds) == (8, 4)
    assert [run.next_arm(rng), run.mean(3.5)] == [0, 0.875]
    assert [run.mean((28 + multiple * modulus) / 8) for multiple in (-2, -1, 1, 2)] == [0.875] * 4
    for arm in [0] * 4 + [1] * 4:
        assert run.next_arm(rng) == arm
        run.pull(arm)
    assert run.due == (0, 1)
