import importlib
import inspect
import math
import pkgutil
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from bandits import ParameterError, bounds
from bandits.bounds import common, sajed2019, tao2022, wang2024, wu2025
from bandits.environments.bernoulli import C1, Linear9
from bandits.environments.heavy_tails import S1, S2, S3, TwoPoint
from bandits.policies.batched_index import DPKLUCB
from bandits.policies.stopping_rules import DPExponentialNAS
from experiments import load, load_pulls

GAPS = common.suboptimal_gaps(Linear9().gaps)


def test_dp_se_by_hand():
    log = math.log(5 * math.log2(2 / 0.05) * 5e7)
    assert math.isclose(sajed2019.dp_se_pulls(0.05, 5, 0.1, 50_000_000), log * (1024 / 0.0025 + 96 / 0.005))
    gaps = np.array([0.05, 0.5])
    by_arm = [gap * sajed2019.dp_se_pulls(gap, 3, 1.0, 1000) for gap in gaps]
    assert math.isclose(sajed2019.dp_se_regret(gaps, 1.0, 1000), 1 + sum(by_arm))


def test_perturbed_leaders_by_hand():
    gaps, log = np.array([0.5, 0.25]), math.log(1e5)
    gauss = max(2 * 0.5 * log / 0.3**2, 8 * 0.5) + max(2 * 0.25 * log / 0.05**2, 8 * 0.25)
    assert math.isclose(wang2024.dp_ftpl_gauss_regret(gaps, 1.0, 0.01, 100_000, 0.1), gauss)
    beta = max(5 * 0.5 * log / (2 * 0.3**2), 592 * 0.5) + max(5 * 0.25 * log / (2 * 0.05**2), 592 * 0.25)
    assert math.isclose(wang2024.dp_ftpl_beta_regret(gaps, 1.0, 0.01, 100_000, 0.1), beta)
    growth = math.e - 1
    privacy = 4 * math.log((1e5 * growth + 2e3) / (2 * growth + 2e3))
    new = max(16 * log / 0.5, privacy) + max(16 * log / 0.25, privacy) + 12
    assert math.isclose(wang2024.dp_ftpl_new_regret(gaps, 1.0, 0.01, 100_000), new)
    privacy = 32 / 0.25 * math.log((1e10 * growth + 1e8) / (2 * growth + 1e8))
    elimination = 1024 * 0.75 * log / 0.25**2 + 0.75 * privacy + 12
    assert math.isclose(wang2024.gdp_elim_new_regret(gaps, 1.0, 0.01, 100_000), elimination)


def test_lower_bounds_of_sajed2019_by_hand():
    kl = 0.5 * math.log(0.5 / 0.75) + 0.5 * math.log(0.5 / 0.25)
    assert math.isclose(sajed2019.consistent_lower_bound_slope(np.array([0.75, 0.5, 0.5])), 2 * 0.25 / kl)
    assert math.isclose(sajed2019.private_lower_bound(np.array([0.1, 0.2]), 0.5, 1e18), 2 * math.log(1e18) / 100)
    assert math.isclose(sajed2019.dp_ucb_added_regret_order(5, 0.5, 1000), 10 * math.log(1000) ** 2.5)
    order = math.log(1e6) * (4 / 0.1 + 5 / 0.25)
    assert math.isclose(sajed2019.dp_se_regret_order(np.full(4, 0.1), 0.25, 10**6), order)
    assert sajed2019.bounded_lower_bound_order(np.full(4, 0.1), 0.25, 10**6) == pytest.approx(order)


def test_dprse_by_hand():
    log = math.log(4 * 5 * 1e7) + 2 * math.log(2)
    pulls = 96**3 * 4 * log / (0.5 * 0.5**3) + 4  # v = 1/2, u = 2, gap = 1/2: two epochs
    assert math.isclose(tao2022.dprse_pulls(0.5, 5, 0.5, 10**7, 0.5, 2.0), pulls)
    assert math.isclose(tao2022.dprse_regret(np.full(4, 0.5), 0.5, 10**7, 0.5, 2.0), 0.5 + 2 * pulls)
    order = 2 ** (2 / 3) * math.log(1e7) / 0.5 * 16 + 0.5
    assert math.isclose(tao2022.dprse_regret_order(np.full(4, 0.5), 0.5, 10**7, 0.5, 2.0), order)


