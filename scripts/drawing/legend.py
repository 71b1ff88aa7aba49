"""The legend of a figure: the label and look of each cell. A label names every parameter that varies within a panel.

Different curves have different labels, and no two labels have the same colour, dashes and marker. Which colours,
dashes and markers there are stands at the end.
"""

import colorsys
import dataclasses
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bandits.learner import Learner
from experiments.errors import UserError
from experiments.store.stored import Cells, Stored
from scripts.drawing import words
from scripts.drawing.drawing import Dashes
from scripts.drawing.numbers import parameter
from scripts.drawing.spec import SYMBOLS

Same = Callable[[Stored], Hashable]
# The columns that are tried before the parameters of instances.
LABEL_COLUMNS = ("instance", "arms", "epsilon", "delta", "horizon", "scope", "record")


@dataclass(frozen=True)
class Entry:
    """One label of a legend, and how it is drawn.

    Attributes
    ----------
    within_colour: index of the label among those of its colour; it gives dashes and marker.
    among_all: index of the label among all labels.
    """

    label: str
    colour: str
    within_colour: int
    among_all: int

    @property
    def dashes(self) -> Dashes:
        return dashes(self.within_colour)

    @property
    def marker(self) -> str:
        return marker(self.within_colour)


def legend(
    cells: Cells,
    panels: Iterable[Cells],
    colours: Mapping[str, str],
    text_of: Callable[[Stored, str], str] = words.full_label,
    same: Same = lambda _: None,
) -> dict[str, Entry]:
    """The entry of each of the `cells`, by its key; cells of the same curve share an entry.

    Raises `UserError` if two cells of a panel cannot be distinguished.

    Parameters
    ----------
    panels: the cells of each panel, all among the `cells`; parameters that vary within a panel go into the labels.
    colours: known colours of policies.
    text_of: gives the label of a cell, from the cell and the suffix of its policy's name, see `names_behind`.
    same: a key for cells of one label that need no distinction if it differs, such as their position along x.
    """
    behind = names_behind(cells)
    labels = {stored.cell.key: text_of(stored, behind[stored.cell.policy.name]) for stored in cells}
    labels |= _distinguished(panels, labels, same)
    assigned = colours_of((stored.cell.policy for stored in cells), colours)
    entries: dict[str, Entry] = {}
    for stored in cells:
        label, colour = labels[stored.cell.key], assigned[colour_key(stored.cell.policy)]
        if label not in entries:
            number = sum(other.colour == colour for other in entries.values())
            entries[label] = Entry(label, colour, number, among_all=len(entries))
    return {stored.cell.key: entries[labels[stored.cell.key]] for stored in cells}


def names_behind(cells: Iterable[Stored]) -> dict[str, str]:
    """The suffix after the label of each policy, by name: empty, or [name] if another policy has the same label.

    Raises `UserError` for two classes with the same name, because their curves could not be distinguished.
    """
    classes: dict[str, type[Any]] = {}
    of_label: dict[str, set[str]] = {}
    for stored in cells:
        policy = stored.cell.policy
        first = classes.setdefault(policy.name, type(policy))
        if first is not type(policy):
            raise UserError(f"policy: {_place(first)} and {_place(type(policy))} are both called {policy.name}")
        for label in (words.name(policy), words.legend_name(policy)):
            of_label.setdefault(label, set()).add(policy.name)
    shared = {name for label, names in of_label.items() for name in names if len(names) > 1 or not label}
    return {name: f" [{name}]" if name in shared else "" for name in classes}


def _distinguished(panels: Iterable[Cells], labels: Mapping[str, str], same: Same) -> dict[str, str]:
    """The `labels` of cells by their key, with names and values of the other columns that vary within a panel.

    Raises `UserError` if two cells cannot be distinguished.
    """
    named: dict[str, dict[str, None]] = {}
    for of_panel in panels:
        for (label, _), alike in of_panel.grouped(lambda stored: (labels[stored.cell.key], same(stored))).items():
            named.setdefault(label, {}).update(dict.fromkeys(_distinguishing(alike)))
    told = {}
    for label, group in Cells.of(panels).grouped(lambda stored: labels[stored.cell.key]).items():
        for stored in group:
            values = [_value_in_words(name, stored, group) for name in named[label] if name in stored.columns]
            told[stored.cell.key] = ", ".join([label, *values])
    return told


def _distinguishing(cells: Cells) -> list[str]:
    """The columns that distinguish cells: all parameters of a policy that vary, and as few others as possible."""
    of_policy = cells.grouped(lambda stored: stored.cell.policy.name)
    names = ["policy"] if len(of_policy) > 1 else []
    for group in of_policy.values():
        fields = [item.name for item in dataclasses.fields(group[0].cell.policy)]  # type: ignore[arg-type]
        names += [name for name in fields if len(group.values(name)) > 1 and name not in names]
    for name in dict.fromkeys((*LABEL_COLUMNS, *cells.columns)):
        if _count(cells, names) == len(cells):
            return names
        if _count(cells, [*names, name]) > _count(cells, names):
            names.append(name)
    if _count(cells, names) < len(cells):
        cell = cells[0].cell
        raise UserError(
            f"cells: {cell.policy.name} on {cell.instance.name} occurs twice, and nothing distinguishes the two"
        )
    return names


def _count(cells: Cells, names: Sequence[str]) -> int:
    """How many different rows of values the cells have in these columns."""
    return len({tuple(repr(columns.get(name)) for name in names) for columns in (stored.columns for stored in cells)})


def _value_in_words(name: str, stored: Stored, group: Cells) -> str:
    """A column and its value in a legend, with enough digits to distinguish the values."""
    values = group.values(name)
    short = len({parameter(value) for value in values}) == len(values)
    value = stored.columns[name]
    return f"{SYMBOLS.get(name, name.replace('_', ' '))} = {parameter(value) if short else value}"


def _place(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__name__}"


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


def colour_key(policy: Learner[Any]) -> str:
    """The key of a colour: the name of the policy, and its noise if it has such a parameter."""
    return f"{policy.name} {vars(policy).get('noise', '')}".strip()


def colours_of(policies: Iterable[Learner[Any]], given: Mapping[str, str]) -> dict[str, str]:
    """The colour for the key (`colour_key`) of each of the `policies`: the `given` colour, else the first unused one.

    A policy without privacy is grey. Of policies with the same given colour, as papers set them, those after the first
    get another one of the palette while there is one. All other unknown policies get different colours: after the
    palette come further hues, each far from those before.
    """
    words = {colour_key(policy): policy.guarantee.private for policy in policies}
    colours = {word: given.get(word, "") if private else COUNTERPART_COLOUR for word, private in words.items()}
    free = [colour for colour in PALETTE if colour.lower() not in {used.lower() for used in colours.values()}]
    first: dict[str, str] = {}
    for word, colour in colours.items():
        if words[word] and colour and first.setdefault(colour.lower(), word) != word and free:
            colours[word] = free.pop(0)
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
