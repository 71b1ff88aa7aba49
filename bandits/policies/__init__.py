"""Every policy, one file per family."""

from bandits.policies.base import Policy, StepwisePolicy
from bandits.policies.elimination import DPSE, SuccessiveElimination
from bandits.policies.experts import RNMFTNL, DecreasingHedge, ExpertPolicy, FollowTheLeader
from bandits.policies.ftpl import DPFTPLBeta, DPFTPLGauss, DPFTPLNew, GDPElimNew, ThompsonBeta, ThompsonGauss
from bandits.policies.heavy_tailed import DPRSE, DPRUCB, LDPRSE, RobustUCB
from bandits.policies.private_ucb import DPUCB
from bandits.policies.tossou import DPUCBBound, DPUCBInt, DPUCBTossou
from bandits.policies.ucb import UCB1

__all__ = [
    "DPRSE",
    "DPRUCB",
    "DPSE",
    "DPUCB",
    "LDPRSE",
    "RNMFTNL",
    "UCB1",
    "DPFTPLBeta",
    "DPFTPLGauss",
    "DPFTPLNew",
    "DPUCBBound",
    "DPUCBInt",
    "DPUCBTossou",
    "DecreasingHedge",
    "ExpertPolicy",
    "FollowTheLeader",
    "GDPElimNew",
    "Policy",
    "RobustUCB",
    "StepwisePolicy",
    "SuccessiveElimination",
    "ThompsonBeta",
    "ThompsonGauss",
]
