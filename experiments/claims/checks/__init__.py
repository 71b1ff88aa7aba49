"""Checks of claims that need no runs, as they are about laws and algorithms: a file for each paper.

A function gives its settings; `check: experiments.claims.checks.PAPER.NAME` calls it from a file of claims. The first
line of its docstring says what is computed. A computed number is held to a limit with the slack `ROUNDING`.
"""

ROUNDING = 1e-9
