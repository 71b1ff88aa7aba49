"""Write the page that the site has as "What privacy costs", with a policy of your own.

    python -m scripts.atlas --config-dir mine join=NAME complete=true page=mine/atlas.md

The cells are those of bernoulli.yaml, arms.yaml, bounded.yaml, heavy_tails.yaml and identification.yaml in
conf/experiment/atlas; overrides change them as in every other command.
"""

import sys
from pathlib import Path

from experiments.config.command_line import exit_on_user_error, file_given, read_command_line
from experiments.errors import UserError, flag
from experiments.simulate.complete import complete, runner_of
from scripts.atlas.field import EXPERIMENTS, elsewhere_plans, field_of
from scripts.atlas.page import atlas_page


def main() -> None:
    """Entry point of `python -m scripts.atlas`."""
    named, overrides = file_given("page", sys.argv[1:])
    sys.argv[1:] = ["-m", f"+experiment={','.join(EXPERIMENTS)}", *overrides]
    command = read_command_line()
    plans = command.plans()
    if not plans:
        return
    if len(plans) != len(EXPERIMENTS):
        raise UserError("several values of a key are several atlases; give one value of each")
    if named is None:
        raise UserError("page: missing; give page=FILE (make site has the page of the published results)")
    plans += elsewhere_plans(command.jobs[0], command.composer)
    if flag(command.config, "complete"):
        print(complete(plans, runner_of(plans)), flush=True)
    file = Path(named)
    text = atlas_page(field_of(*plans))
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"page={file}: cannot be written: {error.strerror or error}") from error
    print(file)


if __name__ == "__main__":
    exit_on_user_error(main)
