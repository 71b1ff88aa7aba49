"""Every table is made from stored results, and one value of each is also computed by other means."""

import math
import sys
import types

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bandits.bounds.stuck_runs import stuck_regret
from bandits.environments.bernoulli import C1, Linear9
from bandits.environments.heavy_tails import S3
from bandits.mechanisms import start_phases
from bandits.policies.batched_index import DPKLUCB
from bandits.policies.heavy_tailed import DPRSE
from experiments import load, load_pulls
from experiments.config.papers import papers
from experiments.intervals import Interval, exactly
from scripts import tables as package
from scripts.drawing.numbers import quantity
from scripts.tables import about_any_experiment, tables, title
from scripts.tables.__main__ import main
from scripts.tables.table import KIND, Table, written
from tests.rows import require_rows

NAMES = [
    "azize2022/against_dp_se",
    "azize2025/lower_bound",
    "azize2025/stuck",
    "final_regret",
    "spread",
    "rare_runs",
    "slopes",
    "hu2022/published",
    "repository/numbers",
    "sajed2019/ratios",
    "tao2022/separation",
    "tao2022/lost_best_arm",
    "tao2022/rates",
    "tao2022/learning",
    "wang2024/start_phases",
    "wu2025/rates",
    "wu2025/one_gap",
    "wu2025/prefixes",
    "wu2025/offsets",
]


@pytest.fixture
def printed(call):
    """The lines that the command prints after the title, which is checked."""

    def printed(name, *words):
        outcome = call(name, *words, main=main)
        assert (outcome.code, outcome.err) == (0, "")
        first, *lines = outcome.out.splitlines()
        assert title(tables()[name]) in first
        return lines

    return printed


def line(lines, *words):
    """The one line that begins with these words in this order."""
    (found,) = (text for text in lines if text.split()[: len(words)] == list(words))
    return found


def student(values):
    """Mean and 95 % interval as a table writes them, computed by scipy."""
    low, high = stats.ttest_1samp(values, 0).confidence_interval()
    return f"{quantity(values.mean())} [{quantity(low)} to {quantity(high)}]"


def test_tables_are_found():
    require_rows(tables(), NAMES, "tests/scripts/tables/test_tables.py, NAMES", '"NAME",')
    assert {name for name in NAMES if about_any_experiment(tables()[name])} == {
        "final_regret",
        "rare_runs",
        "slopes",
        "spread",
    }
    assert {name.partition("/")[0] for name in NAMES if "/" in name} <= {*papers(), "repository"}


def test_a_table_is_found_by_being_there(monkeypatch):
    def fresh() -> Table:
        """What is fresh."""
        return Table.of([])

    def count() -> int:
        return 3

    module = types.ModuleType("scripts.tables.mine2025")
    fresh.__module__ = count.__module__ = module.__name__
    imported = tables()["tao2022/rates"]
    vars(module).update(fresh=fresh, _hidden=fresh, count=count, rates=imported, Table=Table, NOISES=("a",))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    listed = [types.SimpleNamespace(name="mine2025"), types.SimpleNamespace(name="__main__")]
    monkeypatch.setattr(package.pkgutil, "iter_modules", lambda path: listed)
    assert tables() == {"mine2025/fresh": fresh}
    assert title(fresh) == "What is fresh."


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_without_a_name_all_are_listed(call, words):
    outcome = call(*words, main=main)
    assert outcome.code == 0
    lines = outcome.out.splitlines()[2:]
    assert [text.split()[0] for text in lines] == NAMES
    assert all(title(table) in text for text, table in zip(lines, tables().values(), strict=True))
    assert line(lines, "slopes", "EXPERIMENT")