def test_dprucb_and_ldprse_by_hand():
    log = math.log(1e7)
    pulls = 36**2 * 2 * math.log(2e28) * log**2.5 / (0.5 * 0.25) + 5  # v = 1, u = 2, gap = 1/2
    assert math.isclose(tao2022.dprucb_pulls(0.5, 0.5, 10**7, 1.0, 2.0), pulls)
    assert math.isclose(tao2022.dprucb_regret(np.array([0.5, 0.5]), 0.5, 10**7, 1.0, 2.0), pulls)
    log = math.log(8 * 3 * 4 * 1e7)
    pulls = 112**4 * 4 * log / 0.25 / (1 - 1 / 16) + 2 * (log + 1)
    assert math.isclose(tao2022.ldprse_pulls(0.5, 3, 0.5, 10**7, 1.0, 2.0), pulls)
    assert math.isclose(tao2022.ldprse_regret(np.array([0.5, 0.5]), 0.5, 10**7, 1.0, 2.0), 0.5 + pulls)


def test_lower_bounds_of_tao2022_by_hand():
    gaps = np.array([0.05, 0.04])
    expected = math.log(1e20) / (200 * 0.5 * 16) * (1 / 0.05**2 + 1 / 0.04**2)
    assert math.isclose(tao2022.heavy_lower_bound(gaps, 0.5, 1e20, 0.5), expected)
    expected = math.log(1e20) / (200 * 0.5 * 5) / 0.05
    assert math.isclose(tao2022.heavy_two_armed_lower_bound(0.05, 0.5, 1e20, 1.0), expected)
    p, q = 0.08, 0.16  # v = 1, mean 0.2, gap 0.1: s = 0.4
    kl = p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))
    slope = tao2022.local_lower_bound_slope(np.array([0.3, 0.2]), 1.0, 1.0)
    assert math.isclose(slope, 0.1 / (8 * (math.e - 1) ** 2 * kl))
    assert math.isclose(TwoPoint((0.3, 0.2), 1.0).chances[1], p)


def test_theorem_3_by_hand_and_in_the_limit():
    assert math.isclose(wu2025.deterministic_lower_bound(10, 0.5), math.log(math.exp(0.5) + 9) / 0.5 - 1)
    end = math.exp(2.0)  # T = 3
    expected = math.log(end / (end + 9) * (math.exp(0.5) + 9) / math.exp(0.5)) / 0.5
    assert math.isclose(wu2025.deterministic_lower_bound(10, 0.5, 3), expected)
    assert math.isclose(wu2025.deterministic_lower_bound(10, 0.5, 10**6), wu2025.deterministic_lower_bound(10, 0.5))
    assert math.isclose(wu2025.deterministic_sharp_lower_bound(10, 0.5), math.log(10) / 0.5)
    assert wu2025.deterministic_sharp_lower_bound(10, 0.5, 3) < 3
    assert math.isclose(wu2025.deterministic_sharp_lower_bound(10, 1e-9, 3), 2.7, rel_tol=1e-6)
    assert wu2025.deterministic_lower_bound(10, 2000.0) >= 0.0


def test_resampled_leaders_by_hand():
    log = math.log(8)
    expected = 1 + (128 * log + 64) / 0.1 + (32 * log**2 + 32) / 0.5
    assert math.isclose(wu2025.resampled_regret(8, 0.1, 0.5, "gumbel"), expected)
    assert wu2025.resampled_regret(8, 0.1, 0.5, "laplace") > expected
    critical = math.sqrt(log / 1e12)
    whole = critical * 1e12 + wu2025.resampled_regret(8, critical, 0.5, "exponential")
    assert math.isclose(wu2025.resampled_worst_case_regret(8, 0.5, 10**12, "exponential"), whole)
    assert wu2025.resampled_worst_case_regret(8, 0.5, 2, "laplace") == 2
    assert math.isclose(wu2025.resampled_regret_order(8, 0.1, 0.5), log / 0.1 + log**2 / 0.5)
    assert math.isclose(wu2025.stochastic_lower_bound_order(8, 0.1, 0.5), log / 0.1 + log / 0.5)
    assert math.isclose(wu2025.laplace_regret_order(8, 0.1, 0.5, 1000), log / 0.1 + log * math.log(1000) / 0.5)


