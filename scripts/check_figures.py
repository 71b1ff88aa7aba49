"""Compare figures drawn from stored results with committed baselines: first their tables, then images without text.

    python -m scripts.check_figures +experiment=sajed2019/fig03
    python -m scripts.check_figures -m +experiment=sajed2019/fig01,sajed2019/fig02
    python -m scripts.check_figures +experiment=sajed2019/fig03 accept=true

The baselines in `tests/baselines` are `figures.parquet`, with the table of every figure (what is drawn: panel, part,
legend, look, and at most 25 vertices of every curve and band), and an image `<experiment>.png` of each. `accept=true`
replaces those of the figures that are named. A figure whose image was removed leaves the table then.
"""

import io
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from experiments.config.command_line import exit_on_user_error, read_command_line
from experiments.config.compose import Composer
from experiments.config.folders import folder
from experiments.config.overrides import named_experiment, without
from experiments.config.plan import plan
from experiments.errors import UserError, flag
from experiments.own_code.fan_out import delayed, in_parallel
from experiments.store import stored_cells
from experiments.store.whole_files import put
from scripts.drawing import text_free
from scripts.drawing.figure import drawing_of_plan, figure_name, why
from scripts.drawing.render import render
from scripts.drawing.tables import MEANS, NUMBERS, TYPES, table_of_drawing
from scripts.drawing.text_free import Picture

TABLES = "figures.parquet"
TOLERANCES = {"x": 1e-8, "y": 1e-6, "low": 1e-6, "high": 1e-6}  # relative; any other column must be equal
SMALL: dict[str, Any] = {
    "use_dictionary": ["figure", *TYPES, "x"],
    "use_byte_stream_split": ["y", "low", "high"],
}  # two thirds as big
NEGLIGIBLE = 1e-12  # absolute difference that is allowed


@dataclass(frozen=True)
class Baseline:
    """What a figure is compared by: its table, see `scripts.drawing.tables`, and its image without text."""

    table: pd.DataFrame
    picture: Picture

    @classmethod
    def read(cls, folder: Path, name: str) -> "Baseline":
        """The accepted baseline of a figure. Raises `UserError` if a file is missing or cannot be read."""
        try:
            rows = pd.read_parquet(folder / TABLES, columns=[*TYPES, *NUMBERS], filters=[("figure", "==", name)])
            return cls(rows, text_free.read_picture(folder / f"{name}.png"))
        except (OSError, ValueError) as error:
            raise UserError(f"no baseline to read in {folder}: {' '.join(str(error).split())}") from None


@dataclass(frozen=True)
class Checked:
    """The result for one figure: the differences as text, a note, and its table if it was drawn."""

    name: str
    problems: Sequence[str] = ()
    note: str = ""
    table: pd.DataFrame | None = None


def accept(folder: Path, tables: Mapping[str, pd.DataFrame]) -> None:
    """Put the tables of these figures into the file of all, in the order of names. Raises `UserError`.

    Those of other figures stay, unless their image is gone. Equal tables give equal bytes.
    """
    file = folder / TABLES
    try:
        every = pd.read_parquet(file) if file.exists() else pd.DataFrame({"figure": []})
        stays = [name not in tables and (folder / f"{name}.png").exists() for name in every.figure]
        new = [rows.assign(figure=name) for name, rows in tables.items()]
        merged = pd.concat([every[stays], *new]).sort_values("figure", kind="stable")[["figure", *TYPES, *NUMBERS]]
        together = io.BytesIO()
        merged.to_parquet(together, index=False, compression="zstd", compression_level=19, **SMALL)
        put(file, together.getvalue())
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: cannot be written: {' '.join(str(error).split())}") from None


