"""Tao, Wu, Zhao and Wang (2022): heavy-tailed rewards, E |X|^(1+v) <= u, central and local privacy.

All upper bounds are for 0 < epsilon <= 1 and the printed confidence constants (`constants: paper`). They
are what the proofs give, which is not always what is printed:

- Pulls do not change when rewards, and with them gaps, are multiplied by 2 (all epoch lengths are equivariant), so
  u enters them as u^(1/v) / gap^((1+v)/v), under local privacy as the square of this. Lemma 4 and Theorem 4 print
  u^(1/(1+v)), Lemma 13 and Theorem 7 square u^(1/v) but not gap^((1+v)/v): no such bound can hold for all u.
- Theorem 2: 2 I < gap needs 36^((1+v)/v) where 36 is printed.
- Theorem 7: with epochs that aim at 2^-tau all along, pulls grow with gap^(-2(1+v)/v). Half of that
  exponent is printed, because the last step of the proof of Lemma 13 compares the gap with D^2 instead of D.
  No policy attains the printed rate: see the lower bounds in `bandits.bounds.local_privacy`, which LDPRSE attains.

The `_order` functions of the upper bounds are as printed.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from bandits.arrays import FloatArray
from bandits.bounds.common import (
    require_gap,
    require_gaps,
    require_horizon,
    require_small_epsilon,
    two_point_means,
)
from bandits.divergences import divergence_from
from bandits.environments.heavy_tails import require_exponent
from bandits.parameters import require, require_arms


def dprucb_pulls(gap: float, epsilon: float, horizon: int, v: float, u: float) -> float:
    """Expected pulls of an arm by DPRUCB (proof of Theorem 2 of Tao et al. 2022).

    36^((1+v)/v) u^(1/v) log(2 T^4) log(T)^(1.5+1/v) / (epsilon gap^((1+v)/v)) + 5. Printed with 36 alone,
    which is too small: for large T DPRUCB pulls an arm nearly 18^((1+v)/v) times the other factors. The proof uses the
    noise bound of Lemma 2, which is too small for large failure probabilities (not for those used here).
    """
    _require(epsilon, horizon, v, u)
    require_gap(gap)
    log = math.log(horizon)
    rate = math.log(2) + 4 * log
    return float((36 / gap) ** _power(v) * u ** (1 / v) * rate * log ** (1.5 + 1 / v) / epsilon + 5)


def dprucb_regret(gaps: FloatArray, epsilon: float, horizon: int, v: float, u: float) -> float:
    """Expected regret of DPRUCB (Theorem 2 of Tao et al. 2022, constants of its proof, 36 corrected)."""
    require_gaps(gaps)
    return sum(float(gap) * dprucb_pulls(float(gap), epsilon, horizon, v, u) for gap in gaps)


def dprucb_regret_order(gaps: FloatArray, epsilon: float, horizon: int, v: float, u: float) -> float:
    """The order of Theorem 2, regret of DPRUCB: sum of log(T)^(2.5+1/v) / epsilon (u / gap)^(1/v) + gap."""
    _require(epsilon, horizon, v, u)
    require_gaps(gaps)
    return float((math.log(horizon) ** (2.5 + 1 / v) / epsilon * (u / gaps) ** (1 / v) + gaps).sum())


def dprse_pulls(gap: float, arms: int, epsilon: float, horizon: int, v: float, u: float) -> float:
    """A bound on the pulls of an arm by DPRSE, exceeded with probability 1/horizon at most (Lemma 4 of the paper).

    96^((1+v)/v) u^(1/v) (log(4 K T) + 2 log log2(2/gap)) / (epsilon gap^((1+v)/v)) + 2 log2(2/gap). The end of the
    proof prints u^(1/(1+v)) though its R has u^(1/v). It drops the square of tau in the log, and counts
    the rounding up of one epoch only: 2 instead of 2 log2(2/gap).
    """
    _require(epsilon, horizon, v, u)
    require_arms(arms)
    require_gap(gap)
    epochs = math.log2(2 / gap)
    log = math.log(4 * arms * horizon) + 2 * math.log(epochs)
    return float((96 / gap) ** _power(v) * u ** (1 / v) * log / epsilon + 2 * epochs)


def dprse_regret(gaps: FloatArray, epsilon: float, horizon: int, v: float, u: float) -> float:
    """Expected regret of DPRSE (Theorem 4 of Tao et al. 2022, with the constants of `dprse_pulls`)."""
    require_gaps(gaps)
    pulls = (dprse_pulls(float(gap), len(gaps) + 1, epsilon, horizon, v, u) for gap in gaps)
    return float(gaps.max()) + sum(float(gap) * count for gap, count in zip(gaps, pulls, strict=True))


def dprse_regret_order(gaps: FloatArray, epsilon: float, horizon: int, v: float, u: float) -> float:
    """Theorem 4 as printed, regret of DPRSE: u^(1/(1+v)) log(T) / epsilon x sum of gap^(-1/v), + largest gap.

    The power of u is wrong, see the module; the proof gives u^(1/v).
    """
    _require(epsilon, horizon, v, u)
    require_gaps(gaps)
    scale = u ** (1 / (1 + v)) * math.log(horizon) / epsilon
    return float(scale * (gaps ** (-1 / v)).sum() + gaps.max())


def dprse_worst_case_regret(arms: int, epsilon: float, horizon: int, v: float, u: float) -> float:
    """Expected regret of DPRSE for all gaps in (0, 1] (Theorem 4, second part), at most T.

    Its argument with the constants of `dprse_pulls`: arms below a critical gap cost at most that gap at every
    step. Each of the others costs at most gap x pulls at the critical gap, plus 3.
    """
    _require(epsilon, horizon, v, u)
    require_arms(arms)
    power = _power(v)
    leading = 96.0**power * u ** (1 / v) * math.log(4 * arms * horizon) / epsilon
    critical = min(1.0, ((arms - 1) * leading / horizon) ** (1 / power))
    above = (arms - 1) * (critical * dprse_pulls(critical, arms, epsilon, horizon, v, u) + 3)
    return float(min(float(horizon), 1 + critical * horizon + above))


def dprse_worst_case_regret_order(arms: int, epsilon: float, horizon: int, v: float, u: float) -> float:
    """Theorem 4 as printed: u^(v/(1+v)^2) (K log(T) / epsilon)^(v/(1+v)) T^(1/(1+v)), regret of DPRSE.

    The power of u is wrong, see the module; regret grows in proportion to the rewards, so as u^(1/(1+v)).
    """
    _require(epsilon, horizon, v, u)
    require_arms(arms)
    rate = (arms * math.log(horizon) / epsilon) ** (1 / _power(v))
    return float(u ** (v / (1 + v) ** 2) * rate * float(horizon) ** (1 / (1 + v)))


def ldprse_pulls(gap: float, arms: int, epsilon: float, horizon: int, v: float, u: float) -> float:
    """A bound on the pulls of an arm by LDPRSE, epoch_base 2, exceeded with probability 1/horizon at most (Lemma 13).

    (56 / gap)^(2c) u^(2/v) L / (epsilon^2 (1 - 4^-c)) + e (L + 1) with c = (1+v)/v, e = log2(2/gap) and
    L = log(8 K e^2 T). The lemma prints gap^(-c), see the module; measured pulls follow 2c.
    """
    _require(epsilon, horizon, v, u)
    require_arms(arms)
    require_gap(gap)
    power, epochs = _power(v), math.log2(2 / gap)
    log = math.log(8 * arms * horizon) + 2 * math.log(epochs)
    leading = (56 / gap) ** (2 * power) * u ** (2 / v) * log / epsilon**2
    return float(leading / (1 - 4.0**-power) + epochs * (log + 1))


def ldprse_regret(gaps: FloatArray, epsilon: float, horizon: int, v: float, u: float) -> float:
    """Expected regret of LDPRSE with epoch_base 2 (Theorem 7 of Tao et al. 2022, from `ldprse_pulls`)."""
    require_gaps(gaps)
    pulls = (ldprse_pulls(float(gap), len(gaps) + 1, epsilon, horizon, v, u) for gap in gaps)
    return float(gaps.max()) + sum(float(gap) * count for gap, count in zip(gaps, pulls, strict=True))


def ldprse_regret_order(gaps: FloatArray, epsilon: float, horizon: int, v: float, u: float) -> float:
    """Theorem 7 as printed, regret of LDPRSE: u^(2/v) log(T) / epsilon^2 x sum of gap^(-1/v), + largest gap.

    False: regret grows with gap^(-1 - 2/v), see the module.
    """
    _require(epsilon, horizon, v, u)
    require_gaps(gaps)
    scale = u ** (2 / v) * math.log(horizon) / epsilon**2
    return float(scale * (gaps ** (-1 / v)).sum() + gaps.max())


def ldprse_worst_case_regret(arms: int, epsilon: float, horizon: int, v: float, u: float) -> float:
    """Expected regret of LDPRSE for all gaps in (0, 1], epoch_base 2 (Theorem 7, second part), at most T.

    From `ldprse_pulls` as in `dprse_worst_case_regret`; grows as T^((2+v)/(2+2v)), not T^(1/(1+v)) as printed.
    """
    _require(epsilon, horizon, v, u)
    require_arms(arms)
    power = _power(v)
    log = math.log(8 * arms * horizon)
    leading = 56.0 ** (2 * power) * u ** (2 / v) * log / epsilon**2
    critical = min(1.0, ((arms - 1) * leading / horizon) ** (1 / (2 * power)))
    above = (arms - 1) * (critical * ldprse_pulls(critical, arms, epsilon, horizon, v, u) + 2 * (log + 2))
    return float(min(float(horizon), 1 + critical * horizon + above))


def ldprse_worst_case_regret_order(arms: int, epsilon: float, horizon: int, v: float, u: float) -> float:
    """Theorem 7 as printed: u^(2/(1+v)) (K log(T) / epsilon^2)^(v/(1+v)) T^(1/(1+v)), regret of LDPRSE.

    False, because it follows from the false exponent of the gap, see the module.
    """
    _require(epsilon, horizon, v, u)
    require_arms(arms)
    rate = (arms * math.log(horizon) / epsilon**2) ** (1 / _power(v))
    return float(u ** (2 / (1 + v)) * rate * float(horizon) ** (1 / (1 + v)))


def heavy_lower_bound(gaps: FloatArray, epsilon: float, horizon: float, v: float) -> float:
    """Regret on a `TwoPoint` instance of every epsilon-DP policy (Theorem 5 of Tao et al. 2022).

    log(T) / (200 epsilon 4^(1/v)) x sum of gap^(-1/v), for policies whose regret is at most T^(3/4), means <= 1/6,
    gaps < 1/12 and T^0.13 > 4 K / least gap. The proof: with probability 1/2 every suboptimal arm is pulled
    log(T) / (100 epsilon 4^(1/v)) gap^(-(1+v)/v) times.
    """
    _require(epsilon, horizon, v, u=1.0)
    require_gaps(gaps)
    require(float(gaps.max()) < 1 / 12, "gaps", list(gaps), "below 1/12")
    _require_long(horizon, 4 * (len(gaps) + 1) / float(gaps.min()))
    return float(math.log(horizon) / (200 * epsilon * 4 ** (1 / v)) * (gaps ** (-1 / v)).sum())


def heavy_two_armed_lower_bound(gap: float, epsilon: float, horizon: float, v: float) -> float:
    """Regret on some instance of two arms of every epsilon-DP policy (Theorem 10 of Tao et al. 2022).

    log(T) / (200 epsilon 5^(1/v)) x gap^(-1/v), for policies whose regret is at most T^(3/4), gap < 1/5 and
    T^0.13 > 4 / gap. u is 7/10 there.
    """
    _require(epsilon, horizon, v, u=1.0)
    require(0 < gap < 0.2, "gap", gap, "a number in (0, 0.2)")
    _require_long(horizon, 4 / gap)
    return float(math.log(horizon) / (200 * epsilon * 5 ** (1 / v)) * gap ** (-1 / v))


def local_lower_bound_slope(means: ArrayLike, epsilon: float, v: float) -> float:
    """The least limit of regret / log(T) on the `TwoPoint` instance of these means (Theorem 8 of Tao et al. 2022).

    For every epsilon-LDP policy whose regret grows slower than every power of T: sum of gap / (2 min(4, e^(2 epsilon))
    (e^epsilon - 1)^2 kl), with kl of the arm's law from the one that is better by a gap (Lemma 15 and (29), where
    e^epsilon - 1 is taken for epsilon). Means are in (0, 1/2], gaps between 1/5 and 1/2 of the arm's own mean. True,
    but weak: `local_variation_lower_bound_slope` has twice the exponent of the gap.
    """
    _require(epsilon, 2, v, u=1.0)
    arms = two_point_means(means)
    price = 2 * min(4.0, math.exp(2 * epsilon)) * math.expm1(epsilon) ** 2
    total = 0.0
    for mean in map(float, arms[arms < arms.max()]):
        gap = float(arms.max()) - mean
        s = (2 * mean) ** (1 / v)
        chance = s ** (1 + v) / 2
        total += gap / (price * divergence_from(chance + 2 * gap * s, -2 * gap * s))
    return total


def local_lower_bound_order(gaps: FloatArray, epsilon: float, v: float) -> float:
    """Theorem 8 as printed, limit of regret / log(T) under local privacy: sum of gap^(-1/v) / epsilon^2."""
    _require(epsilon, 2, v, u=1.0)
    require_gaps(gaps)
    return float((gaps ** (-1 / v)).sum()) / epsilon**2


def local_worst_case_lower_bound(arms: int, epsilon: float, horizon: float, v: float) -> float:
    """Regret of every epsilon-LDP policy on one of the instances of Theorem 9 of Tao et al. (2022), u <= 1.

    T gap / 8 x exp(-8 (e^epsilon - 1)^2 T / (K-1) x kl), the second-to-last line of the proof, with kl between the
    two laws of the arm that changes. It holds for every gap < 1/5; here it is maximised over a grid of gaps. The
    paper sets gap = (K / (T epsilon^2))^(v/(1+v)): the right order, but a factor below e^-145 for v = 1/2.
    True, but weak: `local_variation_worst_case_lower_bound` has a larger power of T.
    """
    _require(epsilon, horizon, v, u=1.0)
    require_arms(arms)
    information = 8 * math.expm1(epsilon) ** 2 * horizon / (arms - 1)
    gaps = np.geomspace(1e-15, 0.19, 400)
    return max(horizon * gap / 8 * math.exp(-information * _two_point_divergence(gap, v)) for gap in map(float, gaps))


def local_worst_case_lower_bound_order(arms: int, epsilon: float, horizon: float, v: float) -> float:
    """Theorem 9 as printed, regret under local privacy on some instance: (K / epsilon^2)^(v/(1+v)) T^(1/(1+v))."""
    _require(epsilon, horizon, v, u=1.0)
    require_arms(arms)
    return float((arms / epsilon**2) ** (1 / _power(v)) * float(horizon) ** (1 / (1 + v)))


def _two_point_divergence(gap: float, v: float) -> float:
    """kl of the arm worse by `gap` from the arm better by `gap`, in the proofs of Theorems 9 and 11."""
    prize = (5 * gap) ** (1 / v)
    middle = prize ** (1 + v) / 2
    return divergence_from(middle + gap * prize, -2 * gap * prize)


def _power(v: float) -> float:
    return (1 + v) / v


def _require(epsilon: float, horizon: float, v: float, u: float) -> None:
    require_small_epsilon(epsilon)
    require_horizon(horizon)
    require_exponent(v)
    require(0 < u < math.inf, "u", u, "a number > 0")


def _require_long(horizon: float, needed: float) -> None:
    """T^0.13 > `needed`."""
    require(float(horizon) ** 0.13 > needed, "horizon", horizon, f"more than {needed ** (1 / 0.13):.3g} steps")