def test_errors_are_one_line(call):
    for words, message in [
        (["sajed2019/ratio"], "error: sajed2019/ratio: unknown table; did you mean sajed2019/ratios?"),
        (
            ["azize2025/lower_bound", "csv=/no/such/folder/x.csv"],
            "error: csv=/no/such/folder/x.csv: cannot be written: ",
        ),
        (["slope"], "error: slope: unknown table; did you mean slopes?"),
        (
            ["tao2022/rates", "wang2024/fig06"],
            "takes csv=FILE, format=NAME or nothing after its name, got wang2024/fig06",
        ),
        (["slopes"], "error: slopes: of which experiment? give its name"),
        (["slopes", "horizon=1e4"], "error: slopes: of which experiment? give its name"),
        (["slopes", "wang2024/fig66"], "unknown experiment; did you mean wang2024/fig06"),
        (["slopes", "wang2024/fig04"], "error: wang2024/fig04: its figure fits no slope"),
        (["slopes", "wang2024/start_phases"], "error: wang2024/start_phases: its figure fits no slope"),
        (["slopes", "wang2024/fig06", "published_dir=null"], "72 of 72 cells are not stored yet; run: python -m"),
        (
            ["final_regret", "wang2024/fig04", "horizon=1e4"],
            "run: python -m experiments.run +experiment=wang2024/fig04",
        ),
        (["final_regret", "sajed2019/stopping_mean"], "sajed2019/stopping_mean: none of its cells records regret"),
    ]:
        outcome = call(*words, main=main)
        assert outcome.code == 2
        assert message in outcome.err
        assert outcome.err.count("\n") == 1
        assert outcome.err.startswith("error: ")
        assert outcome.out == "" or "csv=" in message


def test_a_table_goes_into_a_file_with_all_digits(call, tmp_path):
    outcome = call("final_regret", "sajed2019/fig03", f"csv={tmp_path}/regret.csv", main=main)
    table = pd.read_csv(tmp_path / "regret.csv")
    assert (outcome.code, outcome.err) == (0, "")
    asked = table[(table.policy == "DP-SE") & (table.epsilon == 0.1)].iloc[0]
    final = load("sajed2019/fig03", policy="dp_se", epsilon=0.1, t=50_000_000).regret
    half = stats.t.ppf(0.975, len(final) - 1) * final.std() / np.sqrt(len(final))
    assert asked["mean"] == pytest.approx(final.mean(), rel=1e-12)
    assert asked.mean_high - asked["mean"] == pytest.approx(half, rel=1e-9)
    assert asked.sd == pytest.approx(final.std(), rel=1e-12)
    assert "sd_low" not in table


def test_several_tables_do_not_go_into_one_file(call, tmp_path):
    outcome = call(
        "final_regret", "-m", "+experiment=sajed2019/fig03,sajed2019/fig04", f"csv={tmp_path}/x.csv", main=main
    )
    assert (outcome.code, "would hold 2 tables; ask for one" in outcome.err) == (2, True)
    assert not (tmp_path / "x.csv").exists()


def test_values_are_written():
    assert written(Interval(1234.5, 1200.0, 1300.0)) == "1,234 [1,200 to 1,300]"
    assert written(Interval(0.0, 0.0, 0.5)) == "0 [0 to 0.5]"
    assert written(exactly(0.5)) == "0.5"
    assert written(exactly(np.nan)) == "–"
    assert written(True) == "true"
    assert written("dp_se") == "dp_se"
    assert written(10**5) == "10⁵"
    table = Table.of([{"a": 1, "b": True, "c": Interval(0.0, -1.0, 1.0)}, {"a": 20, "b": "", "c": exactly(2)}], ["end"])
    assert [text.split() for text in table.text("About.").splitlines()] == [
        f"About. In brackets: 95 % intervals, {KIND}.".split(),
        ["a", "b", "c"],
        ["1", "true", "0", "[−1", "to", "1]"],
        ["20", "2"],
        ["end"],
    ]
    assert Table.of([{"a": 1}]).text("About.").splitlines()[0] == "About."


@pytest.mark.slow
def test_ratios(printed):
    lines = printed("sajed2019/ratios")
    regret = load("sajed2019/fig05", instance="c1", arms=5, epsilon=1, t=50_000_000).groupby("policy").regret.mean()
    ratio = quantity(regret["dp_ucb"] / regret["dp_se"])
    assert line(lines, "mishra2015", "c1", "5", "1").split()[4] == ratio
    assert len(lines) == 1 + 2 * 64 + 2
    assert lines[-2].startswith("mishra2015: ratio from ")
    assert "at least 5 in 64 of 64 settings (64 to 64 by intervals that all hold with probability 95%)" in lines[-2]
    assert lines[-2].endswith("surely below 1 in 0")
    assert "at least 5 in 8 of 64 settings (8 to 10 by intervals" in lines[-1]


