"""Tables of the atlas about other rewards and about the identification of the best arm, from invented numbers."""

from dataclasses import replace

import numpy as np
import pytest

from bandits.environments.bernoulli import Bernoulli
from bandits.environments.heavy_tails import Pareto
from bandits.environments.resampling import Beta
from experiments.store.stored import Cells
from scripts.atlas.choice import Field
from scripts.atlas.elsewhere import NOTHING, Elsewhere, bounded, heavy, identification, uniform_regret
from scripts.pages.prices import priced
from tests.scripts.drawing.test_winners import made_up

MEANS = (0.9, 0.1)  # uniform pulling costs 0.4 per step


def on(instance, policy, mean, *more, horizon=1000):
    stored = made_up(policy, 1, horizon, mean, *more)
    return replace(stored, cell=replace(stored.cell, instance=instance))


def rows(table, cells, value="regret"):
    of = Elsewhere(Cells(cells), value)
    field = Field([], [], [1.0], 1e-6, bounded=of)
    return table(of, field.standings, [1.0], 1e-6).splitlines()[2:]


def test_uniform_regret_by_hand():
    assert uniform_regret(on(Beta(MEANS, 2.0), "dp_se", 40.0)) == pytest.approx(400.0)
    assert uniform_regret(on(Beta((0.9, 0.5, 0.1), 2.0), "dp_se", 40.0)) == pytest.approx(400.0)


def test_a_policy_for_bits_takes_part_where_the_means_are_the_same():
    """DP-SE has 40 of 400 on raw rewards; DP-KLUCB 20 on bits, and 4 on bits with other means, which do not count."""
    cells = [
        on(Beta(MEANS, 2.0), "dp_se", 40.0),
        on(Bernoulli(MEANS), "dp_klucb", 20.0),
        on(Bernoulli((0.9, 0.2)), "dp_imed", 4.0),
        on(Bernoulli(MEANS), "klucb_cf", 80.0),
    ]
    quantiles = [np.quantile(mean + np.linspace(-1, 1, 200), 0.95) / 400 for mean in (20, 80)]
    central, local = (f"{of:.2g}" for of in quantiles)
    assert rows(bounded, cells) == [
        f"| Beta, c = 2, K = 2 | DP-KLUCB (bits): 0.05 / {central} | DP-KLUCB (bits): 0.05 / {central} "
        f"| KLUCB-CF (bits): 0.2 / {local} |"
    ]
    (alone,) = rows(bounded, cells[:1])
    assert alone.startswith("| Beta, c = 2, K = 2 | DP-SE: 0.1 / 0.1 ")
    assert alone.endswith("| – |")


@pytest.mark.parametrize(("regret", "learns"), [(358.0, True), (360.0, False), (400.0, False)])
def test_nothing_learns_unless_a_median_is_surely_below_the_limit(regret, learns):
    """The limit is 0.9 of 400; the interval of the median reaches 0.2 above the mean."""
    (row,) = rows(heavy, [on(Pareto(MEANS, 0.5), "dprse", regret, "instance=s1")])
    entry = row.split(" | ")[1]
    assert row.startswith("| v = 0.5, T = 1,000, K = 2 | ")
    assert entry == (f"DPRSE (s = 1): {regret / 400:.2g} / 0.9" if learns else NOTHING)


def test_pulls_until_the_best_arm_is_named():
    """Samples are the pulls until one arm is left, here from the record of regret."""
    cells = [made_up("dp_se", 1, 1000, 7.0)]
    of = Elsewhere(Cells(cells))
    (row,) = identification(of, Field([], [], [1.0], 1e-6, identified=of).standings, [1.0], 1e-6).splitlines()[2:]
    assert row == "| `c1`, K = 5 | DP-SE: 7 / 7.9 | – |"


def test_all_intervals_of_the_page_hold_together():
    """An interval is wider if there are more cells on the page."""
    (cell, *_), more = [made_up("dp_se", 1, 1000, 7.0)], [on(Pareto(MEANS, 0.5), "dprse", 7.0, "instance=s1")]
    alone = Field(priced([replace(cell, cell=replace(cell.cell, instance=Bernoulli(MEANS)))]), [], [1.0], 1e-6)
    beside = replace(alone, heavy=Elsewhere(Cells(more)))
    ours = next(iter(alone.standings))
    assert beside.standings[ours].quantiles[0.5].high > alone.standings[ours].quantiles[0.5].high
