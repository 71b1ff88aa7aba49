"""Plan, run and store experiments; `load` what is stored."""

from experiments.errors import UserError
from experiments.frames import load, load_pulls

__all__ = ["UserError", "load", "load_pulls"]
