"""Ask about your own case on a local page: `make ask`.

    python -m scripts.ask                  # opens the browser
    python -m scripts.ask --port 8123 --no-show --results-dir mine/runs

The page is served on 127.0.0.1 and loads nothing from elsewhere. It needs `pip install '.[ask]'`, which `make setup`
has done. Answers are those of `python -m scripts.advise`, stored in the same folder.
"""

import argparse
import sys

from experiments.config.folders import RUNS
from scripts.ask.desk import Desk


def main() -> None:
    """Entry point of `python -m scripts.ask`."""
    parser = argparse.ArgumentParser(prog="python -m scripts.ask", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8080, help="of the page on 127.0.0.1")
    parser.add_argument("--no-show", action="store_true", help="open no browser")
    parser.add_argument("--results-dir", default=str(RUNS), help="where runs are stored")
    given = parser.parse_args()
    try:
        from scripts.ask.page import serve_page  # not for the process that answers, which imports this module too
    except ModuleNotFoundError as error:
        sys.exit(f"error: the page needs {error.name}: pip install '.[ask]'")
    serve_page(Desk(given.results_dir), given.port, not given.no_show)


if __name__ == "__main__":
    main()
