"""Columns of printed tables that `test_tables.py` does not see, each computed apart: by pandas, numpy or by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from bandits.bounds.noisy_leaders import random_prefix_never_varying_regret
from bandits.environments.heavy_tails import S3
from experiments import load, load_pulls
from experiments.intervals import Interval
from scripts.drawing.numbers import quantity
from scripts.tables import general, tables
from scripts.tables.table import Best, Table


def slope(x, y):
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def rows(frame, **columns):
    """The rows with these values."""
    for name, value in columns.items():
        frame = frame[frame[name].astype(object) == value]
    return frame


def test_the_rate_of_one_gap_by_hand():
    """8 (1 - log log K / log K): K = 16 has log K = 2.7726 and log log K = 1.0197."""
    frame = tables()["wu2025/one_gap"]().frame.set_index("K")
    assert frame.rate["2^4"] == "5.058"
    assert frame.rate["2^500"] == f"{8 - 8 * math.log(500 * math.log(2)) / (500 * math.log(2)):.3f}"
    assert frame.index.tolist() == [f"2^{power}" for power in (2, 4, 7, 10, 14, 20, 50, 100, 200, 500)]


@pytest.fixture(scope="module")
def rates():
    return tables()["wu2025/rates"]().frame.set_index(["losses", "B", "noise"])


@pytest.mark.slow
def test_exponents_of_wu2025(rates):
    """Each of the twelve rows; the losses of stochastic rows are bits, for which B changes nothing."""
    by_epsilon = load("wu2025/sweep_epsilon", record="exact").query("epsilon <= 0.1")
    by_gap = load("wu2025/sweep_gap", record="exact").query("gap <= 0.01")
    for (losses, resample, noise), row in rates.iterrows():
        same = {"deterministic": ("dtol_deterministic", bool(resample)), "stochastic": ("dtol_bernoulli", False)}
        instance, resampled = same[losses]
        few, small = (rows(of, instance=instance, resample=resampled, noise=noise) for of in (by_epsilon, by_gap))
        assert row["1/ε"].estimate == pytest.approx(slope(1 / few.epsilon, few.regret), rel=1e-6)
        assert row["1/Δ"].estimate == pytest.approx(slope(1 / small.gap, small.regret), rel=1e-6)
    printed = rates.printed.groupby(["losses", "B"]).unique().map(list)
    assert printed["deterministic", 0] == ["log(K)/ε for Gumbel and exponential, log(K)²/ε for Laplace"]
    assert printed["deterministic", 1] == printed["stochastic", 1] == ["log(K)/Δ + log(K)²/ε"]
    assert printed["stochastic", 0] == ["log(K)/Δ + log(K) log(T)/ε"]


@pytest.mark.slow
def test_exponents_in_log_k(rates):
    """The least and the largest over profiles of losses that never vary."""
    regret = load("wu2025/open_questions").query("arms >= 64")
    for (losses, resample, noise), row in rates.iterrows():
        if losses == "stochastic":
            assert row["log K"] == "–"
            continue
        of_row = rows(regret, noise=noise, resample=bool(resample))
        found = [slope(np.log(group.arms), group.regret) for _, group in of_row.groupby(of_row.profile, observed=True)]
        ends = dict.fromkeys(map(quantity, (min(found), max(found))))
        assert row["log K"] == " to ".join(ends)


@pytest.mark.slow
def test_growth_in_t(rates):
    """Of stochastic losses without resampling from simulated runs, of the others from exact cells."""
    curves = load("wu2025/regret_curves", policy="rnm_ftnl")
    for (losses, resample, noise), row in rates.iterrows():
        instance = {"deterministic": "dtol_deterministic", "stochastic": "dtol_beta"}[losses]
        record = "regret" if (losses, resample) == ("stochastic", 0) else "exact"
        of_row = rows(curves, instance=instance, noise=noise, record=record, resample=bool(resample))
        mean = of_row.groupby("t").regret.mean()
        early = np.interp(2**12, mean.index, mean)
        assert row["growth in T"].estimate == pytest.approx(1 - early / mean.iloc[-1], rel=1e-6)


@pytest.mark.slow
def test_prefixes_relative_to_their_bound():
    frame = tables()["wu2025/prefixes"]().frame.set_index(["losses", "noise"])
    cells = load("wu2025/random_prefix", policy="random_prefix")
    for (losses, noise), row in frame.iterrows():
        of_row = rows(cells, instance=f"dtol_{losses}", noise=noise)
        shares = [
            regret / random_prefix_never_varying_regret(arms, epsilon, noise)
            for regret, arms, epsilon in zip(of_row.regret, of_row.arms, of_row.epsilon, strict=True)
        ]
        wanted = " to ".join(dict.fromkeys(map(quantity, (min(shares), max(shares)))))
        assert row["prefix / bound"] == (wanted if losses == "deterministic" else "–")


@pytest.mark.slow
def test_runs_that_have_removed_an_arm():
    frame = tables()["tao2022/lost_best_arm"]().frame.set_index(["constants", "v", "ε", "horizon"])
    pulls = load_pulls("tao2022/local_horizons")
    spread = pulls.groupby(["constants", "v", "epsilon", "horizon", "replication"]).pulls.agg(lambda of: np.ptp(of) > 1)
    removed = spread.groupby(["constants", "v", "epsilon", "horizon"]).agg(["sum", "size"])
    removed = removed[removed["sum"] > 0]
    assert sorted(frame.index) == sorted(removed.index)
    for where, (some, runs) in removed.iterrows():
        assert frame.loc[where, "removed an arm"] == f"{some} of {runs}"


def test_the_shares_of_regret_that_tao2022_learns():
    """The regret of pulling all arms in turn is the mean gap times T."""
    frame = tables()["tao2022/learning"]().numbers()
    (row,) = frame.query("instance == 's3' and v == 0.9 and ε == 1 and policy == 'DPRSE (s = 1)'").to_dict("records")
    final = load("tao2022/fig04_paper", policy="dprse", v=0.9, epsilon=1).query("t == horizon")
    means = S3(v=0.9).mean_rewards
    assert (row["arms"], row["T"]) == (5, final.horizon.iloc[0])
    assert row["regret"] == pytest.approx(final.regret.mean() / ((means.max() - means).mean() * row["T"]), rel=1e-6)


@pytest.mark.slow
def test_printed_rates_of_tao2022():
    """Sums of gap^(-1/v) are printed, which are pulls of gap^(-1/v - 1); epochs grow with gap^(-(1 + v) / v)."""
    found = tables()["tao2022/rates"]().frame.to_dict("records")
    assert [(row["model"], row["policy"].split()[0], row["v"], row["printed regret"]) for row in found] == [
        ("epsilon-DP", "DPRSE", 0.5, "sum of gap^(-2)"),
        ("epsilon-DP", "DPRSE", 0.9, "sum of gap^(-1.11)"),
        ("epsilon-LDP", "LDPRSE", 0.5, "sum of gap^(-2)"),
        ("epsilon-LDP", "LDPRSE", 0.9, "sum of gap^(-1.11)"),
    ]
    assert [row["printed pulls"] for row in found] == ["gap^-3", "gap^-2.11"] * 2
    assert all(isinstance(row["measured"], Interval) for row in found)


@pytest.mark.slow
def test_regret_of_both_start_phases():
    frame = tables()["wang2024/start_phases"]().numbers()
    mean = load("wang2024/start_phases").groupby(["policy", "epsilon", "delta", "start_phase"]).regret.mean()
    for row in frame.to_dict("records"):
        for form in ("paper", "exact"):
            wanted = mean[row["policy"], row["epsilon"], row["delta"], form]
            assert row[f"regret {form}"] == pytest.approx(wanted, rel=1e-6)
    assert (frame["N paper"] >= frame["N exact"]).all()


@pytest.mark.slow
def test_published_ends_and_their_figures():
    frame = tables()["hu2022/published"]().frame
    assert frame[["figure", "policy", "epsilon", "printed"]].to_numpy().tolist() == [
        ["Figure 2", "anytime_lazy_ucb", 1, 2430],
        ["Figure 3", "anytime_lazy_ucb", 0.5, 3330],
        ["Figure 4", "anytime_lazy_ucb", 0.25, 3830],
        ["Figure 4", "lazy_dp_ts", 0.25, 1920],
        ["Figure 5", "anytime_lazy_ucb", 0.1, 7690],
        ["Figure 5", "lazy_dp_ts", 0.1, 3850],
        ["Figure 11", "anytime_lazy_ucb", 500, 765],
        ["Figure 12", "anytime_lazy_ucb", 1, 1530],
        ["Figure 13", "anytime_lazy_ucb", 0.5, 3070],
    ]


def test_runs_that_differ_by_rounding_alone_have_no_deviation():
    assert general._deviation(np.array([0.1 + 0.2, 0.3, 0.3])) == 0.0
    assert general._deviation(np.full(7, 1e4 / 3)) == 0.0
    assert general._deviation(np.array([1.0, 3.0])) == pytest.approx(math.sqrt(2))
    assert math.isnan(general._deviation(np.array([1.0])))


def test_arms_with_equal_pulls_lead_nobody():
    """Arms 0 and 2 are best."""
    pulls = np.array([[5, 5, 1], [5, 4, 1], [1, 5, 6], [2, 3, 2]])

    def leads(gaps):
        instance = SimpleNamespace(gaps=np.array(gaps))
        return general._best_leads(SimpleNamespace(cell=SimpleNamespace(instance=instance), pulls=pulls))

    assert leads([0.0, 0.1, 0.0]) == "2 of 4"
    assert leads([0.0, 0.0, 0.0]) == "–"


def test_a_table_in_other_formats():
    table = Table.of(
        [
            {"policy": "A & B", "mean regret": Best(Interval(1234.5, 1200.0, 1270.0))},
            {"policy": "ε | 1", "mean regret": Interval(2.0, 2.0, 2.0)},
        ],
        ["5 % more"],
    )
    assert table.latex("Title").splitlines() == [
        *("% Title", "% 5 % more", r"% \usepackage{booktabs}", r"\begin{tabular}{lr}", r"\toprule"),
        *(r"policy & mean regret \\", r"\midrule", r"A \& B & \textbf{1,234 [1,200 to 1,270]} \\"),
        *(r"\ensuremath{\varepsilon} | 1 & 2 \\", r"\bottomrule", r"\end{tabular}"),
    ]
    assert table.markdown("Title").splitlines() == [
        *("Title", "", "| policy | mean regret |", "| --- | ---: |"),
        *("| A & B | 1,234 [1,200 to 1,270] * |", "| ε \\| 1 | 2 |", "", "5 % more"),
    ]
    assert table.csv("Title").splitlines() == [
        "policy,mean regret,mean regret_low,mean regret_high",
        "A & B,1234.5,1200.0,1270.0",
        "ε | 1,2.0,2.0,2.0",
    ]
