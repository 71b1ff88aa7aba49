"""The exact law of the arm that alone survives a batch, when a server sees only sums modulo a number."""

from dataclasses import dataclass

import numpy as np

from bandits.arrays import FloatArray, IntArray

TRIED = 9  # reward sums of the arm whose reward changes
BEHIND = 300.0  # largest number of noise scales by which an arm that survives alone is behind
ROUNDING = 1e-12  # subtracted from a lower bound on delta, for rounding errors


@dataclass(frozen=True)
class BatchLaws:
    """A batch of `arms` arms with `rounds` rewards 0 or 1 each, of which the server sees sums modulo a number.

    A reward of 1 counts as `grid`; `noise` has the probabilities of the noise of a sum modulo that number, shape
    (modulus,). A residue is decoded to the sum in (most - modulus, most], most = rounds grid + margin. An arm is
    removed if its mean trails that of another by more than `threshold`.
    """

    arms: int
    rounds: int
    grid: int
    margin: int
    threshold: float
    noise: FloatArray

    def law(self, sums: tuple[int, int]) -> FloatArray:
        """The probabilities that arm 1 alone stays, that arm 2 alone stays, and of all other outcomes.

        Arm 1 has the first of the sums, every other arm the second.
        """
        most, modulus = self.rounds * self.grid + self.margin, len(self.noise)
        seen = np.arange(most - modulus + 1, most + 1)
        first, second = (self.noise[(seen - self.grid * total) % modulus] for total in sums)
        lead = self.threshold * self.grid * self.rounds
        behind_first, behind_second = (_behind(seen, law, lead) for law in (first, second))
        alone = first @ behind_second ** (self.arms - 1), second @ (behind_first * behind_second ** (self.arms - 2))
        return np.array([*alone, max(0.0, 1 - sum(alone))])

    def epsilon(self, epsilon: float) -> tuple[float, str]:
        """Pure epsilon of the event that arm 1 survives alone from far behind, and its witness.

        `epsilon` is that of the noise. Arm 1 is `BEHIND` scales behind, or as far as rewards allow. A sum far behind
        gets ahead most likely by noise so low that its residue is decoded to a high sum; one more reward makes that
        less likely.
        """
        lead = max(-self.rounds, min(self.rounds - 1, round(self.threshold * self.rounds - BEHIND / epsilon)))
        own, rival = max(0, lead), max(0, -lead)
        laws = [self.law((total, rival)) for total in (own, own + 1)]
        if min(laws[0][0], laws[1][0]) <= 0:
            return 0.0, "no arm can fall"
        others = "arm 2" if self.arms == 2 else "every other arm"
        witness = (
            f"arm 1 with {own} rewards of 1 in {self.rounds} or one more, {others} with {rival}; arm 1 alone survives"
        )
        return abs(float(np.log(laws[1][0] / laws[0][0]))), witness

    def delta(self, epsilon: float) -> tuple[float, str]:
        """The largest delta at `epsilon` found, and its witness; arm 1 is near the threshold, others have sum 0.

        The events are that arm 1 or arm 2 survives alone, or that it does not: if it is the last arm, the next pull
        shows it.
        """
        best, worst = 0.0, 0
        near = self.threshold * self.rounds
        tried = np.linspace(near - 7 * self._deviation, near + 7 * self._deviation, TRIED)
        for own in sorted({int(value) for value in np.clip(np.round(tried), 0, self.rounds - 1)}):
            alone = [self.law((total, 0))[:2] for total in (own, own + 1)]
            laws = [np.concatenate([law, 1 - law]) for law in alone]
            for one, other in (laws, laws[::-1]):
                shown = float((one - np.exp(epsilon) * other).max()) - ROUNDING
                if shown > best:
                    best, worst = shown, own
        others = "arm 2" if self.arms == 2 else "every other arm"
        return best, f"arm 1 with {worst} rewards of 1 in {self.rounds} or one more, {others} with none"

    @property
    def _deviation(self) -> float:
        """The standard deviation of the noise of a sum, in rewards."""
        residues = np.arange(len(self.noise))
        distance = np.minimum(residues, len(residues) - residues) / self.grid
        return float(np.sqrt(self.noise @ distance**2))


def _behind(seen: IntArray, law: FloatArray, lead: float) -> FloatArray:
    """The probability that a sum with this law on `seen` is more than `lead` below each of the values `seen`."""
    below = np.concatenate([[0.0], np.cumsum(law)])
    return below[np.searchsorted(seen, seen - lead, side="left")]
