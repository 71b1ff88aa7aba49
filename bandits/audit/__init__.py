"""Audits of privacy: upper and lower bounds on what a mechanism, a decision or a transcript really spends.

- `ledger`: what a policy releases, as data, and its cost by linear algebra; `releases`: releases with other formulas.
- `decisions`, `decision_laws`: costs of single decisions of perturbed leaders, and exact laws.
- `noisy_max`, `composition`, `halting`: exact costs of report noisy max, of repeated means and of stopping rules.
- `transcripts`, `index_rules`, `batch_rules`, `residues`: exact laws of whole sequences of arms.
- `sampled`: lower bounds for anything that can be run.
- `costs`: an upper bound, a lower bound with its witness, and the verdict on a promise.

Each row is judged against two promises. `guarantee` is what a class declares, and an audit of it must not be violated.
`paper_guarantee` is what the paper promises for these parameters; it is the same unless a class says otherwise. Three
classes do, since their printed forms break their theorems: `rnm_ftnl` with `noise=exponential calibration=printed`,
`dprucb` with `tree_budget=natural`, `dp_ftpl_beta` with `start_phase=printed`. A row has `paper_verdict` beside
`verdict`. `level=value` audits one perturbed value of `dp_ftpl_gauss` and `dp_ftpl_beta`, as the proofs of wang2024 do:
with the printed start phase and epsilon from 25 on, one value violates the condition of Lemma 8. The promise is about
the arm that the values choose, and Lemma 8 is only sufficient for it: with two arms no tried history costs more than 6,
so the row of the decision is undecided, not violated (`tests/experiments/audit/test_paper_promises.py`).

Scopes differ. A promise about one decision implies little about the transcript: a reward may change every later
decision, and `audit/decision_vs_transcript` shows that it nearly always does. Figures 4 and 5 of wang2024 put both
kinds of promises side by side; their captions say what the decisions add up to, and `audit/equal_epsilon` draws regret
against the ε of the transcript for all. `make audit` has the numbers, floats.md the effect of
floating point. Transcripts are exact for perturbed leaders up to 8 steps of two arms (a limit of memory), and for
policies that use a reward in one epoch only. Index policies whose noise stays in later sums (`dp_ucb`, `dp_ucb_tossou`,
`dp_ucb_bound`, `dp_ucb_int`, `dprucb`) compare noisy sums: a sequence of arms is an intersection of half-spaces of
Laplace draws, whose probability has a closed form (half_spaces.py). With
`domain=binary` all sequences and all pairs of neighbouring tables are enumerated, and upper and lower bound agree. With
another domain, rewards at its ends are enumerated for the lower bound, and the upper bound is that of the ledger. The
limit is 7 steps of two arms, and 5 for `dp_ucb_tossou`, which draws noise for every arm at every step: one more draw
gives the closed form about five times as many parts. For longer horizons there are upper and lower bounds. A single
choice between two arms is exact for all rewards: 3 steps, and 3 intervals of `dp_ucb_int`.

Policies that pull batches (`adap_ucb`, `adap_klucb`, `dp_klucb`, `dp_imed`) release each batch once, and each choice
between two arms is a threshold for one noisy sum given the other. All sequences of up to three choices are integrated
(batch_rules.py), for all rewards 0 or 1: 6 steps with a first batch of 1 and a ratio
of 2. The integrals use the noise of the class itself: a class that halves it is violated whatever its ledger declares.
Longer runs show no less than their first steps; for more than two arms only the first choice is audited. For policies
without a trusted server the arms follow from residues, whose laws are finite sums
(residues.py); noise that wraps around shows all of ε. For `anytime_lazy_ucb` and
`lazy_dp_ts` the lower bound over 6 steps comes from plays.

Normal noise is judged at δ. The first choice of `adac_ucb` is exact for all rewards 0 or 1, with any number of arms
(gaussian_choices.py); so is a run that ends before a second choice. With two
arms, longer runs show how often one is chosen before the other. So is the first choice of `zcdp_klucb` with up to four
arms, whose indices may be equal. `dp_se_gauss` and `shuffle_se` are judged by which arm
alone survives an epoch. One history of `ctb_tt` has the probability of its bits and shows all of ε. `adap_tt` is judged
by its earliest stop, `robust_se` and `robust_bit_se` by the arm that alone survives a batch, `svt_se` by when an epoch
ends and which arm alone survives it, and `vote_ftnl` by a vote that moves from one arm to another.

The policies of Tao et al. take u and v from their instance; a table of rewards does not contain them. An audit takes
them from `instance` too, as in `policy=dprucb instance=s1 instance.v=0.9 horizon=5`, and its plays change the first
reward from one end of the range that is not truncated to the other. In Python `GivenMoments(policy, Moment(u, v))`
plays tables.

A class that does not define `guarantee` promises nothing: an audit refuses it and says what to declare, legends say "no
promise", and the conformance suite fails. A class that returns `NOT_PRIVATE`, as UCB1 does, is shown as not private.

Two promises are larger than what is spent, on purpose. `gdp_elim_new` keeps (ε, δ/2) and declares (ε, δ): that is its
theorem, and results are compared at the configured budget; the slack of 2 is in the table. What `dprucb` with
`tree_budget=natural` spends depends on the horizon and on v, which are not in its guarantee: it declares the worst case
over both, and the ledger says what one run spends.
"""
