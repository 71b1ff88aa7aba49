"""What other programs call: `run` simulates, `load` and its relatives read what is stored as tables."""
