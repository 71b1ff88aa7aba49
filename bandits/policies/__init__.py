"""What the papers define, one family a file; a config names a policy by module and class."""
