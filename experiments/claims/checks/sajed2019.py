"""What Sajed and Sheffet (2019) claim of laws and algorithms."""

from bandits.environments.bernoulli import C1, C2, C3, C4
from bandits.mechanisms.tree import node_scale
from experiments.claims.checks import ROUNDING
from experiments.claims.settings import Setting
from experiments.intervals import exactly


def tree_noise_variance() -> list[Setting]:
    """Variance of the noise of a prefix of 2^k - 1 items times epsilon^2 / log2(2^k)^3"""
    return [
        Setting(
            {"items": f"2^{k} - 1"},
            exactly((2**k - 1).bit_count() * 2 * node_scale(2**k - 1, 1.0) ** 2 / k**3),
            at_most=2.0,
        )
        for k in range(2, 61)
    ]


def bernoulli_variances() -> list[Setting]:
    """Largest over smallest variance of the arms of C1 to C4"""
    settings = []
    for family in (C1, C2, C3, C4):
        for arms in (3, 5, 10, 20):
            means = family(arms).mean_rewards
            variances = means * (1 - means)
            ratio = exactly(variances.max() / variances.min())
            settings.append(Setting({"instance": family.name, "arms": arms}, ratio, at_most=4 / 3 + ROUNDING))
    return settings
