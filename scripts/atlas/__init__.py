"""The atlas: what privacy costs on Bernoulli bandits, as a page for who has to choose a policy."""