def test_lower_bound():
    growth, room = math.e - 1, 1e5**0.5
    expected = math.log((growth + 0.05) * room / (40 * growth + 0.05 * room)) / 16
    assert 16 * expected < 2  # one whole revision, so 3/32
    assert math.isclose(wang2024.two_armed_transcript_lower_bound(1.0, 0.01, 100_000, 1.0, 0.5), 3 / 32)
    growth = math.expm1(0.5)
    expected = math.log((growth + 0.05) * room / (40 * growth + 0.05 * room)) / 8
    assert math.isclose(wang2024.two_armed_transcript_lower_bound(0.5, 0.01, 100_000, 1.0, 0.5), expected)
    assert wang2024.two_armed_transcript_lower_bound(1.0, 0.01, 100, 1.0, 0.5) == 0.0
    assert wang2024.two_armed_transcript_lower_bound(
        0.1, 0.0, 10**9, 1.0, 0.5
    ) > wang2024.two_armed_transcript_lower_bound(1.0, 0.0, 10**9, 1.0, 0.5)


def test_slack_is_below_half_of_the_least_gap():
    for slack in [0.0, 0.025, -1.0]:
        with pytest.raises(ParameterError, match="slack"):
            wang2024.dp_ftpl_gauss_regret(GAPS, 1.0, 0.01, 1000, slack)


def test_dp_se_keeps_lemma_4_2_at_paper_scale():
    pulls = load_pulls("sajed2019/fig06", policy="dp_se", arms=5)
    gaps = C1(5).gaps
    for (epsilon, arm), group in pulls.groupby(["epsilon", "arm"]):
        if gaps[arm] > 0:
            assert group.pulls.max() <= sajed2019.dp_se_pulls(float(gaps[arm]), 5, epsilon, 50_000_000)


@pytest.mark.slow
def test_dp_ftpl_new_keeps_theorem_16():
    for experiment in ("wang2024/fig04", "wang2024/fig05"):
        final = load(experiment, policy="dp_ftpl_new", instance="linear9", t=100_000)
        for (epsilon, delta), group in final.groupby(["epsilon", "delta"]):
            assert group.regret.mean() <= wang2024.dp_ftpl_new_regret(GAPS, epsilon, delta, 100_000)


ANYWHERE = {"gaps": np.array([0.05, 0.07]), "gap": 0.05, "least_gap": 0.05, "arms": 3, "epsilon": 0.5, "delta": 0.01}
ANYWHERE |= {"horizon": 10**19, "v": 0.5, "u": 0.5, "noise": "laplace", "slack": 0.01, "scale": 1.0, "power": 0.5}
ANYWHERE |= {"means": np.array([0.3, 0.22, 0.21]), "mean": 0.1, "variance": 0.2, "bound": 1.0, "accuracy": 0.5}
ANYWHERE |= {"alpha": 3.1, "ratio": 2.0, "rounds": 4, "beta": 0.05, "rule": DPExponentialNAS(0.5, 0.5, 0.05)}
ANYWHERE |= {"moments": np.array([0.5, 0.4, 0.4]), "mean_gap": 0.04, "spread": 2.0, "scales": 100.0}
ANYWHERE |= {"start": 8, "value_variance": 2.0, "c": 3.0, "rho": 0.125, "deviation": 0.4}
ANYWHERE |= {"corruption": 0.001, "first_batch": 1, "step": 100.0, "steps": 40}
ANYWHERE |= {"policy": DPKLUCB(0.5), "best": 0.9}
ANYWHERE |= {"pulls": 50, "explored": 10**5, "allocation": "halving", "level": 0.5}


def arguments(name, **changed):
    function = BOUNDS[name]
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    if {"epsilon", "rho"} <= set(names) - changed.keys() or "epsilon" in changed:
        names = tuple(name for name in names if name != "rho")  # one budget is enough
    elif {"epsilon", "rho"} <= set(names):
        names = tuple(name for name in names if name != "epsilon")
    values = ANYWHERE | changed
    if name.startswith("stuck_runs."):  # whose laws are summed to 1e-20
        values["horizon"] *= 1e-10
    assert values.keys() >= set(names), f"{name}: its arguments need values in ANYWHERE: {set(names) - values.keys()}"
    return {key: values[key] for key in names}


