"""Expected regret, computed instead of simulated, and searches for the worst gap profile."""
