"""Values are set and references followed as OmegaConf does it, by plain dictionaries that are not changed."""

import copy

import pytest
from omegaconf import OmegaConf

from experiments.config.compose import REPOSITORY, Composer, merged_keys, resolved, with_value
from experiments.config.overrides import PARTS
from experiments.config.plan import _combinations, plan
from experiments.errors import UserError

KEYS = {
    "instance": {"arms": 5, "profile": "${profile}", "means": [0.1, "${best}"]},
    "profile": {"gap": 0.25},
    "policy": {"epsilon": "${budget.epsilon}", "beta": None, "rate": "${half}"},
    "budget": {"epsilon": 1, "delta": None},
    "horizon": 1000,
    "half": "${budget.epsilon}",
    "best": 0.75,
    "results_dir": "${repository:runs}",
}
RESOLVED = {
    "instance": {"arms": 5, "profile": {"gap": 0.25}, "means": [0.1, 0.75]},
    "policy": {"epsilon": 1, "beta": None, "rate": 1},
    "results_dir": str(REPOSITORY / "runs"),
}


def test_references_are_followed_to_their_end():
    before = copy.deepcopy(KEYS)
    assert {key: resolved(KEYS, key) for key in RESOLVED} == RESOLVED
    resolved(KEYS, "instance")["means"][0] = 9
    assert before == KEYS


@pytest.mark.parametrize(
    ("values", "key", "expected"),
    [
        ({"budget.epsilon": 0.5}, "policy", {"epsilon": 0.5, "beta": None, "rate": 0.5}),
        ({"profile.gap": 0.125, "best": [1, 2]}, "instance.means", [0.1, [1, 2]]),
        ({"half": "0.${horizon}"}, "policy.rate", "0.1000"),
        ({"half": "${oc.decode:${best}}", "best": "0.5"}, "policy.rate", 0.5),
        ({"half": "${oc.select:best}"}, "policy.rate", 0.75),
        ({"policy.rate": "${.beta}", "policy.beta": 2}, "policy.rate", 2),
        ({"half": r"\${best}"}, "policy.rate", "${best}"),
        ({"best": "${horizon}"}, "instance.means", [0.1, 1000]),
        ({"best": ["${horizon}"]}, "instance.means", [0.1, [1000]]),
        ({"profile": {"gap": "${horizon}"}}, "instance.profile", {"gap": 1000}),
        ({"half": "${instance.means.0}", "instance.means": [3, 4]}, "policy.rate", 3),
        ({"profile": {"far": 1, "gap": 2}, "profile.gap": 3}, "instance.profile", {"far": 1, "gap": 3}),
        ({"instance.means": [1, 2], "instance.means.0": 3}, "instance.means", [3, 2]),
    ],
)
def test_values_are_set_as_omegaconf_sets_them(values, key, expected):
    before, keys, config = copy.deepcopy(KEYS), KEYS, OmegaConf.create(KEYS)
    for name, value in values.items():
        keys = with_value(keys, name, value)
        OmegaConf.update(config, name, value, merge=False)
    assert resolved(keys, key) == expected
    node = OmegaConf.select(config, key)
    assert (OmegaConf.to_container(node, resolve=True) if OmegaConf.is_config(node) else node) == expected
    assert before == KEYS


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("policy.bta", r"^policy\.bta: unknown key; did you mean policy\.beta"),
        ("polcy.beta", r"^polcy: unknown key; did you mean policy"),
        ("horizon.x", r"^horizon\.x: unknown key; horizon has no keys below it$"),
        ("instance.means.2", r"^instance\.means\.2: unknown key; .*instance\.means\.1"),
        ("instance.profile.gap", r"^instance\.profile\.gap: unknown key; instance\.profile has no keys below it$"),
    ],
)
def test_a_key_that_there_is_not_is_named_with_the_nearest(key, message):
    with pytest.raises(UserError, match=message):
        with_value(KEYS, key, 1)


@pytest.mark.parametrize(
    ("values", "key", "message"),
    [
        ({"half": "${nothing}"}, "policy", r"Interpolation key 'nothing' not found \(policy p\.yaml\)$"),
        (
            {"half": "${best}", "best": "${half}"},
            "policy",
            r"^policy\.rate: Recursive interpolation",
        ),
        ({"horizon": "???"}, "horizon", r"^horizon: Missing mandatory value: horizon"),
    ],
)
def test_a_wrong_reference_names_the_key(values, key, message):
    keys = KEYS
    for name, value in values.items():
        keys = with_value(keys, name, value)
    with pytest.raises(UserError, match=message):
        resolved(keys, key, " (policy p.yaml)")


@pytest.mark.parametrize(
    "above",
    [
        {"policy": {"beta": 0.5}, "more": 1},
        {"policy": None, "profile": {"gap": "???", "far": 2}},
        {"instance": {"means": [7], "arms": {"low": 1}}},
        {"budget": "${policy}", "best": "???"},
        {"instance": {"profile": {"far": 2}}},
    ],
)
def test_files_are_merged_as_omegaconf_merges_them(above):
    together = OmegaConf.merge(OmegaConf.create(KEYS), OmegaConf.create(above))
    assert merged_keys(KEYS, above) == OmegaConf.to_container(together, resolve=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wu2025/sweep_arms", "tao2022/rates", "sajed2019/tight", "atlas/arms"])
def test_experiments_plan_the_configs_that_omegaconf_resolves(name):
    composer = Composer()
    composed = composer.compose([f"+experiment={name}"])
    (planned,) = plan([[f"+experiment={name}"]], composer)
    settings = _combinations(composed)
    assert len(planned.requests) == len(settings) > 3
    for request, setting in list(zip(planned.requests, settings, strict=True))[::7]:
        config = composer.choose(composed, {key: value for key, value in setting if key in PARTS}).config.copy()
        for key, value in setting:
            if key not in PARTS:
                OmegaConf.update(config, key, value, merge=False)
        assert request.config == {key: OmegaConf.to_container(config, resolve=True)[key] for key in request.config}


def test_a_sweep_asks_for_the_same_as_its_jobs():
    jobs = [[f"horizon={horizon}", f"policy.beta={beta}"] for horizon in (100, 200) for beta in (0.1, 0.2, "null")]
    requests = [planned.requests for planned in plan(jobs, Composer())]
    assert requests == [plan([job], Composer())[0].requests for job in jobs]
