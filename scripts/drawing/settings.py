"""Settings of matplotlib for every figure."""

from typing import Any

SMALL = 7  # points, of a legend inside a panel
RC_PARAMS: Any = {  # Any, since matplotlib's type of its keys is private
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
