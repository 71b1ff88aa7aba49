"""Tables about Wu and Wang (2025)."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from bandits.bounds.noisy_leaders import random_prefix_never_varying_regret
from bandits.exact.one_gap import largest_one_gap_ratio
from experiments import intervals
from experiments.errors import UserError
from experiments.intervals import exactly
from experiments.store.stored import Cells, Stored
from scripts.drawing.numbers import quantity
from scripts.tables.table import ERROR, Table, cells_of

PRINTED = {  # key: whether losses are resampled (B), and the kind of losses
    (False, "deterministic"): "log(K)/ε for Gumbel and exponential, log(K)²/ε for Laplace",
    (True, "deterministic"): "log(K)/Δ + log(K)²/ε",
    (False, "stochastic"): "log(K)/Δ + log(K) log(T)/ε",
    (True, "stochastic"): "log(K)/Δ + log(K)²/ε",
}
NOISES = ("laplace", "gumbel", "exponential")
LATE = 2**12  # growth in T is measured from this step on


def rates() -> Table:
    """Tables 1 and 2: printed rates of RNM-FTNL(B, Q) and measured exponents of exact expected regret.

    Exponents are least-squares slopes of log regret in the range where the parameter dominates: in log K for K >= 64
    (losses that never vary; the least and the largest over the profiles of wu2025/open_questions), in 1 / epsilon for
    epsilon <= 0.1 and in 1 / gap for gaps <= 0.01 (wu2025/sweep_epsilon, wu2025/sweep_gap). Stochastic losses are
    Bernoulli there, so that resampling changes nothing and the rows for B = 0 and 1 are the same cells. Growth in T is
    the share of the regret up to step 2^17 that comes after step 2^12 (wu2025/regret_curves, where stochastic losses
    are Beta); it would be 5/17 for regret proportional to log T.
    """
    arms = cells_of("wu2025/open_questions").only(lambda stored: stored.cell.arms >= 64)
    small_epsilon = _exact("wu2025/sweep_epsilon").only(lambda stored: stored.columns["epsilon"] <= 0.1)
    small_gap = _exact("wu2025/sweep_gap").only(lambda stored: stored.columns["gap"] <= 0.01)
    curves = cells_of("wu2025/regret_curves").where(policy="rnm_ftnl")
    rows = []
    for (resample, losses), printed in PRINTED.items():
        stochastic = losses == "stochastic"
        # Resampling a Bernoulli loss gives the same loss, so the cells with B = 0 serve for both.
        seen = {"instance": "dtol_bernoulli" if stochastic else "dtol_deterministic", "resample": resample > stochastic}
        for noise in NOISES:
            profiles = arms.where(noise=noise, resample=resample).by("profile").values()
            rows.append(
                {
                    "losses": losses,
                    "B": int(resample),
                    "noise": noise,
                    "printed": printed,
                    "log K": "–" if stochastic else _between([_exponent(of_one, _log_arms) for of_one in profiles]),
                    "1/ε": exactly(_exponent(small_epsilon.where(noise=noise, **seen), _inverse_epsilon)),
                    "1/Δ": exactly(_exponent(small_gap.where(noise=noise, **seen), _inverse_gap)),
                    "growth in T": exactly(_growth(curves.where(noise=noise, resample=resample), stochastic, resample)),
                }
            )
    return Table.of(rows)


def one_gap() -> Table:
    """The largest regret x epsilon / log K of RNM-FTNL(0, Gumbel) by K, for losses that never vary and one tiny gap.

    It is computed in the limit of gap 0, see docs/theorems.md, section 2.2. The bound proved there is 8, and the ratio
    approaches it as 8 (1 - log log K / log K).
    """
    rows = []
    for power in (2, 4, 7, 10, 14, 20, 50, 100, 200, 500):
        log_arms = power * math.log(2)
        rate = 8 * (1 - math.log(log_arms) / log_arms)
        rows.append({"K": f"2^{power}", "largest": f"{largest_one_gap_ratio(log_arms):.3f}", "rate": f"{rate:.3f}"})
    return Table.of(rows)


def prefixes() -> Table:
    """Exact regret of RNM-FTNL on a random prefix of each epoch, relative to whole epochs and to its bound.

    The cells are those of wu2025/random_prefix; given are the least and the largest ratio over K. The bound is that of
    docs/theorems.md, section 3.2, for losses that never vary.
    """
    rows = []
    for (instance, noise), of_noise in sorted(cells_of("wu2025/random_prefix").by("instance", "noise").items()):
        regret = {
            policy: {stored.cell.arms: float(stored.headline.mean()) for stored in of_noise.where(policy=policy)}
            for policy in ("rnm_ftnl", "random_prefix")
        }
        epsilon = float(of_noise[0].columns["epsilon"])
        ratios = [regret["random_prefix"][arms] / whole for arms, whole in regret["rnm_ftnl"].items()]
        shares = [
            prefix / random_prefix_never_varying_regret(arms, epsilon, noise)
            for arms, prefix in regret["random_prefix"].items()
        ]
        fixed = instance == "dtol_deterministic"
        rows.append(
            {
                "losses": instance.removeprefix("dtol_"),
                "noise": noise,
                "prefix / whole": _between(ratios),
                "prefix / bound": _between(shares) if fixed else "–",
            }
        )
    return Table.of(rows)


def offsets() -> Table:
    """Exact regret of whole epochs, a random prefix and a random offset, and this regret x epsilon / log K, by gap.

    The cells are those of wu2025/random_offset. For losses that never vary the constants of docs/theorems.md are 8 for
    whole epochs (2.2), 8 for a prefix (3.6), and 2 ratio / log(ratio) for an offset (3.3).
    """
    rows = []
    for (instance, gap), of_gap in sorted(cells_of("wu2025/random_offset").by("instance", "gap").items()):
        row = {"losses": instance.removeprefix("dtol_"), "gap": f"{float(gap):g}"}
        for stored in of_gap:
            name = stored.cell.policy.legend().replace("(0, gumbel)", "")
            regret = float(stored.headline.mean())
            share = regret * float(stored.columns["epsilon"]) / math.log(stored.cell.arms)
            row[name] = f"{regret:.1f} ({share:.2f})"
        rows.append(row)
    return Table.of(rows)


def _exact(experiment: str) -> Cells:
    return cells_of(experiment).only(lambda stored: stored.exact)


def _log_arms(stored: Stored) -> float:
    return math.log(stored.cell.arms)


def _inverse_epsilon(stored: Stored) -> float:
    return 1 / float(stored.columns["epsilon"])


def _inverse_gap(stored: Stored) -> float:
    return 1 / float(stored.columns["gap"])


def _exponent(cells: Cells, value: Callable[[Stored], float]) -> float:
    """The slope of log(regret) in log(of(cell)). Raises `UserError` for fewer than three cells."""
    if len(cells) < 3:
        raise UserError("an exponent needs at least three cells")
    x, y = np.array([(value(stored), float(stored.headline.mean())) for stored in cells]).T
    return intervals.slope(x, y, ERROR).estimate


def _between(values: Sequence[float]) -> str:
    """The least and the largest value, as text."""
    return " to ".join(dict.fromkeys(map(quantity, (min(values), max(values)))))


def _growth(cells: Cells, stochastic: bool, resample: bool) -> float:
    """The share of the regret after step `LATE`, from exact cells except for stochastic losses without resampling."""
    losses = "dtol_beta" if stochastic else "dtol_deterministic"
    record = "regret" if stochastic and not resample else "exact"
    (stored,) = cells.where(instance=losses, record=record)
    regret = stored.regret.mean(axis=0)
    return float((regret[-1] - np.interp(LATE, stored.t, regret)) / regret[-1])
