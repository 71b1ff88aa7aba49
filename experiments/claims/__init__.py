"""The claims of the papers, judged from stored results.

    python -m experiments.claims                               # all
    python -m experiments.claims paper=sajed2019
    python -m experiments.claims id=by-5x results_dir=elsewhere
    python -m experiments.claims --config-dir mine             # with mine/claims/*.yaml

A claim is judged in one or many settings, as one for each instance and epsilon. All intervals of a form of a
claim together miss with probability 5 % at most (Bonferroni). A setting passes if its whole interval lies
where the claim says, fails if its whole interval does not, and is open otherwise. Then the claim

- holds, if all settings pass;
- fails, if one fails;
- is undecided, if none fails and some are open: more runs or more points would tell;
- cannot be judged, if results are missing: the evidence is the command that computes them;
- is not judged, if its file gives a reason for that.

A claim may have variants, as another baseline. If the main form holds and a variant fails, or the main form fails and
a variant holds, the claim `holds under` the one that does; so it does if its file limits it to a `condition`.
"""

from experiments.claims.files import Claim, Erratum, claims, errata
from experiments.claims.judge import judge, judge_all
from experiments.claims.results import Results
from experiments.claims.verdicts import Finding, Outcome, Setting, Standing, Verdict

__all__ = [
    "Claim",
    "Erratum",
    "Finding",
    "Outcome",
    "Results",
    "Setting",
    "Standing",
    "Verdict",
    "claims",
    "errata",
    "judge",
    "judge_all",
]
