"""Audits of privacy: upper and lower bounds on what a mechanism, a decision or a transcript really spends.

- `ledger`: what a policy releases, as data, and what that costs by linear algebra.
- `laws`: exact laws of single decisions.
- `noisy_max`, `composition`, `halting`: exact costs of report noisy max, of repeated means and of stopping rules.
- `transcripts`, `index_rules`, `batch_rules`, `residues`: exact laws of whole sequences of arms.
- `sampled`: lower bounds for anything that can be run.
- `verdicts`: an upper bound, a lower bound with its witness, and the verdict on a promise.
"""
