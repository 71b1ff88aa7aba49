"""Simulation of the cells of a plan, block by block, on this machine or others, until each cell is stored."""

from experiments.simulate.block import simulate_block
from experiments.simulate.failures import PolicyError
from experiments.simulate.job import CellJob, look_up
from experiments.simulate.runners import run_jobs

__all__ = ["CellJob", "PolicyError", "look_up", "run_jobs", "simulate_block"]
