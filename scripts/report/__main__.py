"""Write the report: all experiments, claims, policies and numbers, as pages that can be read offline.

    python -m scripts.report                                    # all experiments of this repository
    python -m scripts.report --config-dir mine                  # and those in the folder mine
    python -m scripts.report -m +experiment=mine,sajed2019/fig01 --config-dir mine

Further overrides apply to every experiment, for example horizon=1e5 or results_dir=mine/results, as in scripts.figures.
`report_dir`/index.html shows every figure small, and each paper has a page beside it. Figures are those in
`figures_dir`; what is not up to date there is drawn first. Missing parts are shown as gaps with the commands that fill
them; with strict=true the exit code is then 1.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.config.command_line import exit_on_user_error, read_command_line
from experiments.errors import UserError, flag
from experiments.whole_files import put
from scripts.report.collect import collected_for_report
from scripts.report.exhibits import Exhibit
from scripts.report.page import INDEX, SHARED, gaps_of, report_html
from scripts.report.pictures import PagePicture, remove_outdated


def _write(folder: Path, pages: Mapping[str, str], exhibits: Sequence[Exhibit]) -> None:
    """Write the pages into `folder`, whose pictures are there, and the PDFs of figures into print/.

    Raises `UserError`.
    """
    try:
        for name, text in pages.items():
            put(folder / name, text.encode(), lasting=False)
        for exhibit in exhibits:
            if exhibit.document is not None:
                put(folder / "print" / f"{exhibit.name}.pdf", exhibit.document.read_bytes(), lasting=False)
        remove_outdated(pictures_of(exhibits), folder)
    except OSError as error:
        raise UserError(f"report_dir={folder}: cannot be written: {error.strerror}") from error


def pictures_of(exhibits: Sequence[Exhibit]) -> list[PagePicture]:
    """The pictures of the exhibits that have a figure."""
    return [exhibit.picture for exhibit in exhibits if exhibit.picture is not None]


def main() -> None:
    """Entry point of `python -m scripts.report`; exit code 1 with strict=true if something is missing."""
    command = read_command_line()
    if not command.jobs:
        return
    strict = flag(command.config, "strict")
    parts = collected_for_report(command)
    pages = report_html(command.composer, parts)
    folder = Path(command.config.report_dir)
    _write(folder, pages, parts.exhibits)
    gaps = gaps_of(parts)
    for gap, _ in gaps:
        print(f"missing: {gap.what}: {gap.why}; run: {gap.command}", file=sys.stderr)
    files = [place for picture in pictures_of(parts.exhibits) for place in (picture.source, picture.thumbnail)]
    size = sum((folder / place).stat().st_size for place in (*pages, *files)) / 1e6
    count = len(pages) - len(SHARED)
    print(f"{folder / INDEX} ({count} pages, {size:.1f} MB, {len(parts.exhibits)} experiments, {len(gaps)} gaps)")
    sys.exit(1 if strict and gaps else 0)


if __name__ == "__main__":
    exit_on_user_error(main)
