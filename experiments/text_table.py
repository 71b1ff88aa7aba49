"""Tables of a terminal."""

import sys
from collections.abc import Sequence


def text_table(rows: Sequence[Sequence[object]], left: int = sys.maxsize) -> list[str]:
    """The lines of a table, of which the first `left` columns are aligned to the left, the others to the right.

    Floats have 12 digits. pandas could do it too, but its import is slow.
    """
    words = [[f"{value:.12g}" if isinstance(value, float) else str(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*words, strict=True)]
    return [
        "  ".join(
            word.ljust(width) if place < left else word.rjust(width)
            for place, (word, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in words
    ]
