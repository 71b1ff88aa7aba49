"""Write the report: one page with all experiments, claims, policies and numbers, which can be read offline.

    python -m scripts.report                                    # all experiments of this repository
    python -m scripts.report --config-dir mine                  # and those in the folder mine
    python -m scripts.report -m +experiment=mine,sajed2019/fig01 --config-dir mine

Further overrides apply to every experiment, for example horizon=1e5 or results_dir=mine/results, as in scripts.figures.
The page is `report_dir`/index.html. Missing parts are shown as gaps with the commands that fill them; with strict=true
the exit code is then 1.
"""

import sys
from pathlib import Path

from experiments.config.command_line import exit_on_user_error, read_command_line
from experiments.config.values import flag
from experiments.errors import UserError
from experiments.whole_files import put
from scripts.report.collect import collected
from scripts.report.page import facts_of, gaps_of, html
from scripts.report.policies import policies


def write_page(folder: Path, text: str) -> Path:
    """Write the page into `folder` in one step; returns its path. Raises `UserError`."""
    try:
        put(path := folder / "index.html", text.encode())
    except OSError as error:
        raise UserError(f"report_dir={folder}: cannot be written: {error.strerror}") from error
    return path


def main() -> None:
    """Entry point of `python -m scripts.report`; exit code 1 with strict=true if something is missing."""
    command = read_command_line()
    if not command.jobs:
        return
    strict = flag(command.config, "strict")
    exhibits, judged = collected(command)
    learners = policies(command.composer, facts_of(exhibits))
    text = html(command.composer, exhibits, judged, learners)
    path = write_page(Path(command.config.report_dir), text)
    gaps = gaps_of(exhibits, judged, learners)
    for gap, _ in gaps:
        print(f"missing: {gap.what}: {gap.why}; run: {gap.command}", file=sys.stderr)
    print(f"{path} ({len(text.encode()) / 1e6:.1f} MB, {len(exhibits)} experiments, {len(gaps)} gaps)")
    sys.exit(1 if strict and gaps else 0)


if __name__ == "__main__":
    exit_on_user_error(main)
