"""What came out of a command, for whoever typed it: a line for each cell, or what to type in Python to read them."""

from collections.abc import Iterable, Sequence
from typing import Any

from experiments.config.plan import Plan, merge
from experiments.cost import OF_CELL, in_columns, varying
from experiments.intervals import mean
from experiments.store import CODE, Store, stored_cells
from experiments.stored import Stored
from experiments.stored_cells import Cells

MOST = 24  # cells whose numbers are shown
ERROR = 0.05  # of the intervals


def summary(plans: Sequence[Plan]) -> str:
    """The headline of each cell, its mean and 95 % interval, if they are few; and the call of `load` for all rows."""
    several = merge(request for asked in plans for request in asked.requests)
    lines = [f"in Python: {call}" for call in dict.fromkeys(map(_call, plans))][:MOST]
    if len(several) <= MOST:
        lines = [*_tables(Cells.of(map(stored_cells, plans))), *lines]
    return "\n".join(lines)


def _tables(cells: Cells) -> Iterable[str]:
    """A table for each headline, as cells of one command may record different things."""
    for headline, of in cells.grouped(lambda stored: stored.cell.headline).items():
        names = [*OF_CELL, *varying([stored.cell.columns for stored in of])]
        rows = [[*(stored.cell.columns.get(name, "") for name in names), *_estimate(stored)] for stored in of]
        yield in_columns([*names, "replications", f"mean {headline}", "95 % interval"], rows)


def _estimate(stored: Stored) -> tuple[Any, ...]:
    values = stored.headline
    if stored.exact:
        return "", f"{values[0]:.6g}", "computed"
    found = mean(values, ERROR)
    return len(values), f"{found.estimate:.6g}", "-" if len(values) == 1 else f"± {found.high - found.estimate:.3g}"


def _call(asked: Plan) -> str:
    """How the rows of a plan are read in Python."""
    results = "" if asked.results == Store.default() else f"results_dir={str(asked.results)!r}"
    if asked.experiment is not None:
        overrides = [text for text in asked.overrides if not text.startswith(("+experiment=", "results_dir="))]
        words = [repr(asked.experiment), f"overrides={overrides}" if overrides else "", results]
        folders = [str(folder) for folder in asked.composer.config_dirs]
        words.append(f"config_dirs={folders}" if folders else "")
    else:
        columns = {"instance": asked.requests[0].cell.instance.name, "policy": asked.requests[0].cell.policy.name}
        codes = {CODE: code} if (code := asked.requests[0].cell.code) else {}
        words = [*(f"{name}={value!r}" for name, value in (columns | codes).items()), results]
    table = next(iter(asked.requests[0].cell.tables if asked.requests else ()), "curves")
    name = "load" if table == "curves" else f"load_{table}"
    return f"from experiments import {name}; {name}({', '.join(filter(None, words))})"