@pytest.mark.slow
def test_separation(printed):
    lines = printed("tao2022/separation")
    final = load("tao2022/local_horizons", constants="scaled", v=0.9, horizon=1e6, t=1e6)
    of_row = line(lines, "scaled", "0.9", "10⁶")
    assert all(student(group.regret) in of_row for _, group in final.groupby("epsilon"))
    assert of_row.endswith("true")
    assert line(lines, "scaled", "0.9", "10⁷").endswith("false")
    assert lines[-1] == "scaled, v = 0.9: separate at T = 10⁵, 10⁶; not at 10,000, 10⁷, 10⁸, 10⁹, 10¹⁰"
    assert len(lines) == 1 + 30 + 4


@pytest.mark.slow
def test_lost_best_arms(printed):
    lines = printed("tao2022/lost_best_arm")
    pulls = load_pulls("tao2022/local_horizons", constants="scaled", v=0.9, epsilon=20, horizon=1e6)
    by_run = pulls.pivot(index="replication", columns="arm", values="pulls")
    lost = float((by_run.idxmax(axis=1) != 0).mean())  # no run ends while two arms are pulled in turn
    assert line(lines, "scaled", "0.9", "20", "10⁶").split()[-4] == quantity(lost)
    scaled = [float(text.split()[-4]) for text in lines if text.split()[0] == "scaled"]
    assert (round(min(scaled), 2), round(max(scaled), 2)) == (0.02, 0.14)
    assert all(text.split()[-4] == "0" for text in lines if text.split()[0] == "paper")


@pytest.fixture(scope="module")
def learning():
    return tables()["tao2022/learning"]().numbers()


def test_the_horizon_is_the_least_at_which_an_arm_can_be_removed(learning):
    (row,) = learning.query("instance == 's3' and v == 0.9 and ε == 1 and policy == 'DPRSE (s = 1)'").index
    least = int(learning["removes from T ="][row])
    assert DPRSE(epsilon=1).first_removal(S3(v=0.9), least) <= least
    assert math.isinf(DPRSE(epsilon=1).first_removal(S3(v=0.9), least - 1))


def test_nothing_is_learned_exactly_below_the_horizon_of_the_first_removal(learning):
    learned = learning["regret"] < 1 - 1e-9
    assert (learned == (learning["T"] >= learning["removes from T ="])).all()
    assert 0 < learned.sum() < len(learning) == 39


def test_proved_constants_lie_between_printed_and_scaled_ones(learning):
    for scaled, rows in learning[learning.policy != "Robust SE"].groupby(learning.policy.str.contains("0.0833")):
        later = rows["proved, from T ="] > rows["removes from T ="]
        assert (later == scaled).all(), "later epochs are those of the scaled constants"


@pytest.mark.slow
def test_rates_of_tao2022(printed):
    lines = printed("tao2022/rates")
    pulls = load_pulls("tao2022/rates", policy="dprse", v=0.5, arm=1).groupby("means").pulls.mean().sort_index()
    exponent = np.log2(pulls.to_numpy()[4:] / pulls.to_numpy()[:-4]).mean()  # gaps fall by 2^(1/4) each
    assert f" gap^-3 {quantity(exponent)} [" in " ".join(
        line(lines, "epsilon-DP", "DPRSE", "(s", "=", "1)", "0.5").split()
    )
    assert len(lines) == 1 + 4


@pytest.mark.slow
def test_start_phases(printed):
    lines = printed("wang2024/start_phases")
    of_row = line(lines, "dp_ftpl_gauss", "0.1", "0.001")
    regret = load("wang2024/start_phases", policy="dp_ftpl_gauss", epsilon=0.1, delta=0.001, start_phase="exact").regret
    assert of_row.split()[3:5] == ["1,229", str(start_phases.gauss_exact(0.1, 0.001))]
    assert of_row.endswith(student(regret))
    assert len(lines) == 1 + 16


