"""Write the explorer: one page on which every stored result can be found, compared and traced, without a network.

    python -m scripts.explore                                         # everything that is stored, all claims and audits
    python -m scripts.explore --config-dir mine results_dir=mine/results          # and what is stored of your own
    python -m scripts.explore -m +experiment=mine,sajed2019 --config-dir mine     # the cells of these experiments alone

The page is `explore_dir`/index.html.
"""

import os
from pathlib import Path

from experiments.config.command_line import CommandLine, exit_on_user_error, read_command_line
from experiments.config.papers import papers
from experiments.errors import UserError
from experiments.whole_files import put
from scripts.explore.collect import Collection, collected
from scripts.explore.document import document
from scripts.explore.page import explorer_html

MOST = 2_000_000  # bytes that a page should have


def main() -> None:
    """Entry point of `python -m scripts.explore`."""
    command = read_command_line()
    if not command.jobs:
        return
    folder = Path(command.config.explore_dir)
    collection = collected(command)
    if not collection.cells:
        raise UserError("no cell is stored; python -m experiments.run +experiment=NAME stores those of an experiment")
    text = _page(command, collection)
    try:
        put(folder / "index.html", text.encode())
    except OSError as error:
        raise UserError(f"explore_dir={folder}: cannot be written: {error.strerror}") from error
    lacking = f", {collection.missing} cells of experiments are not stored" if collection.missing else ""
    old = f", {collection.outdated} stored cells of older code are left out" if collection.outdated else ""
    print(f"{folder / 'index.html'} ({len(text.encode()) / 1e6:.2f} MB, {len(collection.cells)} cells{lacking}{old})")


def _page(command: CommandLine, collection: Collection) -> str:
    """The page of what was collected for a command."""
    data, numbers = document(collection, list(papers(command.config_dirs).values()), arguments_of(command))
    return explorer_html(data, numbers)


def arguments_of(command: CommandLine) -> list[str]:
    """The arguments without which other commands would not find the same cells."""
    places = [word for folder in command.config_dirs for word in ("--config-dir", os.path.relpath(folder))]
    kept = [text for text in command.jobs[0] if text.partition("=")[0] in ("results_dir", "published_dir")]
    return [*places, *kept]


if __name__ == "__main__":
    exit_on_user_error(main)
