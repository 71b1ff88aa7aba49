"""Compare figures drawn from stored results with committed baselines: first their tables, then images without text.

    python -m scripts.check_figures +experiment=sajed2019/fig03
    python -m scripts.check_figures -m +experiment=sajed2019/fig01,sajed2019/fig02
    python -m scripts.check_figures +experiment=sajed2019/fig03 accept=true

The baselines of a figure are `tests/baselines/<experiment>.artists.csv` (what is drawn: panel, part, legend, look),
`.points.csv` (at most 25 vertices of every curve and band) and `.png`. `accept=true` overwrites them.
"""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from experiments.config.command_line import exit_on_user_error, read_command_line
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.config.values import flag
from experiments.errors import UserError
from experiments.own_code.fan_out import delayed
from experiments.store import stored_cells
from scripts.drawing import text_free
from scripts.drawing.drawing import Drawing
from scripts.drawing.figure import describe, name_of
from scripts.drawing.render import render
from scripts.drawing.tables import NUMBERS, tables
from scripts.drawing.text_free import Picture

TOLERANCES = {"x": 1e-8, "y": 1e-6, "low": 1e-6, "high": 1e-6}  # relative; any other column must be equal
NEGLIGIBLE = 1e-12  # absolute difference that is allowed
TABLES = ("artists", "points")


@dataclass(frozen=True)
class Baseline:
    """The baseline of a figure: its tables and its image without text."""

    tables: dict[str, pd.DataFrame]
    picture: Picture

    @classmethod
    def of(cls, drawing: Drawing) -> "Baseline":
        figure = render(drawing)
        try:
            return cls(dict(zip(TABLES, tables(drawing), strict=True)), text_free.render(figure))
        finally:
            plt.close(figure)

    def write(self, stem: Path) -> None:
        stem.parent.mkdir(parents=True, exist_ok=True)
        for name, table in self.tables.items():
            table.to_csv(f"{stem}.{name}.csv", index=False, lineterminator="\n")
        text_free.write(self.picture, Path(f"{stem}.png"))

    @classmethod
    def read(cls, stem: Path) -> "Baseline":
        """The baseline that `write` wrote. Raises `UserError` if a file is missing or cannot be read."""
        try:
            kept = {name: pd.read_csv(f"{stem}.{name}.csv", dtype=str, keep_default_na=False) for name in TABLES}
            return cls(kept, text_free.read(Path(f"{stem}.png")))
        except (OSError, ValueError) as error:
            raise UserError(f"no baseline to read at {stem}: {' '.join(str(error).split())}") from None


@dataclass(frozen=True)
class Checked:
    """The result for one figure: the differences as text, a note, and whether it was drawn and so can be accepted."""

    name: str
    problems: list[str]
    note: str = ""
    drawn: bool = True


def compare(before: pd.DataFrame, now: pd.DataFrame, artists: pd.DataFrame) -> str | None:
    """The first difference of two tables of one kind as text, or None; `artists` gives names to the rows."""
    if list(before.columns) != list(now.columns):
        return f"columns {', '.join(before.columns)} in the baseline, {', '.join(now.columns)} now"
    rows = min(len(before), len(now))
    wrong = np.column_stack([_differs(before[name][:rows], now[name][:rows], name) for name in before.columns])
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        name = before.columns[column]
        return (
            f"{_named(before.iloc[row], artists)}: {name} {before[name].iloc[row]!r} in the baseline, "
            f"{now[name].iloc[row]!r} now ({wrong.any(axis=1).sum()} of {rows} rows differ; {_allowed(name)})"
        )
    return None if len(before) == len(now) else f"{len(before)} rows in the baseline, {len(now)} now"


def _differs(before: pd.Series, now: pd.Series, name: str) -> np.ndarray:
    words = (before != now).to_numpy()
    if name not in TOLERANCES:
        return words
    numbers = [pd.to_numeric(values).to_numpy(dtype=float) for values in (before, now)]
    return np.asarray(words & ~np.isclose(numbers[1], numbers[0], rtol=TOLERANCES[name], atol=NEGLIGIBLE))


