"""Numbers about this repository."""

from experiments.audit.table import stored_audits
from experiments.claims.files import claims
from experiments.claims.forms import NotJudged
from experiments.claims.promises import Exact
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
    every = claims()
    main_forms = [next(iter(claim.forms.values())) for claim in every]
    counted = {
        "policies": len(composer.choices("policy")),
        "papers": len([name for name in papers() if name != ATLAS]),
        "experiments": len(composer.choices("experiment")),
        "claims": len(every),
        "computed claims": sum(isinstance(form, Exact) for form in main_forms),
        "claims not judged": sum(isinstance(form, NotJudged) for form in main_forms),
        "audits": len(stored_audits()),
        "cells": len(copies),
        "runs": sum(copy.replications for copy in copies),
    }
    return Table.of({"number of": name, "is": f"{count:,}"} for name, count in counted.items())
