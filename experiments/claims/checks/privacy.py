"""What papers claim of privacy, held to audits: from what is shown to what is kept, in units of epsilon.

A claim holds where no more than epsilon is kept, and fails where more is shown, see `bandits.audit.verdicts`.
"""

import math
from collections.abc import Sequence
from typing import Any

from bandits.audit.ledger import Domain
from bandits.audit.noisy_max import noisy_max_cost
from bandits.audit.verdicts import Bounds
from bandits.mechanisms.report_noisy_max import NoiseName
from bandits.policies.base import Policy
from bandits.policies.batched_index import DPIMED, DPKLUCB, AdaPKLUCB, AdaPUCB
from bandits.policies.elimination import DPSE
from bandits.policies.given_moments import GivenMoments
from bandits.policies.heavy_tailed import DPRSE, DPRUCB, LDPRSE, Moment
from bandits.policies.lazy import AnytimeLazyUCB, LazyDPTS
from bandits.policies.stopping_rules import DPNAS, DPExponentialNAS
from experiments.claims.checks import ROUNDING
from experiments.claims.settings import Setting
from experiments.intervals import Interval

EPSILONS = (0.1, 1.0, 4.0)
HORIZONS = (10, 1000, 10**6)


def successive_elimination() -> list[Setting]:
    """Share of epsilon that one mean of DP-SE spends, its sensitivity alone, or a surviving set of two arms, exactly"""
    settings = []
    for epsilon in EPSILONS:
        for arms in (2, 10):
            released = DPSE(epsilon).release_cost(arms, 10**6, Domain.UNIT).epsilon
            settings.append(_setting({"of": "means", "arms": arms}, epsilon, released))
        chosen = DPSE(epsilon).decision_cost(2, 10**6, Domain.UNIT).epsilon
        settings.append(_setting({"of": "surviving set", "arms": 2}, epsilon, chosen))
    return settings


def robust_elimination() -> list[Setting]:
    """Share of epsilon that one mean of DPRSE and one report of LDPRSE spend, their sensitivity alone"""
    return [
        _setting({"policy": policy.name, "rewards": domain}, epsilon, policy.release_cost(2, 100, domain).epsilon)
        for epsilon in EPSILONS
        for policy in (DPRSE(epsilon), LDPRSE(epsilon))
        for domain in (Domain.SIGNED, Domain.NONNEGATIVE)
    ]


def stopping_rules() -> list[Setting]:
    """Share of epsilon that whole runs of the stopping rules spend: proved from above, on the worst streams found"""
    rules = [
        (DPNAS(epsilon=4.0, accuracy=0.5, beta=0.05), 4000),
        *((DPExponentialNAS(epsilon=e, accuracy=0.5, beta=0.05), 1 << 22) for e in EPSILONS),
    ]
    return [
        _setting({"rule": rule.name}, rule.epsilon, rule.release_cost(2, most, Domain.SIGNED).epsilon)
        for rule, most in rules
    ]


def natural_logarithm() -> list[Setting]:
    """Share of epsilon that DPRUCB's tree spends with nodes of epsilon / ln T, bounds as they grow, signed rewards"""
    return _robust_tree("natural")


def binary_logarithm() -> list[Setting]:
    """Share of epsilon that DPRUCB's tree spends with nodes of epsilon / log2 T, bounds as they grow, signed rewards"""
    return _robust_tree("natural", (4, 5, *HORIZONS), math.log(2))  # log2 T = ln T / ln 2


def levels() -> list[Setting]:
    """Share of epsilon that DPRUCB's tree spends with nodes of epsilon / levels, bounds as they grow, signed rewards"""
    return _robust_tree("levels")


def _robust_tree(budget: Any, horizons: Sequence[int] = HORIZONS, share: float = 1.0) -> list[Setting]:
    """In units of epsilon; a node with 1 / `share` times the noise of `budget` spends `share` times as much."""
    policy = DPRUCB(1.0, tree_budget=budget)
    return [
        _setting(
            {"T": t, "v": v, "epsilon": 1.0},
            1.0 / share,
            GivenMoments(policy, Moment(1.0, v)).release_cost(2, t, Domain.SIGNED).epsilon,
        )
        for t in horizons
        for v in (0.5, 0.9)
    ]


def laplace_and_gumbel() -> list[Setting]:
    """Share of epsilon that whole runs spend with Laplace or Gumbel noise of scale 2 / epsilon, exactly"""
    return _noisy_max(("laplace", "gumbel"), 2.0, (1, 2, 8, 1 << 12))


def exponential_printed() -> list[Setting]:
    """Share of epsilon that whole runs spend with exponential noise of scale 1 / epsilon, exactly"""
    return _noisy_max(("exponential",), 1.0, (1, 2, 8))


def exponential_proved() -> list[Setting]:
    """Share of epsilon that whole runs spend with exponential noise of scale 2 / epsilon, exactly"""
    return _noisy_max(("exponential",), 2.0, (1, 2, 8))


def _noisy_max(noises: Sequence[NoiseName], scale: float, epochs: Sequence[int]) -> list[Setting]:
    """Of the longest epoch, on which all of a run's cost depends; `scale` in units of 1 / epsilon."""
    return [
        _setting(
            {"noise": noise, "epsilon": epsilon, "arms": arms, "rounds": rounds},
            epsilon,
            noisy_max_cost(noise, scale / epsilon, arms, rounds),
        )
        for noise in noises
        for epsilon in EPSILONS
        for arms in (2, 64)
        for rounds in epochs
    ]


def _setting(labels: dict[str, Any], epsilon: float, bounds: Bounds | None) -> Setting:
    assert bounds is not None
    shown, kept = bounds.shown / epsilon, bounds.kept / epsilon
    return Setting({"epsilon": epsilon, **labels}, Interval(kept, min(shown, kept), kept), at_most=1 + ROUNDING)


def adaptive_episodes() -> list[Setting]:
    """Share of epsilon that one mean of an episode of AdaP-UCB and AdaP-KLUCB spends, its sensitivity alone"""
    return [setting for epsilon in EPSILONS for setting in _released(AdaPUCB(epsilon), AdaPKLUCB(epsilon))]


def private_divergence() -> list[Setting]:
    """Share of epsilon that one sum of a batch of DP-KLUCB and DP-IMED spends, its sensitivity alone"""
    return [
        setting
        for epsilon in EPSILONS
        for first in (1, None)
        for setting in _released(DPKLUCB(epsilon, first), DPIMED(epsilon, first, 1.1), first_batch=first)
    ]


def lazy_means() -> list[Setting]:
    """Share of epsilon that one private mean of Anytime-Lazy-UCB and Lazy-DP-TS spends, its sensitivity alone"""
    return [setting for epsilon in EPSILONS for setting in _released(AnytimeLazyUCB(epsilon), LazyDPTS(epsilon))]


def _released(*policies: Policy, **labels: Any) -> list[Setting]:
    """The dearest release of each policy with two arms."""
    return [
        _setting(
            {"policy": policy.name, **labels},
            policy.guarantee.epsilon,
            policy.release_cost(2, 10**6, Domain.UNIT).epsilon,
        )
        for policy in policies
    ]
