"""Numbers of docs/performance.md that follow from measured seconds, and the guard; nothing here measures time."""

import math

import numpy as np
import pytest

from bandits.environments.bernoulli import C1
from bandits.policies.elimination import DPSE
from bandits.policies.lazy import LazyDPTS
from bandits.policies.perturbed_leader import DPFTPLGauss
from bandits.policies.private_ucb import DPUCB
from bandits.policies.ucb import UCB1
from experiments.config.compose import REPOSITORY, Composer
from experiments.config.papers import papers
from experiments.config.plan import merge, plan_all
from scripts.bench import __main__ as page
from scripts.bench import again, guard
from scripts.bench.kernels import Speed, cell_of
from scripts.bench.libraries import Rival
from scripts.bench.plain import plain_loop

SPEED = Speed("mine", "c1", {10**4: 0.001, 10**6: 0.004, 10**10: 0.04}, plain=0.1, python=2e-6)


def test_slope_and_ratios_by_hand():
    assert SPEED.slope == pytest.approx(0.25), "ten times as long at 10^4 times the steps"
    assert SPEED.longest == 10**6
    assert SPEED.than_plain == pytest.approx(25)
    assert SPEED.than_python == pytest.approx(2.0 / 0.004)
    alone = Speed("mine", "c1", {10**4: 2.0}, plain=0.1, python=math.nan)
    assert math.isnan(alone.slope)
    assert math.isnan(alone.than_plain), "the plain loop was measured at another horizon"


def test_rows_of_the_page():
    assert page._speeds([SPEED]).splitlines()[-1] == ("| `mine` | c1 | 1 | – | 4 | – | 40 | – | 0.25 | 4 | 500 | 25 |")
    rivals = page._rivals([Rival("a 1.0", 100, 1e-8, 2.5e-7), Rival("b", problem="not installed")])
    assert rivals.splitlines()[2:] == ["| a 1.0 | 10 | 250 |", "| b | not installed | – |"]


def test_a_cell_of_a_policy_is_on_the_first_instance_that_it_accepts():
    composer = Composer()
    for name, instance in (("dp_se", "c1"), ("dprse", "s1"), ("vote_ftnl", "dtol_deterministic")):
        assert cell_of(name, 1_000, composer).instance.name == instance
    assert cell_of("dp_ftpl_new", 1_000, composer).policy.guarantee.delta == 0.01


@pytest.mark.parametrize("policy", [UCB1(), DPUCB(1.0), DPSE(0.5), DPFTPLGauss(1.0, 0.01)], ids=lambda of: of.name)
def test_plain_loops_play_the_horizon(policy):
    loop = plain_loop(policy, C1(5), 3_000)
    assert np.sum(loop(0)) == 3_000


def test_a_policy_without_a_plain_loop():
    assert plain_loop(LazyDPTS(1.0), C1(5), 3_000) is None


@pytest.mark.parametrize(("found", "code"), [(0.99, 1), (1e9, 0)])
def test_the_guard_fails_when_a_loop_is_too_slow(found, code, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["guard"])
    monkeypatch.setattr(guard, "factor", lambda policy, instance: found)
    with pytest.raises(SystemExit) as ended:
        guard.main()
    assert ended.value.code == code
    assert capsys.readouterr().out.count("too slow, at least") == code * len(guard.CASES)


def test_every_stored_cell_counts_once(monkeypatch):
    """Both papers have DP-SE on C1 to C4 at epsilon = 1; only the rest of the cells counts for the later paper."""
    monkeypatch.setattr(again, "papers", lambda: {"azize2022": papers()["azize2022"]})
    names = ["azize2022/curves", "azize2022/epsilons", "azize2025/curves"]
    monkeypatch.setattr(Composer, "choices", lambda self, group: names)
    monkeypatch.setattr(again, "SHORT", math.inf)
    found = list(again.costs(REPOSITORY / "results"))
    first, second = again.shares(found, lambda cost: cost.paper)
    assert (first.name, second.name) == (papers()["azize2022"].cited, "azize2025")
    plans = plan_all([[f"+experiment={name}"] for name in names], Composer())
    assert first.cells + second.cells == len(merge(request for asked in plans for request in asked.requests))
    assert all(share.runs >= share.cells > 0 for share in (first, second))
    assert all(cost.now == cost.stored > 0 for cost in found), "short cells count as they were stored"


def test_long_cells_are_timed_and_their_time_counts_for_every_run(monkeypatch):
    monkeypatch.setattr(again, "papers", dict)
    monkeypatch.setattr(Composer, "choices", lambda self, group: ["azize2022/curves"])
    monkeypatch.setattr(again, "SHORT", 0.0)
    monkeypatch.setattr(again, "seconds", lambda action, repeats: 0.5)
    found = list(again.costs(REPOSITORY / "results"))
    assert found
    assert all(cost.now == 0.5 * cost.runs for cost in found)


def test_costs_are_summed_by_name_in_the_order_of_names():
    first, second, third = (
        again.Cost("a", name, 2, 1.0, seconds) for name, seconds in (("x", 3.0), ("y", 4.0), ("x", 5.0))
    )
    assert again.shares([first, second, third], lambda cost: cost.policy) == [
        again.Share("x", 2, 4, 2.0, 8.0),
        again.Share("y", 1, 2, 1.0, 4.0),
    ]
    assert (
        page._again("policy", [again.Share("x", 2, 4000, 30.0, 90.0)]).splitlines()[-1]
        == "| x | 2 | 4,000 | 0.5 | 1.5 |"
    )
