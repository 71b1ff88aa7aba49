"""One look for all figures."""

import hashlib
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from bandits.learner import Learner

# Okabe and Ito's colours, which colour-blind readers can tell apart. A policy keeps its colour everywhere.
POLICY_COLOURS = {
    "dp_se": "#0072B2",
    "dp_ucb": "#D55E00",
    "dprse": "#009E73",
    "dprucb": "#CC79A7",
    "ldprse": "#E69F00",
    "dp_ftpl_new": "#009E73",
    "dp_ftpl_gauss": "#E69F00",
    "dp_ftpl_beta": "#CC79A7",
    "dp_ucb_int": "#56B4E9",
    "dp_ucb_tossou": "#D55E00",
    "dp_ucb_bound": "#000000",
    "rnm_ftnl laplace": "#0072B2",
    "rnm_ftnl gumbel": "#D55E00",
    "rnm_ftnl exponential": "#009E73",
    "dp_nas": "#0072B2",
    "dp_exponential_nas": "#D55E00",
    "nas": "#000000",
    "exponential_nas": "#E69F00",
}
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
OTHER_COLOURS = ("#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
COUNTERPART_COLOUR = "0.55"
MARKERS = ("o", "s", "^", "D", "v", "P")
LINE_STYLES = ("solid", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))

mpl.use("Agg")
mpl.rcParams.update(
    {
        "axes.formatter.limits": (-3, 4),
        "axes.formatter.use_mathtext": True,
        "axes.grid": True,
        "axes.labelsize": 9,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlesize": 9,
        "figure.constrained_layout.use": True,
        "figure.dpi": 150,
        "font.size": 9,
        "grid.alpha": 0.25,
        "grid.linewidth": 0.5,
        "legend.fontsize": 8,
        "legend.frameon": False,
        "lines.linewidth": 1.4,
        "pdf.fonttype": 42,
        "svg.hashsalt": "private-bandits",
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
    }
)


def colour(policy: str) -> str:
    """The colour of a policy; one that is not ours gets its own from its name."""
    if policy in POLICY_COLOURS:
        return POLICY_COLOURS[policy]
    return OTHER_COLOURS[int(hashlib.sha256(policy.encode()).hexdigest(), 16) % len(OTHER_COLOURS)]


def colour_of(policy: Learner[Any]) -> str:
    """The colour of a policy; those that differ in their noise have a colour for each noise."""
    return colour(f"{policy.name} {getattr(policy, 'noise', '')}".strip())


def save(figure: Figure, stem: Path, command: str) -> list[str]:
    """Write `stem`.pdf and `stem`.png with the command that makes them in their metadata; the paths."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(f"{stem}.pdf", metadata={"Keywords": command, "CreationDate": None})
    figure.set_layout_engine("none")  # the layout is found once
    figure.savefig(f"{stem}.png", metadata={"Description": command})
    return [f"{stem}.pdf", f"{stem}.png"]
