"""Upper confidence bounds on privately released sums."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.audit.index_rules import IndexRule
from bandits.audit.ledger import Release, RunningSums
from bandits.audit.path_sums import PathSums
from bandits.audit.running_sums import tree
from bandits.audit.signed_sums import SignedSums
from bandits.environments.bandit import Instance
from bandits.guarantees import Guarantee
from bandits.loops.leader import LARGEST_BLOCK, NoisySums, pulls_of_leaders
from bandits.loops.low_sums import PATHS, SET_BITS
from bandits.loops.tree_ucb import SIGNED, TreeSums, gamma, tree_ucb_pulls
from bandits.mechanisms.path_tree import PathTreeMechanism, path_depth, path_node_scale, path_nodes
from bandits.mechanisms.signed_tree import (
    SignedTreeMechanism,
    most_nodes,
    require_arity,
    signed_digits,
    signed_node_scale,
)
from bandits.mechanisms.tree import TreeMechanism, node_scale, tree_levels
from bandits.parameters import require, require_epsilon
from bandits.policies.base import Choices, Policy, require_bernoulli
from bandits.policies.ucb import ucb1_width


@dataclass(frozen=True)
class DPUCB(Policy):
    """DP-UCB (Mishra and Thakurta 2015), the baseline of Sajed and Sheffet (2019).

    A tree mechanism over the rewards of each arm; each arm once, then the largest

        (private sum + Gamma) / n_a + sqrt(2 log t / n_a).

    Sajed and Sheffet give no constants. `confidence` chooses Gamma, the bound on the tree's noise,
    with e the budget of one tree:

    - `mishra2015`: log(T)^2 log(K T log(T) / gamma) / e, as in independent implementations;
    - `tight`: log(T)^2.5 / e, the order that Sajed and Sheffet quote;
    - `chernoff` (ours): b min over 0 < x < 1 of (4 log t - M log(1 - x^2)) / x, b the scale of a node and M the most
      nodes in the noise of a sum: the noise is below -Gamma with probability at most t^-4.

    `tree` chooses the mechanism. `binary` releases the nodes of the set bits of n (`bandits.mechanisms.tree`), `path`
    all nodes from the root to leaf n of a tree over 2^D leaves, D = ceil(log2 T) (`bandits.mechanisms.path_tree`), as
    Sajed and Sheffet describe it. `path_scale` is the scale of its nodes: `printed`, D / e, or `exact`,
    (floor(D / 2) + 1) / e, which spends exactly e over all leaves (bandits/mechanisms/path_tree.md, 9.1). `signed` has
    digits that may be negative, of an odd `arity` k (Andersson, Pagh, Steiner and Torkamani 2025): a node for each unit
    of a digit, h the digits of T, at the scale h / e, which spends exactly e (bandits/mechanisms/signed_tree.md, 9.2).

    `split_budget` gives every tree e = epsilon / K, the literature's choice, instead of epsilon.

    Guarantee: epsilon-DP of the transcript, one reward changed. A reward enters one tree only, so that trees of budget
    epsilon already give it (parallel composition), and with `split_budget` the transcript is in fact (epsilon / K)-DP.
    With the printed scale a path tree spends about half of that. (Without `root` two items would spend twice it, but
    within two steps no arm of two has two items.)
    """

    name: ClassVar[str] = "dp_ucb"
    label: ClassVar[str] = "DP-UCB"
    citation: ClassVar[str] = "Mishra and Thakurta (2015), as compared in Sajed and Sheffet (2019), section 5"
    revision: ClassVar[int] = 2  # its loops draw low sums of blocks; revision 1 drew more of the noise
    epsilon: float
    split_budget: bool = True
    confidence: Literal["mishra2015", "tight", "chernoff"] = "mishra2015"
    gamma: float = 0.1
    tree: Literal["binary", "path", "signed"] = "binary"
    path_scale: Literal["exact", "printed"] = "exact"
    root: bool = True
    arity: int = 19

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        require(0 < self.gamma < 1, "gamma", self.gamma, "a number in (0, 1)")
        scaled = self.tree == "path" or self.path_scale == "exact"
        require(scaled, "path_scale", self.path_scale, f"exact, as the tree is {self.tree} and has no other scale")
        kept = self.tree == "path" or self.root
        require(kept, "root", self.root, f"true, as the tree is {self.tree}: no node is left out")
        require_arity(self.arity)
        plain = self.tree == "signed" or self.arity == 19
        require(plain, "arity", self.arity, f"19, the default, as the tree is {self.tree} and has no arity")

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        trees = [self._mechanism(arms, horizon, rng) for _ in range(arms)]
        added = self._added(arms, horizon)
        sums, pulls = np.zeros(arms), np.zeros(arms)
        for t in itertools.count(1):
            arm = t - 1 if t <= arms else int(np.argmax(sums / pulls + added(t, pulls)))
            pulls[arm] += 1
            sums[arm] = trees[arm].add((yield arm))

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        arms = len(instance.mean_rewards)
        released = self.released(arms, horizon)
        if released.kind != SET_BITS or released.exponent > 0:
            return tree_ucb_pulls(instance.mean_rewards, horizon, checkpoints, released, rng)
        same = NoisySums(released.bonus, released.scale, released.draws)
        return pulls_of_leaders(instance.mean_rewards, horizon, checkpoints, same, LARGEST_BLOCK, rng)

    def tree_epsilon(self, arms: int) -> float:
        """The budget of one arm's tree."""
        return self.epsilon / arms if self.split_budget else self.epsilon

    def bonus(self, arms: int, horizon: int) -> float:
        """Gamma if it is the same at every step, else 0 (`chernoff`)."""
        log_horizon = math.log(max(horizon, 2))
        if self.confidence == "chernoff":
            return 0.0
        if self.confidence == "tight":
            return float(log_horizon**2.5) / self.tree_epsilon(arms)
        log_union = math.log(arms * horizon * log_horizon / self.gamma)
        return log_horizon**2 * log_union / self.tree_epsilon(arms)

    def released(self, arms: int, horizon: int) -> TreeSums:
        """How sums are released and bounded."""
        epsilon, exponent = self.tree_epsilon(arms), 4.0 if self.confidence == "chernoff" else 0.0
        bonus = self.bonus(arms, horizon)
        if self.tree == "signed":
            scale, draws = signed_node_scale(horizon, epsilon, self.arity), most_nodes(horizon, self.arity)
            return TreeSums(SIGNED, scale, draws, bonus, exponent, signed_digits(horizon, self.arity), self.arity)
        if self.tree == "path":
            scale = path_node_scale(horizon, epsilon, printed=self.path_scale == "printed", root=self.root)
            return TreeSums(PATHS, scale, path_nodes(path_depth(horizon), root=self.root), bonus, exponent)
        return TreeSums(SET_BITS, node_scale(horizon, epsilon), tree_levels(horizon), bonus, exponent)

    def _sums(self, arms: int, horizon: int) -> RunningSums | PathSums | SignedSums:
        items = max(1, horizon - arms + 1)
        if self.tree == "binary":
            return tree(horizon, self.tree_epsilon(arms), items)
        scale = self.released(arms, horizon).scale
        if self.tree == "signed":
            return SignedSums("signed-digit tree", "exact", self.arity, items, scale)
        return PathSums("path tree", self.path_scale, path_depth(horizon), items, scale, self.root)

    def _added(self, arms: int, horizon: int) -> Callable[[int, FloatArray], FloatArray]:
        """What is added to noisy means at step t: Gamma / n_a and the width of UCB1."""
        released = self.released(arms, horizon)
        return lambda t, pulls: gamma(released, t) / pulls + ucb1_width(t, pulls)

    def _mechanism(
        self, arms: int, horizon: int, rng: np.random.Generator
    ) -> TreeMechanism | PathTreeMechanism | SignedTreeMechanism:
        if self.tree == "binary":
            return TreeMechanism(horizon, self.tree_epsilon(arms), rng)
        scale = self.released(arms, horizon).scale
        if self.tree == "signed":
            return SignedTreeMechanism(horizon, scale, rng, self.arity)
        return PathTreeMechanism(horizon, scale, rng, self.root)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.laplace(self.epsilon)

    def legend(self) -> str:
        trees = {
            "binary": "",
            "path": f", path tree, {self.path_scale} scale{'' if self.root else ', no root'}",
            "signed": f", signed digits of arity {self.arity}",
        }
        undivided = "" if self.split_budget else ", undivided budget"
        return f"{self.label} ({self.confidence}{undivided}{trees[self.tree]})"

    def check(self, instance: Instance) -> None:
        require_bernoulli(self, instance)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The tree of one arm; the others cost the same."""
        return (self._sums(arms, horizon),)

    def index_rule(self, arms: int, horizon: int) -> IndexRule:
        return IndexRule(self._sums(arms, horizon), self._added(arms, horizon))
