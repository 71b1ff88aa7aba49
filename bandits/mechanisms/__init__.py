"""Privacy mechanisms: noise, private sums, and private choices."""
