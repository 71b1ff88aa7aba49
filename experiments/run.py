"""The command line: plan cells, simulate those that are missing, store them.

python -m experiments.run instance=c1 policy=dp_se budget.epsilon=0.5 horizon=1e6
python -m experiments.run -m instance=c1,c2 policy=dp_se,dp_ucb budget.epsilon=0.1,0.25
python -m experiments.run +experiment=sajed2019/fig03

From Python call `experiments.run`, the function of experiments/library/running.py, which this module does not hide.
"""

from experiments.config.command_line import exit_on_user_error
from experiments.library.running import main

if __name__ == "__main__":
    exit_on_user_error(main)
