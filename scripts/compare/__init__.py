"""A policy beside others: a figure, a table and a bibliography for a paper."""
