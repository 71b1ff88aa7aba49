"""Wu and Wang (2025): RNM-FTNL under full information, and lower bounds for losses that never vary.

K arms, losses in [0, 1], `least_gap` the gap of the second best arm. `epsilon` is the budget that a policy
declares: its noise has scale 2 / epsilon. Exponential noise as printed, of scale 1 / epsilon, spends
twice its epsilon; give twice its epsilon here.

The proof of Theorem 4 gives explicit constants. Theorem 2 and its corollaries
are proved up to constants c1 and c2 with Pr[arm j is chosen after 2^(r-1) loss vectors] <= c1 exp(-2^(r+1) gap
min(gap, epsilon) / c2); `_rate` gives c2, c1 = 2, as Appendix D works it out (for Laplace noise, which the paper takes
from Hu et al. 2021, by the same steps). Losses of different arms are independent there.
"""

import math

from bandits.bounds.common import require_gap, require_horizon
from bandits.mechanisms.report_noisy_max import NoiseName
from bandits.parameters import require, require_arms, require_epsilon

_LEMMA_3 = 1 + 1 / math.log(2)  # sum over all r of the f(r) of Lemma 3, in units of log K
_FACTOR = 2.0  # c1


def laplace_regret_order(arms: int, least_gap: float, epsilon: float, horizon: int) -> float:
    """The order of Theorem 1 (Hu et al. 2021): log(K) / gap + log(K) log(T) / epsilon, RNM-FTNL(0, Laplace)."""
    _require(arms, epsilon)
    require_gap(least_gap)
    require_horizon(horizon)
    return math.log(arms) / least_gap + math.log(arms) * math.log(horizon) / epsilon


def resampled_regret(arms: int, least_gap: float, epsilon: float, noise: NoiseName) -> float:
    """Expected regret of RNM-FTNL(1, noise) at every horizon (Theorem 2 and Corollary 1 of Wu and Wang 2025).

    1 + (8 c2 log K + 2 c1 c2) / gap + (2 c2 log(K)^2 + c1 c2) / epsilon. The last line of Appendix C prints
    c1 c2 / gap: it drops the factor 2 = 1 + 1/2 + 1/4 + ... of the line before, but its 8 c2 leaves room for that.
    """
    _require(arms, epsilon)
    require_gap(least_gap)
    c2, log = _rate(noise), math.log(arms)
    learning = (8 * c2 * log + 2 * _FACTOR * c2) / least_gap
    return 1 + learning + (2 * c2 * log**2 + _FACTOR * c2) / epsilon


def resampled_regret_order(arms: int, least_gap: float, epsilon: float) -> float:
    """The order of Theorem 2 and Corollary 1: log(K) / gap + log(K)^2 / epsilon, RNM-FTNL(1, any noise), any T."""
    _require(arms, epsilon)
    require_gap(least_gap)
    return math.log(arms) / least_gap + math.log(arms) ** 2 / epsilon


def resampled_worst_case_regret(arms: int, epsilon: float, horizon: int, noise: NoiseName) -> float:
    """Expected regret of RNM-FTNL(1, noise) for all gaps (Corollary 2 of Wu and Wang 2025), at most T.

    Appendix F: arms with gaps below sqrt(log(K) / T) cost at most that at every step, the others at most
    `resampled_regret` for that gap.
    """
    _require(arms, epsilon)
    require_horizon(horizon)
    critical = math.sqrt(math.log(arms) / horizon)
    if critical >= 1:
        return float(horizon)
    return min(float(horizon), critical * horizon + resampled_regret(arms, critical, epsilon, noise))


def resampled_worst_case_regret_order(arms: int, epsilon: float, horizon: int) -> float:
    """The order of Corollary 2: sqrt(T log K) + log(K)^2 / epsilon, RNM-FTNL(1, any noise)."""
    _require(arms, epsilon)
    require_horizon(horizon)
    return math.sqrt(horizon * math.log(arms)) + math.log(arms) ** 2 / epsilon


def choice_probability(gap: float, epsilon: float, rounds: int, noise: NoiseName) -> float:
    """A bound on the probability that an arm of this gap is chosen after `rounds` loss vectors.

    c1 exp(-4 n gap min(gap, epsilon) / c2), n = 2^(r-1) the rounds: (4), (7) and (9) of Wu and Wang (2025), who leave
    c1 and c2 open, with those of `_rate`. It may exceed 1. It holds for losses that vary and for losses that do not.
    """
    require_gap(gap)
    require_epsilon(epsilon)
    require(rounds >= 1, "rounds", rounds, "a whole number >= 1")
    return _FACTOR * math.exp(-4 * rounds * gap * min(gap, epsilon) / _rate(noise))


