"""How much privacy a policy really spends: an upper bound, a lower bound with its witness, and a verdict.

One audit of one policy is a row (`rows`), with plays of the policy where these are asked for (`plays`). The audits of
`conf/audits.yaml` make a table (`table`), which the site and claims read.
"""
