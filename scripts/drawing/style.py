"""One look for all figures."""

from collections.abc import Iterable, Mapping
from typing import Any

from bandits.learner import Learner
from scripts.drawing.drawing import Dashes

# Okabe and Ito's colours, which colour-blind readers can tell apart.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
COUNTERPART_COLOUR = "0.55"
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES: tuple[Dashes, ...] = ("solid", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))
SMALL = 7  # points, of a legend inside a panel

RC_PARAMS: Any = {  # matplotlib has a type of its own for its keys
    "axes.formatter.limits": (-3, 4),
    "axes.formatter.use_mathtext": True,
    "axes.grid": True,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "figure.constrained_layout.use": True,
    "figure.dpi": 150,
    "font.size": 9,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "pdf.fonttype": 42,
    "svg.hashsalt": "private-bandits",
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


def word_of(policy: Learner[Any]) -> str:
    """What a colour is given to: a policy, or where policies of a name differ in their noise, one of its noises."""
    return f"{policy.name} {getattr(policy, 'noise', '')}".strip()


def colours_of(policies: Iterable[Learner[Any]], known: Mapping[str, str]) -> dict[str, str]:
    """A colour for each word of the `policies`: the `known` one, else the first of the palette that is still free.

    A policy without privacy is grey, as the counterpart of private ones. Colours repeat only when the palette is
    used up.
    """
    words = {word_of(policy): policy.guarantee.private for policy in policies}
    colours = {word: known.get(word, "") if private else COUNTERPART_COLOUR for word, private in words.items()}
    for place, word in enumerate(word for word, colour in colours.items() if not colour):
        free = [colour for colour in PALETTE if colour not in colours.values()]
        colours[word] = free[0] if free else PALETTE[place % len(PALETTE)]
    return colours
