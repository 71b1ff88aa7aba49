"""Pages of docs/ that follow from code, claims and errata."""
