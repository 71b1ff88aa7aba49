"""The command line: plan cells, simulate those that are missing, store them.

python -m experiments.run instance=c1 policy=dp_se budget.epsilon=0.5 horizon=1e6
python -m experiments.run -m instance=c1,c2 policy=dp_se,dp_ucb budget.epsilon=0.1,0.25
python -m experiments.run +experiment=sajed2019/fig03
"""

from experiments.config.build import flag
from experiments.config.command_line import exit_on_user_error, read_command_line


def main() -> None:
    """Entry point of `python -m experiments.run`."""
    command = read_command_line()
    if not command.jobs:  # --help, --cfg and the like have answered already
        return
    from experiments.complete import complete, describe  # all policies, for which --help need not wait

    plans = command.plans()
    if flag(command.config, "plan"):
        print(describe(plans))
    else:
        print(complete(plans, command.workers))


if __name__ == "__main__":
    exit_on_user_error(main)
