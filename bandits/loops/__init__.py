"""Compiled loops of the policies: exact, without simulating every step one by one."""
