"""Arrays of numbers as few bytes, in a form that the page can read.

A curve is kept as logarithms in steps of `STEP` above its least positive number, 16 bits each, so that a number is off
by at most `STEP` / 2 of itself; 0 stays 0. Of neighbours only the difference is kept, and low and high bytes apart, as
deflate then finds more to save. Other numbers are kept in 32 bits. Bytes stand on the page as digits of base 85, five
for four bytes, which takes 6 % less than base 64.
"""

import base64
import math
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bandits.arrays import FloatArray

STEP = 1 / 4096  # of natural logarithms, unless a curve spans more than 16 bits of such steps
MOST = 2**16 - 2  # codes above that of the least number; 0 is the code of 0

Codes = NDArray[np.uint16]


def logarithms(numbers: FloatArray) -> tuple[Codes, float, float]:
    """The codes of finite numbers >= 0, any shape, with the least positive number and the step of their logarithms."""
    positive = numbers > 0
    if not positive.any():
        return np.zeros(numbers.shape, np.uint16), 1.0, STEP
    least = float(numbers[positive].min())
    above = np.zeros(numbers.shape)
    np.log(numbers, where=positive, out=above)
    above[positive] -= math.log(least)
    step = max(STEP, float(above.max()) / MOST)
    return np.where(positive, 1 + np.rint(above / step), 0).astype(np.uint16), least, step


def in_planes(rows: Sequence[Codes]) -> bytes:
    """The rows one after another: of each the first code and then differences, all low bytes before all high ones."""
    differences = [np.diff(row, prepend=np.uint16(0)) for row in rows]  # modulo 2^16
    joined = np.concatenate(differences) if differences else np.zeros(0, np.uint16)
    return (joined & 0xFF).astype(np.uint8).tobytes() + (joined >> 8).astype(np.uint8).tobytes()


def in_four_bytes(numbers: FloatArray) -> bytes:
    """Numbers in 32 bits, all first bytes before all second ones and so on."""
    return numbers.astype("<f4").reshape(-1, 1).view(np.uint8).T.tobytes()


def deflated(content: bytes) -> bytes:
    """The content in the format that browsers call `deflate`."""
    return zlib.compress(content, 9)


def digits_of(content: bytes) -> str:
    """Bytes as digits of base 85; a comma is written for <, which would be markup on a page."""
    return base64.b85encode(content).decode().replace("<", ",")