@pytest.mark.slow
def test_rates_of_wu2025(printed):
    lines = printed("wu2025/rates")
    regret = load("wu2025/sweep_epsilon", record="exact", instance="dtol_deterministic", noise="gumbel", resample=True)
    few = regret[regret.epsilon <= 0.1]
    exponent = -np.polyfit(np.log(few.epsilon), np.log(few.regret), 1)[0]
    words = line(lines, "deterministic", "1", "gumbel").split()
    assert words[-3] == quantity(exponent)
    curve = load(
        "wu2025/regret_curves", record="exact", instance="dtol_deterministic", noise="gumbel", resample=True
    ).sort_values("t")
    early = np.interp(4096, curve.t, curve.regret)  # log T would grow by 5 / 17 of its end value from there to 2^17
    assert words[-1] == quantity(1 - early / curve.regret.iloc[-1])
    assert len(lines) == 1 + 12


def test_one_gap(printed):
    """log K = 4 log 2, at a point of the lattice: less than the largest value, summed by hand."""
    of_row = line(printed("wu2025/one_gap"), "2^4").split()
    y = 1.5 * 2.0 ** np.arange(-40, 7)
    assert 4 * (y / (1 + np.exp(y) / 15)).sum() / np.log(16) <= float(of_row[1]) + 5e-4
    assert float(of_row[1]) < 8


@pytest.mark.slow
def test_prefixes(printed):
    lines = printed("wu2025/prefixes")
    regret = load("wu2025/random_prefix", instance="dtol_bernoulli").pivot(
        index="arms", columns="policy", values="regret"
    )
    ratios = regret.random_prefix / regret.rnm_ftnl
    assert f"{quantity(ratios.min())} to {quantity(ratios.max())}" in line(lines, "bernoulli", "gumbel")
    assert len(lines) == 1 + 4


@pytest.mark.slow
def test_offsets(printed):
    """The statements of docs/theorems.md, 3.5."""
    lines = printed("wu2025/offsets")
    regret = load("wu2025/random_offset", instance="dtol_bernoulli", gap=0.2).set_index(["policy", "ratio"]).regret
    with_e = float(regret["offset_ftnl"].loc[lambda of: of.index > 2.5].iloc[0])
    texts = [
        f"{float(regret['rnm_ftnl'].iloc[0]):.1f}",
        f"{float(regret['random_prefix'].iloc[0]):.1f}",
        f"{with_e:.1f}",
    ]
    assert texts == ["39.1", "54.0", "37.1"]
    of_row = " ".join(line(lines, "bernoulli", "0.2").split())
    assert all(f" {text} (" in of_row for text in texts)
    never = [" ".join(text.split()) for text in lines if text.split()[0] == "deterministic"]
    shares = np.array([[float(part.strip("()")) for part in text.split() if part[0] == "("] for text in never])
    assert (shares[:, 0].min(), shares[:, 0].max()) == (5.60, 5.95)
    assert set(shares[:, 1]) == {8.00}
    assert set(shares[:, 2]) == {5.77}
    assert set(shares[:, 3]) == {5.44}
    votes = load("wu2025/votes", policy="rnm_ftnl", arms=2**20, gap=0.01).regret
    assert round(float(votes.iloc[0]) * 0.1 / np.log(2**20), 2) == 5.07


@pytest.mark.slow
def test_final_regret(printed):
    lines = printed("final_regret", "wang2024/fig04")
    asked = {"policy": "dp_ftpl_new", "instance": "linear9", "delta": 0.01}
    regret = load("wang2024/fig04", t=100_000, **asked).regret
    pulls = load_pulls("wang2024/fig04", **asked).pivot(index="replication", columns="arm", values="pulls")
    led = int((pulls.idxmax(axis=1) == np.argmax(Linear9().mean_rewards)).sum())
    of_row = line(lines, "DP-FTPL-New", "linear9", "9", "1", "0.01", "10⁵")
    assert student(regret) in of_row
    assert f" {quantity(regret.std())} " in of_row
    assert of_row.endswith(f"{led} of 100")
    assert len(lines) == 1 + 18


