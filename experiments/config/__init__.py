"""From YAML and the shell to the cells that are asked for, every value checked once."""
