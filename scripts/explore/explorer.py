"""The whole explorer of a command: what it collects, as one page."""

import os

from experiments.config.command_line import CommandLine
from experiments.config.papers import papers
from experiments.errors import UserError
from experiments.process import without_garbage_collection
from scripts.explore.collect import Collection, collected
from scripts.explore.document import document
from scripts.explore.page import explorer_html


def explorer(command: CommandLine, home: str = "") -> tuple[str, Collection]:
    """The page, and what it shows; `home` leads to the site around it. Raises `UserError` if no cell is stored."""
    with without_garbage_collection():
        collection = collected(command)
        if not collection.cells:
            ask = "python -m experiments.run +experiment=NAME stores those of an experiment"
            raise UserError(f"no cell is stored; {ask}")
        data, numbers = document(collection, list(papers(command.config_dirs).values()), arguments_of(command))
        return explorer_html(data, numbers, home), collection


def arguments_of(command: CommandLine) -> list[str]:
    """The arguments without which other commands would not find the same cells."""
    places = [word for folder in command.config_dirs for word in ("--config-dir", os.path.relpath(folder))]
    kept = [text for text in command.jobs[0] if text.partition("=")[0] in ("results_dir", "published_dir")]
    return [*places, *kept]
