"""Random streams that depend on what is simulated, never on order, worker or time."""

import hashlib

import numpy as np


def entropy(identity: str) -> int:
    """256 bits that depend on the text `identity` alone."""
    return int.from_bytes(hashlib.sha256(identity.encode()).digest(), "big")


def stream(identity: str, replication: int) -> np.random.Generator:
    """The random stream of one replication of the cell that `identity` describes.

    Streams of different cells or replications are independent for every practical purpose, and
    adding a cell or a replication changes no other stream.
    """
    seed = np.random.SeedSequence(entropy(identity), spawn_key=(replication,))
    return np.random.Generator(np.random.PCG64(seed))
