"""Matplotlib as every figure is drawn: from its defaults, whatever a user's `matplotlibrc` or style says."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

os.environ["MPLBACKEND"] = "Agg"  # no window, and no error for one that there is not

import matplotlib as mpl

from scripts.drawing.style import RC_PARAMS


@contextmanager
def own_look() -> Iterator[None]:
    """Within, figures look as all of this repository do."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC_PARAMS)
        yield
