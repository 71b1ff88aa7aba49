"""Numbers about this repository."""

from experiments.audit.table import stored_audits
from experiments.claims.files import claims
from experiments.config.compose import Composer
from experiments.config.folders import RESULTS
from experiments.config.papers import papers
from experiments.store import Store
from scripts.tables.table import Table

ATLAS = "atlas"  # has a file like those of papers


def numbers() -> Table:
    """How much there is of what, as paper.md says it."""
    composer = Composer()
    copies, _ = Store(RESULTS).look()
    counted = {
        "policies": len(composer.choices("policy")),
        "papers": len([name for name in papers() if name != ATLAS]),
        "experiments": len(composer.choices("experiment")),
        "claims": len(claims()),
        "audits": len(stored_audits()),
        "cells": len(copies),
        "runs": sum(copy.replications for copy in copies),
    }
    return Table.of({"number of": name, "is": f"{count:,}"} for name, count in counted.items())
