"""The claims of the papers, judged from stored results.

    python -m experiments.claims                               # all
    python -m experiments.claims paper=sajed2019
    python -m experiments.claims id=by-5x results_dir=elsewhere
    python -m experiments.claims --config-dir mine             # with mine/claims/*.yaml

A claim is judged in one or many settings, as one for each instance and epsilon. All intervals of a ledger, which is
all claims in one folder, together miss with probability 5 % at most (Bonferroni): each claim that takes intervals has
an equal share, which its forms share, and the settings of a form. Shares follow from the files, before any result is
read, so that one claim alone is judged as among all. A setting passes if its whole interval lies where the claim says,
fails if its whole interval does not, and is open otherwise. It is vacuous if no result that is possible could fail, as
where a bound is above the largest gap times the horizon: then it does not count. Nor does a setting that the theorem
does not cover, or that passes because all runs that are compared came to one number. Then the claim

- holds, if all settings pass;
- fails, if one fails;
- is undecided, if none fails and some are open: more runs or more points would tell;
- is vacuous here, if all are: other settings are needed;
- is proved, if all pass and its file names a proof;
- cannot be judged, if results are missing: the evidence is the command that computes them;
- is not judged, if its file gives a reason for that.

A claim may have variants, which test the same in other places, as against another baseline. If the main form holds and
a variant fails, or the main form fails and a variant holds, the claim `holds under` the one that does; so it does if
its file limits it to a `condition`. What is claimed is the same in all variants: what a false claim should say
is a claim of its own, `ours`.

Beside an outcome stands what takes away from it. `threshold ours`: the number that estimates are held to is not the
paper's, so that what fails may be our number. `chosen after the data`: so was the condition or variant under which it
holds. `says nothing`: its settings pass, and would with a bound nearer to the data by a factor of 10^4, or whatever the
estimate had been. A claim of ours is no failure of a paper.

Beside every verdict stands its power: what result would have turned it. For a bound that is by how much nearer to the
data it would have to be, and its share of what is possible at all; elsewhere the nearest estimate that would have
failed, with the noise that was measured and the correction for many settings. A truth there fails in half of all cases.
"""

from experiments.claims.files import Claim, Erratum, claims, errata
from experiments.claims.judge import judge_claim, judge_claims
from experiments.claims.results import Results
from experiments.claims.settings import Setting, Standing
from experiments.claims.summary import summary
from experiments.claims.verdicts import ClaimVerdict, FormVerdict, Outcome

__all__ = [
    "Claim",
    "ClaimVerdict",
    "Erratum",
    "FormVerdict",
    "Outcome",
    "Results",
    "Setting",
    "Standing",
    "claims",
    "errata",
    "judge_claim",
    "judge_claims",
    "summary",
]
