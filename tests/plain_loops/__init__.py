"""Step-by-step forms of the fast simulations, with which tests and `scripts.bench` compare them.

`pulls_by_choices` plays the method `choices` of a policy step by step, which takes a microsecond or more per step.
`steps` and `batches` have compiled loops for comparisons in law that need many millions of steps, or in which the
reference must share neither loop nor index with the policy. `full_information` decides from the losses of all arms.
"""

import numpy as np

from bandits import Instance, Policy
from bandits.arrays import IntArray


def pulls_by_choices(policy: Policy, instance: Instance, horizon: int, rng: np.random.Generator) -> IntArray:
    """Pulls of every arm after `horizon` steps of `Policy.choices`, shape (arms,); `rng` gives rewards and noise."""
    pulls = np.zeros(instance.number_of_arms, dtype=np.int64)
    choices = policy.choices(len(pulls), horizon, rng)
    arm = next(choices)
    for step in range(1, horizon + 1):
        pulls[arm] += 1
        if step < horizon:
            arm = choices.send(instance.sample(arm, rng))
    return pulls
