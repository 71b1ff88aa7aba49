"""The command `python -m experiments.store`, see `experiments.upkeep.command`."""

from experiments.config.command_line import exit_on_user_error
from experiments.upkeep.command import main

if __name__ == "__main__":
    exit_on_user_error(main)
