"""Lower bounds from bets against a promise, valid at all numbers of runs at once (anytime-valid).

If an output is (epsilon, delta)-private, then 1{X in E} - e^epsilon 1{Y in E} - delta has a mean of at most 0 for every
event E, X and Y outputs on two neighbouring inputs. If a share of a wealth is bet on this number in every run, with E
and the share chosen from earlier runs, then the wealth is a supermartingale if the promise holds: it ever exceeds
1 / failure with probability at most `failure` (Ville 1939). So one may check after every run and stop at any time. The
idea for privacy audits is that of Gonzalez et al. (NeurIPS 2025, arXiv 2509.07055). The choice of events is ours: the
outcomes that were more than e^epsilon times as frequent under one input. The bets are the mean gain over the mean
square, limited so that the wealth stays positive (Waudby-Smith and Ramdas 2024).
"""

from dataclasses import dataclass, field

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.exponents import LARGEST_EXPONENT

BATCH = 50  # pairs of runs between two choices of the event and the bet
MOST = 0.9  # share of the largest bet with which the wealth stays positive


@dataclass
class Bets:
    """Bets against each of several promises (epsilon, delta), half of the wealth on each of the two directions.

    `outcomes` is the number of different outcomes, which are numbered from 0; `best` the logarithm of the largest
    wealth so far, shape (promises,).
    """

    epsilons: FloatArray
    deltas: FloatArray
    outcomes: int
    best: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        shape = 2, len(self.epsilons)
        self._log, self._sum, self._squares = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._seen = np.zeros((2, self.outcomes))
        self._pairs = 0
        self.best = np.zeros(shape[1])

    def play(self, first: IntArray, second: IntArray) -> None:
        """Bet on independent outcomes under both inputs, shapes (runs,), in batches."""
        for begin in range(0, len(first), BATCH):
            batch = first[begin : begin + BATCH], second[begin : begin + BATCH]
            for turn in (0, 1):
                self._bet(turn, batch[turn], batch[1 - turn])
            self._seen += [np.bincount(side, minlength=self.outcomes) for side in batch]
            self._pairs += len(batch[0])
            self.best = np.maximum(self.best, np.logaddexp(*self._log) - np.log(2))

    def _bet(self, turn: int, one: IntArray, other: IntArray) -> None:
        """Bet that outcomes of an event are more frequent in `one`; event and bet are fixed for the batch."""
        growth = np.exp(np.minimum(self.epsilons, LARGEST_EXPONENT))[:, None]  # beyond, no event is as frequent
        event = self._seen[turn] + 0.5 > growth * (self._seen[1 - turn] + 0.5)
        gains = event[:, one].astype(float) - growth * event[:, other] - self.deltas[:, None]
        mean = self._sum[turn] / max(self._pairs, 1)
        spread = self._squares[turn] / max(self._pairs, 1)
        safe = MOST / (growth[:, 0] + self.deltas)
        bet = np.clip(np.divide(mean, spread, where=spread > 0, out=np.zeros(len(mean))), 0, safe)
        self._log[turn] += np.log1p(bet[:, None] * gains).sum(axis=1)
        self._sum[turn] += gains.sum(axis=1)
        self._squares[turn] += (gains**2).sum(axis=1)


def refuted(first: IntArray, second: IntArray, failure: float, epsilons: FloatArray, deltas: FloatArray) -> int:
    """The number of promises, ordered from strong to weak, that are refuted before the first that is not.

    A true promise is among them with probability at most `failure`: the strongest true one must then be refuted, a
    single test. `first` and `second` are outcomes as numbers, shapes (runs,), equally many of both inputs.
    """
    names, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    bets = Bets(epsilons, deltas, len(names))
    bets.play(codes[: len(first)], codes[len(first) :])
    lost = bets.best < np.log(1 / failure)
    return int(np.argmax(lost)) if lost.any() else len(lost)


def betting_epsilon(first: IntArray, second: IntArray, failure: float, delta: float = 0.0) -> float:
    """A lower bound on epsilon at `delta`; too large with probability `failure` at most."""
    ladder = np.arange(0.0, np.log(len(first)) + 1, 0.02)
    steps = refuted(first, second, failure, ladder, np.full(len(ladder), delta))
    return float(ladder[steps - 1]) if steps else 0.0


def betting_delta(first: IntArray, second: IntArray, failure: float, epsilon: float) -> float:
    """A lower bound on delta at `epsilon`; too large with probability `failure` at most."""
    ladder = np.concatenate([[0.0], np.geomspace(1 / len(first), 1.0, 300)])
    steps = refuted(first, second, failure, np.full(len(ladder), epsilon), ladder)
    return float(ladder[steps - 1]) if steps else 0.0
