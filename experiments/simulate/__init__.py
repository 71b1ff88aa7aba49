"""Simulation of the cells of a plan, block by block, on this machine or others, until each cell is stored."""

from experiments.simulate.block import simulate_block
from experiments.simulate.failures import PolicyError
from experiments.simulate.job import Job, look_up
from experiments.simulate.sweep import run, run_on

__all__ = ["Job", "PolicyError", "look_up", "run", "run_on", "simulate_block"]
