"""Tables about Hu and Hegde (2022)."""

import numpy as np

from experiments.intervals import exactly
from scripts.tables.table import Table, cells_of

# Final values of curves in their figures, as read from the plots: by policy, instance and epsilon.
PUBLISHED = {
    ("anytime_lazy_ucb", "c2", 1): ("Figure 2", 2430),
    ("anytime_lazy_ucb", "c2", 0.5): ("Figure 3", 3330),
    ("anytime_lazy_ucb", "c2", 0.25): ("Figure 4", 3830),
    ("anytime_lazy_ucb", "c2", 0.1): ("Figure 5", 7690),
    ("lazy_dp_ts", "c2", 0.25): ("Figure 4", 1920),
    ("lazy_dp_ts", "c2", 0.1): ("Figure 5", 3850),
    ("anytime_lazy_ucb", "bernoulli", 500): ("Figure 11", 765),
    ("anytime_lazy_ucb", "bernoulli", 1): ("Figure 12", 1530),
    ("anytime_lazy_ucb", "bernoulli", 0.5): ("Figure 13", 3070),
}


def published() -> Table:
    """Final values of curves in the paper's figures, and medians of our runs with either logarithm, if it was run."""
    cells = cells_of("hu2022/c2", "hu2022/large_gaps", "hu2022/logarithms")
    rows = []
    for (policy, instance, epsilon), setting in cells.by("policy", "instance", "epsilon").items():
        figure, printed = PUBLISHED.get((policy, instance, epsilon), ("", 0))
        if not figure:
            continue
        finals = {stored.columns["logarithm"]: exactly(float(np.median(stored.headline))) for stored in setting}
        ours = {f"median, {base}": finals.get(base, "–") for base in ("binary", "natural")}
        rows.append({"figure": figure, "policy": policy, "epsilon": epsilon, "printed": printed, **ours})
    return Table.of(sorted(rows, key=lambda row: (int(str(row["figure"]).split()[1]), row["policy"])))
