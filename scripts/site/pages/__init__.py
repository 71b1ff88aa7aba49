"""A module here for each kind of page: its function `pages` makes them."""
