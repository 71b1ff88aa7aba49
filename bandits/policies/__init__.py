"""The policies, one family per file; a config names a policy by module and class."""
