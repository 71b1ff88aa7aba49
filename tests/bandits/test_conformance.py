"""Every policy config goes through the conformance suite, and the suite catches policies that break its rules."""

import dataclasses
import time
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal

import numpy as np
import pytest

from bandits import Guarantee, LaplaceRelease, ParameterError, StepwisePolicy
from bandits.audit.releases import GaussianDraws
from bandits.conformance import CHECKS, batches_as_declared
from bandits.environments.bernoulli import BernoulliInstance
from bandits.exact.worst_profiles import WorstProfile
from bandits.policies.batched_index import DPKLUCB
from bandits.policies.distributed import DistDPSE
from bandits.policies.elimination import DPSE
from bandits.policies.perturbed_leader import GDPElimNew
from bandits.policies.private_ucb import DPUCB
from experiments.config.build import EXCUSE
from experiments.config.compose import CONF, Composer
from experiments.config.plan import plan

INSTANCE = {
    **dict.fromkeys(["dprucb", "dprse", "ldprse", "ldprse_boxed", "robust_ucb", "robust_se", "robust_bit_se"], "s1"),
    **dict.fromkeys(
        ["rnm_ftnl", "random_prefix", "offset_ftnl", "follow_the_leader", "decreasing_hedge", "rw_ftpl"],
        "dtol_bernoulli",
    ),
    "vote_ftnl": "dtol_deterministic",
    **dict.fromkeys(["dp_nas", "dp_exponential_nas", "nas", "exponential_nas", "dp_bernstein"], "signed_bernoulli"),
}  # else c1
DELTA = ["budget.delta=0.01"]
NEEDS = dict.fromkeys(["dp_ucb_int", "dp_ftpl_gauss", "dp_ftpl_beta", "dp_ftpl_new", "gdp_elim_new"], DELTA)
NEEDS |= dict.fromkeys(["dist_rdp_se", "dp_ts_ucb", "thompson_gdp", "shuffle_se", "rw_ftpl"], DELTA)
ZCDP = ["adac_ucb", "zcdp_klucb", "zcdp_ucb", "dp_se_gauss", "dp_halving_gauss", "dp_knockout_gauss"]
NEEDS |= {name: ["budget=zcdp"] for name in ZCDP}
IDENTIFIERS = ["adap_tt", "ctb_tt", "dp_tt"]  # stop by themselves
VARIANTS = {
    "dp_ucb": [
        [],
        ["policy.confidence=tight", "policy.split_budget=false"],
        ["policy.tree=path", "policy.confidence=chernoff"],
        ["policy.tree=path", "policy.path_scale=printed"],
        ["policy.tree=path", "policy.root=false", "policy.split_budget=false"],
        ["policy.tree=signed", "policy.confidence=chernoff"],
        ["policy.tree=signed", "policy.arity=5", "policy.split_budget=false"],
    ],
    "dp_ncb": [[], ["budget.epsilon=20", "policy.c=0.5"]],
    "ldp_ncb": [[], ["budget.epsilon=20", "policy.c=0.5"]],
    "guess_dp_se": [[], ["policy.growth=square"]],
    "dprucb": [[], ["policy.constants=scaled"], ["policy.tree_budget=natural"]],
    "dp_ucb_tossou": [[], ["budget.epsilon=50"]],
    "dp_ucb_bound": [[], ["budget.epsilon=50"]],
    "dp_ucb_int": [[], ["policy.calibrate=false"], ["budget.epsilon=30", "policy.v=1.5"]],
    "dp_ts_ucb": [[], ["budget.delta=null", "policy.level=4", "policy.alpha=0.5"]],
    "thompson_gdp": [[], ["budget.delta=null", "policy.variance=1", "policy.start_pulls=0"]],
    "klucb_cf": [[], ["policy.cap=false", "policy.c=3"]],
    "dist_dp_se": [[], ["policy.batch_base=4"]],
    "adac_ucb": [[], ["budget.rho=8", "policy.alpha=2.5"]],
    "zcdp_klucb": [[], ["budget.rho=0.01", "policy.first_batch=3", "policy.ratio=1.5", "policy.c=3"]],
    "zcdp_ucb": [[], ["budget.rho=5", "policy.tree=binary"]],
    "dp_se_gauss": [[], ["budget.rho=1e-4", "policy.beta=0.1"]],
    "halving": [[], ["policy.explored=700", "policy.allocation=uniform"]],
    "dp_halving": [[], ["policy.explored=3000"], ["policy.explored=700", "policy.allocation=uniform"]],
    "dp_halving_gauss": [[], ["policy.explored=700", "policy.allocation=uniform"]],
    "dp_knockout": [[], ["policy.explored=3000"]],
    "dp_knockout_gauss": [[], ["policy.explored=700"]],
    "ldp_halving": [[], ["policy.explored=700", "policy.allocation=uniform"]],
    "shuffle_se": [[], ["budget.epsilon=0.05", "budget.delta=1e-9"]],
    "dprse": [[], ["policy.constants=scaled"], ["policy.constants=custom", "policy.confidence_scale=0.01"]],
    "dp_ftpl_gauss": [[], ["policy.start_phase=exact"]],
    "dp_ftpl_beta": [["policy.start_phase=exact"]],
    "dp_ftpl_new": [[], ["budget.delta=0"], ["budget.epsilon=0"]],
    "rnm_ftnl": [
        [],
        ["policy.noise=gumbel", "policy.resample=true"],
        ["policy.noise=exponential"],
        ["policy.noise=exponential", "policy.calibration=proved"],
    ],
    "offset_ftnl": [
        [],
        ["policy.noise=exponential", "policy.ratio=2"],
        ["policy.noise=laplace", "policy.resample=true"],
    ],
    "vote_ftnl": [[], ["policy.noise=exponential"]],
    "rw_ftpl": [[], ["budget.delta=null", "policy.level=0.5"]],
    "dp_klucb": [[], ["policy.first_batch=null", "policy.ratio=1.1"], ["policy.index=exact"]],
    "dp_imed": [[], ["policy.first_batch=7", "policy.ratio=1.5"]],
    "anytime_lazy_ucb": [[], ["policy.logarithm=natural"]],
    "lazy_dp_ts": [[], ["policy.logarithm=binary"]],
    "robust_se": [[], ["policy.corruption=0.1"]],
    "robust_bit_se": [[], ["policy.corruption=0.1", "policy.order=ltc"]],
    "ldprse": [[], ["policy.constants=custom", "policy.confidence_scale=0.01", "policy.epoch_base=4"]],
}


