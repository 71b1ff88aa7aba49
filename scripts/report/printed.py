"""What a paper prints in the place of a figure, and how ours differs: the key `printed` of an experiment.

printed:
  where: "Figure 3"                   # in the paper
  shows: "Mean regret of ..."         # its caption and the text about it, in our words
  differs: ["Which DP-UCB: ..."]      # what is unlike it here, and why
"""

from dataclasses import dataclass

from omegaconf import DictConfig

from experiments.config.build import read
from experiments.config.compose import Composed
from experiments.errors import UserError
from scripts.drawing.fresh import resolved


@dataclass(frozen=True)
class Printed:
    """What a paper prints: `where`, what it `shows`, and how our figure `differs` from it."""

    where: str
    shows: str
    differs: list[str]


def printed_of(composed: Composed) -> Printed | None:
    """The `printed` of a config, None if it has none. Raises `UserError` that names the key."""
    node = composed.config.printed
    if node is None:
        return None
    if not isinstance(node, DictConfig):
        raise UserError(f"printed: must be a mapping with where, shows and differs, got {node}")
    printed = read(Printed, resolved(node), lambda key, problem: UserError(f"printed.{key}: {problem}"))
    if not all(isinstance(text, str) for text in printed.differs):
        raise UserError(f"printed.differs: must be a list of texts, got {printed.differs}")
    return printed
