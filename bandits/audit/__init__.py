"""Audits of privacy: upper and lower bounds on what a mechanism, a decision or a transcript really spends.

- `ledger`: what a policy releases, as data, and its cost by linear algebra; `releases`: releases with other formulas.
- `decisions`, `decision_laws`: costs of single decisions of perturbed leaders, and exact laws.
- `noisy_max`, `composition`, `halting`: exact costs of report noisy max, of repeated means and of stopping rules.
- `transcripts`, `index_rules`, `batch_rules`, `residues`: exact laws of whole sequences of arms.
- `sampled`: lower bounds for anything that can be run.
- `costs`: an upper bound, a lower bound with its witness, and the verdict on a promise.
"""
