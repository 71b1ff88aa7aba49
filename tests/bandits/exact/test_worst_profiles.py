import itertools

import numpy as np
import pytest

from bandits import ParameterError
from bandits.exact import worst_profiles
from bandits.exact.many_profiles import ManyProfiles
from bandits.exact.worst_profiles import WorstProfile
from bandits.policies.full_information import RNMFTNL
from bandits.policies.random_prefix import RandomPrefix
from bandits.seeds import stream


def test_every_point_is_a_profile_with_all_arms():
    space = WorstProfile(arms=1000, least_gap=0.01, scales=3)
    for point in stream("points", 0).random((200, 6)):
        profile = space.profile(point)
        assert profile.counts.sum() == 1000
        assert (profile.counts >= 1).all()
        assert (profile.gaps[1:] >= 0.01).all()
        assert (profile.gaps <= 1).all()
    corners = [space.profile(np.array([*gaps, 0, 0, 0])).gaps[1:] for gaps in itertools.product([0.0, 1.0], repeat=3)]
    np.testing.assert_allclose(sorted({*np.concatenate(corners).round(12)}), [0.01, 1])


@pytest.mark.slow
def test_the_search_does_not_lose_to_a_grid():
    space, policy = WorstProfile(arms=16, least_gap=0.05, scales=1, generations=15), RNMFTNL(0.5)
    profile, worst, tried = space.search(policy, 2**30, stream("search", 0))
    grid = [space.regret(space.profile(np.array([point, 0.5])), policy, 2**30) for point in np.linspace(0, 1, 60)]
    assert worst >= max(grid) * (1 - 1e-3)
    assert worst == space.regret(profile, policy, 2**30)
    assert tried > 20


@pytest.mark.slow
def test_the_search_is_the_same_from_the_same_stream():
    space = WorstProfile(arms=16, least_gap=0.05, scales=2, generations=2)
    first, second = (space.search(RNMFTNL(0.5), 2**20, stream("same", 0)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("generations", [1, 2])
def test_a_generation_has_ten_profiles_for_each_dimension(generations):
    """Two dimensions."""
    space = WorstProfile(arms=8, least_gap=0.01, scales=1, generations=generations)
    *_, tried = space.search(RNMFTNL(0.5), 100, stream("generations", 0))
    assert tried == 20 * (generations + 1)


@pytest.mark.parametrize("noise", ["laplace", "gumbel", "exponential"])
@pytest.mark.parametrize("resample", [False, True])
@pytest.mark.parametrize("arms", [9, 2**20])
def test_many_profiles_at_once_have_the_regret_of_each(noise, resample, arms):
    space, policy = WorstProfile(arms, 0.02, scales=3), RNMFTNL(0.2, noise, resample, "proved")
    points = stream("many", 0).random((3, 6))
    for horizon in (1, 6, 700, 2**40):
        many = ManyProfiles(space.grid, arms, noise, policy.scale, resample, horizon)
        exact = [space.regret(space.profile(point), policy, horizon) for point in points]
        assert many.regret(*space.places(points)) == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize("policy", [RandomPrefix(0.5, "gumbel"), RNMFTNL(0.001, "gumbel", resample=True)], ids=str)
def test_what_has_no_tables_is_searched_profile_by_profile(policy, monkeypatch):
    """Other epochs, and noise so large that sums of thousands of losses matter."""
    monkeypatch.setattr(worst_profiles, "ManyProfiles", None)
    space = WorstProfile(arms=8, least_gap=0.01, scales=1, generations=1)
    profile, worst, tried = space.search(policy, 100, stream("others", 0))
    assert tried == 40
    assert worst == space.regret(profile, policy, 100)
    evenly = [space.regret(space.profile(np.array([point, 0.5])), policy, 100) for point in np.linspace(0, 1, 9)]
    assert worst >= np.median(evenly)


def test_bad_parameters():
    for make, field in [
        (lambda: WorstProfile(4, 0.1), "arms"),
        (lambda: WorstProfile(8, 0.0), "least_gap"),
        (lambda: WorstProfile(8, 0.1, scales=0), "scales"),
        (lambda: WorstProfile(8, 0.1, generations=0), "generations"),
    ]:
        with pytest.raises(ParameterError, match=f"^{field}: "):
            make()