def moved(before: pd.DataFrame, now: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """The first difference of two tables as text, empty if there is none, and all rows that differ, side by side."""
    rows = min(len(before), len(now))
    columns = {name: (before[name].to_numpy()[:rows], now[name].to_numpy()[:rows]) for name in before.columns}
    wrong = np.column_stack([_differs(*values, name) for name, values in columns.items()])
    several = wrong.any(axis=1)
    beside = pd.concat({"baseline": before[:rows][several], "now": now[:rows][several]}, axis=1)
    if not several.any():
        return "" if len(before) == len(now) else f"{len(before)} rows in the baseline, {len(now)} now", beside
    row, column = np.argwhere(wrong)[0]
    name = before.columns[column]
    then, new = (values[row] for values in columns[name])
    much = f"by {new - then:.3g}, {TOLERANCES[name]:g} of it is allowed" if name in NUMBERS else "must be equal"
    numbers = f"{_shown(then)} in the baseline, {_shown(new)} now ({much}; {several.sum()} of {rows} rows differ)"
    return f"{_named(before.iloc[row])}: {name} {numbers}", beside


def _differs(before: np.ndarray, now: np.ndarray, name: str) -> np.ndarray:
    if name not in TOLERANCES:
        return np.asarray(before != now)
    return np.asarray(~np.isclose(now, before, rtol=TOLERANCES[name], atol=NEGLIGIBLE, equal_nan=True))


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else f"{value:.8g}"


def _named(row: "pd.Series[Any]") -> str:
    """The artist of a row and the x of its point, as text."""
    where = "" if np.isnan(row.x) else " in the mean" if row.vertex == MEANS else f" at x = {row.x:.12g}"
    place = f" of panels {row.panels}" if row.panels else ""
    return f"{row.part} {row.text!r}{place}{f' ({row.look})' if row.look else ''}{where}"


def _differences(baseline: Baseline, drawn: Baseline, scratch: Path) -> list[str]:
    """The differences, table first. If there are any, what moved and an image of both are written to `scratch`."""
    difference, beside = moved(baseline.table, drawn.table)
    problems = [difference] if difference else []
    distance = text_free.distance(baseline.picture, drawn.picture)
    if distance > text_free.TOLERANCE:
        problems.append(f"image: root mean square {distance:.2f}, {text_free.TOLERANCE:g} is allowed")
    if problems:
        image, rows = (scratch.with_name(f"{scratch.name}.{ending}") for ending in ("png", "csv"))
        text_free.write_picture(text_free.side_by_side(baseline.picture, drawn.picture), image)
        beside.to_csv(rows, index=False, lineterminator="\n")
        problems.append(
            f"{image} has baseline, new image and difference side by side; {rows.name}, the rows that differ"
        )
    return problems


def check_figure(overrides: list[str], composer: Composer) -> Checked:
    """Compare the figure of one experiment with its baseline, or write the image that becomes its baseline.

    An error of this figure becomes a problem in the result, so that other figures are still compared.
    """
    name, rows = named_experiment(overrides) or "", None
    try:
        planned = plan([overrides], composer)[0]
        name, config = figure_name(planned), planned.config
        if config.figure is None:
            return Checked(name, note="has no figure")
        cells = stored_cells(planned)
        try:
            drawing = drawing_of_plan(planned, cells)
            assert drawing is not None
            figure = render(drawing)
        except Exception as error:  # any error of a user's bound or label: the other figures are still compared
            raise UserError(why(error, planned.composed, planned.composer)) from error
        try:
            rows, picture = table_of_drawing(drawing), text_free.text_free(figure)
        finally:
            plt.close(figure)
        baselines = folder(config, "baselines_dir")
        if flag(config, "accept"):
            text_free.write_picture(picture, baselines / f"{name}.png")
            return Checked(name, note=f"baseline written to {baselines}", table=rows)
        return Checked(
            name,
            _differences(Baseline.read(baselines, name), Baseline(rows, picture), folder(config, "check_dir") / name),
            table=rows,
        )
    except UserError as error:
        return Checked(name, [" ".join(str(error).split())], table=rows)
    except OSError as error:
        return Checked(name, [f"{error.filename}: cannot be written: {error.strerror}"])


def _how_to_accept(jobs: Sequence[Sequence[str]], wrong: Sequence[str]) -> str:
    """The command that makes the figures named in `wrong` the new baselines."""
    more = without(jobs[0], ["experiment"])
    words = ["python", "-m", "scripts.check_figures", "-m", f"+experiment={','.join(wrong)}", *more, "accept=true"]
    return f'If the change is wanted: make accept FIG="{" ".join(wrong)}", which runs\n  {shlex.join(words)}'


def main() -> None:
    """Entry point of `python -m scripts.check_figures`; exit code 1 if a figure differs from its baseline."""
    command = read_command_line()
    if not command.jobs:
        return
    accepting, baselines = flag(command.config, "accept"), folder(command.config, "baselines_dir")
    folder(command.config, "check_dir")
    calls = (delayed(check_figure)(job, command.composer) for job in command.jobs)
    every = list(in_parallel(calls, 1 if len(command.jobs) == 1 else command.workers))
    for checked in every:
        for line in [*checked.problems, *([checked.note] if checked.note else [])]:
            print(f"{checked.name}: {line}")
    if accepting:
        tables = {checked.name: checked.table for checked in every if checked.table is not None}
        accept(baselines, tables)
    wrong = [checked for checked in every if checked.problems]
    done = "became their baselines" if accepting else "compared with their baselines"
    print(f"{len(every)} figures {done}: {len(wrong)} {'failed' if accepting else 'different or not drawn'}")
    acceptable = [checked.name for checked in wrong if checked.table is not None and not accepting]
    if acceptable:
        print(_how_to_accept(command.jobs, acceptable))
    if wrong:
        sys.exit(1)


if __name__ == "__main__":
    exit_on_user_error(main)
