"""The claims of the papers, judged from stored results.

    python -m experiments.claims                               # all
    python -m experiments.claims paper=sajed2019
    python -m experiments.claims id=by-5x results_dir=elsewhere
    python -m experiments.claims --config-dir mine             # with mine/claims/*.yaml
    python -m experiments.claims strict=true                   # compare with results/verdicts.jsonl, see `written.py`
    python -m experiments.claims accept=true                   # write that file

A claim is judged in one or many settings, such as one for each instance and epsilon. A ledger is all claims in one
folder; all its intervals together are to miss with probability at most 5 % (Bonferroni), which is proved for shares of
runs alone: intervals of means and their ratios (Student, Fieller) are approximate. This error is divided equally
among the claims that use intervals, then among the forms of a claim, then among the settings of a form. The division
follows from the files alone, so that a claim is judged in the same way alone and among all. A setting passes if its
whole interval is where the claim says, fails if its whole interval is not, and is open otherwise. It is vacuous, and
does not count, if no possible result could fail, as when a bound is above the largest gap times the horizon. Settings
that the theorem does not cover, or that pass because all compared runs gave the same number, do not count either. Then
the claim

- holds, if all settings pass;
- fails, if one fails;
- is undecided, if none fails and some are open: more runs or more points could decide it;
- is vacuous here, if all are: other settings are needed;
- is proved, if all pass and its file names a proof;
- cannot be judged, if results are missing: the evidence is the command that computes them;
- is not judged, if its file gives a reason for that.

The main form of a claim is what the paper says; it alone gives the outcome. A claim that holds, and whose file limits
it to a `condition`, `holds under` that: a condition restricts where a claim is tested, it never rewrites the claim. A
claim may have variants, which test the same statement elsewhere, as against another baseline: where the outcome differs
there, that is a remark. What a false claim should say instead is a claim of its own, `ours`.

Remarks weaken an outcome. `threshold ours`: the number that estimates are compared with is not the paper's, so a
failure may be due to our number. `chosen after the data`: the condition or variant under which it holds was chosen
after the data were seen. `reading ours`: the paper leaves open what is meant, or how far it reaches. `says nothing`:
its settings pass, and would still pass with a bound nearer to the data by a factor of 10^4, or with any estimate, or if
all arms were pulled in turn. A claim of ours that fails is no failure of a paper.

Every verdict has its power: which result would have changed it. For a bound, this is the factor by which it would have
to be nearer to the data, and its share of the largest possible value; otherwise it is the nearest estimate that would
have failed, with the measured noise and the correction for many settings. If the true value is there, the claim fails
in half of all cases.
"""

from experiments.claims import written
from experiments.claims.files import Claim, Erratum, claims, errata
from experiments.claims.judge import judge_claim, judge_claims
from experiments.claims.results import Results
from experiments.claims.settings import Setting, SettingOutcome
from experiments.claims.verdicts import ClaimVerdict, FormVerdict, Outcome, counts_in_words

__all__ = [
    "Claim",
    "ClaimVerdict",
    "Erratum",
    "FormVerdict",
    "Outcome",
    "Results",
    "Setting",
    "SettingOutcome",
    "claims",
    "counts_in_words",
    "errata",
    "judge_claim",
    "judge_claims",
    "written",
]
