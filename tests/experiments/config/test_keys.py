"""The plan of every experiment against `tests/plans.csv`: keys (and with them seeds) change on purpose only.

A row for each experiment: cells, replications of all of them, and a hash of the sorted keys with their replications.
A key holds identity and revisions, and a seed follows from the identity.
`python -m tests.experiments.config.test_keys` writes the file.
"""

import csv
import hashlib
from pathlib import Path

import pytest

from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.config.request import Request
from tests.rows import require_rows

PLANS = Path(__file__).parents[2] / "plans.csv"


def row(requests: list[Request]) -> tuple[str, str, str]:
    asked = sorted(f"{request.cell.key} {request.replications}" for request in requests)
    replications = sum(request.replications for request in requests)
    digest = hashlib.sha256("\n".join(asked).encode()).hexdigest()
    return str(len(asked)), str(replications), digest


@pytest.mark.slow
def test_every_experiment_plans_the_cells_it_did(plans):
    with PLANS.open() as file:
        known = {name: (cells, replications, digest) for name, cells, replications, digest in csv.reader(file)}
    write = "a row of NAME: run .venv/bin/python -m tests.experiments.config.test_keys"
    require_rows(plans, known, "tests/plans.csv", write)
    assert {name: row(requests) for name, requests in plans.items()} == known


if __name__ == "__main__":
    with PLANS.open("w", newline="") as file:
        writer, composer = csv.writer(file, lineterminator="\n"), Composer()
        for name in composer.choices("experiment"):
            writer.writerow((name, *row(plan([[f"+experiment={name}"]], composer)[0].requests)))
