"""Expected regret by computation instead of simulation, and the worst gap profile that a search finds."""