MODULES = [importlib.import_module(f"bandits.bounds.{item.name}") for item in pkgutil.iter_modules(bounds.__path__)]
FUNCTIONS = [
    item
    for module in MODULES
    if module is not common
    for name, item in vars(module).items()
    if inspect.isfunction(item) and item.__module__ == module.__name__ and not name.startswith("_")
]
BOUNDS = {f"{function.__module__.rpartition('.')[2]}.{function.__name__}": function for function in FUNCTIONS}


def test_every_bound_is_tried():
    """Papers may call theirs by the same name."""
    assert len(BOUNDS) == len(FUNCTIONS) > 70


GROWING = {  # values of an argument, in an order along which a bound must not fall
    "epsilon": (0.9, 0.3, 0.1),
    "rho": (0.5, 0.1, 1e-3),
    "horizon": (10**19, 10**20, 10**21),
    "arms": (2, 50),
}


# a run is stuck until a later horizon more seldom, and the gap at which that exceeds the slope need not grow
FALLING = {"stuck_runs.stuck_chance": {"horizon"}, "stuck_runs.critical_gap": {"horizon"}}


def test_bounds_are_positive_and_grow_with_horizon_arms_and_privacy():
    for name in BOUNDS:
        function, given = BOUNDS[name], arguments(name)
        assert 0 < np.sum(function(**given)) < math.inf  # some return an array
        for key in GROWING.keys() & given.keys() - FALLING.get(name, set()):
            values = [np.sum(function(**arguments(name, **{key: value}))) for value in GROWING[key]]
            assert all(low <= high * (1 + 1e-12) for low, high in pairwise(values)), (key, values)


WRONG = {
    "gaps": [np.array([]), np.array([0.05, 0.0]), np.array([0.05, 1.5]), np.array([np.nan, 0.05])],
    "means": [np.array([]), np.array([-0.1, 0.3]), np.array([np.nan, 0.3])],
    "moments": [np.array([0.5, 1.1, 0.4]), np.array([0.5, np.nan, 0.4]), np.array([0.5, 0.01, 0.4])],
    "arms": [1, 0, -3],
    "horizon": [0, -1, math.nan],
    "delta": [-0.1, 1.0, math.nan],
    "noise": ["normal"],
    "allocation": ["thirds"],
    "u": [-1.0, 0.0, math.inf, math.nan],
    "epsilon": [-1.0, 0.0, math.inf, math.nan],
    "rho": [-1.0, 0.0, math.inf, math.nan],
}
ANY_NUMBER = [-1.0, 0.0, math.nan]
NOT_ASKED = {"rule": "is a policy, which asks for its own", "mean": "may be negative", "spread": "may be 0"}
NOT_ASKED |= {"policy": "asks for its own"}
NOT_ASKED |= {"deviation": "may be 0", "corruption": "may be 0"}
WITHOUT_PRIVACY = {  # bounds that allow the limit epsilon = inf
    "azize2025.lower_bound_slope",
    "azize2025.lower_bound_line",
    "azize2025.dp_klucb_line",
    "jourdan2025.characteristic_time",
    "jourdan2025.samples_lower_bound",
    "local_privacy.local_bernoulli_lower_bound_slope",
    "local_privacy.local_bernoulli_asymptote",
}


def refused(name, **changed):
    """The argument that a bound reports as out of range; None if it returns a value."""
    try:
        BOUNDS[name](**arguments(name, **changed))
    except ParameterError as error:
        return error.parameter
    return None


def wrong_arguments(name):
    """Arguments of a bound, each with a value that its theorem does not cover."""
    given = arguments(name)
    may_be_0 = {"variance", "epsilon"} if given.keys() & {"variance", "delta"} else set()
    for key in [key for key in given if key not in NOT_ASKED]:
        for value in WRONG.get(key, ANY_NUMBER):
            limit = key == "epsilon" and value == math.inf and name in WITHOUT_PRIVACY
            if not limit and not (key in may_be_0 and value == 0):
                yield key, value


