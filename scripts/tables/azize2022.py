"""Tables about Azize and Basu (2022)."""

from experiments import intervals
from scripts.tables.table import ERROR, Table, by, cells_of, where


def against_dp_se() -> Table:
    """How many times the final regret of AdaP-UCB and AdaP-KLUCB DP-SE has. The interval is Fieller's."""
    rows = []
    for (instance, epsilon), setting in by(cells_of("azize2022/epsilons"), "instance", "epsilon"):
        (dp_se,) = where(setting, policy="dp_se")
        of = {"instance": instance, "epsilon": epsilon}
        for name in ("adap_ucb", "adap_klucb"):
            (adap,) = where(setting, policy=name)
            of |= {f"DP-SE / {adap.cell.policy.label}": intervals.ratio(dp_se.headline, adap.headline, ERROR)}
        rows.append(of)
    return Table.of(rows)