@cache
def policy_of(name, *overrides):
    """The policy that a config builds."""
    return (
        plan(
            [[f"policy={name}", f"instance={INSTANCE.get(name, 'c1')}", *NEEDS.get(name, []), *overrides]], Composer()
        )[0]
        .requests[0]
        .cell.policy
    )


def excused(name):
    """Whether the YAML of a policy says why its promise is known to be violated."""
    return f"\n{EXCUSE}:" in (CONF / "policy" / f"{name}.yaml").read_text()


POLICIES = [
    (name, *more)
    for name in Composer().choices("policy")
    for more in VARIANTS.get(name, [[]])
    if INSTANCE.get(name) != "signed_bernoulli" and name not in IDENTIFIERS  # these have tests of their own
]


def problem(check, policy):
    """The message of a failed check of a policy, empty if it passes."""
    try:
        check(policy)
    except AssertionError as error:
        return str(error) or repr(error)
    return ""


@pytest.fixture
def policy(request):
    return policy_of(*request.param)


@pytest.mark.parametrize("policy", POLICIES, ids=" ".join, indirect=True)
def test_policy_conforms(policy):
    """A violated promise fails, unless the YAML of the policy says why under `_excuse_`; then it must be violated."""
    wrong = {check.__name__: said for check in CHECKS if (said := problem(check, policy))}
    if excused(policy.name):
        assert "violated" in wrong.pop("keeps_its_guarantee", "")
    assert wrong == {}


def test_configs_are_named_as_their_policies_and_list_every_parameter():
    for name in Composer().choices("policy"):
        policy = policy_of(name)
        assert policy.name == name
        text = (CONF / "policy" / f"{name}.yaml").read_text()
        assert all(f"\n{field.name}:" in text for field in dataclasses.fields(policy) if field.init)


@dataclass(frozen=True)
class Uniform(StepwisePolicy):
    """Pulls random arms; the base of the broken policies below."""

    name: ClassVar[str] = "uniform"
    label: ClassVar[str] = "Uniform"
    citation: ClassVar[str] = "none"

    @property
    def guarantee(self):
        return Guarantee(0.0)

    def start(self, arms, horizon):
        return arms

    def select(self, state, t, rng):
        return int(rng.integers(state))

    def update(self, state, arm, reward, rng):
        pass


class CountsTooFew(Uniform):
    """Loses a step."""

    def simulate(self, instance, horizon, checkpoints, rng):
        return super().simulate(instance, horizon, checkpoints, rng) - 1


class UsesGlobalState(Uniform):
    """Draws from the global generator."""

    def select(self, state, t, rng):
        return int(np.random.randint(state))  # noqa: NPY002


class DependsOnCheckpoints(Uniform):
    """Draws one more number for every checkpoint."""

    def simulate(self, instance, horizon, checkpoints, rng):
        rng.random(len(checkpoints))
        return super().simulate(instance, horizon, checkpoints, rng)


