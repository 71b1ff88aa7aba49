"""What a test says that asks for a row of a file: the line to add, and where."""

from collections.abc import Iterable


def require_rows(wanted: Iterable[str], there: Iterable[str], place: str, row: str) -> None:
    """Fail unless a place has exactly the wanted rows, and say what to do.

    `row` is a row of the place, with NAME for its name. `place` is a file, and where in it if that is not plain.
    """
    needed, present = set(wanted), set(there)
    lines = [f"{place}: add {row.replace('NAME', name)}" for name in sorted(needed - present)]
    lines += [f"{place}: remove the row of {name}, which is not there any more" for name in sorted(present - needed)]
    assert not lines, "\n" + "\n".join(lines)