@pytest.mark.parametrize("name", BOUNDS)
def test_no_argument_is_silently_out_of_range(name):
    assert any(wrong_arguments(name))
    for key, value in wrong_arguments(name):
        assert refused(name, **{key: value}) in (key, key.removesuffix("s"), key.removeprefix("least_")), (key, value)


def test_conditions_are_asked_for():
    conditions = [
        ("sajed2019.dp_se_pulls", {"gap": 0.0}, "gap"),
        ("sajed2019.dp_se_regret_order", {"gaps": np.array([0.5, 0.0])}, "gaps"),
        ("sajed2019.dp_se_worst_case_regret", {"arms": 1}, "arms"),
        ("sajed2019.consistent_lower_bound_slope", {"means": np.array([1.0, 0.5])}, "means"),
        ("sajed2019.private_lower_bound", {"horizon": 10**6}, "horizon"),
        ("sajed2019.private_lower_bound", {"gaps": np.array([0.6])}, "gaps"),
        ("sajed2019.private_lower_bound", {"epsilon": 1e-25}, "epsilon"),
        ("tao2022.dprse_pulls", {"epsilon": 2.0}, "epsilon"),
        ("tao2022.dprse_regret", {"v": 1.5}, "v"),
        ("tao2022.dprucb_regret", {"u": 0.0}, "u"),
        ("tao2022.heavy_lower_bound", {"gaps": np.array([0.2])}, "gaps"),
        ("tao2022.heavy_lower_bound", {"horizon": 10**9}, "horizon"),
        ("tao2022.heavy_two_armed_lower_bound", {"horizon": 10**9}, "horizon"),
        ("tao2022.local_lower_bound_slope", {"means": np.array([0.3, 0.1])}, "means"),
        ("wang2024.two_armed_transcript_lower_bound", {"epsilon": 1e-20, "delta": 0.0}, "horizon"),
        ("wang2024.two_armed_transcript_lower_bound", {"power": 1.0}, "power"),
        ("wang2024.transcript_lower_bound_order", {"horizon": 1}, "horizon"),
        ("wu2025.resampled_regret", {"noise": "normal"}, "noise"),
        ("wu2025.deterministic_lower_bound", {"horizon": 0}, "horizon"),
        ("azize2025.lower_bound_slope", {"means": np.array([0.5, 1.0])}, "means"),
        ("azize2025.lower_bound_line", {"horizon": 1}, "horizon"),
        ("azize2025.dp_klucb_line", {"ratio": 1.0}, "ratio"),
        ("azize2022.adap_ucb_regret", {"alpha": 3.0}, "alpha"),
        ("azize2022.weaker_lower_bound_slope", {"means": np.array([0.5, 0.0])}, "means"),
        ("gajane2018.klucb_cf_regret", {"c": 2.9}, "c"),
        ("gajane2018.klucb_cf_regret", {"means": np.array([0.5, 0.5])}, "means"),
        ("gajane2018.klucb_cf_regret", {"means": np.array([0.5, 1.0])}, "means"),
        ("gajane2018.klucb_cf_regret", {"horizon": 1}, "horizon"),
    ]
    assert [refused(name, **changed) for name, changed, _ in conditions] == [blamed for _, _, blamed in conditions]


def test_dp_se_whatever_the_gaps():
    log = 4 * math.log(5 * 1e9 * math.log2(2e9))
    expected = 1 + 64 * math.sqrt(log * 1e9) + 96 * log / 0.5
    assert math.isclose(sajed2019.dp_se_worst_case_regret(5, 0.5, 10**9), expected)
    assert sajed2019.dp_se_worst_case_regret(5, 0.5, 1000) == 1000
    for gap in np.geomspace(1e-4, 1, 40):  # below the smaller of the instance-dependent bound and gap T
        allowed = min(sajed2019.dp_se_regret(np.full(4, gap), 0.5, 10**9), gap * 1e9)
        assert allowed <= sajed2019.dp_se_worst_case_regret(5, 0.5, 10**9)


