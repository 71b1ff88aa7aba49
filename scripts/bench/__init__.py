"""Measurements of speed: of the fast loops beside plain ones, of other libraries, and of commands."""
