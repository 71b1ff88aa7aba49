"""Simulate again what is stored or failed: a sample of every cell, whole experiments, one replication."""