def test_upper_bounds_of_tao2022_agree_with_each_other():
    for name in ["dprse", "ldprse"]:
        worst = BOUNDS[f"tao2022.{name}_worst_case_regret"](5, 0.5, 10**18, 0.5, 1.0)
        for gap in np.geomspace(1e-8, 1, 60):
            allowed = BOUNDS[f"tao2022.{name}_regret"](np.full(4, gap), 0.5, 10**18, 0.5, 1.0)
            assert min(allowed, gap * 1e18) <= worst
        ratio = BOUNDS[f"tao2022.{name}_worst_case_regret"](5, 0.5, 10**60, 0.5, 1.0) / worst
        rate = {"dprse": 2 / 3, "ldprse": 5 / 6}[name]
        assert abs(math.log10(ratio) / 42 - rate) < 0.02


def test_pulls_do_not_change_with_the_unit_of_rewards():
    """Rewards times 2 make gaps times 2 and u times 2^(1+v): the epochs of DPRSE and LDPRSE move by one."""
    v, unit = 0.5, 2.0**-30
    for name in ("dprse", "ldprse"):
        pulls = BOUNDS[f"tao2022.{name}_pulls"]
        near, far = (pulls(gap * unit, 5, 0.5, 10**9, v, (gap * unit) ** (1 + v)) for gap in (1.0, 2.0**-4))
        assert math.isclose(near, far, rel_tol=0.02)  # except for the logarithm of the number of epochs
    for order, rises in (tao2022.dprse_regret_order, True), (tao2022.ldprse_regret_order, False):
        # regret in units of the gap, which must not change either
        near, far = (order(np.full(4, gap), 1e-3, 10**9, v, gap ** (1 + v)) / gap for gap in (1.0, 2.0**-4))
        assert far > 100 * near if rises else far < near / 100


@pytest.mark.slow
@pytest.mark.parametrize(("figure", "kind"), [("fig01_paper", S1), ("fig03_paper", S2), ("fig04_paper", S3)])
def test_dprse_keeps_lemma_4(figure, kind):
    for (epsilon, v, arm), group in load_pulls(f"tao2022/{figure}", policy="dprse").groupby(["epsilon", "v", "arm"]):
        instance = kind(v)
        if instance.gaps[arm] > 0:
            allowed = tao2022.dprse_pulls(float(instance.gaps[arm]), 5, epsilon, 10_000_000, v, instance.moment)
            assert group.pulls.max() <= allowed


def test_printed_constant_of_theorem_2_is_too_small():
    """With known means, DPRUCB pulls the worse of two arms until the indices meet: 8 times the printed bound."""
    gap, v, u, horizon = 0.5, 1.0, 0.5, 10**18
    log = math.log(2 * float(horizon) ** 4) * math.log(horizon) ** (1.5 + 1 / v)

    def bonus(pulls):
        return 18 * u ** (1 / (1 + v)) * (log / pulls) ** (v / (1 + v))

    pulls = optimize.brentq(lambda n: bonus(n) - bonus(horizon - n) - gap, 1.0, horizon / 2)
    printed = 36 * u ** (1 / v) * log / gap ** ((1 + v) / v) + 5
    assert pulls > 8 * printed
    assert pulls < tao2022.dprucb_pulls(gap, 1.0, horizon, v, u)


def test_noise_of_the_tree_exceeds_lemma_2():
    """At t = T - 1 = 2^14 - 1, 14 nodes of scale 2 log(T) / epsilon, logarithms to base 2 or natural.

    A sum of 14 Laplace variables is the difference of two Gamma variables. The lemma allows it to be above
    sqrt(log T) log(1 / delta) with probability delta.
    """

    def exceeded(log, delta):
        limit = math.sqrt(log) * math.log(1 / delta)
        both, _ = integrate.quad(lambda g: stats.gamma.pdf(g, 14) * stats.gamma.sf(limit + g, 14), 0, 200)
        return 2 * both

    binary, natural = 14.0, 14 * math.log(2)
    assert [round(exceeded(binary, delta), 3) for delta in (0.5, 0.1)] == [0.615, 0.103]
    assert [round(exceeded(natural, delta), 3) for delta in (0.5, 0.1)] == [0.675, 0.171]
    assert max(exceeded(log, 1e-4) for log in (binary, natural)) < 1e-4
    noise = np.random.default_rng(2).laplace(size=(100_000, 14)).sum(axis=1)
    assert abs((np.abs(noise) > math.sqrt(natural) * math.log(10)).mean() - 0.171) < 0.006  # five sigma


