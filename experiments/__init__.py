"""Plan, run and store experiments; `load` what is stored."""

from experiments.errors import UserError
from experiments.frames import load, load_outcomes, load_pulls

__all__ = ["UserError", "load", "load_outcomes", "load_pulls"]
