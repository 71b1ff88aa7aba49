"""The site: pages written by hand and pages made from results, claims and docstrings, built by Sphinx."""
