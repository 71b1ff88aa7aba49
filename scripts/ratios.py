"""How many times the regret of DP-SE each form of DP-UCB has, in the 64 settings of Sajed and Sheffet (2019).

    python -m scripts.ratios

The interval is Fieller's 95 % interval of the ratio of means over replications.
"""

import pandas as pd

from experiments import intervals, load

HORIZON = 50_000_000


def table() -> pd.DataFrame:
    """One row per setting and form of DP-UCB: ratio of mean final regrets, its interval."""
    figures = [f"sajed2019/fig{number:02d}" for number in range(1, 13)]
    final = pd.concat([load(name, policy=["dp_se", "dp_ucb"], t=HORIZON) for name in (*figures, "sajed2019/tight")])
    final = final.drop_duplicates(["instance", "arms", "epsilon", "policy", "confidence", "replication"])
    rows = []
    for (instance, arms, epsilon), setting in final.groupby(["instance", "arms", "epsilon"]):
        dp_se = setting[setting.policy == "dp_se"].regret.to_numpy()
        for confidence, baseline in setting[setting.policy == "dp_ucb"].groupby("confidence"):
            dp_ucb = baseline.regret.to_numpy()
            rows.append((confidence, instance, arms, epsilon, *intervals.ratio(dp_ucb, dp_se, 0.05)))
    return pd.DataFrame(rows, columns=["confidence", "instance", "arms", "epsilon", "ratio", "low", "high"])


def main() -> None:
    """Entry point of `python -m scripts.ratios`."""
    ratios = table()
    print(ratios.to_string(index=False, float_format="{:.2f}".format))
    for confidence, group in ratios.groupby("confidence"):
        print(
            f"{confidence}: ratio from {group.ratio.min():.2f} to {group.ratio.max():.1f}, "
            f"at least 5 in {(group.ratio >= 5).sum()} of {len(group)} settings, "
            f"surely at least 5 (whole interval) in {(group.low >= 5).sum()}, "
            f"surely below 1 in {(group.high < 1).sum()}"
        )


if __name__ == "__main__":
    main()
