"""Tables about Sajed and Sheffet (2019)."""

from experiments import intervals
from experiments.intervals import Interval
from experiments.papers import papers
from scripts.drawing.numbers import quantity
from scripts.tables.table import ERROR, Table, by, cells_of, where


def ratios() -> Table:
    """How many times the final regret of DP-SE each form of DP-UCB has, in the 64 settings of Figures 1 to 12.

    The interval is Fieller's, of the ratio of means over replications.
    """
    cells = where(cells_of(*papers()["sajed2019"].printed, "sajed2019/tight"), policy=["dp_se", "dp_ucb"])
    rows = []
    for (instance, arms, epsilon), setting in by(cells, "instance", "arms", "epsilon"):
        (dp_se,) = where(setting, policy="dp_se")
        for (confidence,), (dp_ucb,) in by(where(setting, policy="dp_ucb"), "confidence"):
            ratio = intervals.ratio(dp_ucb.headline, dp_se.headline, ERROR)
            rows.append(
                {"confidence": confidence, "instance": instance, "arms": arms, "epsilon": epsilon, "ratio": ratio}
            )
    forms = sorted({row["confidence"] for row in rows})
    return Table.of(
        rows, [_summary(form, [row["ratio"] for row in rows if row["confidence"] == form]) for form in forms]
    )


def _summary(confidence: str, ratios: list[Interval]) -> str:
    estimates = [ratio.estimate for ratio in ratios]
    return (
        f"{confidence}: ratio from {quantity(min(estimates))} to {quantity(max(estimates))}, "
        f"at least 5 in {sum(estimate >= 5 for estimate in estimates)} of {len(ratios)} settings, "
        f"surely at least 5 (whole interval) in {sum(ratio.low >= 5 for ratio in ratios)}, "
        f"surely below 1 in {sum(ratio.high < 1 for ratio in ratios)}"
    )