@dataclass(frozen=True)
class SpendsMore(DPSE):
    """Declares a third of what it spends."""

    @property
    def guarantee(self):
        return Guarantee(self.epsilon / 3)


@dataclass(frozen=True)
class SaysSo(DPSE):
    """Gets epsilon and declares that it spends twice as much, which is allowed."""

    @property
    def guarantee(self):
        return Guarantee(2 * self.epsilon, 0.1)


@dataclass(frozen=True)
class SaysNothing(DPSE):
    """Declares a number in place of a guarantee."""

    @property
    def guarantee(self):
        return self.epsilon


class HasItsOwnGenerator(Uniform):
    """Adds noise of a generator of its own, so that the same rewards give the same arms in every replication."""

    guarantee = Guarantee(1.0)

    def start(self, arms, horizon):
        return np.random.default_rng(7).laplace(size=arms)

    def select(self, state, t, rng):
        return t - 1 if t <= len(state) else int(np.argmax(state))

    def update(self, state, arm, reward, rng):
        state[arm] += reward


PLAYED = []


class Remembers(Uniform):
    """Keeps its history in its module."""

    def start(self, arms, horizon):
        PLAYED.append(arms)
        return arms

    def select(self, state, t, rng):
        return (t + len(PLAYED)) % state


class KnowsTheYear(Uniform):
    """Plays differently next year."""

    def select(self, state, t, rng):
        return int(time.time() / 3e7) % state


@dataclass(frozen=True)
class HalfTheNoise(DPSE):
    """Its releases cost twice what its ledger says."""

    def batched_run(self, arms, horizon):
        return DPSE(2 * self.epsilon, self.beta).batched_run(arms, horizon)


class Wanders(DPSE):
    """Draws arms in its batched runs without declaring it."""

    def batched_run(self, arms, horizon):
        run = super().batched_run(arms, horizon)
        run.next_arm = lambda rng: int(rng.integers(arms))
        return run


class ForgetsItsPulls(DPSE):
    """Saves runs without the pulls of the epoch that is under way."""

    def batched_run(self, arms, horizon):
        run = super().batched_run(arms, horizon)
        restore = run.restore
        run.restore = lambda saved: restore({**saved, "pulled": 0})
        return run


class ReleasesNothing(DPSE):
    """Declares batches due for which no arm was pulled."""

    def batched_run(self, arms, horizon):
        run = super().batched_run(arms, horizon)
        pull = run.pull

        def pull_one(arm):
            pull(arm)
            run.due = (1 - arm,)

        run.pull = pull_one
        return run


class BadName(Uniform):
    """Has a name that a shell would not take."""

    name: ClassVar[str] = "Bad Name"


class Decreasing(Uniform):
    """Its counts of pulls decrease."""

    def simulate(self, instance, horizon, checkpoints, rng):
        pulls = np.zeros((len(checkpoints), len(instance.mean_rewards)), int)
        pulls[np.arange(len(checkpoints)), np.arange(len(checkpoints)) % 2] = checkpoints
        return pulls


class StopsEarly(Uniform):
    """Declares that its time does not grow, and omits steps."""

    time_grows: ClassVar[bool] = False

    def simulate(self, instance, horizon, checkpoints, rng):
        short = np.minimum(checkpoints, 10_000)
        return super().simulate(instance, 10_000, short, rng)


@dataclass(frozen=True)
class Two(Uniform):
    """Its `simulate` has a thousandth of the noise that its `choices` has."""

    name: ClassVar[str] = "two"
    scale: float = 1.0

    def start(self, arms, horizon):
        return np.zeros(arms)

    def select(self, state, t, rng):
        return t - 1 if t <= len(state) else int(np.argmax(state + rng.laplace(scale=self.scale, size=len(state))))

    def update(self, state, arm, reward, rng):
        state[arm] = max(state[arm], reward)

    def simulate(self, instance, horizon, checkpoints, rng):
        return super(Two, Two(self.scale / 1000)).simulate(instance, horizon, checkpoints, rng)


@dataclass(frozen=True)
class Level(SaysSo):
    """Promises a level of .02 and releases one of 1; the pair (1, .3) is kept."""

    name: ClassVar[str] = "level"

    @property
    def guarantee(self):
        return Guarantee(1.0, 0.3, level=0.02)

    def ledger(self, arms, horizon):
        return (GaussianDraws("mean", "", count=1, draws=1, variance=1.0),)


class Rho(SaysSo):
    """Promises a thousandth of the rho of its Laplace noise."""

    name: ClassVar[str] = "rho"

    @property
    def guarantee(self):
        return Guarantee(self.epsilon, rho=1e-4)

    def ledger(self, arms, horizon):
        return (LaplaceRelease("sum", "", low=0.0, high=1.0, divisor=1.0, scale=1 / self.epsilon),)


