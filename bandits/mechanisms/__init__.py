"""Building blocks of privacy: noise, and sums released under it."""
