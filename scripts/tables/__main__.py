"""Print a table of stored results.

python -m scripts.tables                                       # list all tables
python -m scripts.tables sajed2019/ratios
python -m scripts.tables final_regret wang2024/fig04           # of any experiment, overrides may follow
python -m scripts.tables final_regret mine/fast --config-dir mine
python -m scripts.tables sajed2019/ratios format=tex           # or md; csv has all digits and both ends of intervals
python -m scripts.tables sajed2019/ratios csv=ratios.csv       # write that to a file
"""

import sys
from collections.abc import Callable, Sequence

from experiments.config.command_line import exit_on_user_error, file_given, read_command_line
from experiments.config.plan import Plan
from experiments.errors import UserError, nearest
from scripts.tables import about_any_experiment, tables, title
from scripts.tables.table import Table

FORMATS = {"tex": Table.latex, "md": Table.markdown, "csv": Table.csv}


def listing() -> str:
    """The list of all tables, one per line."""
    by_name = {f"{name} EXPERIMENT" if about_any_experiment(made) else name: made for name, made in tables().items()}
    width = max(map(len, by_name))
    lines = [f"  {name:{width}}  {title(made)}" for name, made in by_name.items()]
    return "\n".join(["python -m scripts.tables NAME", "", *lines])


def _asked(name: str, words: Sequence[str]) -> list[Plan]:
    """The plans of `words`: an experiment, then overrides and options as in other commands. Raises `UserError`."""
    named = bool(words) and "=" not in words[0] and not words[0].startswith("-")
    sys.argv[1:] = [f"+experiment={words[0]}", *words[1:]] if named else words
    plans = read_command_line().plans() if words else []
    if not plans or any(planned.experiment is None for planned in plans):
        raise UserError(f"{name}: of which experiment? give its name, as in {name} wang2024/fig06")
    return plans


def _form(name: str | None) -> Callable[[Table, str], str]:
    """How tables are printed. Raises `UserError`."""
    if name is not None and name not in FORMATS:
        raise UserError(f"format={name}: unknown; {nearest(name, FORMATS)}")
    return Table.text if name is None else FORMATS[name]


def _write(answers: Sequence[Table], file: str) -> None:
    """Write one table as CSV. Raises `UserError`."""
    if len(answers) > 1:
        raise UserError(f"csv={file}: would hold {len(answers)} tables; ask for one")
    try:
        answers[0].numbers().to_csv(file, index=False)
    except OSError as error:
        raise UserError(f"csv={file}: cannot be written: {error.strerror or error}") from error


def main() -> None:
    """Entry point of `python -m scripts.tables`."""
    name, *words = sys.argv[1:] or ["--help"]
    if name in ("-h", "--help"):
        print(listing())
        return
    by_name = tables()
    if name not in by_name:
        raise UserError(f"{name}: unknown table; {nearest(name, by_name)}")
    table = by_name[name]
    file, words = file_given("csv", words)
    form_name, words = file_given("format", words)
    form = _form(form_name)
    if about_any_experiment(table):
        made = {f"{planned.experiment}: {title(table)}": table(planned) for planned in _asked(name, words)}
    elif words:
        raise UserError(f"{name}: takes csv=FILE, format=NAME or nothing after its name, got {' '.join(words)}")
    else:
        made = {title(table): table()}
    for heading, answer in made.items():
        print(form(answer, heading))
    if file is not None:
        _write(list(made.values()), file)


if __name__ == "__main__":
    exit_on_user_error(main)