BROKEN = [
    (Two(), "simulates_what_it_plays"),
    (Level(1.0), "keeps_its_guarantee"),
    (Rho(1.0), "keeps_its_guarantee"),
    (StopsEarly(), "plays_far_horizons"),
    (CountsTooFew(), "counts_every_step"),
    (CountsTooFew(), "survives_short_horizons"),
    (UsesGlobalState(), "is_reproducible"),
    (HasItsOwnGenerator(), "draws_from_its_rng_alone"),
    (Remembers(), "remembers_nothing"),
    (KnowsTheYear(), "remembers_nothing"),
    (DependsOnCheckpoints(), "ignores_checkpoints"),
    (SaysNothing(1.0), "declares_its_guarantee"),
    (SpendsMore(1.0), "keeps_its_guarantee"),
    (HalfTheNoise(1.0), "batches_as_declared"),
    (Wanders(1.0), "batches_as_declared"),
    (ReleasesNothing(1.0), "batches_as_declared"),
    (ForgetsItsPulls(1.0), "batches_as_declared"),
    (BadName(), "is_described"),
    (Decreasing(), "counts_every_step"),
]


@pytest.mark.parametrize(("policy", "name"), BROKEN, ids=lambda value: str(value))
def test_the_suite_catches_broken_policies(policy, name):
    (check,) = (check for check in CHECKS if check.__name__ == name)
    with pytest.raises(AssertionError):
        check(policy)


def test_what_a_batched_release_costs_is_compared_with_the_ledger():
    """Its guarantee refuses it as well, with another message."""
    with pytest.raises(AssertionError, match=r"a release costs 2, and the largest cost in the ledger is 1"):
        batches_as_declared(HalfTheNoise(1.0))


@pytest.mark.parametrize("policy", [Uniform(), SaysSo(1.0)], ids=repr)
def test_a_sound_policy_passes(policy):
    for check in CHECKS:
        check(policy)


class Ignores(BernoulliInstance):
    """Declares rewards in [0, 1], and pays 7."""

    name = "ignores"

    def define_means(self):
        return np.array([0.5, 0.4])

    def sample(self, arm, rng):
        return 7.0

    def sums(self, arms, rounds, rng):
        return np.full(len(arms), 7.0 * rounds)


@pytest.mark.parametrize("policy", [DPSE(1.0), GDPElimNew(1.0, 0.01), Uniform()], ids=repr)
def test_rewards_that_break_their_bound_are_refused_by_the_policy(policy):
    policy.check(Ignores())
    with pytest.raises(ParameterError, match="instance"):
        policy.simulate(Ignores(), 10_000, np.array([10_000]), np.random.default_rng(1))


class Unbounded(BernoulliInstance):
    """Rewards that may exceed 1."""

    name = "unbounded"
    support = (0.0, 2.0)

    def define_means(self):
        return np.array([0.5, 0.4])


@pytest.mark.parametrize("policy", [DPSE(1.0), DPUCB(1.0)], ids=repr)
def test_a_private_policy_refuses_rewards_its_noise_is_not_made_for(policy):
    with pytest.raises(ParameterError, match="instance"):
        policy.check(Unbounded())


@dataclass(frozen=True)
class Chooses(Uniform):
    """Has no checks of its own."""

    tree: Literal["binary", "path"] = "binary"


@dataclass(frozen=True)
class ChoosesToo(Chooses):
    """Does not call the checks of its base."""

    def __post_init__(self):
        assert self.tree in ("binary", "path"), "what a check of its own relies on"


@pytest.mark.parametrize(
    ("cls", "given", "said"),
    [
        (DPUCB, {"epsilon": 1.0, "confidence": "typo"}, "confidence: must be one of 'mishra2015', 'tight', 'chernoff'"),
        (DPKLUCB, {"epsilon": 1.0, "index": None}, "index: must be one of 'divergence', 'exact', got None"),
        (DistDPSE, {"epsilon": 1.0, "batch_base": 3}, "batch_base: must be one of 2, 4, got 3"),
        (WorstProfile, {"arms": 2, "least_gap": 0.1, "losses": ["bernoulli"]}, "losses: must be one of 'determ"),
        (Chooses, {"tree": "signed"}, "tree: must be one of 'binary', 'path', got 'signed'"),
        (ChoosesToo, {"tree": "signed"}, "tree: must be one of 'binary', 'path', got 'signed'"),
    ],
)
def test_a_value_that_a_field_does_not_list_is_refused_when_it_is_made(cls, given, said):
    with pytest.raises(ParameterError, match=f"^{said}"):
        cls(**given)
