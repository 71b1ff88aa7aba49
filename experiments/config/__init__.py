"""From YAML files and the command line to the requested cells; every value is checked once."""
