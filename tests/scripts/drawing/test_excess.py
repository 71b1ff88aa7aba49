"""The kind of figure that draws what rho adds to mean regret."""

import math

import numpy as np
import pytest

from bandits.bounds.concentrated_kl import price_of_rho
from bandits.environments.bernoulli import C1
from bandits.policies.batched_index import ZCDPKLUCB
from experiments.cells.regret import RegretCell
from experiments.errors import UserError
from experiments.store.stored import Cells, Stored
from scripts.drawing.kinds.excess import describe

FIGURE = {"title": "price", "free": 1e99, "panels": [{"title": "a", "instance": "c1"}]}


def stored(rho, *regret):
    values = np.array(regret)
    rows = {"t": np.full((len(values), 1), 1000), "regret": values[:, None], "pulls": np.zeros((len(values), 5))}
    return Stored(rows, {}, RegretCell(C1(5), ZCDPKLUCB(rho), 1000, recorded=1))


def test_differences_by_hand():
    """Means 10 and 16 less 4: 6 and 12, each within the root of the squared half widths, 12.7062 times 1 and 2."""
    (panel,) = describe(
        FIGURE, Cells([stored(1e99, 3.0, 5.0), stored(1.0, 9.0, 11.0), stored(0.5, 14.0, 18.0)]), {}
    ).panels
    own, term = panel.marks
    x = math.log(math.log(1000))
    assert own.x.tolist() == term.x.tolist() == pytest.approx([x, 2 * x])
    assert own.y.tolist() == [6, 12]
    assert own.high.tolist() == pytest.approx([6 + 12.7062 * math.sqrt(2), 12 + 12.7062 * math.sqrt(5)], rel=1e-5)
    assert term.y[1] == pytest.approx(price_of_rho(C1(5).mean_rewards, 0.5, 1000))


def test_a_difference_below_zero_is_left_out():
    (panel,) = describe(
        FIGURE, Cells([stored(1e99, 3.0, 5.0), stored(1.0, 2.0, 1.0), stored(0.5, 14.0, 18.0)]), {}
    ).panels
    assert panel.marks[0].y.tolist() == [12]


def test_what_is_refused():
    for config, said in (
        ({"free": 1e98}, "^figure.free: 0 cells of a have rho = 1e.98 at T = 1000$"),
        ({"free": "no"}, "^figure.free: "),
        ({"panels": [{"title": "a", "depth": 1}]}, "^figure.panels: no column depth"),
        ({"kept": 1}, "^figure.kept: "),
    ):
        with pytest.raises(UserError, match=said):
            describe(FIGURE | config, Cells([stored(1e99, 3.0, 5.0), stored(1.0, 9.0, 11.0)]), {})
