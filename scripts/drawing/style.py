"""One look for all figures."""

import colorsys
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bandits.learner import Learner
from scripts.drawing.drawing import Dashes

# Okabe and Ito's colours, which colour-blind readers can tell apart.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GOLDEN = (5**0.5 - 1) / 2  # of a turn: steps of this size never come back to a hue
COUNTERPART_COLOUR = "0.55"
FIRST_MARKERS = ("o", "s", "^", "D", "v", "P")
FIRST_DASHES: tuple[Dashes, ...] = ("solid", (0, (5, 1.5)), (0, (1, 1)))
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


def dashes(number: int) -> Dashes:
    """Dashes of what has a colour as the first, second, ... thing; beyond the simple ones a dash and ever more dots."""
    dots = number - len(FIRST_DASHES) + 1
    return FIRST_DASHES[number] if dots < 1 else (0, (5, 1.5, *(1, 1.5) * dots))


def marker(number: int) -> str:
    """A marker for the first, second, ... thing; beyond the simple ones its number."""
    return FIRST_MARKERS[number] if number < len(FIRST_MARKERS) else f"${number + 1}$"


def word_of(policy: Learner[Any]) -> str:
    """What a colour is given to: a policy, or where policies of a name differ in their noise, one of its noises."""
    return f"{policy.name} {vars(policy).get('noise', '')}".strip()


def colours_of(policies: Iterable[Learner[Any]], known: Mapping[str, str]) -> dict[str, str]:
    """A colour for each word of the `policies`: the `known` one, else the first that is still free.

    A policy without privacy is grey, as the counterpart of private ones. No two others are given the same colour: when
    the palette is used up, hues follow that lie between those before.
    """
    words = {word_of(policy): policy.guarantee.private for policy in policies}
    colours = {word: known.get(word, "") if private else COUNTERPART_COLOUR for word, private in words.items()}
    for word in [word for word, colour in colours.items() if not colour]:
        taken = {colour.lower() for colour in colours.values()}
        colours[word] = next(colour for colour in _every_colour() if colour.lower() not in taken)
    return colours


def _every_colour() -> Iterator[str]:
    """The palette, and then hues that are each as far as can be from those before."""
    yield from PALETTE
    for number in itertools.count(1):
        red, green, blue = colorsys.hls_to_rgb(number * GOLDEN % 1, (0.3, 0.45, 0.6)[number % 3], 0.7)
        yield f"#{round(255 * red):02X}{round(255 * green):02X}{round(255 * blue):02X}"