def test_mean_of_few_laplace_variables_exceeds_lemma_8():
    """One variable, beta = 0.001: |X| > 2 sqrt(log(2 / beta)) with probability exp of minus that."""
    assert math.exp(-2 * math.sqrt(math.log(2000))) > 4 * 0.001


@pytest.mark.parametrize("v", [0.5, 1.0])
def test_local_worst_case_lower_bound_has_the_printed_rate(v):
    values = [tao2022.local_worst_case_lower_bound(5, 0.5, horizon, v) for horizon in (1e12, 1e15)]
    assert abs(math.log10(values[1] / values[0]) / 3 - 1 / (1 + v)) < 0.01
    assert values[0] < tao2022.local_worst_case_lower_bound_order(5, 0.5, 1e12, v)
    assert values[0] < tao2022.ldprse_worst_case_regret(5, 0.5, 10**12, v, 1.0)


def test_lower_bounds_stay_below_upper_bounds():
    gaps = np.array([0.05, 0.07])
    assert sajed2019.private_lower_bound(gaps, 0.5, 10**19) < sajed2019.dp_se_regret(gaps, 0.5, 10**19)
    assert tao2022.heavy_lower_bound(gaps, 0.5, 10**19, 0.5) < tao2022.dprse_regret(gaps, 0.5, 10**19, 0.5, 0.5)
    upper = wang2024.gdp_elim_new_regret(np.array([0.25]), 1.0, 0.01, 10**9)
    assert wang2024.two_armed_transcript_lower_bound(1.0, 0.01, 10**9, 1.0, 0.5) < upper


def test_order_of_the_transcript_bound():
    growth = math.e - 1
    expected = 3 * math.log((growth * 1e6 + 1e4) / (growth + 1e4))
    assert math.isclose(wang2024.transcript_lower_bound_order(3, 1.0, 0.01, 10**6), expected)
    assert math.isclose(wang2024.transcript_lower_bound_order(3, 0.5, 0.0, 10**6), 6 * math.log(1e6))
    assert wang2024.transcript_lower_bound_order(3, 800.0, 0.0, 100) > 0
    assert wang2024.dp_ftpl_remainder_order(9, 0.1) == pytest.approx(9e4)


def gumbel_regret(arms, gap, epsilon, horizon, scale=2.0):
    """Exact expected regret of RNM-FTNL(0, Gumbel(scale / epsilon)): one arm of loss 0, the others of loss `gap`."""
    regret, start, length, wrong = 0.0, 1, 1, (arms - 1) / arms
    while start <= horizon:
        regret += gap * wrong * min(length, horizon - start + 1)
        lead = math.log(arms - 1) - length * gap * epsilon / scale
        wrong = 1 / (1 + math.exp(-lead)) if lead > -700 else 0.0
        start, length = start + length, 2 * length
    return regret


def test_deterministic_losses_between_theorems_3_and_4():
    for arms, epsilon in product((2, 10, 1000, 2**20), (0.1, 1.0, 5.0)):
        for horizon in (1, 2, 10, 100, 10**9):
            at_worst = gumbel_regret(arms, 1.0, epsilon, horizon)
            sharp = wu2025.deterministic_sharp_lower_bound(arms, epsilon, horizon)
            lower = wu2025.deterministic_lower_bound(arms, epsilon, horizon)
            assert 0 < lower <= sharp <= at_worst * (1 + 1e-12), (arms, epsilon, horizon)
        most = max(gumbel_regret(arms, gap, epsilon, 10**9) for gap in np.geomspace(1e-4, 1, 30))
        assert most <= wu2025.deterministic_regret(arms, epsilon), (arms, epsilon)
        assert most <= wu2025.deterministic_resampling_regret(arms, epsilon, "gumbel"), (arms, epsilon)


def test_theorem_4_needs_a_constant_and_its_own_law():
    assert gumbel_regret(1000, 1.0, 1000.0, 10**9) > 0.9 > 100 * math.log(1000) / 1000
    halved = 3 + 2 / 0.1 * (1 + 1 / math.log(2)) * math.log(1000)  # for exp(-epsilon G), with the true integral
    assert gumbel_regret(1000, 1.0, 0.1, 10**9, scale=1.0) < halved < gumbel_regret(1000, 1.0, 0.1, 10**9)
