"""Simulate experiments again from nothing and compare every number with what is stored.

python -m experiments.reproduce +experiment=sajed2019/fig03
python -m experiments.reproduce -m +experiment=sajed2019/fig01,sajed2019/fig02
"""

from experiments.again.reproduced import reproduce
from experiments.config.command_line import exit_on_user_error

if __name__ == "__main__":
    exit_on_user_error(reproduce)
