"""Environments: bandits, losses under full information, and streams; how values, and sums of values, are drawn."""
