"""Tables about Azize and Basu (2022)."""

from experiments import intervals
from scripts.tables.table import ERROR, Table, cells_of


def against_dp_se() -> Table:
    """Final regret of DP-SE divided by that of AdaP-UCB and of AdaP-KLUCB. The interval is Fieller's."""
    rows = []
    for (instance, epsilon), setting in sorted(cells_of("azize2022/epsilons").by("instance", "epsilon").items()):
        (dp_se,) = setting.where(policy="dp_se")
        labels = {"instance": instance, "epsilon": epsilon}
        for name in ("adap_ucb", "adap_klucb"):
            (adap,) = setting.where(policy=name)
            labels |= {f"DP-SE / {adap.cell.policy.label}": intervals.ratio(dp_se.headline, adap.headline, ERROR)}
        rows.append(labels)
    return Table.of(rows)
