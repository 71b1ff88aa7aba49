"""From YAML files and the command line to the cells that are asked for; every value is checked once."""
