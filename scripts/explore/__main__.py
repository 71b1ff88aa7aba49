"""Write the explorer: one page on which every stored result can be found, compared and traced, without a network.

    python -m scripts.explore                                         # everything that is stored, all claims and audits
    python -m scripts.explore --config-dir mine results_dir=mine/results          # and what is stored of your own
    python -m scripts.explore -m +experiment=mine,sajed2019 --config-dir mine     # the cells of these experiments alone

The page is `explore_dir`/index.html.
"""

from experiments.config.command_line import exit_on_user_error, read_command_line
from experiments.config.folders import folder
from experiments.errors import UserError
from experiments.store.whole_files import put
from scripts.explore.explorer import explorer

MOST = 2_000_000  # bytes that a page should have


def main() -> None:
    """Entry point of `python -m scripts.explore`."""
    command = read_command_line()
    if not command.jobs:
        return
    explore = folder(command.config, "explore_dir")
    text, collection = explorer(command)
    try:
        put(explore / "index.html", text.encode())
    except OSError as error:
        raise UserError(f"explore_dir={explore}: cannot be written: {error.strerror}") from error
    lacking = f", {collection.missing} cells of experiments are not stored" if collection.missing else ""
    old = f", {collection.outdated} stored cells of older code are left out" if collection.outdated else ""
    print(f"{explore / 'index.html'} ({len(text.encode()) / 1e6:.2f} MB, {len(collection.cells)} cells{lacking}{old})")


if __name__ == "__main__":
    exit_on_user_error(main)
