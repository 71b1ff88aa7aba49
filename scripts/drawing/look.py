"""The settings of matplotlib for every figure, independent of a user's `matplotlibrc` or style."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

os.environ["MPLBACKEND"] = "Agg"  # draws without a window, also on machines without a display

import matplotlib as mpl

from scripts.drawing.settings import RC_PARAMS


@contextmanager
def own_look() -> Iterator[None]:
    """A context in which matplotlib has the settings of this repository."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC_PARAMS)
        yield
