"""Compare a policy with others: a figure, a table and a bibliography that a paper in LaTeX can take as they are.

    python -m scripts.compare --config-dir mine policy=NAME
    python -m scripts.compare --config-dir mine policy=NAME against=dp_se,adap_klucb instance=c1,c2 horizon=1e6
    python -m scripts.compare policy=dp_imed figure.width=column figure.style=ieee

It simulates what is missing, and writes NAME.pdf with a panel for each instance, NAME.tex for \\input with the picture,
its caption, and a table with the lines of booktabs, and NAME.bib. A number is bold where it is proved to be the best.

The figure has a panel for each
instance, the curve of the policy thick. The text, for `\\input`, has the figure, a table, and their captions; a number
is bold if the policy beats all others on that instance, by the rule of the atlas: smaller mean and disjoint
intervals of an upper quantile, all together with probability 95 %. That takes 59 runs or more. A policy that promises
less is marked and is never bold. If a mean is not to be trusted, all numbers are medians, and the caption says why. The
bibliography has the papers that the policies and instances cite, and this repository; what has no entry is named.
`--config-dir mine policy=NAME` compares a policy of your own. The other policies have their usual parameters and the
same budget. Keys of a figure, as `figure.width=column`, are those above.
"""

import shlex
import sys
from pathlib import Path

from experiments.config.command_line import CommandLine, exit_on_user_error, read_command_line
from experiments.config.folders import folder
from experiments.errors import UserError
from experiments.plain_text import in_utf_8
from experiments.simulate.complete import complete, runner_of
from experiments.store import stored_cells
from experiments.store.stored import Cells
from experiments.store.whole_files import put
from scripts.compare.compared import PolicyComparison, plans
from scripts.compare.paper_files import bibliography, latex
from scripts.drawing.drawing import without_mathtext
from scripts.drawing.figure import output_of
from scripts.drawing.render import save

LISTS = ("against", "figure.format", "figure.scales")  # keys whose values with commas are one list
INSTANCES = "instance="


def write_comparison(command: CommandLine, job: list[str]) -> None:
    """Simulate, draw and write the comparison of a job, and print its table. Raises `UserError`."""
    planned = plans(command, job)
    own, output = planned[0], output_of(planned[0])
    figures = folder(own.config, "figures_dir")  # before anything is simulated
    print(complete(planned, runner_of(planned)))
    comparison = PolicyComparison(own, Cells.of(map(stored_cells, planned)), command.value(job, "estimate"))
    drawing = comparison.drawing()
    stem = figures / comparison.name
    typed = in_utf_8(shlex.join(["python", "-m", "scripts.compare", *sys.argv[1:]]))
    try:
        files = save(drawing, stem, typed, output)
        assert output.width is not None
        text = latex(comparison, drawing, Path(files[0]), output.width, typed)
        for ending, content in (("tex", text), ("bib", bibliography(comparison.cells))):
            put(Path(f"{stem}.{ending}"), content.encode())
            files.append(f"{stem}.{ending}")
    except OSError as error:
        raise UserError(f"figures_dir={stem.parent}: cannot be written: {error.strerror}") from error
    notes = map(without_mathtext, comparison.notes())
    print("\n".join([comparison.table().text(f"Regret of {comparison.name} beside others."), *notes]))
    print(" ".join(files))


def main() -> None:
    """Entry point of `python -m scripts.compare`."""
    sys.argv[1:] = list(map(_with_cells, sys.argv[1:]))
    command = read_command_line("compare", lists=LISTS)
    for job in command.jobs:
        write_comparison(command, job)


def _with_cells(word: str) -> str:
    """instance=c1,c2 as the cells of the comparison; anything else as it is."""
    names = word.removeprefix(INSTANCES).removeprefix("[").removesuffix("]")
    return f"cells=[{{instance:[{names}]}}]" if word.startswith(INSTANCES) else word


if __name__ == "__main__":
    exit_on_user_error(main)
