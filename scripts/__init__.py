"""Commands that draw and measure; they read stored results and never simulate a figure's data."""

import experiments  # noqa: F401  # from here on an interruption is quiet
