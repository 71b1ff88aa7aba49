"""Advice about a case of one's own: which private policy, and what it loses, by simulation at once."""
