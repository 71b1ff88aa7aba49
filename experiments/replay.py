"""Run one replication of a cell alone, in this process, with the whole traceback if it fails.

python -m experiments.replay key=0123456789abcdef replication=7
"""

from experiments.again.replayed import replay
from experiments.config.command_line import exit_on_user_error

if __name__ == "__main__":
    exit_on_user_error(replay)
