"""What scripts/explore/page reads from the numbers that `scripts.explore.numbers` has coded."""

import math

import numpy as np


def from_logarithms(codes, least, step):
    """The numbers that `logarithms` has coded, off by at most step / 2 of themselves."""
    return np.where(codes > 0, np.exp(math.log(least) + step * (codes.astype(float) - 1)), 0.0)


def from_planes(content, lengths):
    """The rows that `in_planes` has written, from their lengths."""
    low, high = np.frombuffer(content, np.uint8).reshape(2, -1).astype(np.uint16)
    parts = np.split(low | (high << 8), np.cumsum(lengths)[:-1])
    return [np.cumsum(part, dtype=np.uint16) for part in parts]
