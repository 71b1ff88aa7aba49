"""The explorer: one page on which every stored result can be found, compared and traced."""
