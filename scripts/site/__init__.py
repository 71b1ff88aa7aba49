"""The site: pages written by hand in docs/, and pages made from stored results, claims and docstrings, built by Sphinx."""
