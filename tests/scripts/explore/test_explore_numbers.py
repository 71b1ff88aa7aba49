"""Numbers of the explorer's page as bytes: by hand, and encoded and decoded again."""

import zlib

import numpy as np
import pytest

from scripts.explore.numbers import STEP, deflated, digits_of, in_four_bytes, in_planes, logarithms
from tests.scripts.explore.read_back import from_logarithms, from_planes


def test_codes_are_logarithms_above_the_least_number():
    codes, least, step = logarithms(np.array([[0.0, 2.0], [2 * np.e, 2 * np.exp(10 * STEP)]]))
    assert (least, step) == (2.0, STEP)
    assert codes.tolist() == [[0, 1], [1 + 4096, 11]]


def test_numbers_come_back_within_half_a_step():
    numbers = np.random.default_rng(1).lognormal(5, 1.5, 1000)
    back = from_logarithms(*logarithms(numbers))
    np.testing.assert_allclose(back, numbers, rtol=STEP / 2 * 1.001)
    assert not np.allclose(back, numbers, rtol=STEP / 20)


def test_a_wide_range_takes_larger_steps():
    numbers = np.array([1e-200, 1.0, 1e200])
    codes, least, step = logarithms(numbers)
    assert codes[-1] == 2**16 - 1
    np.testing.assert_allclose(from_logarithms(codes, least, step), numbers, rtol=step / 2 * 1.001)


def test_nothing_but_zeros():
    assert from_logarithms(*logarithms(np.zeros(3))).tolist() == [0, 0, 0]


def test_planes_hold_differences():
    rows = [np.array([1, 258], np.uint16), np.array([65535, 0], np.uint16)]
    content = in_planes(rows)
    assert content == bytes([1, 1, 255, 1]) + bytes([0, 1, 255, 0])
    assert [row.tolist() for row in from_planes(content, [2, 2])] == [[1, 258], [65535, 0]]


def test_four_bytes_stand_in_planes():
    assert in_four_bytes(np.array([[1.0], [-2.0]])) == bytes([0, 0, 0, 0, 0x80, 0x00, 0x3F, 0xC0])


def test_browsers_can_inflate():
    content = bytes(1000)
    assert zlib.decompress(deflated(content)) == content
    assert len(deflated(content)) < 30


@pytest.mark.parametrize("count", [1, 5])
def test_bytes_of_finals_are_those_that_the_page_counts(count):
    assert len(in_four_bytes(np.zeros((count, 5)))) == 20 * count


def test_digits_are_those_that_the_page_reads_and_no_markup():
    """The same as in functions.test.mjs; the first by hand: 255 * 256^3 = 81 * 85^4 + 81 * 85^3 + ..., and { is 81."""
    assert digits_of(bytes([255])) == "{{"
    assert digits_of(bytes([255, 0, 7, 128, 9, 255, 254, 253])) == "{{RPo3IG26"
    assert digits_of(bytes([40, 1])) == "C;,"
    assert "<" not in digits_of(np.random.default_rng(1).bytes(10_000))
