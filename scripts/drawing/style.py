"""Colours, dashes and markers of policies in all figures."""

import colorsys
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bandits.learner import Learner
from scripts.drawing.drawing import Dashes

# Okabe and Ito's colours, which colour-blind readers can distinguish.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GOLDEN = (5**0.5 - 1) / 2  # golden ratio, as a part of the colour circle: multiples of it never repeat a hue
COUNTERPART_COLOUR = "0.55"
FIRST_MARKERS = ("o", "s", "^", "D", "v", "P")
FIRST_DASHES: tuple[Dashes, ...] = ("solid", (0, (5, 1.5)), (0, (1, 1)))


def dashes(number: int) -> Dashes:
    """Dashes of the curve with this index among those of one colour; from the fourth on, a dash and several dots."""
    dots = number - len(FIRST_DASHES) + 1
    return FIRST_DASHES[number] if dots < 1 else (0, (5, 1.5, *(1, 1.5) * dots))


def marker(number: int) -> str:
    """The marker of the curve with this index among those of one colour; from the seventh on, its number."""
    return FIRST_MARKERS[number] if number < len(FIRST_MARKERS) else f"${number + 1}$"


def word_of(policy: Learner[Any]) -> str:
    """The key of a colour: the name of the policy, and its noise if it has such a parameter."""
    return f"{policy.name} {vars(policy).get('noise', '')}".strip()


def colours_of(policies: Iterable[Learner[Any]], known: Mapping[str, str]) -> dict[str, str]:
    """The colour for the key (`word_of`) of each of the `policies`: the `known` colour, else the first unused one.

    A policy without privacy is grey. All other unknown policies get different colours: after the palette come further
    hues, each far from those before.
    """
    words = {word_of(policy): policy.guarantee.private for policy in policies}
    colours = {word: known.get(word, "") if private else COUNTERPART_COLOUR for word, private in words.items()}
    for word in [word for word, colour in colours.items() if not colour]:
        taken = {colour.lower() for colour in colours.values()}
        colours[word] = next(colour for colour in _every_colour() if colour.lower() not in taken)
    return colours


def _every_colour() -> Iterator[str]:
    """The palette, and then further hues, each far from those before."""
    yield from PALETTE
    for number in itertools.count(1):
        red, green, blue = colorsys.hls_to_rgb(number * GOLDEN % 1, (0.3, 0.45, 0.6)[number % 3], 0.7)
        yield f"#{round(255 * red):02X}{round(255 * green):02X}{round(255 * blue):02X}"
