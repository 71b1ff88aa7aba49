"""Numbers at the ticks of an axis, as matplotlib chooses them, in plain letters: 10³ instead of a formula.

Formulas took a fifth of the time of a figure: each is read and set anew for the layout and for each file.
"""

import re

from matplotlib.ticker import LogFormatterSciNotation, ScalarFormatter

from scripts.drawing.numbers import MINUS, SUPERSCRIPTS


class PlainPowers(LogFormatterSciNotation):
    """Of a logarithmic axis."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return plain(super().__call__(x, pos))


class PlainNumbers(ScalarFormatter):
    """Of a linear axis, a common power of ten at its end."""

    def __init__(self) -> None:
        super().__init__(useMathText=False)

    def get_offset(self) -> str:
        return re.sub(rf"^1e([{MINUS}\d]+)", lambda found: f"×10{_raised(found[1])}", super().get_offset())


def plain(formula: str) -> str:
    r"""What matplotlib writes at ticks, as in $\mathdefault{2\times10^{3}}$, without mathematics: 2×10³."""
    text = formula.replace("\\mathdefault", "").replace("\\times", "×").replace("$", "")
    text = re.sub(r"\^\{([-\d]+)\}", lambda found: _raised(found[1]), text)
    return text.strip("{}").replace("-", MINUS)


def _raised(power: str) -> str:
    return power.replace(MINUS, "-").translate(SUPERSCRIPTS)
