"""The explorer: one page on which every stored result can be asked, compared and traced."""
