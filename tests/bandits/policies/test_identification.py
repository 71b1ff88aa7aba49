import numpy as np
import pytest

from bandits import ParameterError
from bandits.environments.bernoulli import C1, C2
from bandits.environments.heavy_tails import S1
from bandits.policies.elimination import DPSE, SuccessiveElimination
from bandits.policies.identification import identified, identify
from bandits.seeds import stream
from tests.bandits.two_samples import assert_rarely


def test_what_final_pulls_say():
    for pulls, arm, samples in [
        ([10, 40, 25], 1, 60),  # level with the last one removed at 25
        ([25, 25, 10], None, 60),
        ([26, 25, 10], None, 61),  # the horizon ends within a round
        ([27, 25, 25], 0, 75),
    ]:
        found = identified(np.array(pulls))
        assert found.arm == arm
        assert found.samples == samples
        assert found.expired == (arm is None)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [DPSE(0.5, beta=0.1), SuccessiveElimination(beta=0.1)], ids=repr)
def test_the_best_arm_is_found_as_often_as_promised(policy, failure):
    assert_rarely(lambda run: identify(C2(4), policy, 10**8, stream("identify", run)).arm != 0, True, 0.1, 200, failure)


def test_samples_do_not_depend_on_the_samples_that_are_allowed():
    enough = identify(C1(3), DPSE(1.0, beta=0.1), 10**8, stream("enough", 0))
    more = identify(C1(3), DPSE(1.0, beta=0.1), 10**9, stream("enough", 0))
    assert (enough.samples, enough.arm) == (more.samples, more.arm)
    assert identify(C1(3), DPSE(1.0, beta=0.1), enough.samples, stream("enough", 0)).expired
    assert not identify(C1(3), DPSE(1.0, beta=0.1), enough.samples + 2, stream("enough", 0)).expired


def test_a_smaller_beta_takes_longer():
    samples = [identify(C1(3), DPSE(1.0, beta), 10**9, stream("beta", 0)).samples for beta in (0.2, 1e-6)]
    assert samples[0] < samples[1]


def test_left_out_beta_is_one_over_the_horizon():
    checkpoints = np.array([50_000])
    for policy in (DPSE(1.0), SuccessiveElimination()):
        given = type(policy)(**{**vars(policy), "beta": 1 / 50_000})
        one, other = (x.simulate(C2(3), 50_000, checkpoints, stream("beta", 1)) for x in (policy, given))
        assert (one == other).all()


def test_bad_parameters():
    for make, message in [
        (lambda: identify(C1(3), DPSE(1.0), 1000, stream("x", 0)), "^beta: must be given"),
        (lambda: identify(S1(0.5), DPSE(1.0, 0.1), 1000, stream("x", 0)), "^instance: "),
        (lambda: identify(C1(3), DPSE(1.0, 0.1), 0, stream("x", 0)), "^max_samples: "),
        (lambda: identify(C1(3), DPSE(1.0, 0.1), 1e6, stream("x", 0)), "^max_samples: "),
        (lambda: DPSE(1.0, beta=0.0), "^beta: "),
        (lambda: DPSE(1.0, beta=1.0), "^beta: "),
        (lambda: SuccessiveElimination(beta=-1.0), "^beta: "),
    ]:
        with pytest.raises(ParameterError, match=message):
            make()
