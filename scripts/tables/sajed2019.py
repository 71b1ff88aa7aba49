"""Tables about Sajed and Sheffet (2019)."""

from bandits.arrays import FloatArray
from experiments import intervals
from experiments.config.papers import papers
from scripts.drawing.numbers import quantity
from scripts.tables.table import ERROR, Table, cells_of


def ratios() -> Table:
    """Final regret of each form of DP-UCB divided by that of DP-SE, in the 64 settings of Figures 1 to 12.

    The interval is Fieller's, for the ratio of means over replications. In the lines below the table all intervals of
    a form hold simultaneously.
    """
    cells = cells_of(*papers()["sajed2019"].printed, "sajed2019/tight").where(policy=["dp_se", "dp_ucb"])
    rows = []
    both: dict[str, list[tuple[FloatArray, FloatArray]]] = {}
    for (instance, arms, epsilon), setting in sorted(cells.by("instance", "arms", "epsilon").items()):
        (dp_se,) = setting.where(policy="dp_se")
        for (confidence,), (dp_ucb,) in sorted(setting.where(policy="dp_ucb").by("confidence").items()):
            ratio = intervals.ratio(dp_ucb.headline, dp_se.headline, ERROR)
            rows.append(
                {"confidence": confidence, "instance": instance, "arms": arms, "epsilon": epsilon, "ratio": ratio}
            )
            both.setdefault(confidence, []).append((dp_ucb.headline, dp_se.headline))
    return Table.of(rows, [_summary(confidence, of_form) for confidence, of_form in sorted(both.items())])


def _summary(confidence: str, both: list[tuple[FloatArray, FloatArray]]) -> str:
    """How often the ratio is at least 5, and the range of that number if all intervals hold simultaneously."""
    ratios = [intervals.ratio(above, below, ERROR / len(both)) for above, below in both]
    estimates = [ratio.estimate for ratio in ratios]
    return (
        f"{confidence}: ratio from {quantity(min(estimates))} to {quantity(max(estimates))}, "
        f"at least 5 in {sum(estimate >= 5 for estimate in estimates)} of {len(ratios)} settings "
        f"({sum(ratio.low >= 5 for ratio in ratios)} to {sum(ratio.high >= 5 for ratio in ratios)} "
        f"by intervals that all hold with probability {1 - ERROR:.0%}), "
        f"surely below 1 in {sum(ratio.high < 1 for ratio in ratios)}"
    )
