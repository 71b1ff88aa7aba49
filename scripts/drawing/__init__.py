"""Figures as data (`drawing`, `kinds`), and how they are drawn (`render`)."""
