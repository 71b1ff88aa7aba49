"""Commands that draw and measure; they read stored results and never simulate a figure's data."""
