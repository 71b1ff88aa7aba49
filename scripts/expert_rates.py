"""Tables 1 and 2 of Wu and Wang (2025): printed rates of RNM-FTNL(B, Q) beside measured exponents.

    python -m scripts.expert_rates

Exponents are least-squares slopes of the logarithm of exact expected regret, taken where the parameter decides:
of log K from K = 64 on (losses that never vary, the profiles of wu2025/open_questions: least and largest), of
1 / epsilon for epsilon up to 0.1 and of 1 / gap for gaps up to 0.01 (wu2025/sweep_epsilon, wu2025/sweep_gap).
Stochastic losses are Bernoulli there, so that resampling changes nothing and the rows for B = 0 and 1 are the same
cells. Growth in T is the regret after step 2^16 in units of all regret up to 2^17, with Beta losses
(wu2025/regret_curves).
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bandits.arrays import FloatArray
from experiments import load
from experiments.config.command_line import exit_on_user_error
from experiments.errors import UserError

PRINTED = {
    (False, "deterministic"): "log(K)/ε for Gumbel and exponential, log(K)²/ε for Laplace",
    (True, "deterministic"): "log(K)/Δ + log(K)²/ε",
    (False, "stochastic"): "log(K)/Δ + log(K) log(T)/ε",
    (True, "stochastic"): "log(K)/Δ + log(K)²/ε",
}
NOISES = ("laplace", "gumbel", "exponential")


def slope(x: FloatArray, y: FloatArray) -> float:
    """Least-squares slope of log y in log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def exponents(table: pd.DataFrame, x: str, by: Sequence[str] = ()) -> list[float]:
    """One slope of regret in the column `x` for each group of the columns `by`."""
    groups = [rows for _, rows in table.groupby(list(by))] if by else [table]
    if groups == [] or any(len(rows) < 2 for rows in groups):
        raise UserError(f"no exponent of {x} follows from fewer than two cells")
    return [slope(rows[x].to_numpy(float), rows.regret.to_numpy(float)) for rows in groups]


def _range(values: Sequence[float]) -> str:
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


def table() -> pd.DataFrame:
    """One row for each variant and setting."""
    arms = load("wu2025/open_questions")
    epsilon = load("wu2025/sweep_epsilon", record="exact").assign(inverse=lambda rows: 1 / rows.epsilon)
    gap = load("wu2025/sweep_gap", record="exact").assign(inverse=lambda rows: 1 / rows.gap)
    curves = load("wu2025/regret_curves", policy="rnm_ftnl")
    rows = []
    for (resample, setting), printed in PRINTED.items():
        for noise in NOISES:
            losses = "dtol_deterministic" if setting == "deterministic" else "dtol_bernoulli"
            # Bernoulli losses are what they are resampled to, so that B makes no difference to them.
            seen = {"noise": noise, "instance": losses, "resample": resample and setting == "deterministic"}
            rows.append(
                {
                    "losses": setting,
                    "B": int(resample),
                    "noise": noise,
                    "printed": printed,
                    "log K": _log_arms(arms, noise, resample) if setting == "deterministic" else "-",
                    "1/ε": _range(exponents(_of(epsilon, seen, epsilon.epsilon <= 0.1), "inverse")),
                    "1/Δ": _range(exponents(_of(gap, seen, gap.gap <= 0.01), "inverse")),
                    "growth in T": _growth(curves, noise, resample, setting),
                }
            )
    return pd.DataFrame(rows)


def _of(table: pd.DataFrame, wanted: dict[str, object], where: pd.Series) -> pd.DataFrame:
    chosen = where.copy()
    for name, value in wanted.items():
        chosen &= table[name] == value
    return table[chosen]


def _log_arms(arms: pd.DataFrame, noise: str, resample: bool) -> str:
    chosen = arms[(arms.noise == noise) & (arms["resample"] == resample) & (arms.arms >= 64)]
    return _range(exponents(chosen.assign(log_arms=np.log(chosen.arms)), "log_arms", ["profile"]))


def _growth(curves: pd.DataFrame, noise: str, resample: bool, setting: str) -> str:
    losses = "dtol_beta" if setting == "stochastic" else "dtol_deterministic"
    chosen = curves[(curves.noise == noise) & (curves["resample"] == resample) & (curves.instance == losses)]
    chosen = chosen[chosen.record == ("regret" if setting == "stochastic" and not resample else "exact")]
    mean = chosen.groupby("t").regret.mean()
    late = mean.iloc[-1] - np.interp(2**16, mean.index, mean.to_numpy())
    return f"{late / mean.iloc[-1]:.1g}"


def main() -> None:
    """Entry point of `python -m scripts.expert_rates`."""
    print(table().to_string(index=False))


if __name__ == "__main__":
    exit_on_user_error(main)