def _named(row: pd.Series, artists: pd.DataFrame) -> str:
    """The artist of a row and the x of its point, as text."""
    artist = artists[artists.artist == row.artist].iloc[0]
    where = f" at x = {row.x}" if "panels" not in row.index and row.x else ""
    place = f" of panels {artist.panels}" if artist.panels else ""
    return " ".join(f"{artist.part} {artist.text!r}{place} ({artist.look}){where}".split()).replace(" ()", "")


def _allowed(name: str) -> str:
    return f"relative tolerance {TOLERANCES[name]:g}" if name in NUMBERS else "must be equal"


def differences(baseline: Baseline, drawn: Baseline, scratch: Path) -> list[str]:
    """The differences, tables first. If there are any, the new tables and an image of both are written to `scratch`."""
    problems = []
    for name in TABLES:
        difference = compare(baseline.tables[name], drawn.tables[name], baseline.tables["artists"])
        problems += [f"{name}: {difference}"] if difference else []
    distance = text_free.distance(baseline.picture, drawn.picture)
    if distance > text_free.TOLERANCE:
        problems.append(f"image: root mean square {distance:.2f}, {text_free.TOLERANCE:g} is allowed")
    if problems:
        drawn.write(scratch)
        image = Path(f"{scratch}.png")
        text_free.write(text_free.side_by_side(baseline.picture, drawn.picture), image)
        problems.append(f"{image} has baseline, new image and difference side by side; the new tables are beside it")
    return problems


def check_figure(overrides: Sequence[str], config_dirs: Sequence[Path]) -> Checked:
    """Compare the figure of one experiment with its baseline, or make it the baseline.

    An error of this figure becomes a problem in the result, so that other figures are still compared.
    """
    named = next((text for text in overrides if text.startswith("+experiment=")), "")
    name, drawn = named.removeprefix("+experiment="), None
    try:
        planned = plan(overrides, Composer(config_dirs))
        name, config = name_of(planned), planned.config
        if config.figure is None:
            return Checked(name, [], "has no figure")
        drawing = describe(planned, stored_cells(planned))
        assert drawing is not None
        drawn, stem = Baseline.of(drawing), Path(config.baselines_dir) / name
        if flag(config, "accept"):
            drawn.write(stem)
            return Checked(name, [], f"baseline written to {stem}.*")
        return Checked(name, differences(Baseline.read(stem), drawn, Path(config.check_dir) / name))
    except UserError as error:
        return Checked(name, [" ".join(str(error).split())], drawn=drawn is not None)
    except OSError as error:
        return Checked(name, [f"{error.filename}: cannot be written: {error.strerror}"], drawn=False)


def _how_to_accept(jobs: Sequence[Sequence[str]], wrong: Sequence[str]) -> str:
    """The command that makes the figures named in `wrong` the new baselines."""
    (more, *_) = [[text for text in job if not text.startswith("+experiment=")] for job in jobs]
    words = ["python", "-m", "scripts.check_figures", "-m", f"+experiment={','.join(wrong)}", *more, "accept=true"]
    return f'If the change is wanted: make accept FIG="{" ".join(wrong)}", which runs\n  {shlex.join(words)}'


def main() -> None:
    """Entry point of `python -m scripts.check_figures`; exit code 1 if a figure differs from its baseline."""
    command = read_command_line()
    if not command.jobs:
        return
    accept = flag(command.config, "accept")
    every = joblib.Parallel(n_jobs=1 if len(command.jobs) == 1 else command.workers)(
        delayed(check_figure)(job, command.config_dirs) for job in command.jobs
    )
    for checked in every:
        for line in [*checked.problems, *([checked.note] if checked.note else [])]:
            print(f"{checked.name}: {line}")
    wrong = [checked for checked in every if checked.problems]
    done = "became their baselines" if accept else "compared with their baselines"
    print(f"{len(every)} figures {done}: {len(wrong)} {'failed' if accept else 'different or not drawn'}")
    acceptable = [checked.name for checked in wrong if checked.drawn and not accept]
    if acceptable:
        print(_how_to_accept(command.jobs, acceptable))
    if wrong:
        sys.exit(1)


if __name__ == "__main__":
    exit_on_user_error(main)