@pytest.mark.slow
def test_cells_with_equal_labels_are_distinguished(printed, call, tmp_path):
    kept = ["policy=rnm_ftnl", "policy.noise=gumbel", "budget.epsilon=1", "horizon=1e3", "replications=2"]
    kept += [f"results_dir={tmp_path}"]
    assert call("+experiment=wu2025/sweep_epsilon", *kept, "runner.workers=1").code == 0
    header, *lines = printed("final_regret", "wu2025/sweep_epsilon", *kept)
    assert " ".join(header.split()) == "policy instance arms epsilon delta horizon record mean sd best arm leads"
    exact = [text for text in lines if "exact" in text]
    assert len(lines) - len(exact) == sum(" of 2" in text for text in lines) > 0
    assert exact
    assert all(text.endswith("–") and "[" not in text for text in exact)


@pytest.mark.slow
def test_slopes(printed):
    lines = printed("slopes", "wang2024/fig06")
    final = load("wang2024/fig06", epsilon=0)
    for policy, low in (("dp_ftpl_gauss", 0.003), ("dp_ftpl_new", 0.0007)):
        chosen = final[(final.policy == policy) & (final.delta >= low) & (final.delta <= 0.0085)]
        mean = chosen.groupby("delta").regret.mean()
        slope = np.polyfit(np.log(mean.index), np.log(mean), 1)[0]
        assert f" {quantity(slope)} [" in next(text for text in lines if policy in text)
    assert len(lines) == 1 + 2


@pytest.mark.slow
def test_slopes_of_pulls_are_those_in_the_table_of_the_paper(printed):
    def slopes(lines):
        return [text.split()[-4:] for text in lines]

    assert slopes(printed("slopes", "tao2022/rates")[1:]) == slopes(printed("tao2022/rates")[1:])


@pytest.mark.slow
def test_spread(printed):
    lines = printed("spread", "azize2025/batches")
    regret = load("azize2025/batches", policy="dp_imed", ratio=1.1, first_batch=1).regret
    of_row = line(lines, "DP-IMED", "(ratio", "1.1)", "c2")
    assert student(regret) in of_row
    ends = [float(np.median(regret)), float(np.quantile(regret, 0.99)), float(regret.max())]
    assert of_row.split()[-3:] == [quantity(end) for end in ends]
    assert len(lines) == 1 + 16


def test_what_stuck_runs_carry(printed):
    """The remedy at epsilon = 0.01: 299 more pulls of each of four arms with gap 0.05."""
    row = line(printed("azize2025/stuck"), "0.01", "1e+07")
    assert row.split()[-1] == "59.8"
    assert row.split()[2] == quantity(stuck_regret(DPKLUCB(0.01), C1(5).mean_rewards, 1e7))


def test_the_constants_of_the_private_lower_bound(printed):
    lines = printed("azize2025/lower_bound")
    assert line(lines, "c2").split()[1:] == ["401.6", "41.68", "17.89", "10.4", "7.708", "7.128"]
    assert len(lines) == 1 + 4


@pytest.mark.slow
def test_ratios_of_adap(printed):
    lines = printed("azize2022/against_dp_se")
    regret = load("azize2022/epsilons", instance="c2", epsilon=1).groupby("policy").regret.mean()
    of_row = line(lines, "c2", "1")
    assert f" {quantity(regret.dp_se / regret.adap_ucb)} [" in of_row
    assert f" {quantity(regret.dp_se / regret.adap_klucb)} [" in of_row
    assert len(lines) == 1 + 36


@pytest.mark.slow
def test_published_ends_of_hu_and_hegde(printed):
    lines = printed("hu2022/published")
    of_row = line(lines, "Figure", "5", "lazy_dp_ts")
    for base in ("binary", "natural"):
        regret = load("hu2022/logarithms", policy="lazy_dp_ts", logarithm=base, epsilon=0.1).regret
        assert f" {quantity(float(np.median(regret)))}" in of_row
    assert len(lines) == 1 + 9
