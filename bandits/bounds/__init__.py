"""The theorems of the papers as functions: upper and lower bounds on regret, pulls and samples.

One module per paper, one function per theorem. A name without an ending is an upper bound with explicit
constants, those of the paper's own proof; where the proof and the printed theorem disagree, the docstring
says so. A name that ends in `_order` is a rate with constant 1, for slopes and for lines in figures; it is
not a bound. A name that ends in `_lower_bound` is the regret of every policy of some class on some instance.

Everywhere `gaps` are those of the suboptimal arms, shape (arms - 1,), in (0, 1];
`horizon` is the number of steps, and beta, where a policy has one, is 1 / horizon. A function raises
`ParameterError` where its theorem does not apply.
"""
