from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.model.quantity import INT64_MAX, QuantityError, milli, nanos, saturate, units

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


@pytest.mark.parametrize(
    ("text", "in_milli", "in_units"),
    [
        ("0", 0, 0),
        ("1", 1000, 1),
        ("100m", 100, 1),
        ("1500m", 1500, 2),
        ("1.5", 1500, 2),
        (".5", 500, 1),
        ("5.", 5000, 5),
        ("+2", 2000, 2),
        ("1e3", 1_000_000, 1000),
        ("1E3", 1_000_000, 1000),
        ("12e-1", 1200, 2),
        ("123n", 1, 1),
        ("1u", 1, 1),
        ("1k", 1_000_000, 1000),
        ("1Ki", 1_024_000, 1024),
        ("1.5Gi", 1_610_612_736_000, 1_610_612_736),
        ("384Gi", 412_316_860_416_000, 412_316_860_416),
    ],
)
def test_a_quantity_is_read_exactly_and_rounded_up(text: str, in_milli: int, in_units: int) -> None:
    assert (milli(text), units(text)) == (in_milli, in_units)


@pytest.mark.parametrize(
    "text", ["", ".", "-", "1K", "1 Gi", "Infinity", "nan", "1kk", "0x10", "١", "1_000", "1e", "1e+", "Gi"]
)
def test_what_is_no_quantity_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(QuantityError, match="is not a quantity"):
        nanos(text)


def test_digits_finer_than_a_nano_unit_are_rounded_up() -> None:
    assert nanos("0.0000000001") == 1


@given(st.integers(0, 10**12), st.integers(0, 999), st.sampled_from([*DECIMAL, *BINARY]))
def test_every_number_with_every_suffix_is_what_arithmetic_says(whole: int, fraction: int, suffix: str) -> None:
    scale = Fraction(10) ** DECIMAL[suffix] if suffix in DECIMAL else Fraction(1024) ** BINARY[suffix]
    exact = (whole + Fraction(fraction, 1000)) * scale
    wanted = -(-exact.numerator // exact.denominator)
    assert units(f"{whole}.{fraction:03d}{suffix}") == wanted


def test_values_beyond_int64_stay_at_its_end() -> None:
    assert saturate(units("100E")) == INT64_MAX
    assert saturate(-units("100E")) == -(2**63)
