"""What runs on the device of a user under local privacy: it sends one number, and the server sees nothing else."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bandits.deploy.checks import RewardDomain, as_float, budget, is_integer, true_or_false
from bandits.deploy.exact_bits import bernoulli, discrete_laplace, randomised
from bandits.mechanisms.deployable import GRID, on_grid
from bandits.parameters import ParameterError, is_real, require
from bandits.policies.heavy_tailed import LDPRSE
from bandits.policies.local_halving import LDPHalving
from bandits.policies.local_ucb import LDPUCBL, BitPolicy
from bandits.policies.robust_elimination import RobustBitSE

MOST_STEPS = 2**52  # of the report of a `LaplaceClient`, either way: a sum of doubles is exact to 2^53


class Client:
    """What runs on the device of a user, and needs no learner.

    Guarantee: every message is epsilon-differentially private for the reward, exactly, whoever sees it: probabilities
    are not rounded, and random bits come from the operating system. A message may be sent again; a second one for the
    same reward costs epsilon again.
    """

    def __init__(self, epsilon: float, domain: tuple[float, float] = (0.0, 1.0), *, clamp: bool = False) -> None:
        self.epsilon, self.domain, self.clamp = _budget(epsilon), domain, clamp
        self._domain = RewardDomain.of(domain, true_or_false(clamp, "clamp"))

    def message(self, reward: float) -> int:
        """The bit to send: 1 with probability (r e^epsilon + 1 - r) / (1 + e^epsilon), r the reward on [0, 1].

        r is rounded to steps of 2^-20. Raises `ParameterError` for a reward outside the domain.
        """
        chance = Fraction(on_grid(self._domain.unit(reward)), GRID)
        return int(randomised(bernoulli(chance), self.epsilon))


class LaplaceClient(Client):
    """A `Client` for LDP-UCB-L: it sends its reward with noise, in whole steps of 2^-20.

    Guarantee: that of `Client`. A reward moves the message by at most 2^20 steps, and the noise is discrete Laplace
    noise of scale 2^20 / epsilon, drawn exactly; messages beyond 2^52 steps are clipped, which costs no privacy.
    """

    def message(self, reward: float) -> int:
        """The report to send: the reward on [0, 1], rounded to steps of 2^-20, plus noise, in these steps.

        Raises `ParameterError` for a reward outside the domain.
        """
        return _with_noise(on_grid(self._domain.unit(reward)), GRID, self.epsilon)


class TruncatingClient:
    """What runs on the device of a user for Robust bit SE, where a reward may be any number.

    Guarantee: that of `Client`, for all rewards and every bound that the server sends: a reward is truncated to at most
    2^20 steps of the bound before it is randomised. A second message costs epsilon again, also with another bound.
    """

    def __init__(self, epsilon: float) -> None:
        self.epsilon = _budget(epsilon)

    def message(self, reward: float, bound: float) -> int:
        """The bit to send: 1 with probability 1/2 + tanh(epsilon / 2) x / 2, x = reward / bound, 0 beyond the bound.

        `bound` is that of the ticket. x is rounded to steps of 2^-20. Raises `ParameterError` for a reward that is no
        number, and for a bound that is not finite and positive.
        """
        chance = Fraction(GRID + truncated(reward, bound), 2 * GRID)
        return int(randomised(bernoulli(chance), self.epsilon))


class TruncatingLaplaceClient(TruncatingClient):
    """A `TruncatingClient` for LDPRSE: it sends its reward with noise, in steps of 2^-20 of the bound.

    Guarantee: that of `TruncatingClient`. A reward moves the message by at most 2^21 steps, and the noise is discrete
    Laplace noise of scale 2^21 / epsilon, drawn exactly; messages beyond 2^52 steps are clipped.
    """

    def message(self, reward: float, bound: float) -> int:
        """The report to send: reward / bound, 0 beyond the bound, plus noise, in steps of 2^-20. Errors as above."""
        return _with_noise(truncated(reward, bound), 2 * GRID, self.epsilon)


def truncated(reward: Any, bound: Any) -> int:
    """reward / bound in steps of 2^-20, from -2^20 to 2^20; 0 for a reward beyond the bound."""
    size = as_float(bound) if is_real(bound) else math.nan
    require(0 < size < math.inf, "bound", repr(bound), "that of a ticket: a finite number > 0")
    value = as_float(reward) if is_real(reward) else math.nan
    require(not math.isnan(value), "reward", repr(reward), "a number")
    return on_grid(value / size) if abs(value) <= size else 0


def _budget(epsilon: Any) -> float:
    number = budget(epsilon)
    require(0 < number <= 700, "epsilon", epsilon, "a number in (0, 700]")
    return number


def _with_noise(steps: int, sensitivity: int, epsilon: float) -> int:
    """`steps`, which a reward moves by at most `sensitivity`, with discrete Laplace noise."""
    noisy = steps + discrete_laplace(sensitivity / Fraction(epsilon))
    return max(-MOST_STEPS, min(MOST_STEPS, noisy))


@dataclass(frozen=True)
class MessageForm:
    """What the clients of a policy send: a whole number from `least` to `most`, where a report of 1 is `unit`."""

    least: int
    most: int
    unit: int
    words: str

    def checked(self, message: Any) -> int:
        """The message. Raises `ParameterError` for anything else than such a number."""
        allowed = is_integer(message) and self.least <= message <= self.most
        require(allowed, "message", repr(message), self.words)
        return int(message)


def _bits(client: str) -> MessageForm:
    return MessageForm(0, 1, 1, f"that of a {client}: 0 or 1")


def _steps(client: str) -> MessageForm:
    words = f"that of a {client}: a whole number from -2^52 to 2^52"
    return MessageForm(-MOST_STEPS, MOST_STEPS, GRID, words)


FORMS: dict[type, MessageForm] = {
    BitPolicy: _bits("Client"),
    LDPHalving: _bits("Client"),
    LDPUCBL: _steps("LaplaceClient"),
    RobustBitSE: _bits("TruncatingClient"),
    LDPRSE: _steps("TruncatingLaplaceClient"),
}


def message_form(policy: Any) -> MessageForm:
    """What clients send to this policy. Raises `ParameterError` for one that has no clients here."""
    for cls, form in FORMS.items():
        if isinstance(policy, cls):
            return form
    name = getattr(policy, "name", repr(policy))
    raise ParameterError("policy", f"{name} has no clients; docs/deploy.md says which have")
