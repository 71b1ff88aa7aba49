"""Simulate a sample of the stored replications of every cell again: the same platform must give the same bits.

python -m experiments.check +experiment=sajed2019/fig03
python -m experiments.check -m +experiment=sajed2019/fig01,sajed2019/fig02
"""

from experiments.again.checked import check
from experiments.config.command_line import exit_on_user_error

if __name__ == "__main__":
    exit_on_user_error(check)
