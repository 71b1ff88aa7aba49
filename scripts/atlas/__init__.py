"""The atlas: what privacy costs on Bernoulli bandits, as a page for readers who choose a policy."""
