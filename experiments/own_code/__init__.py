"""Code of the users: what a class is, whether it changed, and how workers get it."""
