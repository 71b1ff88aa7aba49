"""The theorems of the four papers as functions: how much regret or how many pulls they allow, or force.

One module per paper, one function per theorem. A name without an ending is a bound with explicit
constants, those of the paper's own proof; where the proof and the print disagree, the docstring says
which is which. A name that ends in `_order` is a rate with constant 1, for slopes and for lines in
figures, no bound. `_lower_bound` says what every policy of a kind pays on some instance.

Everywhere, `gaps` are those of the suboptimal arms (an optimal arm has none), shape (arms - 1,), in (0, 1];
`horizon` is the number of steps, and beta, where a policy has one, is 1 / horizon. A function raises
`ParameterError` where its theorem does not apply.
"""

from bandits.bounds.common import suboptimal_gaps
from bandits.bounds.sajed2019 import (
    bounded_lower_bound_order,
    bounded_worst_case_lower_bound_order,
    consistent_lower_bound_slope,
    dp_se_pulls,
    dp_se_regret,
    dp_se_regret_order,
    dp_se_worst_case_regret,
    dp_se_worst_case_regret_order,
    dp_ucb_added_regret_order,
    private_lower_bound,
)
from bandits.bounds.tao2022 import (
    dprse_pulls,
    dprse_regret,
    dprse_regret_order,
    dprse_worst_case_regret,
    dprse_worst_case_regret_order,
    dprucb_pulls,
    dprucb_regret,
    dprucb_regret_order,
    heavy_lower_bound,
    heavy_two_armed_lower_bound,
    ldprse_pulls,
    ldprse_regret,
    ldprse_regret_order,
    ldprse_worst_case_regret,
    ldprse_worst_case_regret_order,
    local_lower_bound_order,
    local_lower_bound_slope,
    local_worst_case_lower_bound,
    local_worst_case_lower_bound_order,
)
from bandits.bounds.wang2024 import (
    dp_ftpl_beta_regret,
    dp_ftpl_gauss_regret,
    dp_ftpl_new_regret,
    dp_ftpl_remainder_order,
    gdp_elim_new_regret,
    transcript_lower_bound,
    transcript_lower_bound_order,
)
from bandits.bounds.wu2025 import (
    deterministic_lower_bound,
    deterministic_regret,
    deterministic_resampling_regret,
    deterministic_sharp_lower_bound,
    laplace_regret_order,
    resampled_regret,
    resampled_regret_order,
    resampled_worst_case_regret,
    resampled_worst_case_regret_order,
    stochastic_lower_bound_order,
)

__all__ = [
    "bounded_lower_bound_order",
    "bounded_worst_case_lower_bound_order",
    "consistent_lower_bound_slope",
    "deterministic_lower_bound",
    "deterministic_regret",
    "deterministic_resampling_regret",
    "deterministic_sharp_lower_bound",
    "dp_ftpl_beta_regret",
    "dp_ftpl_gauss_regret",
    "dp_ftpl_new_regret",
    "dp_ftpl_remainder_order",
    "dp_se_pulls",
    "dp_se_regret",
    "dp_se_regret_order",
    "dp_se_worst_case_regret",
    "dp_se_worst_case_regret_order",
    "dp_ucb_added_regret_order",
    "dprse_pulls",
    "dprse_regret",
    "dprse_regret_order",
    "dprse_worst_case_regret",
    "dprse_worst_case_regret_order",
    "dprucb_pulls",
    "dprucb_regret",
    "dprucb_regret_order",
    "gdp_elim_new_regret",
    "heavy_lower_bound",
    "heavy_two_armed_lower_bound",
    "laplace_regret_order",
    "ldprse_pulls",
    "ldprse_regret",
    "ldprse_regret_order",
    "ldprse_worst_case_regret",
    "ldprse_worst_case_regret_order",
    "local_lower_bound_order",
    "local_lower_bound_slope",
    "local_worst_case_lower_bound",
    "local_worst_case_lower_bound_order",
    "private_lower_bound",
    "resampled_regret",
    "resampled_regret_order",
    "resampled_worst_case_regret",
    "resampled_worst_case_regret_order",
    "stochastic_lower_bound_order",
    "suboptimal_gaps",
    "transcript_lower_bound",
    "transcript_lower_bound_order",
]
