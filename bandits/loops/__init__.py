"""How policies run: fast loops that are exact without looking at every step."""
