"""The theorems of the papers as functions: how much regret or how many pulls they allow, or force.

One module per paper, one function per theorem. A name without an ending is a bound with explicit
constants, those of the paper's own proof; where the proof and the print disagree, the docstring says
which is which. A name that ends in `_order` is a rate with constant 1, for slopes and for lines in
figures, no bound. `_lower_bound` says what every policy of a kind pays on some instance.

Everywhere, `gaps` are those of the suboptimal arms (an optimal arm has none), shape (arms - 1,), in (0, 1];
`horizon` is the number of steps, and beta, where a policy has one, is 1 / horizon. A function raises
`ParameterError` where its theorem does not apply.
"""
