"""Advice as a local page, `make ask`: a form, and the answer of `experiments.advice` while it grows."""