def deterministic_regret(arms: int, epsilon: float) -> float:
    """Expected regret of RNM-FTNL(0, Gumbel or exponential) where losses never vary, at every horizon.

    3 + (4 / epsilon) (1 + 1 / log 2) log K: Theorem 4 of Wu and Wang (2025). With Gumbel noise of scale 2 / epsilon
    the probability of an arm is proportional to exp(-epsilon G / 2). The paper's proof has exp(-epsilon G), the law
    for scale 1 / epsilon, and twice the integral of Lemma 3, which is log(K) / log 2: the two errors cancel. The 3
    stays as epsilon grows: the O(log(K) / epsilon) of the theorem leaves it out, though the first step,
    uniform over the arms, alone costs a constant.
    """
    _require(arms, epsilon)
    return 3 + 4 / epsilon * _LEMMA_3 * math.log(arms)


def deterministic_resampling_regret(arms: int, epsilon: float, noise: NoiseName) -> float:
    """Expected regret of RNM-FTNL(0, noise) where losses never vary, at every horizon (Corollary 3).

    1 + (2 c2 log(K)^2 + c1 c2) / epsilon with c1 = 1 and half the c2 of Theorem 2, the only bound proved there for
    Laplace noise. The corollary does not say so, but needs B = 0: resampled losses do vary, and
    with B = 1 the regret keeps a term in 1 / gap that no epsilon removes.
    """
    _require(arms, epsilon)
    c2 = _rate(noise) / 2
    return 1 + (2 * c2 * math.log(arms) ** 2 + c2) / epsilon


def deterministic_lower_bound(arms: int, epsilon: float, horizon: float = math.inf) -> float:
    """Regret that every epsilon-DP learner pays on some instance of never varying losses (Theorem 3).

    As in Appendix E: log(x (e^epsilon + K - 1) / e^epsilon) / epsilon with x = e^y / (e^y + K - 1), y = (T+1) epsilon,
    and the limit log(e^epsilon + K - 1) / epsilon - 1 for an infinite horizon. The theorem prints c1 log(K) / epsilon
    for every T, but regret is at most T, so that cannot hold for small T; see also `deterministic_sharp_lower_bound`.
    """
    _require(arms, epsilon)
    require(horizon >= 1, "horizon", horizon, "a number of steps, at least 1")
    end = math.exp(-(horizon + 1) * epsilon) if horizon < math.inf else 0.0
    return (math.log1p((arms - 1) * math.exp(-epsilon)) - math.log1p((arms - 1) * end)) / epsilon


def deterministic_sharp_lower_bound(arms: int, epsilon: float, horizon: float = math.inf) -> float:
    """The bound of Theorem 3 without its loss of 1: (log K - log(1 + (K-1) e^(-T epsilon))) / epsilon.

    The arm of step t is chosen after t - 1 loss vectors, so that the probabilities in Appendix E differ by a factor of
    at most e^((t-1) epsilon), where it has e^(t epsilon). The integral then begins at 0, and its limit is
    log(K) / epsilon, the printed rate with c1 = 1 for every epsilon; the limit in the appendix falls like e^-epsilon.
    """
    _require(arms, epsilon)
    require(horizon >= 1, "horizon", horizon, "a number of steps, at least 1")
    end = math.exp(-horizon * epsilon) if horizon < math.inf else 0.0
    return (math.log(arms) - math.log1p((arms - 1) * end)) / epsilon


def stochastic_lower_bound_order(arms: int, least_gap: float, epsilon: float) -> float:
    """The order log(K) / gap + log(K) / epsilon, any epsilon-DP learner (section 1.2, after Hu et al. 2021)."""
    _require(arms, epsilon)
    require_gap(least_gap)
    return math.log(arms) / least_gap + math.log(arms) / epsilon


def _rate(noise: NoiseName) -> float:
    """c2 for noise of scale 2 / epsilon, c1 = 2.

    After n = 2^(r-1) vectors the sums of arm j and the best differ by less than n gap / 2 with probability at
    most e^(-n gap^2 / 4) (Hoeffding). The difference of two noises exceeds n gap / 2 with probability at most
    e^(-n gap epsilon / 4) for exponential noise and for Gumbel noise (a logistic law); for Laplace noise, with
    y = n gap epsilon / 4, with probability (1/2 + y/4) e^-y <= e^(-y/2) / 2.
    """
    rates = {"laplace": 32.0, "exponential": 16.0, "gumbel": 16.0}
    require(noise in rates, "noise", noise, "laplace, exponential or gumbel")
    return rates[noise]


def _require(arms: int, epsilon: float) -> None:
    require_arms(arms)
    require_epsilon(epsilon)
