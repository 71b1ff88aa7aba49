"""A config that many cells share is resolved once, with the same values as if resolved for each cell."""

import pytest
from omegaconf import OmegaConf

from experiments.config import shared
from experiments.config.compose import Composed, Composer
from experiments.config.plan import plan, plan_all
from experiments.config.shared import SharedConfig
from experiments.errors import UserError

CELLS = {
    "instance": {"arms": 5, "profile": "${profile}", "means": [0.1, "${best}"]},
    "profile": {"gap": 0.25},
    "policy": {"epsilon": "${budget.epsilon}", "beta": None, "rate": "${half}"},
    "budget": {"epsilon": 1, "delta": None},
    "horizon": 1000,
    "replications": 30,
    "recorded": 200,
    "exact": False,
    "weighted": False,
    "half": "${budget.epsilon}",
    "best": 0.75,
    "results_dir": "${repository:runs}",
}
CHOICES = {"instance": "c1", "profile": "one_gap", "policy": "dp_se", "budget": "pure"}
FILES = {"instance": "i.yaml", "policy": "p.yaml"}


@pytest.fixture
def resolutions(monkeypatch):
    """Record the values with which a config was resolved: those of one cell, or placeholders."""
    found = []
    resolved = SharedConfig._resolved

    def counted(self, values):
        found.append(values)
        return resolved(self, values)

    monkeypatch.setattr(SharedConfig, "_resolved", counted)
    return found


def shared_config(keys, **changed):
    config = OmegaConf.create(CELLS | changed)
    OmegaConf.set_struct(config, True)
    return SharedConfig(Composed(config, CHOICES), Composer(), FILES, keys)


def test_values_are_where_they_are_referred_to(resolutions):
    config = shared_config(["budget.epsilon", "horizon", "profile.gap", "best"])
    for epsilon, horizon in ((0.5, 10), (None, 1e6), ("much", 7)):
        found = config.of({"budget.epsilon": epsilon, "horizon": horizon, "profile.gap": 0.125, "best": [1, 2]})
        assert found == {
            "instance": {"arms": 5, "profile": {"gap": 0.125}, "means": [0.1, [1, 2]]},
            "policy": {"epsilon": epsilon, "beta": None, "rate": epsilon},
            "budget": {"epsilon": epsilon, "delta": None},
            "horizon": horizon,
            "replications": 30,
            "recorded": 200,
            "exact": False,
            "weighted": False,
        }
    assert len(resolutions) == 1, "more than once"


def test_a_cell_has_nothing_of_another():
    config = shared_config(["best", "horizon"])
    first = config.of({"best": [1], "horizon": 5})
    first["policy"]["beta"] = first["instance"]["means"][1] = 9
    second = config.of({"best": [2], "horizon": 5})
    assert (second["policy"]["beta"], second["instance"]["means"]) == (None, [0.1, [2]])


@pytest.mark.parametrize(
    ("changed", "values", "key", "expected"),
    [
        ({"half": "0.${best}"}, {"best": 5}, ("policy", "rate"), "0.5"),
        ({"half": "${oc.decode:${best}}"}, {"best": "0.5"}, ("policy", "rate"), 0.5),
        ({"half": "${oc.select:best}"}, {"best": 5}, ("policy", "rate"), 5),
        ({}, {"best": "${horizon}"}, ("instance", "means"), [0.1, 1000]),
        ({}, {"best": ["${horizon}"]}, ("instance", "means"), [0.1, [1000]]),
        ({}, {"profile": {"gap": "${horizon}"}}, ("instance", "profile"), {"gap": 1000}),
        ({"half": "${instance.means.0}"}, {"instance.means": [3, 4]}, ("policy", "rate"), 3),
        ({}, {"profile": {"far": 1, "gap": 2}, "profile.gap": 3}, ("instance", "profile"), {"far": 1, "gap": 3}),
        ({}, {"instance.means": [1, 2], "instance.means.0": 3}, ("instance", "means"), [3, 2]),
    ],
)
def test_a_value_that_no_placeholder_can_hold_is_resolved_for_each_cell(resolutions, changed, values, key, expected):
    config = shared_config(values, **changed)
    for _ in range(2):
        assert config.of(values)[key[0]][key[1]] == expected
    assert resolutions.count(values) == 2


def test_an_interpolation_of_one_cell_does_not_stay():
    config = shared_config(["best"])
    assert config.of({"best": "${horizon}"})["instance"]["means"] == [0.1, 1000]
    assert config.of({"best": 5})["instance"]["means"] == [0.1, 5]
    assert config.of({"best": "${recorded}"})["instance"]["means"] == [0.1, 200]


def test_an_error_in_a_shared_config_names_the_key():
    composer = Composer()
    chosen = composer.choose(composer.compose([]), {})
    config = SharedConfig(chosen, composer, FILES, ["horizon", "policy.bta"])
    for _ in range(2):
        with pytest.raises(UserError, match=r"^policy\.bta: unknown key; did you mean policy\.beta"):
            config.of({"horizon": 5, "policy.bta": 1})
    config = shared_config(["horizon"], half="${nothing}")
    for _ in range(2):
        with pytest.raises(UserError, match=r"^policy\.rate: Interpolation key 'nothing' not found \(policy p\.yaml\)"):
            config.of({"horizon": 5})


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked", [["+experiment=wu2025/sweep_arms"], ["+experiment=tao2022/rates"], ["+experiment=sajed2019/tight"]]
)
def test_experiments_ask_for_the_same_as_resolved_cell_by_cell(monkeypatch, asked):
    found = plan(asked, Composer()).requests
    monkeypatch.setattr(shared, "_is_plain", lambda _: False)
    assert plan(asked, Composer()).requests == found
    assert len(found) > 3


def test_a_sweep_asks_for_the_same_as_its_jobs(resolutions):
    jobs = [[f"horizon={horizon}", f"policy.beta={beta}"] for horizon in (100, 200) for beta in (0.1, 0.2, "null")]
    found = [asked.requests for asked in plan_all(jobs, Composer())]
    assert len(resolutions) <= 3
    assert found == [plan(job, Composer()).requests for job in jobs]
